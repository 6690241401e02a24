// Certificates of clients (RFC 8705): the operator's settings, and the members of a record that describe one.
import { nameFromString } from '../../base/certificates/distinguished-name.ts'
import { canonicalAddress } from '../../base/network-address.ts'
import type { CertificateNames } from '../../base/certificates/client-certificate.ts'
import type { Client } from './client.ts'

/** The key `mutual_tls` of the configuration, and what goes with it. */
export interface MutualTlsSettings {
  /** The header of trusted proxies, in lower case; absent if there are none. */
  readonly header?: string
  /** Whether the server asks callers itself (`listen.tls`). */
  readonly asks: boolean
  /** In DER; empty: no certificate proves a subject. */
  readonly trustedAuthorities: readonly Uint8Array[]
  /** Without a slash at the end. */
  readonly endpointBase?: string
}

/** The methods of client authentication by certificate (RFC 8705 §2). */
export const TLS_AUTH_METHODS = ['tls_client_auth', 'self_signed_tls_client_auth'] as const

/** One of `TLS_AUTH_METHODS`. */
export type TlsAuthMethod = (typeof TLS_AUTH_METHODS)[number]

/** The methods that the server can verify; without a trusted authority no certificate proves a subject. */
export const possibleTlsMethods = (settings: MutualTlsSettings | undefined): readonly TlsAuthMethod[] =>
  TLS_AUTH_METHODS.filter(
    name => settings !== undefined && (settings.trustedAuthorities.length > 0 || name !== 'tls_client_auth'),
  )

/** The method of a client that authenticates by certificate; undefined for the others. */
export const tlsMethodOf = ({ tokenEndpointAuthMethod }: Pick<Client, 'tokenEndpointAuthMethod'>) =>
  TLS_AUTH_METHODS.find(name => name === tokenEndpointAuthMethod)

/** The members that name the subject of a certificate (RFC 8705 §2.1.2). */
type SubjectMembers = Pick<
  Client,
  | 'tlsClientAuthSubjectDn'
  | 'tlsClientAuthSanDns'
  | 'tlsClientAuthSanUri'
  | 'tlsClientAuthSanIp'
  | 'tlsClientAuthSanEmail'
>

interface SubjectRule {
  readonly wire: string
  /** The value in canonical form; undefined for one that can never match. */
  readonly expected: (members: SubjectMembers) => string | undefined
  readonly isSet: (members: SubjectMembers) => boolean
  readonly found: (names: CertificateNames) => readonly string[]
}

interface SubjectMember extends Pick<SubjectRule, 'wire' | 'found'> {
  readonly member: keyof SubjectMembers
  readonly comparable?: (value: string) => string | undefined
}

const rule = ({ wire, member, found, comparable = value => value }: SubjectMember): SubjectRule => ({
  wire,
  isSet: members => members[member] !== undefined,
  expected(members) {
    const value = members[member]
    return value === undefined ? undefined : comparable(value) || undefined
  },
  found,
})

/** Letters of ASCII only: others would make two names of one. */
const lowerCase = (text: string): string => text.replace(/[A-Z]/g, letter => letter.toLowerCase())
const domainInLowerCase = (text: string): string => text.replace(/@[^@]*$/, lowerCase)

/** Every member. Names of hosts ignore case; everything else is compared exactly, and nothing is a pattern. */
const SUBJECT_RULES: readonly SubjectRule[] = [
  rule({
    wire: 'tls_client_auth_subject_dn',
    member: 'tlsClientAuthSubjectDn',
    found: ({ subject }) => (subject === undefined ? [] : [subject]),
    comparable: nameFromString,
  }),
  rule({
    wire: 'tls_client_auth_san_dns',
    member: 'tlsClientAuthSanDns',
    found: ({ dns }) => dns.map(lowerCase),
    comparable: lowerCase,
  }),
  rule({ wire: 'tls_client_auth_san_uri', member: 'tlsClientAuthSanUri', found: ({ uri }) => uri }),
  rule({
    wire: 'tls_client_auth_san_ip',
    member: 'tlsClientAuthSanIp',
    found: ({ ip }) => ip,
    comparable: canonicalAddress,
  }),
  rule({
    wire: 'tls_client_auth_san_email',
    member: 'tlsClientAuthSanEmail',
    found: ({ email }) => email.map(domainInLowerCase),
    comparable: domainInLowerCase,
  }),
]

/** Whether both records accept the same certificates by their subject. */
export const namesSameSubject = (
  one: SubjectMembers & Pick<Client, 'tokenEndpointAuthMethod'>,
  other: SubjectMembers & Pick<Client, 'tokenEndpointAuthMethod'>,
): boolean =>
  tlsMethodOf(one) === tlsMethodOf(other) && SUBJECT_RULES.every(({ expected }) => expected(one) === expected(other))

/** Whether a certificate has the subject that the record names. */
export function isSubject(members: SubjectMembers, names: CertificateNames): boolean {
  const [wanted, another] = SUBJECT_RULES.filter(({ isSet }) => isSet(members))
  if (!wanted || another) return false
  const expected = wanted.expected(members)
  return expected !== undefined && wanted.found(names).includes(expected)
}

/** The problem of the members together, for the client API; undefined if there is none. */
export function subjectProblem(
  members: SubjectMembers & Pick<Client, 'tokenEndpointAuthMethod'>,
): { readonly key: string; readonly message: string } | undefined {
  const [named, another] = SUBJECT_RULES.filter(({ isSet }) => isSet(members))
  if (another)
    return {
      key: another.wire,
      message: `Only one of ${SUBJECT_RULES.map(({ wire }) => wire).join(', ')} may be given`,
    }
  const isByAuthority = members.tokenEndpointAuthMethod === 'tls_client_auth'
  if (!named) {
    if (!isByAuthority) return undefined
    const message = `tls_client_auth needs one of ${SUBJECT_RULES.map(({ wire }) => wire).join(', ')}`
    return { key: 'token_endpoint_auth_method', message }
  }
  if (!isByAuthority)
    return { key: named.wire, message: `${named.wire} needs token_endpoint_auth_method tls_client_auth` }
  if (named.expected(members) !== undefined) return undefined
  return { key: named.wire, message: `${named.wire} cannot be read` }
}
