// The rate limiter that an operator configures by path and caller. Owns which limits a request falls under and whether
// they have room; runs before the zone is looked up and before anybody is authenticated, so it believes a token's word for
// whose it is. Each process counts for itself, in fixed windows of bounded number.
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Clock } from '../base/clock.ts'
import { networkOf } from '../base/network-address.ts'
import { digest } from '../base/secrets.ts'
import type { LimitKind, LimiterMapping, RateLimitSettings } from '../model/rate-limit.ts'
import type { Urls } from '../model/urls.ts'
import type { TokenReader } from '../token/reader.ts'
import { createCredentialReader } from './caller-credential.ts'
import type { CredentialReader } from './caller-credential.ts'
import { securityHeaders } from './headers.ts'
import { createLimiter } from './limits.ts'
import type { Limiter } from './limits.ts'
import type { PageWriter } from './pages.ts'

/** Which limit a request ran into. */
export interface Excess {
  /** Of the mapping. */
  readonly name: string
  readonly type: LimitType
  readonly retryAfterSeconds: number
}

/** What a limit counts by, in the words of the answer. */
export type LimitType = 'CredentialsID' | 'RemoteAddressID' | 'NoID' | 'Global'

/** Who calls; asked only where a limit wants to know. */
export interface Caller {
  credential(): string | undefined
  address(): string
}

/** Counts requests against limits. */
export interface RateLimiter {
  /** The first limit that has no room, and then nothing is counted; otherwise the request is counted against all. */
  judge(path: string, caller: Caller): Excess | undefined
  /** The limits that a path falls under, for the log. */
  describe(path: string): string
}

/** Each limit remembers so many callers; a flood of new ones makes it forget the oldest window, not grow. */
const MAX_CALLERS = 20_000

interface Limit {
  readonly name: string
  readonly type: LimitType
  readonly limiter: Limiter
}

/** A limit and the caller's key in it. */
type Count = readonly [limit: Limit, key: string]

/** The limits of one mapping, ready to count. */
interface Mapping {
  readonly name: string
  readonly limits: Readonly<Partial<Record<LimitKind, Limit>>>
}

/** Makes everything that is asked of a request once. */
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
    const allowance = rate && { most: rate.requests, seconds: rate.seconds, keys: MAX_CALLERS }
    return allowance && { name, type: TYPES[kind], limiter: createLimiter(clock, allowance) }
  }
  const kinds = Object.keys(limits) as LimitKind[] // its keys are those of the record
  return { name, limits: Object.fromEntries(kinds.map(kind => [kind, open(kind)])) }
}

/** By what the caller is known best: the credential, else the address, else not at all. */
function callerCount({ limits }: Mapping, caller: Caller): readonly Count[] {
  const { withCallerCredentialsID: byCredential, withCallerRemoteAddressID: byAddress, withoutCallerID } = limits
  const credential = byCredential && caller.credential()
  if (byCredential && credential !== undefined) return [[byCredential, credential]]
  if (byAddress) return [[byAddress, caller.address()]]
  return withoutCallerID ? [[withoutCallerID, '']] : []
}

const globalCount = ({ limits: { global } }: Mapping): readonly Count[] => (global ? [[global, '']] : [])

/** The mapping of a path, and after it the one for all paths. */
function createPathChoice(
  mappings: readonly (readonly [LimiterMapping, Mapping])[],
): (path: string) => readonly Mapping[] {
  const equal = new Map<string, Mapping>()
  const starting: [text: string, mapping: Mapping][] = []
  const containing: [text: string, mapping: Mapping][] = []
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

/** Tokens that were found genuine not long ago. */
export interface VerifiedTokens {
  has(token: string): boolean
  add(token: string): void
}

/** Remembers so many tokens, by their digests; of more it forgets the one that was verified first. */
export function createVerifiedTokens(most = MAX_CALLERS): VerifiedTokens {
  const digests = new Set<string>()
  return {
    has: token => digests.has(digest(token)),
    add(token) {
      digests.add(digest(token))
      if (digests.size <= most) return
      const oldest = digests.values().next()
      if (!oldest.done) digests.delete(oldest.value)
    },
  }
}

/** The same reader, which remembers the tokens that it found good. */
export const remembering = (reader: TokenReader, verified: Pick<VerifiedTokens, 'add'>): TokenReader => ({
  ...reader,
  async read(zone, token, expected) {
    const read = await reader.read(zone, token, expected)
    verified.add(token)
    return read
  },
})

/** Where the limiter tells of itself; it is never limited. */
export const STATUS_PATH = '/RateLimitingStatus'

type Hook = (request: FastifyRequest, reply: FastifyReply, done: (error?: Error) => void) => void

/** The hook that counts requests and turns those away that are too many. A fault of its own lets a request pass. */
export function createRateLimitHook(deps: {
  settings: RateLimitSettings
  clock: Clock
  urls: Urls
  pages: Pick<PageWriter, 'error'>
  log: { info(message: string): void; fault(message: string, cause: unknown): void }
  /** Until a token is known to be genuine its request is counted by the address. */
  verifiedTokens: Pick<VerifiedTokens, 'has'>
}): Hook {
  const { settings, urls, pages, log } = deps
  const limiter = createRateLimiter(settings, deps.clock)
  const readCredential = settings.credential && createCredentialReader(settings.credential)
  const logsAll = settings.logging !== 'OnlyLimited'

  function readIfVerified(read: CredentialReader, authorization: string | undefined): string | undefined {
    const credential = read(authorization)
    const token = authorization?.replace(/^bearer +/i, '').trim() ?? ''
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
        await pages.error(request, reply, { status: 429, description: FOR_PEOPLE })
        return
      } catch (cause) {
        log.fault('an error page could not be made', cause)
        if (reply.sent) return
      }
    }
    const { name, type } = excess
    // UAA: the sentence stands where other answers have a code.
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
    void refuse(request, reply, excess)
  }
}

/** Looks at a request only as far as it is asked, and once. */
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
      const ip: string | undefined = request.ip // absent once the connection is gone
      return networkOf(ip ?? '').slice(0, MAX_ADDRESS_LENGTH) // a proxy may hand on anything
    },
  }
}

const MAX_LOGGED_LENGTH = 200

/** A path that ends with a token, which the log must not have. */
const withoutToken = (path: string): string => path.replace(/^(\/oauth\/token\/revoke\/)(?!user\/|client\/).+$/, '$1…')
const MAX_ADDRESS_LENGTH = 64
const FOR_PEOPLE = 'Too many attempts. Wait a minute, then try again.'

/**
 * The path below the base URL as the router understands it: of a whole URL too, without query and fragment, and decoded, so
 * that nobody gets round a limit by writing a letter as %6c.
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
