import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Behaviour } from '../model/compatibility.ts'
import type { Audience } from './route.ts'

/** `Strict-Transport-Security` for one year (RFC 6797 §6.1). */
export const STRICT_TRANSPORT = 'max-age=31536000'

/** Forbids every cache, including old ones, to keep the answer. */
export const NEVER_CACHED = {
  'cache-control': 'no-cache, no-store, max-age=0, must-revalidate',
  pragma: 'no-cache',
  expires: '0',
} as const

/** The request headers that CORS headers depend on; a cache must not serve one page the answer for another. */
export const CORS_VARY = 'Origin, X-Requested-With'

const OPEN = { 'x-content-type-options': 'nosniff', 'content-security-policy': "script-src 'self'" }
const GUARDED = { ...OPEN, 'x-xss-protection': '1; mode=block', 'x-frame-options': 'DENY' }

/** The fixed headers of every answer for the audience; a handler may make them stricter. */
export function securityHeaders(audience: Audience, isHttps: boolean): Readonly<Record<string, string>> {
  const transport = isHttps ? { 'strict-transport-security': STRICT_TRANSPORT } : {}
  switch (audience) {
    case 'open':
      return { ...OPEN, vary: CORS_VARY } // a cache may keep these
    case 'api':
      return { ...GUARDED, ...transport, 'cache-control': 'no-store', pragma: 'no-cache' }
    case 'page':
      return { ...GUARDED, ...transport, ...NEVER_CACHED }
  }
}

/** Further headers of pages (row P1): a second policy, so that the first one keeps its specified value. */
export function pageHeaders(behaviour: Behaviour): Readonly<Record<string, string | string[]>> {
  if (!behaviour.extraPageHeaders) return {}
  return {
    'content-security-policy': [
      OPEN['content-security-policy'],
      "frame-ancestors 'none'; base-uri 'none'; object-src 'none'",
    ],
    'referrer-policy': 'no-referrer',
  }
}

/** The policies of a page in which others are loaded: frames of these origins and no others. */
export function framePolicies(urls: readonly string[], behaviour: Behaviour): Readonly<Record<string, string[]>> {
  const own = pageHeaders(behaviour)['content-security-policy'] ?? OPEN['content-security-policy']
  const origins = [...new Set(urls.map(url => new URL(url).origin))]
  return { 'content-security-policy': [own, `frame-src ${origins.join(' ')}`].flat() }
}

/** Hook: removes the charset that Fastify adds; application/json has no such parameter (RFC 8259 §11). */
export function sendPlainJson(_: FastifyRequest, reply: FastifyReply, payload: unknown, done: HookDone): void {
  if (reply.getHeader('content-type') === 'application/json; charset=utf-8')
    reply.header('content-type', 'application/json')
  done(null, payload)
}

const NOT_ASCII = /[^\x21-\x7e]/

/**
 * Hook: writes the target of a redirect in ASCII (RFC 9110 §10.2.2). Settings of a zone may have any characters, and Node.js
 * fails at those beyond Latin-1.
 */
export function sendAsciiLocation(_: FastifyRequest, reply: FastifyReply, payload: unknown, done: HookDone): void {
  const location = reply.getHeader('location')
  const written = typeof location === 'string' && NOT_ASCII.test(location) ? URL.parse(location) : null
  if (written) reply.header('location', written.href)
  done(null, payload)
}

type HookDone = (error: Error | null, payload: unknown) => void
