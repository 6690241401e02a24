// The one list of grant types. The client API's rules, discovery, the OpenAPI document and the token endpoint follow it.
import type { Behaviour } from '../compatibility.ts'
import type { Protocol } from '../zones/protocols.ts'
import { supportsProtocol } from '../zones/protocols.ts'
import type { Zone } from '../zones/zone.ts'

interface GrantTypeRow {
  readonly type: string
  /** `token`: served by a file in oauth/grants/. `authorize`: served by the authorization endpoint. */
  readonly endpoint: 'token' | 'authorize'
  /** The protocol that the zone must support. */
  readonly protocol?: Protocol
}

/** RFC 7522. */
export const SAML2_BEARER = 'urn:ietf:params:oauth:grant-type:saml2-bearer'
/** RFC 7523 §2.1. */
export const JWT_BEARER = 'urn:ietf:params:oauth:grant-type:jwt-bearer'
/** RFC 8628. */
export const DEVICE_CODE = 'urn:ietf:params:oauth:grant-type:device_code'
/** RFC 8693. */
export const TOKEN_EXCHANGE = 'urn:ietf:params:oauth:grant-type:token-exchange'

/** In the order of the client API's error messages. */
const ROWS = [
  { type: 'authorization_code', endpoint: 'token' },
  { type: 'implicit', endpoint: 'authorize' },
  { type: 'password', endpoint: 'token' },
  { type: 'client_credentials', endpoint: 'token' },
  { type: 'refresh_token', endpoint: 'token' },
  { type: 'user_token', endpoint: 'token' },
  { type: SAML2_BEARER, endpoint: 'token' },
  { type: JWT_BEARER, endpoint: 'token' },
  { type: DEVICE_CODE, endpoint: 'token', protocol: 'deviceGrant' },
  { type: TOKEN_EXCHANGE, endpoint: 'token', protocol: 'tokenExchange' },
] as const satisfies readonly GrantTypeRow[]

type Row = (typeof ROWS)[number]

const PROTOCOL_OF: ReadonlyMap<string, Protocol> = new Map(
  ROWS.flatMap(({ type, protocol }: GrantTypeRow) => (protocol ? [[type, protocol]] : [])),
)

/** Whether the zone supports the grant type; true for an unknown one, which is refused elsewhere. */
export function hasGrantType(
  zone: Pick<Zone, 'config'>,
  type: string,
  behaviour: Pick<Behaviour, 'furtherProtocols'>,
): boolean {
  const protocol = PROTOCOL_OF.get(type)
  return protocol === undefined || supportsProtocol(zone, protocol, behaviour)
}

/** A grant type that a client may have. */
type GrantType = Row['type']

/** A grant type of the token endpoint. */
export type TokenGrantType = Extract<Row, { endpoint: 'token' }>['type']

/** Every grant type that a client may have. */
export const GRANT_TYPES: readonly GrantType[] = ROWS.map(({ type }) => type)

/** The grant types of UAA. */
export const CLASSIC_GRANT_TYPES: readonly GrantType[] = GRANT_TYPES.filter(type => !PROTOCOL_OF.has(type))

const typesOf = (at: Row['endpoint']): readonly GrantType[] =>
  ROWS.filter(({ endpoint }) => endpoint === at).map(({ type }) => type)

/** What the token endpoint accepts as `grant_type`. */
export const TOKEN_GRANT_TYPES = typesOf('token')

/** The grant types of the authorization endpoint. */
export const AUTHORIZE_GRANT_TYPES = typesOf('authorize')
