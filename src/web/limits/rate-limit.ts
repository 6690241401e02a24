// The rate limiter that operators configure by path and caller. Runs before zone lookup and authentication; a token's
// claims count only if the same token was verified recently. Fixed windows, bounded in number, counted per process.
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Clock } from '../../base/clock.ts'
import { networkOf } from '../../base/network-address.ts'
import { digest } from '../../base/secrets.ts'
import type { LimitKind, LimiterMapping, RateLimitSettings } from '../../model/zones/rate-limit.ts'
import type { Urls } from '../../model/urls.ts'
import { tooManyAttempts } from '../../pages/texts/texts.ts'
import type { TokenReader } from '../../token/reader.ts'
import { createCredentialReader } from './caller-credential.ts'
import type { CredentialReader } from './caller-credential.ts'
import { securityHeaders } from '../headers.ts'
import { createLocalLimit } from './local-limit.ts'
import type { LocalLimit } from './local-limit.ts'
import type { PageWriter } from '../pages.ts'

/** The limit that a request exceeded. */
interface Excess {
  /** Name of the mapping. */
  readonly name: string
  readonly type: LimitType
  readonly retryAfterSeconds: number
}

/** What a limit counts by, as named in the answer. */
type LimitType = 'CredentialsID' | 'RemoteAddressID' | 'NoID' | 'Global'

/** The caller; read only if a limit needs it. */
interface Caller {
  credential(): string | undefined
  address(): string
}

/** Counts requests against the configured limits. */
interface RateLimiter {
  /** Returns the first limit that is exhausted, and counts nothing; otherwise counts the request against all. */
  judge(path: string, caller: Caller): Excess | undefined
  /** The mapping that applies to a path, for the log. */
  describe(path: string): string
}

/** Callers per limit; beyond that number the oldest window is dropped. */
const MAX_CALLERS = 20_000

interface Limit {
  readonly name: string
  readonly type: LimitType
  readonly limiter: LocalLimit
}

/** A limit and the key of the caller's window in it. */
type Count = readonly [limit: Limit, key: string]

/** A mapping with its open limits. */
interface Mapping {
  readonly name: string
  readonly limits: Readonly<Partial<Record<LimitKind, Limit>>>
}

/** Compiles the mappings once; checking a request only looks things up. */
export function createRateLimiter({ mappings }: Pick<RateLimitSettings, 'mappings'>, clock: Clock): RateLimiter {
  const choose = createPathChoice(mappings.map(mapping => [mapping, openMapping(mapping, clock)] as const))
  return {
    judge(path, caller) {
      const chosen = choose(path)
      const counts = [...chosen.flatMap(mapping => callerCount(mapping, caller)), ...chosen.flatMap(globalCount)]
      for (const [{ name, type, limiter }, key] of counts) {
        const retryAfterSeconds = limiter.secondsUntilRoom(key)
        if (retryAfterSeconds > 0) return { name, type, retryAfterSeconds }
      }
      for (const [{ limiter }, key] of counts) limiter.count(key)
      return undefined
    },
    describe: path =>
      choose(path)
        .map(({ name, limits }) => `${name}: ${Object.keys(limits).join(' ')}`)
        .join(', ') || 'no limit',
  }
}

const TYPES: Readonly<Record<LimitKind, LimitType>> = {
  withCallerCredentialsID: 'CredentialsID',
  withCallerRemoteAddressID: 'RemoteAddressID',
  withoutCallerID: 'NoID',
  global: 'Global',
}

function openMapping({ name, limits }: LimiterMapping, clock: Clock): Mapping {
  const open = (kind: LimitKind): Limit | undefined => {
    const rate = limits[kind]
    const allowance = rate && { max: rate.requests, seconds: rate.seconds, keys: MAX_CALLERS }
    return allowance && { name, type: TYPES[kind], limiter: createLocalLimit(clock, allowance) }
  }
  const kinds = Object.keys(limits) as LimitKind[] // its keys are those of the record
  return { name, limits: Object.fromEntries(kinds.map(kind => [kind, open(kind)])) }
}

/** Counts by the most specific key available: credential, else address, else one window for all. */
function callerCount({ limits }: Mapping, caller: Caller): readonly Count[] {
  const { withCallerCredentialsID: byCredential, withCallerRemoteAddressID: byAddress, withoutCallerID } = limits
  const credential = byCredential && caller.credential()
  if (byCredential && credential !== undefined) return [[byCredential, credential]]
  if (byAddress) return [[byAddress, caller.address()]]
  return withoutCallerID ? [[withoutCallerID, '']] : []
}

const globalCount = ({ limits: { global } }: Mapping): readonly Count[] => (global ? [[global, '']] : [])

/** Finds the most specific mapping of a path; the one for all paths comes last. */
function createPathChoice(
  mappings: readonly (readonly [LimiterMapping, Mapping])[],
): (path: string) => readonly Mapping[] {
  const equal = new Map<string, Mapping>()
  const starting: [value: string, mapping: Mapping][] = []
  const containing: [value: string, mapping: Mapping][] = []
  let other: Mapping | undefined
  let all: Mapping | undefined
  for (const [{ selectors }, mapping] of mappings) {
    for (const selector of selectors) {
      switch (selector.kind) {
        case 'equals':
          equal.set(selector.text, mapping)
          break
        case 'startsWith':
          starting.push([selector.text, mapping])
          break
        case 'contains':
          containing.push([selector.text, mapping])
          break
        case 'other':
          other = mapping
          break
        case 'all':
          all = mapping
          break
      }
    }
  }
  for (const list of [starting, containing]) list.sort(([a], [b]) => b.length - a.length)
  return path => {
    const chosen =
      equal.get(path) ??
      starting.find(([text]) => path.startsWith(text))?.[1] ??
      containing.find(([text]) => path.includes(text))?.[1] ??
      other
    return [chosen, all === chosen ? undefined : all].filter(mapping => mapping !== undefined)
  }
}

/** Recently verified tokens. */
export interface VerifiedTokens {
  has(token: string): boolean
  add(token: string): void
}

/** Stores digests of at most `max` tokens; beyond that number the oldest is dropped. */
export function createVerifiedTokens(max = MAX_CALLERS): VerifiedTokens {
  const digests = new Set<string>()
  return {
    has: token => digests.has(digest(token)),
    add(token) {
      digests.add(digest(token))
      if (digests.size <= max) return
      const oldest = digests.values().next()
      if (!oldest.done) digests.delete(oldest.value)
    },
  }
}

/** Wraps a reader so that it records each token that it verified. */
export const remembering = (reader: TokenReader, verified: Pick<VerifiedTokens, 'add'>): TokenReader => ({
  ...reader,
  async read(request, token, expected) {
    const read = await reader.read(request, token, expected)
    verified.add(token)
    return read
  },
})

/** Status endpoint of the rate limiter; never limited itself. */
export const STATUS_PATH = '/RateLimitingStatus'

type Hook = (request: FastifyRequest, reply: FastifyReply, done: (error?: Error) => void) => void

/** Hook: counts requests and answers 429 over the limit. Fails open: an internal fault lets the request pass. */
export function createRateLimitHook(deps: {
  settings: RateLimitSettings
  clock: Clock
  urls: Urls
  pages: Pick<PageWriter, 'error'>
  log: { info(message: string): void; fault(message: string, cause: unknown): void }
  /** Requests with a token that is not in here are counted by address. */
  verifiedTokens: Pick<VerifiedTokens, 'has'>
  /** Called for each refusal. */
  onRefusal?: ((name: string) => void) | undefined
}): Hook {
  const { settings, urls, pages, log } = deps
  const limiter = createRateLimiter(settings, deps.clock)
  const readCredential = settings.credential && createCredentialReader(settings.credential)
  const logsAll = settings.logging !== 'OnlyLimited'

  function readIfVerified(read: CredentialReader, authorization: string | undefined): string | undefined {
    const credential = read(authorization)
    const token = authorization?.replace(/^(?:bearer|dpop) +/i, '').trim() ?? ''
    return credential !== undefined && deps.verifiedTokens.has(token) ? credential : undefined
  }

  function note({ method }: FastifyRequest, path: string, excess: Excess | undefined): void {
    if (!excess && !logsAll) return
    const outcome = excess ? `limited by ${excess.name} (${excess.type})` : 'let through'
    const details = settings.logging === 'AllCallsWithDetails' ? ` [${limiter.describe(path)}]` : ''
    log.info(`rate limit: ${method} ${withoutToken(path).slice(0, MAX_LOGGED_LENGTH)} ${outcome}${details}`)
  }

  function judge(request: FastifyRequest): Excess | undefined {
    const path = pathBelow(request.url, urls.basePath)
    if (path === STATUS_PATH) return undefined
    const excess = limiter.judge(
      path,
      callerOf(request, readCredential && (header => readIfVerified(readCredential, header))),
    )
    note(request, path, excess)
    return excess
  }

  async function refuse(request: FastifyRequest, reply: FastifyReply, excess: Excess): Promise<void> {
    const isPage = (request.headers.accept ?? '').includes('text/html')
    reply
      .headers(securityHeaders(isPage ? 'page' : 'api', urls.isHttps))
      .status(429)
      .header('retry-after', String(excess.retryAfterSeconds)) // RFC 6585 §4
    if (isPage) {
      try {
        await pages.error(request, reply, { status: 429, description: tooManyAttempts(excess.retryAfterSeconds) })
        return
      } catch (cause) {
        log.fault('an error page could not be made', cause)
        if (reply.sent) return
      }
    }
    const { name, type } = excess
    // UAA: `error` holds the sentence instead of a code.
    const error = `429 - Too Many Request - Request limited by Rate Limiter configuration: Name: ${name} Type: ${type}`
    reply.type('application/json').send(JSON.stringify({ error }))
  }

  return (request, reply, done) => {
    let excess: Excess | undefined
    try {
      excess = judge(request)
    } catch (cause) {
      log.fault('the rate limiter failed', cause)
    }
    if (!excess) return done()
    deps.onRefusal?.('ratelimit')
    void refuse(request, reply, excess)
  }
}

/** Reads address and credential lazily, each at most once. */
function callerOf(request: FastifyRequest, readCredential: CredentialReader | undefined): Caller {
  let credential: string | undefined
  let isRead = false
  return {
    credential() {
      if (!isRead) credential = readCredential?.(request.headers.authorization)
      isRead = true
      return credential
    },
    address() {
      const ip: string | undefined = request.ip // absent once the connection is closed
      return networkOf(ip ?? '').slice(0, MAX_ADDRESS_LENGTH) // a proxy may forward any string
    },
  }
}

const MAX_LOGGED_LENGTH = 200

/** Removes the token from the paths that end with one, for the log. */
const withoutToken = (path: string): string => path.replace(/^(\/oauth\/token\/revoke\/)(?!user\/|client\/).+$/, '$1…')
const MAX_ADDRESS_LENGTH = 64

/**
 * The path below the base URL as the router reads it: also from an absolute URL, without query and fragment, and decoded,
 * so that percent-encoding a letter does not bypass a limit.
 */
export function pathBelow(url: string, basePath: string): string {
  const target = url.startsWith('/') ? url : url.replace(/^https?:\/\/[^/?#]*/i, '')
  const [raw = ''] = target.split(/[?#]/, 1)
  const path = raw.includes('%') ? decodedPath(raw) : raw
  if (path === basePath) return '/'
  return path.startsWith(`${basePath}/`) ? path.slice(basePath.length) : path
}

function decodedPath(path: string): string {
  try {
    return decodeURIComponent(path)
  } catch {
    return path // which no route has
  }
}
