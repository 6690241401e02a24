// Authenticates users against a directory (LDAP, RFC 4511): the three ways to find a user and check a password, and
// failover between addresses. base/outbound.ts and message-stream.ts limit the time and data that a directory may take.
// See docs/decisions/0017-ldap-directories.md.
import { hasControlCharacter } from '../../base/control-characters.ts'
import type { Requester } from '../../base/fair-queue.ts'
import type { OpenConnection, OutboundConnections, OutboundServer } from '../../base/outbound.ts'
import { OutboundError } from '../../base/outbound.ts'
import type { Passwords } from '../../base/passwords.ts'
import type { DirectoryGroup } from './groups.ts'
import { findGroups } from './groups.ts'
import { dnValue, readFilter } from './names.ts'
import type { DirectoryEntry, DirectorySession } from './session.ts'
import { DirectoryError, openSession } from './session.ts'
import type { DirectoryProfile, DirectorySettings, DirectoryUrl, UserSearch } from './settings.ts'
import { UnusableDirectory } from './settings.ts'
import { isStoredPassword } from './stored-password.ts'

/** The result for a name and password; reasons are for the log and for the provider's administrator. */
export type DirectoryResult =
  | { readonly outcome: 'found'; readonly entry: DirectoryEntry; readonly groups: readonly DirectoryGroup[] }
  | { readonly outcome: 'bad-credentials' }
  | { readonly outcome: 'misconfigured'; readonly reason: string }
  | {
      readonly outcome: 'unreachable'
      readonly reason: string
      /** `busy`: too many concurrent requests. `untrusted`: its certificate could not be verified. */
      readonly because: 'busy' | 'untrusted' | 'no-answer'
    }

/** A user name and password as they were typed. */
export interface DirectoryAttempt {
  readonly userName: string
  readonly password: string
  /** The zone of the provider and the remote address, for their share of connections and hashing. */
  readonly requester?: Requester
}

/** Authenticates against directories. */
export interface Directories {
  /** Finds the user, checks the password and reads the groups; throws `TooManyHashes`, or for an internal fault. */
  authenticate(settings: DirectorySettings, attempt: DirectoryAttempt): Promise<DirectoryResult>
}

/** Dependencies of `createDirectories`. */
export interface DirectoryDeps {
  readonly outbound: OutboundConnections
  readonly passwords: Pick<Passwords, 'verify'>
}

/** For all addresses together. */
const TIMEOUT_MS = 5000
/** Characters. No directory has longer names, and its error for such a DN could differ from that for any other. */
const MAX_NAME_LENGTH = 1000
/** More than any entry has. */
const MAX_STORED_PASSWORDS = 16

const BAD_CREDENTIALS = { outcome: 'bad-credentials' } as const

/** One instance serves all directories. */
export function createDirectories({ outbound, passwords }: DirectoryDeps): Directories {
  async function authenticate(settings: DirectorySettings, attempt: DirectoryAttempt): Promise<DirectoryResult> {
    const { userName, password } = attempt
    // RFC 4513 §5.1.2: a bind with an empty password succeeds without authentication. No directory has the other names.
    if (password === '' || userName.trim() === '') return BAD_CREDENTIALS
    if (hasControlCharacter(userName) || hasControlCharacter(password)) return BAD_CREDENTIALS
    if (!userName.isWellFormed() || !password.isWellFormed() || userName.length > MAX_NAME_LENGTH)
      return BAD_CREDENTIALS
    const withinMs = Math.floor(TIMEOUT_MS / settings.urls.length)
    let result: DirectoryResult = BAD_CREDENTIALS // `urls` is never empty
    for (const url of settings.urls) {
      result = await outbound
        .connect({ ...url, withinMs, ...shareOf(attempt) }, open => ask({ settings, attempt, url, open, passwords }))
        .catch((cause: unknown) => resultOf(cause, url))
      if (result.outcome !== 'unreachable') return result
    }
    return result
  }
  return { authenticate }
}

function shareOf({ requester }: DirectoryAttempt): Pick<OutboundServer, 'share'> {
  return requester ? { share: { zoneId: requester.zoneId, purpose: 'background' } } : {}
}

function resultOf(cause: unknown, { hostname, port }: DirectoryUrl): DirectoryResult {
  if (cause instanceof OutboundError) {
    return {
      outcome: 'unreachable',
      reason: cause.message,
      because: cause.failure === 'busy' ? 'busy' : 'no-answer',
    }
  }
  if (cause instanceof UnusableDirectory) return { outcome: 'misconfigured', reason: cause.message }
  if (!(cause instanceof DirectoryError)) throw cause
  const { failure, message } = cause
  if (failure === 'unreachable' || failure === 'untrusted') {
    const because = failure === 'untrusted' ? failure : 'no-answer'
    return { outcome: 'unreachable', reason: `${hostname}:${port}: ${message}`, because }
  }
  return { outcome: 'misconfigured', reason: message }
}

interface DirectoryRequest {
  readonly settings: DirectorySettings
  readonly attempt: DirectoryAttempt
  readonly url: DirectoryUrl
  readonly open: OpenConnection
  readonly passwords: Pick<Passwords, 'verify'>
}

async function ask(request: DirectoryRequest): Promise<DirectoryResult> {
  const { settings, attempt } = request
  const { profile } = settings
  const found =
    profile.kind === 'simple-bind'
      ? await bindByPattern(request, profile.patterns)
      : await searchAndCheck(request, profile)
  if (!found) return BAD_CREDENTIALS
  const { entry, session } = found
  const groups = await asMisconfigured(
    'groups',
    findGroups(settings.groups, { entry, userName: attempt.userName }, session),
  )
  return { outcome: 'found', entry, groups }
}

/** The entry of a user whose password was correct, and the session for searching groups. */
interface Found {
  readonly entry: DirectoryEntry
  readonly session: DirectorySession
}

const connectionOf = ({ open, url, settings }: DirectoryRequest): Promise<DirectorySession> =>
  openSession(open, url, settings.verifiesCertificate)

/** Binds with the password on a separate connection, so that a failed bind leaves no state. Undefined if refused. */
async function bindAs(request: DirectoryRequest, dn: string): Promise<DirectorySession | undefined> {
  const session = await connectionOf(request)
  try {
    await session.bind(dn, request.attempt.password)
    return session
  } catch (cause) {
    const isRefused = cause instanceof DirectoryError && (cause.failure === 'refused' || cause.failure === 'missing')
    if (isRefused) return undefined
    throw cause
  }
}

/** A session bound as the search account; anonymous if none is configured. */
async function serviceSession(request: DirectoryRequest): Promise<DirectorySession> {
  const { account } = request.settings
  const session = await connectionOf(request)
  if (account) await asMisconfigured('bindUserDn', session.bind(account.dn, account.password))
  return session
}

async function bindByPattern(request: DirectoryRequest, patterns: readonly string[]): Promise<Found | undefined> {
  const { settings, attempt } = request
  const name = dnValue(attempt.userName)
  for (const pattern of patterns) {
    const dn = pattern.replaceAll('{0}', () => name)
    const session = await bindAs(request, dn)
    if (!session) continue
    const { attributes } = settings
    const { entries } = await asMisconfigured(
      'own entry',
      session.search({ base: dn, scope: 'base', attributes, sizeLimit: 1 }),
    )
    const [entry] = entries
    if (!entry) throw new DirectoryError('misconfigured', 'own entry: cannot be read')
    const searches = settings.groups.kind === 'search' && settings.account
    return { entry, session: searches ? await serviceSession(request) : session }
  }
  return undefined
}

async function searchAndCheck(
  request: DirectoryRequest,
  profile: Exclude<DirectoryProfile, { kind: 'simple-bind' }>,
): Promise<Found | undefined> {
  const { settings, attempt } = request
  const template = await readFilter(profile.search.filter, 'userSearchFilter')
  const filter = template({ '{0}': attempt.userName, '{1}': attempt.userName })
  const session = await serviceSession(request)
  const comparison = profile.kind === 'search-and-compare' ? profile.compare : undefined
  const attributes = [...settings.attributes, ...(comparison?.by === 'server' ? [comparison.attribute] : [])]
  const whole = await findOne(session, { ...profile.search, filter, attributes, refuses: settings.refusesReferrals })
  if (!whole) return undefined
  if (!comparison) return (await bindAs(request, whole.dn)) ? { entry: whole, session } : undefined
  if (comparison.by === 'directory') {
    const isSame = await session.compare(whole.dn, comparison.attribute, attempt.password).catch((cause: unknown) => {
      if (cause instanceof DirectoryError && cause.failure === 'missing') return false
      throw cause
    })
    return isSame ? { entry: whole, session } : undefined
  }
  const name = comparison.attribute.toLowerCase()
  const stored = (whole.attributes.get(name) ?? []).slice(0, MAX_STORED_PASSWORDS)
  for (const value of stored) {
    if (
      !(await isStoredPassword(value, attempt.password, {
        verify: (hash, password) => request.passwords.verify(hash, password, attempt.requester),
      }))
    )
      continue
    // Drop the stored password.
    const remaining = new Map([...whole.attributes].filter(([each]) => each !== name))
    return { entry: { ...whole, attributes: remaining }, session }
  }
  return undefined
}

/** The only entry that the filter matches; undefined for none or several. */
async function findOne(
  session: DirectorySession,
  search: Omit<UserSearch, 'filter'> & {
    readonly filter: Parameters<DirectorySession['search']>[0]['filter'] & object
    readonly attributes: readonly string[]
    readonly refuses: boolean
  },
): Promise<DirectoryEntry | undefined> {
  const { base, filter, attributes, refuses } = search
  const answer = session.search({ base, scope: 'sub', filter, attributes, sizeLimit: 2 })
  const { entries, isPartial } = await asMisconfigured('userSearchBase', answer)
  if (isPartial && refuses) throw new DirectoryError('misconfigured', 'userSearchBase: the directory refers to another')
  const [entry, second] = entries
  if (!entry || second) return undefined
  // RFC 4513 §5.1.2: a bind with an empty name is anonymous. The library takes a bare word for a SASL mechanism.
  if (!entry.dn.includes('=')) throw new DirectoryError('misconfigured', 'userSearchBase: the entry has no name')
  return entry
}

/** Reports a refused account or search base as misconfiguration, naming the setting. */
async function asMisconfigured<T>(subject: string, work: Promise<T>): Promise<T> {
  try {
    return await work
  } catch (cause) {
    if (!(cause instanceof DirectoryError) || cause.failure === 'unreachable' || cause.failure === 'untrusted')
      throw cause
    throw new DirectoryError('misconfigured', `${subject}: ${cause.message}`)
  }
}
