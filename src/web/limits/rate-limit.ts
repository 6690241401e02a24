// Applies the limits that operators configure by path and caller. Runs before authentication, and after cors.ts: only for pages of
// other origins was the zone looked up. A token's claims count only if the same token was verified recently.
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Clock } from '../../base/clock.ts'
import { networkOf } from '../../base/network-address.ts'
import type { RateLimitSettings } from '../../model/zones/rate-limit.ts'
import type { Urls } from '../../model/urls.ts'
import { tooManyAttempts } from '../../pages/texts/texts.ts'
import { createCredentialReader } from './caller-credential.ts'
import type { CredentialReader } from './caller-credential.ts'
import { securityHeaders } from '../headers.ts'
import { createRateLimiter } from './rate-limiter.ts'
import type { Caller, Excess } from './rate-limiter.ts'
import { TooManyRequests } from './too-many-requests.ts'
import type { VerifiedTokens } from './verified-tokens.ts'
import type { PageWriter } from '../pages.ts'
import type { UnroutedAnswerSearch } from '../route.ts'

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
  verifiedTokens: Pick<VerifiedTokens, 'zoneOf'>
  /** The answer of the API at the path. */
  ownAnswerTo: UnroutedAnswerSearch
  /** Called for each refusal. */
  onRefusal?: ((name: string) => void) | undefined
}): Hook {
  const { settings, urls, pages, log, ownAnswerTo } = deps
  const limiter = createRateLimiter(settings, deps.clock)
  const readCredential = settings.credential && createCredentialReader(settings.credential)
  const logsAll = settings.logging !== 'OnlyLimited'

  /** With the zone of the token: others may have clients of the same id, and their limits must not be used up from here. */
  function readIfVerified(read: CredentialReader, authorization: string | undefined): string | undefined {
    const credential = read(authorization)
    if (credential === undefined) return undefined
    const zoneId = deps.verifiedTokens.zoneOf(authorization?.replace(/^(?:bearer|dpop) +/i, '').trim() ?? '')
    return zoneId === undefined ? undefined : `${zoneId} ${credential}`
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
    const ownAnswer = ownAnswerTo(request)
    if (ownAnswer) {
      reply.headers(securityHeaders('api', urls.isHttps))
      ownAnswer(new TooManyRequests(excess.retryAfterSeconds), request, reply)
      return
    }
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
        log.fault('an error page could not be rendered', cause)
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
    address: () => networkOf(request.ip).slice(0, MAX_ADDRESS_LENGTH), // a proxy may forward any string
  }
}

const MAX_LOGGED_LENGTH = 200

/** Removes the token from the paths that end with one, for the log. */
const withoutToken = (path: string): string => path.replace(/^(\/oauth\/token\/revoke\/)(?!user\/|client\/).+$/, '$1…')
const MAX_ADDRESS_LENGTH = 64

/**
 * The path below the base URL as the router reads it: without query and fragment, and decoded, so that percent-encoding a letter
 * does not bypass a limit.
 */
export function pathBelow(url: string, basePath: string): string {
  const [raw = ''] = url.split(/[?#]/, 1)
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
