// Changes of second factors, for pages and APIs. Each change is recorded as an event, and mailed to the owner unless it is only
// a new name, a forgotten browser or an administrator's code that was revoked.
import type { RecoveryCodes } from '../factors/recovery-codes.ts'
import type { AuditEventType, AuditOrigin } from '../model/audit/event.ts'
import type { Passkey, Totp } from '../model/users/passkey.ts'
import type { AddressedZone } from '../model/request.ts'
import type { User } from '../model/users/user.ts'
import type { MailFrame } from '../pages/mails/frame.ts'
import type { FactorNotice } from '../pages/texts/factor-mail-texts.ts'
import type { FactorMethod } from '../records/user.ts'
import { isMailAddress } from '../mail/mailer.ts'
import { addSeconds } from '../base/clock.ts'
import { factorNoticeMail } from '../pages/mails/factor.ts'
import { NOTICE_SECONDS } from './account-mails.ts'
import type { AccountDeps } from './deps.ts'

/** The account whose factors change, and the actor. */
export interface FactorOwner {
  readonly zone: AddressedZone
  readonly user: User
  readonly from: AuditOrigin
  /** Texts in the language of the user. */
  readonly frame: MailFrame
  /** Set when it is not the user. */
  readonly byOther?: true
}

/** Maximum number of passkeys of a user. */
export const MAX_PASSKEYS = 20

/**
 * Changes; those that answer false or undefined have changed nothing. None is added while there is one that the owner's
 * record does not know yet: of two sessions that add a first factor at once, the second has to prove the other one.
 */
export interface FactorChanges {
  addPasskey(owner: FactorOwner, passkey: Passkey): Promise<boolean>
  renamePasskey(owner: FactorOwner, id: string, name: string): Promise<boolean>
  /** With `leaves`, removes nothing unless one of these remains. */
  removePasskey(owner: FactorOwner, id: string, leaves?: readonly FactorMethod[]): Promise<boolean>
  /** Replaces an earlier secret. */
  setTotp(owner: FactorOwner, totp: Totp): Promise<boolean>
  removeTotp(owner: FactorOwner, leaves?: readonly FactorMethod[]): Promise<boolean>
  /** The new codes as shown to the user; invalidates earlier ones. `isFirst`: created with a new factor, whose mail is enough. */
  renewRecoveryCodes(
    owner: FactorOwner,
    options?: { readonly isFirst: boolean },
  ): Promise<readonly string[] | undefined>
  removeRecoveryCodes(owner: FactorOwner): Promise<boolean>
  /** A code that replaces a factor once. */
  bypass(owner: FactorOwner, seconds: number): ReturnType<RecoveryCodes['bypass']>
  /** Notifies the owner that a code was used instead of a factor: a recovery code, or one of an administrator. */
  reportCodeUsed(owner: FactorOwner): Promise<void>
  /** Revokes that code. */
  removeBypass(owner: FactorOwner): Promise<boolean>
  /** Removes every factor and code. */
  reset(owner: FactorOwner): Promise<boolean>
  /** Forgets all remembered browsers. */
  forgetDevices(owner: FactorOwner): Promise<boolean>
}

/** A report of a change: to the audit trail and, with `notice`, to the owner. */
interface ChangeReport {
  readonly event: 'Added' | 'Modified' | 'Removed'
  readonly data: string
  readonly notice?: FactorNotice | undefined
}

/** One instance serves every zone. */
export function createFactorChanges(deps: AccountDeps & { readonly recoveryCodes: RecoveryCodes }): FactorChanges {
  const { recoveryCodes, audit } = deps
  const { factors } = deps.store

  function report(
    { zone, user, from, byOther }: FactorOwner,
    event: { readonly type: AuditEventType; readonly data: string },
  ): void {
    audit({ ...event, zoneId: zone.id, principal: user.id, origin: user.origin, ...from, ...(byOther && { byOther }) })
  }

  /** Reports the change if there was one. */
  async function reportAfter<T>(
    owner: FactorOwner,
    change: Promise<T>,
    { event, data, notice }: ChangeReport,
  ): Promise<T> {
    const result = await change
    if (result === false || result === undefined) return result
    report(owner, { type: `MfaFactor${event}Event`, data })
    if (notice !== undefined) await factorMail(owner, notice, deps)
    return result
  }

  return {
    addPasskey: (owner, passkey) =>
      reportAfter(owner, factors.addPasskey(owner.zone.id, passkey, MAX_PASSKEYS, methodsOf(owner)), {
        event: 'Added',
        data: 'passkey',
        notice: 'passkeyAdded',
      }),
    renamePasskey: (owner, id, name) =>
      reportAfter(owner, factors.renamePasskey(owner.zone.id, { userId: owner.user.id, id }, name), {
        event: 'Modified',
        data: 'passkey',
      }),
    removePasskey: (owner, id, leaves) =>
      reportAfter(owner, factors.removePasskey(owner.zone.id, { userId: owner.user.id, id }, leaves), {
        event: 'Removed',
        data: 'passkey',
        notice: 'passkeyRemoved',
      }),
    setTotp: (owner, totp) =>
      reportAfter(owner, factors.setTotp(owner.zone.id, owner.user.id, totp, methodsOf(owner)), {
        event: 'Added',
        data: 'totp',
        notice: 'appAdded',
      }),
    removeTotp: (owner, leaves) =>
      reportAfter(owner, factors.removeTotp(owner.zone.id, owner.user.id, leaves), {
        event: 'Removed',
        data: 'totp',
        notice: 'appRemoved',
      }),
    renewRecoveryCodes: (owner, { isFirst } = { isFirst: false }) =>
      reportAfter(owner, recoveryCodes.renew(owner.zone.id, owner.user.id), {
        event: 'Modified',
        data: 'recovery codes',
        notice: isFirst ? undefined : 'codesRenewed',
      }),
    removeRecoveryCodes: owner =>
      reportAfter(owner, factors.removeCodes(owner.zone.id, owner.user.id, 'recovery'), {
        event: 'Removed',
        data: 'recovery codes',
        notice: 'codesRemoved',
      }),
    bypass: (owner, seconds) =>
      reportAfter(owner, recoveryCodes.bypass(owner.zone.id, owner.user.id, seconds), {
        event: 'Added',
        data: 'bypass',
        notice: 'bypassGiven',
      }),
    reportCodeUsed: owner => factorMail(owner, 'codeUsed', deps),
    removeBypass: owner =>
      reportAfter(owner, factors.removeCodes(owner.zone.id, owner.user.id, 'bypass'), {
        event: 'Removed',
        data: 'bypass',
      }),
    reset: owner =>
      reportAfter(owner, factors.reset(owner.zone.id, owner.user.id), {
        event: 'Removed',
        data: 'all',
        notice: 'reset',
      }),
    forgetDevices: owner =>
      reportAfter(owner, factors.forgetDevices(owner.zone.id, owner.user.id), {
        event: 'Modified',
        data: 'remembered devices',
      }),
  }
}

const methodsOf = ({ user }: FactorOwner): readonly FactorMethod[] => user.factors?.methods ?? []

/** Mails the owner of an account that its second factors changed, with a link to them. */
async function factorMail(
  { zone, user, frame, byOther }: FactorOwner,
  notice: FactorNotice,
  { mailer, urls, clock }: AccountDeps,
): Promise<void> {
  const { email: to, userName } = user
  if (!isMailAddress(to)) return
  const url = `${urls.ofZone(zone)}/profile`
  const body = factorNoticeMail(frame, notice, { userName, byOther: byOther === true, url })
  await mailer.send(zone, { ...body, to }, addSeconds(clock.now(), NOTICE_SECONDS))
}
