// The three ways to find a user of a directory and check the password, at one of its servers.
import type { OpenConnection } from '../../base/outbound.ts'
import type { Passwords } from '../../base/passwords.ts'
import type { Random } from '../../base/random.ts'
import type { DirectoryAttempt, DirectoryResult } from './directory.ts'
import { findGroups } from './groups.ts'
import { loginNameOf } from './login-name.ts'
import { dnValue, readFilter } from './names.ts'
import type { DirectoryEntry, DirectorySession, KeepableSession } from './session.ts'
import { asMisconfigured, DirectoryError } from './directory-error.ts'
import { openSession } from './session.ts'
import type {
  DirectoryProfile,
  DirectorySettings,
  DirectoryUrl,
  UserSearch,
} from '../../providers/directory-settings.ts'
import { costOf, isStoredPassword } from './stored-password.ts'

/** More than any entry has. */
const MAX_STORED_PASSWORDS = 16

const BAD_CREDENTIALS = { outcome: 'bad-credentials' } as const

/** One check of a name and password, at one server. */
interface DirectoryRequest {
  readonly settings: DirectorySettings
  readonly attempt: DirectoryAttempt
  readonly url: DirectoryUrl
  readonly open: OpenConnection
  /** The session of the search account; anonymous if none is configured. */
  readonly account: () => Promise<DirectorySession>
  readonly passwords: Pick<Passwords, 'verify'>
  readonly random: Random
}

/** Finds the user, checks the password and reads the groups. */
export async function checkPassword(request: DirectoryRequest): Promise<DirectoryResult> {
  const { settings, attempt } = request
  const { profile } = settings
  const found =
    profile.kind === 'simple-bind'
      ? await bindByPattern(request, profile.patterns)
      : await searchAndCheck(request, profile)
  if (!found) return BAD_CREDENTIALS
  const { entry, session } = found
  // If users are found by several attributes, they may be able to change some of them, but groups list members by name.
  const { text: userName } = loginNameOf({ typedName: attempt.userName, entry }, settings)
  const groups = await asMisconfigured('groups', findGroups(settings.groups, { entry, userName }, session))
  return { outcome: 'found', entry, groups }
}

/** The entry of a user whose password was correct, and the session for searching groups. */
interface Found {
  readonly entry: DirectoryEntry
  readonly session: DirectorySession
}

type Connecting = Pick<DirectoryRequest, 'open' | 'url' | 'settings'>

const connectionOf = ({ open, url, settings }: Connecting): Promise<KeepableSession> => openSession(open, url, settings)

/** Binds with the password on a separate connection, so that a failed bind leaves no state. Undefined if refused. */
async function bindAs(
  request: DirectoryRequest,
  dn: string,
  password = request.attempt.password,
): Promise<DirectorySession | undefined> {
  const session = await connectionOf(request)
  try {
    await session.bind(dn, password)
    return session
  } catch (cause) {
    const isRefused = cause instanceof DirectoryError && (cause.failure === 'refused' || cause.failure === 'missing')
    if (isRefused) return undefined
    throw cause
  }
}

/** An unknown name takes as long as a wrong password: a connection and a bind, with nothing of what was typed. */
async function bindAnonymously(request: DirectoryRequest, { base }: UserSearch): Promise<void> {
  const { random } = request
  await bindAs(request, `cn=${random.hex(16)},${base}`, random.hex(16)).catch((cause: unknown) => {
    if (!(cause instanceof DirectoryError)) throw cause
  })
}

/** A new session bound as the search account. */
export async function bindAccount(request: Connecting): Promise<KeepableSession> {
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
    return { entry, session: searches ? await request.account() : session }
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
  const session = await request.account()
  const comparison = profile.kind === 'search-and-compare' ? profile.compare : undefined
  const attributes = [...settings.attributes, ...(comparison?.by === 'server' ? [comparison.attribute] : [])]
  const whole = await findOne(session, { ...profile.search, filter, attributes, refuses: settings.refusesReferrals })
  if (!whole) {
    if (!comparison) await bindAnonymously(request, profile.search)
    return undefined
  }
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
  // In many directories users can write their own entry: all values together may take no longer than one.
  let left = 1
  for (const value of stored) {
    left -= costOf(value)
    if (left < 0) break
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
  // RFC 4513 §5.1.2: a bind with an empty name is anonymous. The library interprets a bare word as a SASL mechanism.
  if (!entry.dn.includes('=')) throw new DirectoryError('misconfigured', 'userSearchBase: the entry has no name')
  return entry
}
