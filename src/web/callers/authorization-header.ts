// Access tokens in the header `Authorization` (RFC 6750, RFC 9449) and the challenges that answer them.
import type { FastifyRequest } from 'fastify'
import { demandsOn } from '../../model/clients/client-demands.ts'
import { OAuthError } from '../../model/oauth-error.ts'
import type { Service } from '../../model/service.ts'
import { foreignAlgorithmsAmong } from '../../token/foreign-keys.ts'
import { tokenByDpop } from '../../token/sender/dpop.ts'

const BEARER = /^bearer +/i
/** As UAA reads it. See docs/compatibility.md, M13. */
const BEARER_WITHOUT_SPACE = /^bearer(?: +|(?=\S))/i

/**
 * The token of `Authorization: Bearer` (RFC 6750 §2.1), or of `Authorization: DPoP` where the zone supports DPoP; the scheme is
 * case-insensitive.
 */
export function bearerHeader(request: FastifyRequest): string | undefined {
  const byDpop = request.usesDpop ? tokenByDpop(request) : undefined
  if (byDpop !== undefined) return byDpop
  const header = request.headers.authorization
  const scheme = request.bearerSpaceOptional ? BEARER_WITHOUT_SPACE : BEARER
  if (header === undefined || !scheme.test(header)) return undefined
  return header.replace(scheme, '').trim()
}

/** Formats a `WWW-Authenticate` challenge (RFC 6750 §3). */
export function bearerChallenge(
  realm: string | undefined,
  error?: { error: string; description: string; scope?: string | undefined },
): string {
  const parts = realm === undefined ? [] : [`realm="${realm}"`]
  if (error) {
    const description = error.description.replaceAll(/["\\]/g, "'").replace(/[^\x20-\x7e]/g, '?')
    parts.push(`error="${error.error}"`, `error_description="${description}"`)
    if (error.scope !== undefined) parts.push(`scope="${error.scope}"`)
  }
  return `Bearer ${parts.join(', ')}`
}

/** The challenge in the scheme of the request (RFC 9449 §7.1), with the metadata's URL for clients new to this server. */
export function inScheme(request: FastifyRequest, challenge: string): string {
  if (!/^Bearer\b/.test(challenge)) return challenge
  const url = request.resourceMetadata
  const parts = [challenge.replace(/^Bearer\s*/, ''), url === undefined ? '' : `resource_metadata="${url}"`]
  const isDpop = request.usesDpop && tokenByDpop(request) !== undefined
  if (isDpop) {
    const { algorithms } = demandsOn(request.zone, {})
    parts.push(`algs="${foreignAlgorithmsAmong(algorithms).join(' ')}"`)
  }
  return `${isDpop ? 'DPoP' : 'Bearer'} ${parts.filter(part => part !== '').join(', ')}`
}

/**
 * Adds a challenge with the service's realm to an `OAuthError`; returns any other error unchanged, and `insufficient_scope`,
 * whose challenge depends on the mode.
 */
export function inRealm(error: unknown, { oauthRealm }: Service): unknown {
  if (!(error instanceof OAuthError) || error.error === 'insufficient_scope') return error
  const challenge = bearerChallenge(oauthRealm, { error: error.error, description: error.message })
  return new OAuthError(error, error.message, { challenge, detail: error.detail, extra: error.extra, cause: error })
}

/** Refusal for a token with none of the required scopes; lists them in `scope`, also of the challenge (row M12). */
export const insufficientScope = (scopes: readonly string[]): OAuthError =>
  new OAuthError('insufficient_scope', 'Insufficient scope for this resource', { extra: { scope: scopes.join(' ') } })
