// The codes of self-service: issued for one purpose, stored as digests, redeemed once. Redeeming a code returns the data that
// it was issued with.
import { addSeconds } from '../base/clock.ts'
import type { Clock } from '../base/clock.ts'
import type { Random } from '../base/random.ts'
import { digest } from '../base/secrets.ts'
import type { OneTimeCode } from '../model/tokens/token.ts'
import type { User } from '../model/users/user.ts'
import type { Zone } from '../model/zones/zone.ts'
import type { Store } from '../store/store.ts'
import type { GroupCaller } from '../users/groups/group-rights.ts'

/** The client for which the user began, and the URL to go to afterwards; from the request, not yet checked. */
export interface RequestedReturn {
  readonly clientId?: string | undefined
  readonly redirectUri?: string | undefined
}

/** The data of a code besides the account, by purpose. */
interface CodeData {
  readonly autologin: { readonly clientId: string }
  readonly 'password-reset': RequestedReturn
  /**
   * `passwordHash`: of the password chosen with this request, which becomes that of the account; `browser`: the digest of
   * the browser that sent it. Neither where an administrator requested the link.
   */
  readonly 'sign-up': RequestedReturn & { readonly passwordHash?: string; readonly browser?: string | undefined }
  readonly 'email-change': RequestedReturn & { readonly email: string }
  readonly 'email-verification': RequestedReturn & { readonly email: string }
  readonly invitation: RequestedReturn & {
    /** The account's value at the invitation; a later invitation changes it. */
    readonly origin: string
    /** For an unverified account: the password that the user may replace. */
    readonly passwordRevision?: string
    /** Rights of the inviter, who also has the link: it cannot set the password of an account that has gained more rights since. */
    readonly inviter: Pick<GroupCaller, 'scopes' | 'ofDefaultZone'>
  }
}

/** The purposes of codes that stand for an account. */
type AccountPurpose = keyof CodeData

/** Lifetimes of the codes, in seconds. */
const SECONDS: Readonly<Record<AccountPurpose, number>> = {
  autologin: 5 * 60,
  'password-reset': 30 * 60,
  'sign-up': 60 * 60,
  'email-change': 30 * 60,
  'email-verification': 30 * 60,
  invitation: 7 * 24 * 60 * 60,
}

/** Purposes whose codes become invalid when the account's password changes. */
const END_WITH_PASSWORD: ReadonlySet<AccountPurpose> = new Set([
  'autologin',
  'password-reset',
  'email-change',
  'email-verification',
])

/** Purposes whose codes become invalid when the account gets another user name, which may be another user's. */
const END_WITH_NAME: ReadonlySet<AccountPurpose> = new Set(['password-reset'])

/** 192 bits. */
export const CODE_LENGTH = 32
const FORMAT = /^[\w-]{32}$/

/** Whether the string has the form of a code. */
export const isCode = (value: string): boolean => FORMAT.test(value)

/** Dependencies of codes. */
export interface CodeDeps {
  readonly store: Pick<Store, 'oneTimeCodes' | 'users'>
  readonly clock: Clock
  readonly random: Random
}

/** A new code. */
export interface NewCode {
  readonly value: string
  readonly expiresAt: Date
}

/** A valid code, with the current account. */
export interface ValidCode<P extends AccountPurpose> {
  readonly user: User
  readonly data: CodeData[P]
  readonly expiresAt: Date
}

/**
 * Issues a code for the account; for purposes with one code per account, it invalidates the earlier one. A code that takes the
 * place of a redeemed one ends when that would have ended: `endsAt`.
 */
export async function issueCode<P extends AccountPurpose>(
  zone: Zone,
  { purpose, user, data, endsAt }: { purpose: P; user: User; data: CodeData[P]; endsAt?: Date | undefined },
  { store, clock, random }: CodeDeps,
): Promise<NewCode> {
  const value = random.urlSafe(CODE_LENGTH)
  const expiresAt = endsAt ?? addSeconds(clock.now(), SECONDS[purpose])
  await store.oneTimeCodes.save(zone.id, {
    zoneId: zone.id,
    purpose,
    userId: user.id,
    ...(END_WITH_PASSWORD.has(purpose) && { passwordRevision: user.passwordRevision }),
    data: JSON.stringify({
      address: user.email,
      ...(END_WITH_NAME.has(purpose) && { userName: user.userName }),
      data,
    } satisfies StoredCode<P>),
    codeDigest: digest(value),
    expiresAt,
  })
  return { value, expiresAt }
}

/** The contents of the code, without consuming it: for the page that a mailed link opens. Undefined if it is invalid. */
export async function peekCode<P extends AccountPurpose>(
  zone: Zone,
  { purpose, value }: { purpose: P; value: string },
  deps: Omit<CodeDeps, 'random'>,
): Promise<ValidCode<P> | undefined> {
  if (!isCode(value)) return undefined
  return readCode(zone, await deps.store.oneTimeCodes.find(zone.id, purpose, digest(value)), deps)
}

/** Consumes the code; undefined if it is invalid. Of two concurrent requests, only one gets it. */
export const redeemCode = <P extends AccountPurpose>(
  zone: Zone,
  asked: { purpose: P; value: string },
  deps: Omit<CodeDeps, 'random'>,
): Promise<ValidCode<P> | undefined> => spendCode(zone, { ...asked, on: code => Promise.resolve(code) }, deps)

/** The same, for work that may throw, as on a busy server: then the code stays valid. */
export async function spendCode<P extends AccountPurpose, T>(
  zone: Zone,
  { purpose, value, on }: { purpose: P; value: string; on: (code: ValidCode<P>) => Promise<T> },
  deps: Omit<CodeDeps, 'random'>,
): Promise<T | undefined> {
  if (!isCode(value)) return undefined
  const { oneTimeCodes } = deps.store
  const stored = await oneTimeCodes.redeem(zone.id, purpose, digest(value))
  if (!stored) return undefined
  try {
    const code = await readCode<P>(zone, stored, deps)
    return code && (await on(code))
  } catch (error) {
    await oneTimeCodes.restore(zone.id, stored)
    throw error
  }
}

/** The stored data of a code. */
interface StoredCode<P extends AccountPurpose> {
  /** The account's address when the code was issued: access to that mailbox gives no right to the account under another address. */
  readonly address: string
  /** Absent if the purpose does not depend on it, and in codes of older versions. */
  readonly userName?: string
  readonly data: CodeData[P]
}

/**
 * Invalid: unknown, expired, of a deleted or inactive account, of an earlier address or, where it matters, of an
 * earlier password or user name.
 */
async function readCode<P extends AccountPurpose>(
  zone: Zone,
  code: OneTimeCode | undefined,
  { store, clock }: Omit<CodeDeps, 'random'>,
): Promise<ValidCode<P> | undefined> {
  if (code?.userId === undefined || code.expiresAt <= clock.now()) return undefined
  const user = await store.users.find(zone.id, code.userId)
  if (!user?.active) return undefined
  if (code.passwordRevision !== undefined && code.passwordRevision !== user.passwordRevision) return undefined
  const { address, userName, data } = JSON.parse(code.data ?? '{}') as StoredCode<P> // written by issueCode for the same purpose
  if (userName !== undefined && userName !== user.userName) return undefined
  return address === user.email ? { user, data, expiresAt: code.expiresAt } : undefined
}
