// Changes of second factors: the one way for pages and APIs. Each that happens leaves an event.
import type { RecoveryCodes } from '../factors/recovery-codes.ts'
import type { Audit, AuditEventType, AuditOrigin } from '../model/event.ts'
import type { Passkey, Totp } from '../model/passkey.ts'
import type { AddressedZone } from '../model/request.ts'
import type { User } from '../model/user.ts'
import type { FactorMethod } from '../records/user.ts'
import type { Store } from '../store/store.ts'

/** Whose factors change, and who changes them. */
export interface FactorOwner {
  readonly zone: AddressedZone
  readonly user: User
  readonly from: AuditOrigin
  /** Set when it is not the person. */
  readonly byOther?: true
}

/** A person has no more passkeys than this. */
export const MAX_PASSKEYS = 20

/**
 * Changes; those that answer false or undefined have changed nothing. None is added beside one that the owner's record does
 * not know yet: of two sessions that add a first factor at once, the second has to prove the other one.
 */
export interface FactorChanges {
  addPasskey(owner: FactorOwner, passkey: Passkey): Promise<boolean>
  renamePasskey(owner: FactorOwner, id: string, name: string): Promise<boolean>
  removePasskey(owner: FactorOwner, id: string): Promise<boolean>
  /** Takes the place of an earlier secret. */
  setTotp(owner: FactorOwner, totp: Totp): Promise<boolean>
  removeTotp(owner: FactorOwner): Promise<boolean>
  /** The new codes as they are shown; those before end. */
  renewRecoveryCodes(owner: FactorOwner): Promise<readonly string[] | undefined>
  removeRecoveryCodes(owner: FactorOwner): Promise<boolean>
  /** A code that stands in for a factor once. */
  bypass(owner: FactorOwner, seconds: number): ReturnType<RecoveryCodes['bypass']>
  /** Removes every factor and code. */
  reset(owner: FactorOwner): Promise<boolean>
  /** Every browser is asked again. */
  forgetDevices(owner: FactorOwner): Promise<boolean>
}

/** One instance serves every zone. */
export function createFactorChanges(deps: {
  readonly store: Store
  readonly audit: Audit
  readonly recoveryCodes: RecoveryCodes
}): FactorChanges {
  const { recoveryCodes, audit } = deps
  const { factors } = deps.store

  function report(
    { zone, user, from, byOther }: FactorOwner,
    event: { readonly type: AuditEventType; readonly data: string },
  ): void {
    audit({ ...event, zoneId: zone.id, principal: user.id, origin: user.origin, ...from, ...(byOther && { byOther }) })
  }

  /** Reports the change if there was one. */
  async function reported<T>(
    owner: FactorOwner,
    change: Promise<T>,
    { event, data }: { readonly event: 'Added' | 'Modified' | 'Removed'; readonly data: string },
  ): Promise<T> {
    const result = await change
    if (result !== false && result !== undefined) report(owner, { type: `MfaFactor${event}Event`, data })
    return result
  }

  return {
    addPasskey: (owner, passkey) =>
      reported(owner, factors.addPasskey(owner.zone.id, passkey, MAX_PASSKEYS, methodsOf(owner)), {
        event: 'Added',
        data: 'passkey',
      }),
    renamePasskey: (owner, id, name) =>
      reported(owner, factors.renamePasskey(owner.zone.id, { userId: owner.user.id, id }, name), {
        event: 'Modified',
        data: 'passkey',
      }),
    removePasskey: (owner, id) =>
      reported(owner, factors.removePasskey(owner.zone.id, { userId: owner.user.id, id }), {
        event: 'Removed',
        data: 'passkey',
      }),
    setTotp: (owner, totp) =>
      reported(owner, factors.setTotp(owner.zone.id, owner.user.id, totp, methodsOf(owner)), {
        event: 'Added',
        data: 'totp',
      }),
    removeTotp: owner =>
      reported(owner, factors.removeTotp(owner.zone.id, owner.user.id), { event: 'Removed', data: 'totp' }),
    renewRecoveryCodes: owner =>
      reported(owner, recoveryCodes.renew(owner.zone.id, owner.user.id), { event: 'Added', data: 'recovery codes' }),
    removeRecoveryCodes: owner =>
      reported(owner, factors.removeCodes(owner.zone.id, owner.user.id, 'recovery'), {
        event: 'Removed',
        data: 'recovery codes',
      }),
    bypass: (owner, seconds) =>
      reported(owner, recoveryCodes.bypass(owner.zone.id, owner.user.id, seconds), { event: 'Added', data: 'bypass' }),
    reset: owner => reported(owner, factors.reset(owner.zone.id, owner.user.id), { event: 'Removed', data: 'all' }),
    forgetDevices: owner =>
      reported(owner, factors.forgetDevices(owner.zone.id, owner.user.id), {
        event: 'Modified',
        data: 'remembered devices',
      }),
  }
}

const methodsOf = ({ user }: FactorOwner): readonly FactorMethod[] => user.factors?.methods ?? []
