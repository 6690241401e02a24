// What requests to an OpenID Connect provider have in common, and how its answers are read.
import { isJsonRecord, parseJson } from '../../base/json.ts'
import type { IdentityProvider } from '../../model/identity-provider.ts'

/** The scopes that are asked for. */
export function scopesOf(config: IdentityProvider['config']): string {
  const scopes = config['scopes']
  const named = Array.isArray(scopes) ? scopes.filter(scope => typeof scope === 'string' && scope !== '') : []
  return [...new Set(['openid', ...named])].join(' ') // without `openid` there is no ID token (OpenID Connect Core §3.1.2.1)
}

/** RFC 6749 §2.3.1: each part is form-encoded before they are put together. */
export const basic = (id: string, secret: string): string =>
  `Basic ${Buffer.from(`${encodeURIComponent(id)}:${encodeURIComponent(secret)}`).toString('base64')}`

/** The JSON object of an answer. */
export function parseObject(text: string): object | undefined {
  const value = parseJson(text)
  return isJsonRecord(value) ? value : undefined
}

/** The code of a token endpoint's error, for the log; what else it says may repeat what was sent. */
export function errorOf(answer: object | undefined): string {
  const error: unknown = answer && Reflect.get(answer, 'error')
  return typeof error === 'string' && /^[\w-]{1,60}$/.test(error) ? error : 'no error code'
}

/** A text that says something. */
export const textOf = (value: unknown): string | undefined =>
  typeof value === 'string' && value !== '' ? value : undefined
