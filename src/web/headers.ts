import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Behaviour } from '../model/compatibility.ts'
import type { Audience } from './route.ts'

/** Tells a browser to insist on https for a year. */
export const STRICT_TRANSPORT = 'max-age=31536000'

/** What a browser must not keep at all. */
export const NEVER_CACHED = {
  'cache-control': 'no-cache, no-store, max-age=0, must-revalidate',
  pragma: 'no-cache',
  expires: '0',
} as const

/** What decides about the headers of cross-origin requests; a cache must not give one page the answer to another's. */
export const CORS_VARY = 'Origin, X-Requested-With'

const OPEN = { 'x-content-type-options': 'nosniff', 'content-security-policy': "script-src 'self'" }
const GUARDED = { ...OPEN, 'x-xss-protection': '1; mode=block', 'x-frame-options': 'DENY' }

/** The fixed headers of every answer of a route; a handler may narrow them further. */
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

/** What pages send besides (row P1): a second policy, so that the first keeps the value that was asked for. */
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

/** A hook: takes off the charset that Fastify adds, which application/json does not have (RFC 8259 §11). */
export function sendPlainJson(_: FastifyRequest, reply: FastifyReply, payload: unknown, done: HookDone): void {
  if (reply.getHeader('content-type') === 'application/json; charset=utf-8')
    reply.header('content-type', 'application/json')
  done(null, payload)
}

type HookDone = (error: Error | null, payload: unknown) => void
