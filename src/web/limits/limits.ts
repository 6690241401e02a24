// The limits that are always on, and high enough for users; they hold across all processes on one database. Those that
// operators configure by path and caller are in rate-limit.ts.
import { networkOf, siteOf } from '../../base/network-address.ts'
import { normalized } from '../../base/text/normalized.ts'
import { digest } from '../../base/secrets.ts'
import { createSharedLimits } from './shared-limits.ts'
import type { Allowance, SharedLimit, SharedLimitDeps } from './shared-limits.ts'

const MINUTE = 60
const HOUR = 3600

/** Every limit, by the name that metrics have for it. */
export const ALLOWANCES = {
  /** Wrong passwords, by address and user name: for accounts without lockout, and for unknown names. */
  wrongPasswords: { max: 100, seconds: MINUTE },
  /** The same by network, for all names together: against trying one password with many names. */
  wrongPasswordsAt: { max: 1000, seconds: MINUTE },
  /** Wrong passcodes, by address and client. */
  wrongPasscodes: { max: 100, seconds: MINUTE },
  /** Wrong secrets in client authentication, by address and client, so that callers elsewhere cannot lock a client out. */
  wrongClientSecrets: { max: 100, seconds: MINUTE },
  /** The same by network, for all clients together. */
  wrongClientSecretsAt: { max: 1000, seconds: MINUTE },
  /** Wrong old secrets in a client's change of its own secret, by client. */
  wrongSecrets: { max: 100, seconds: MINUTE },
  /** Passcodes that a user requests; each is a database write. */
  newPasscodes: { max: 60, seconds: MINUTE },
  /** Mails that anonymous callers can cause to be sent to one address, whether or not it has an account. */
  mailsTo: { max: 10, seconds: HOUR },
  /** The same by network. */
  mailsBy: { max: 300, seconds: HOUR },
  /** The same by zone: one zone must not use up the mail server's capacity for all. */
  mailsOfZone: { max: 10_000, seconds: HOUR },
  /** Changes of the user's own second factors and password, by user: each sends a mail, perhaps to another user. */
  ownChanges: { max: 30, seconds: HOUR },
  /** Codes that devices request, by network. */
  deviceCodes: { max: 100, seconds: MINUTE },
  /** Invalid device codes that a user entered, by user. */
  wrongUserCodes: { max: 10, seconds: 5 * MINUTE },
  /** The same by address: more, because one user must not lock out all others at an address. */
  wrongUserCodesAt: { max: 100, seconds: 5 * MINUTE },
  /** DPoP proofs sent with an invalid grant, of clients without a credential, by address. */
  vainProofs: { max: 300, seconds: MINUTE },
  /** Registrations of clients by anonymous callers, by network, and changes that such a client makes to itself. */
  registrations: { max: 60, seconds: HOUR },
  /** Requests pushed for a client without a credential, by address and client. */
  anonymousPushes: { max: 300, seconds: MINUTE },
  /** Metadata documents fetched for unknown clients, by zone. */
  documentFetches: { max: 60, seconds: MINUTE },
} as const satisfies Record<string, Allowance>

type LimitName = keyof typeof ALLOWANCES

/** The limits that are always on. */
export type Limits = Readonly<Record<LimitName, SharedLimit>>

/** Creates every limit. */
export function createLimits({
  log,
  ...deps
}: Omit<SharedLimitDeps, 'onError'> & { readonly log: { fault(message: string, cause: unknown): void } }): Limits {
  const onError = (cause: unknown): void => log.fault('limits could not be counted across processes', cause)
  const shared = createSharedLimits({ ...deps, onError })
  const opened = Object.entries(ALLOWANCES).map(([name, allowance]) => [name, shared.open(name, allowance)] as const)
  return Object.fromEntries(opened) as Limits // whose keys are those of the record
}

/** A key made of the address, the zone and what was tried, hashed to a fixed length. */
export const callerKey = (
  { zone, remoteAddress }: { readonly zone: { readonly id: string }; readonly remoteAddress: string | undefined },
  ...tried: readonly string[]
): string => digest(JSON.stringify([networkOf(remoteAddress ?? ''), zone.id, ...tried]))

/** The same by the whole network of an IPv6 address: for limits that must not multiply with the addresses of a caller. */
export const siteKey = (
  { zone, remoteAddress }: Parameters<typeof callerKey>[0],
  ...tried: readonly string[]
): string => digest(JSON.stringify([siteOf(remoteAddress ?? ''), zone.id, ...tried]))

/**
 * The key for guesses at a user's password: the name without case, spaces, accents and invisible characters. Directories take
 * some such spellings for one name, which must share their guesses; it does no harm that other names share a count, too.
 */
const guessKey = (from: Parameters<typeof callerKey>[0], userName: string): string =>
  callerKey(
    from,
    normalized(userName, 'NFKD')
      .replace(/[\p{M}\p{Cf}\p{Z}]+/gu, '')
      .toUpperCase(),
  )

/** A sign-in by name. */
interface NamedSignIn {
  readonly from: Parameters<typeof callerKey>[0]
  readonly userName: string
}

/** Runs the attempt and counts it if it is refused, by name and address and by network. It counts while it runs. */
export function limitedSignIn<T extends { readonly outcome: string }>(
  { wrongPasswords, wrongPasswordsAt }: Pick<Limits, 'wrongPasswords' | 'wrongPasswordsAt'>,
  { from, userName }: NamedSignIn,
  work: () => Promise<T>,
): Promise<T> {
  const isRefused = ({ outcome }: T): boolean => outcome === 'refused'
  return wrongPasswords.attempt(
    guessKey(from, userName),
    () => wrongPasswordsAt.attempt(siteKey(from, 'password'), work, isRefused),
    isRefused,
  )
}
