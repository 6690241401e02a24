// Shared by requests to OpenID Connect providers: scopes, client authentication, and reading the response.
import { isJsonRecord, parseJson } from '../../../base/json.ts'
import type { OidcProviderConfig } from '../../../records/provider-oauth.ts'

/** A provider's record, as far as its type decides what is in it. */
export interface OidcRecord {
  readonly config: OidcProviderConfig
}

/** The requested scopes, which always include `openid`. */
export function scopesOf(config: OidcProviderConfig): string {
  const scopes = config.scopes
  const named = Array.isArray(scopes) ? scopes.filter(scope => typeof scope === 'string' && scope !== '') : []
  return [...new Set(['openid', ...named])].join(' ') // without `openid` there is no ID token (OpenID Connect Core §3.1.2.1)
}

/** The Basic header (RFC 6749 §2.3.1), each part encoded before they are joined. */
export const basic = (id: string, secret: string): string =>
  `Basic ${Buffer.from(`${encodeURIComponent(id)}:${encodeURIComponent(secret)}`).toString('base64')}`

/** Parses a JSON object; undefined for anything else. */
export function parseObject(text: string): object | undefined {
  const value = parseJson(text)
  return isJsonRecord(value) ? value : undefined
}

/** The error code of a token endpoint, for the log; other members may repeat secrets of the request. */
export function errorOf(answer: object | undefined): string {
  const error: unknown = answer && Reflect.get(answer, 'error')
  return typeof error === 'string' && /^[\w-]{1,60}$/.test(error) ? error : 'no error code'
}

/** A non-empty string, or undefined. */
export const stringOf = (value: unknown): string | undefined =>
  typeof value === 'string' && value !== '' ? value : undefined
