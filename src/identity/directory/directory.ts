// Authenticates users against a directory (LDAP, RFC 4511): failover between its servers, and what is kept of it for the
// next sign-in; password-check.ts has the LDAP operations. base/outbound.ts and message-stream.ts limit time and data of a directory.
// See docs/decisions/0017-ldap-directories.md.
import { hasControlCharacter } from '../../base/text/control-characters.ts'
import type { Clock } from '../../base/clock.ts'
import type { Requester } from '../../base/concurrency/fair-queue.ts'
import type { OutboundConnections } from '../../base/outbound.ts'
import { OutboundError } from '../../base/outbound.ts'
import type { Passwords } from '../../base/passwords.ts'
import type { Random } from '../../base/random.ts'
import type { DirectoryGroup } from './groups.ts'
import { createDirectoryStates } from './directory-states.ts'
import type { DirectoryState } from './directory-states.ts'
import { bindAccount, checkPassword } from './password-check.ts'
import type { DirectoryEntry, DirectorySession, KeepableSession } from './session.ts'
import { DirectoryError } from './directory-error.ts'
import type { DirectorySettings, DirectoryUrl } from '../../providers/directory-settings.ts'
import { UnusableDirectory } from '../../providers/directory-settings.ts'

/** The result for a name and password; reasons are for the log and for the provider's administrator. */
export type DirectoryResult =
  | { readonly outcome: 'found'; readonly entry: DirectoryEntry; readonly groups: readonly DirectoryGroup[] }
  | { readonly outcome: 'bad-credentials' }
  | { readonly outcome: 'misconfigured'; readonly reason: string }
  | {
      readonly outcome: 'unreachable'
      readonly reason: string
      /** `untrusted`: its certificate could not be verified. */
      readonly because: 'untrusted' | 'no-answer'
    }

/** A user name and password as they were typed. */
export interface DirectoryAttempt {
  readonly userName: string
  readonly password: string
  /** The zone of the provider and the remote address, for their share of connections and hashing. */
  readonly requester?: Requester
  /** The provider whose connections are kept; without it, nothing is kept and every server is tried. */
  readonly provider?: string
}

/** Authenticates against directories. */
export interface Directories {
  /**
   * Finds the user, checks the password and reads the groups; throws `QueueFull` if too many wait, `OutboundBusy`, or for an
   * internal fault.
   */
  authenticate(settings: DirectorySettings, attempt: DirectoryAttempt): Promise<DirectoryResult>
  /** Ends the connections that are kept. */
  close(): void
}

/** Dependencies of `createDirectories`. */
export interface DirectoryDeps {
  readonly outbound: OutboundConnections
  readonly passwords: Pick<Passwords, 'verify'>
  readonly clock: Clock
  readonly random: Random
}

/** For all addresses together. */
const TIMEOUT_MS = 5000
/** Characters. No directory has longer names, and its error for such a DN could differ from the usual one. */
const MAX_NAME_LENGTH = 1000

const BAD_CREDENTIALS = { outcome: 'bad-credentials' } as const

/** One instance serves all directories. */
export function createDirectories(deps: DirectoryDeps): Directories {
  const states = createDirectoryStates(deps)

  async function askServers(
    urls: readonly DirectoryUrl[],
    question: Omit<Question, 'url' | 'withinMs'>,
  ): Promise<DirectoryResult> {
    const withinMs = Math.floor(TIMEOUT_MS / urls.length)
    let result: DirectoryResult = NOT_ASKED
    for (const url of urls) {
      result = await askServer({ ...question, url, withinMs }, deps)
      if (result.outcome !== 'unreachable') return result
    }
    return result
  }

  return {
    close: () => states.close(),
    async authenticate(settings, attempt) {
      const { userName, password, provider, requester } = attempt
      // RFC 4513 §5.1.2: a bind with an empty password succeeds without authentication. No directory has the other names.
      if (password === '' || userName.trim() === '') return BAD_CREDENTIALS
      if (hasControlCharacter(userName) || hasControlCharacter(password)) return BAD_CREDENTIALS
      if (!userName.isWellFormed() || !password.isWellFormed() || userName.length > MAX_NAME_LENGTH)
        return BAD_CREDENTIALS
      if (provider === undefined) return askServers(settings.urls, { settings, attempt })
      const directory = states.of(JSON.stringify([requester?.zoneId, provider]), settings)
      return directory.queue.run(requester ?? NO_REQUESTER, () =>
        askServers(directory.servers(), { settings, attempt, directory }),
      )
    },
  }
}

const NO_REQUESTER: Requester = { zoneId: '', address: undefined }
const NOT_ASKED: DirectoryResult = {
  outcome: 'unreachable',
  reason: 'no server responded to recent sign-ins; a later one will try again',
  because: 'no-answer',
}

interface Question {
  readonly settings: DirectorySettings
  readonly attempt: DirectoryAttempt
  /** The cached state of a directory. */
  readonly directory?: DirectoryState
  readonly url: DirectoryUrl
  readonly withinMs: number
}

/** Tries one server; retries once if a kept connection had been closed. */
async function askServer(question: Question, deps: DirectoryDeps): Promise<DirectoryResult> {
  const { settings, attempt, directory, url, withinMs } = question
  const { requester } = attempt
  const share = requester && ({ zoneId: requester.zoneId, purpose: directory ? 'directory' : 'background' } as const)
  /** The connection of the search account; a kept one stays open afterwards. */
  let account: KeepableSession | undefined
  let isOver = false
  /** Whether the delay is on this server and not at the directory. */
  let isComparing = false
  const passwords: DirectoryDeps['passwords'] = {
    async verify(...compared) {
      isComparing = true
      try {
        return await deps.passwords.verify(...compared)
      } finally {
        isComparing = false
      }
    },
  }
  try {
    const result = await deps.outbound.connect({ ...url, withinMs, ...(share && { share }) }, async (open, keep) => {
      account = directory?.take(url)
      const wasKept = account !== undefined
      const exchange = async (): Promise<DirectoryResult> =>
        checkPassword({ ...deps, passwords, settings, attempt, url, open, account: bound })
      const bound = async (): Promise<DirectorySession> => (account ??= await bindAccount({ settings, url, open }))
      const answer = await exchange().catch((cause: unknown) => {
        const hasEnded = cause instanceof DirectoryError && cause.failure === 'unreachable'
        if (!wasKept || !hasEnded || isOver) throw cause
        directory?.drop(url)
        account?.close()
        account = undefined
        return exchange()
      })
      if (account && directory && !isOver) {
        directory.give(url, account, keep)
        account = undefined
      }
      return answer
    })
    directory?.answered(url)
    return result
  } catch (cause) {
    // Failures that depend on the typed name, such as an oversized entry or an expensive hash, must not block other users.
    const isSilent = cause instanceof OutboundError && (cause.failure === 'timeout' || cause.failure === 'unreachable')
    if (isSilent && !isComparing) directory?.failed(url)
    return resultOf(cause, url)
  } finally {
    isOver = true
    account?.close()
  }
}

function resultOf(cause: unknown, { hostname, port }: DirectoryUrl): DirectoryResult {
  if (cause instanceof OutboundError) {
    return { outcome: 'unreachable', reason: cause.message, because: 'no-answer' }
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
