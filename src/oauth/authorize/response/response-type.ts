// response_type and response_mode (OAuth 2.0 Multiple Response Type Encoding Practices).
import type { Client } from '../../../model/clients/client.ts'
import { mayUseGrant } from '../../../model/clients/client.ts'

/** A part of a response: one word of `response_type`. */
type ResponseTypeValue = 'code' | 'token' | 'id_token'

/** A response type: a set of words in any order (RFC 6749 §3.1.1). */
export type ResponseType = ReadonlySet<ResponseTypeValue>

/** The combinations of the specified interface, as discovery lists them. */
export const SPECIFIED_RESPONSE_TYPES = ['code', 'code id_token', 'id_token', 'token id_token'] as const

/** The rest of the seven that OAuth 2.0 and OpenID Connect define. */
export const FURTHER_RESPONSE_TYPES = ['token', 'code token', 'code id_token token'] as const

const WORDS: readonly string[] = ['code', 'token', 'id_token'] satisfies readonly ResponseTypeValue[]

const isWord = (text: string): text is ResponseTypeValue => WORDS.includes(text)

/** The words of a `response_type`; undefined when there is none, or an unknown one. */
export function parseResponseType(text: string): ResponseType | undefined {
  const words = text.split(' ').filter(word => word !== '')
  return words.length > 0 && words.every(isWord) ? new Set(words.filter(isWord)) : undefined
}

/** The type without ID tokens, where the configuration forbids them here; undefined when nothing is left. */
export function withoutIdToken(type: ResponseType): ResponseType | undefined {
  const left = new Set([...type].filter(word => word !== 'id_token'))
  return left.size > 0 ? left : undefined
}

/** How parameters are returned (§2.1 there, OAuth 2.0 Form Post Response Mode). */
export type ResponseMode = 'query' | 'fragment' | 'form_post'

/** Every mode, as discovery lists them. */
export const RESPONSE_MODES = ['query', 'fragment', 'form_post'] as const satisfies readonly ResponseMode[]

/** The same with the parameters in a signed JWT (JARM §2.3), as discovery lists them. */
export const SIGNED_RESPONSE_MODES = ['query.jwt', 'fragment.jwt', 'form_post.jwt', 'jwt'] as const

/** How a response is delivered. */
export interface ResponseDelivery {
  readonly mode: ResponseMode
  /** Whether its parameters are in a signed JWT. */
  readonly isSigned: boolean
}

/** The parsed `response_mode`; undefined for an unknown one. */
export function parseResponseMode(text: string, type: ResponseType | undefined): ResponseDelivery | undefined {
  const isSigned = SIGNED_RESPONSE_MODES.some(mode => mode === text)
  if (text === 'jwt') return { mode: defaultMode(type), isSigned } // JARM §2.3.4
  const mode = RESPONSE_MODES.find(one => text === (isSigned ? `${one}.jwt` : one))
  return mode && { mode, isSigned }
}

/** The mode when none was requested: only a code may be in a query, which ends up in logs (§5 there). */
export const defaultMode = (type: ResponseType | undefined): ResponseMode =>
  type === undefined || (type.size === 1 && type.has('code')) ? 'query' : 'fragment'

/** Whether a response of this type may use the mode. */
export const mayUseMode = (type: ResponseType, mode: ResponseMode): boolean =>
  mode !== 'query' || defaultMode(type) === 'query'

/** Whether the answer holds an access token, or nothing but an ID token: what the grant `implicit` is for. */
const isImplicit = (type: ResponseType): boolean => type.has('token') || !type.has('code')

/** A client that registered itself uses the response types that it registered (RFC 7591 §2). */
function isRegistered({ registration }: Client, type: ResponseType): boolean {
  if (!registration) return true
  return registration.responseTypes.some(text => {
    const own = parseResponseType(text)
    return own?.size === type.size && [...own].every(word => type.has(word))
  })
}

/** Whether the client's grants allow the type: a code needs `authorization_code`, and see `isImplicit`. */
export const grantsAllow = (client: Client, type: ResponseType): boolean =>
  isRegistered(client, type) &&
  (!type.has('code') || mayUseGrant(client, 'authorization_code')) &&
  (!isImplicit(type) || mayUseGrant(client, 'implicit'))

/** UAA: only one grant is required, and for a plain code none before its exchange. See docs/compatibility.md, A4. */
export const grantsAllowInUaa = (client: Client, type: ResponseType): boolean =>
  isRegistered(client, type) &&
  ((type.size === 1 && type.has('code')) || mayUseGrant(client, isImplicit(type) ? 'implicit' : 'authorization_code'))
