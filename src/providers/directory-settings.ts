// Validates the settings of an LDAP provider and adds defaults. There are none for the account, DNs and search bases,
// which differ between directories.
import { readCertificates } from '../base/certificates/certificate.ts'
import type { JsonRecord } from '../base/json.ts'
import type { Behaviour } from '../model/compatibility.ts'
import type { LdapProviderConfig } from '../records/provider-ldap.ts'

/** The identifier of Active Directory; binary, and requested as such. */
export const OBJECT_GUID = 'objectGUID'

/** Operational attributes that identify an entry permanently: RFC 4530, Active Directory, 389 Directory Server. */
const UNIQUE_ID_ATTRIBUTES = ['entryUUID', OBJECT_GUID, 'nsUniqueId']

/** One address of the directory. */
export interface DirectoryUrl {
  readonly hostname: string
  readonly port: number
  readonly tls: 'none' | 'ldaps' | 'start-tls'
}

/** The account that searches are made with. */
interface BindAccount {
  readonly dn: string
  readonly password: string
}

/** How to find a user and check the password. */
export type DirectoryProfile =
  | { readonly kind: 'simple-bind'; readonly patterns: readonly string[] }
  | { readonly kind: 'search-and-bind'; readonly search: UserSearch }
  | { readonly kind: 'search-and-compare'; readonly search: UserSearch; readonly compare: PasswordComparison }

/** The search for a user; `{0}` in the filter stands for the user name. */
export interface UserSearch {
  readonly base: string
  readonly filter: string
}

/** The password attribute, and which side compares it. */
interface PasswordComparison {
  readonly attribute: string
  readonly by: 'server' | 'directory'
}

/** How to find a user's groups. */
export type GroupRule =
  | { readonly kind: 'none' }
  | { readonly kind: 'member-of' }
  | {
      readonly kind: 'search'
      readonly base: string
      /** `{0}` stands for the DN, `{1}` for the user name. */
      readonly filter: string
      readonly scope: 'sub' | 'one'
      readonly depth: number
      readonly roleAttribute: string
      readonly takesPartialResults: boolean
    }

/** The validated settings of a directory. */
export interface DirectorySettings {
  /** Tried in order. */
  readonly urls: readonly [DirectoryUrl, ...DirectoryUrl[]]
  readonly verifiesCertificate: boolean
  /** Certificates (PEM) of the certificate authorities for the directory; undefined: those that the server trusts. */
  readonly authorities: string | undefined
  readonly account: BindAccount | undefined
  readonly profile: DirectoryProfile
  readonly groups: GroupRule
  /** Whether a referral is an error. Referrals are never followed. */
  readonly refusesReferrals: boolean
  /** The attributes read of a user. */
  readonly attributes: readonly string[]
  /** The attributes that hold the login name, and whether a name identifies at most one entry. */
  readonly login: { readonly attributes: readonly string[]; readonly isUnambiguous: boolean }
  readonly mail: { readonly attribute: string; readonly substitute: string | undefined; readonly overrides: boolean }
}

/** Thrown for unusable settings; the message names members, never their values. */
export class UnusableDirectory extends Error {
  override name = 'UnusableDirectory'
}

/** The timeout is divided among them. */
const MAX_URLS = 5
/** Each costs one attempt with the password. */
const MAX_PATTERNS = 10
const MAX_ATTRIBUTES = 100
/** Filters are parsed recursively. */
const MAX_STRING_LENGTH = 2000
const MAX_GROUP_DEPTH = 50
/** A few certificates. */
const MAX_PEM_LENGTH = 32_768

/** The default search base. */
type DirectoryPlaces = Behaviour['directoryPlaces']

/** Reads the `config` of an `ldap` provider, whose members have the right types; throws `UnusableDirectory`. */
export function readDirectorySettings(record: JsonRecord, places?: DirectoryPlaces): DirectorySettings {
  const config: LdapProviderConfig = record
  const read = createMemberReader(config)
  const urls = readUrls(read)
  const mail = readMail(read)
  const groups = readGroups(read, config)
  const profile = readProfile(read, places)
  const login = loginOf(profile)
  return {
    urls,
    verifiesCertificate: !read.flag('skipSSLVerification', false),
    authorities: readAuthorities(config.caCertificates),
    account: readAccount(read.trimmed('bindUserDn'), read.text('bindPassword')),
    profile,
    groups,
    refusesReferrals: read.text('referral') === 'throw',
    attributes: readAttributes(config, [
      mail.attribute,
      ...login.attributes,
      ...UNIQUE_ID_ATTRIBUTES,
      ...(groups.kind === 'member-of' ? ['memberOf'] : []),
    ]),
    login,
    mail,
  }
}

type Member = keyof LdapProviderConfig

/** Reads members of the settings by their names. */
interface MemberReader {
  /** The string, which must not be too long. */
  readonly text: (name: Member) => string | undefined
  /** The string without white space around it; undefined if nothing is left. */
  readonly trimmed: (name: Member) => string | undefined
  readonly flag: (name: Member, fallback: boolean) => boolean
}

function createMemberReader(config: LdapProviderConfig): MemberReader {
  const member = (name: Member): unknown => (Object.hasOwn(config, name) ? config[name] : undefined)
  function text(name: Member): string | undefined {
    const value = member(name)
    if (typeof value !== 'string') return undefined
    if (value.length > MAX_STRING_LENGTH) throw new UnusableDirectory(`${name} is too long`)
    return value
  }
  return {
    text,
    trimmed: name => text(name)?.trim() || undefined,
    flag(name, fallback) {
      const value = member(name)
      return typeof value === 'boolean' ? value : fallback
    },
  }
}

function required(name: Member, value: string | undefined): string {
  if (value === undefined) throw new UnusableDirectory(`${name} must be given`)
  return value
}

/** Without a placeholder, every name would match the same entry. */
function withPlaceholder(name: Member, value: string, ...placeholders: readonly string[]): string {
  if (placeholders.some(placeholder => value.includes(placeholder))) return value
  throw new UnusableDirectory(`${name} must contain ${placeholders.join(' or ')}`)
}

function readUrls({ text, trimmed }: MemberReader): DirectorySettings['urls'] {
  const tls = text('tlsConfiguration') ?? 'none'
  // SASL EXTERNAL: without a client certificate, the server would be anonymous.
  if (tls === 'external') {
    throw new UnusableDirectory(
      'tlsConfiguration external requires a certificate of this server, which a record cannot have: use simple',
    )
  }
  const urls = required('baseUrl', trimmed('baseUrl'))
    .split(/\s+/)
    .map(url => readUrl(url, tls === 'simple'))
  const [first, ...others] = urls
  if (!first || urls.length > MAX_URLS) throw new UnusableDirectory(`baseUrl has more than ${MAX_URLS} addresses`)
  return [first, ...others]
}

function readMail({ trimmed, flag }: MemberReader): DirectorySettings['mail'] {
  const substitute = trimmed('mailSubstitute')
  if (substitute !== undefined) withPlaceholder('mailSubstitute', substitute, '{0}')
  return {
    attribute: trimmed('mailAttributeName') ?? 'mail',
    substitute,
    overrides: flag('mailSubstituteOverridesLdap', false),
  }
}

function readGroups({ text, trimmed, flag }: MemberReader, { maxGroupSearchDepth }: LdapProviderConfig): GroupRule {
  if (!/-(?:as-scopes|map-to-scopes)\.xml$/.test(text('ldapGroupFile') ?? '')) return { kind: 'none' }
  const base = text('groupSearchBase') ?? ''
  if (base === 'memberOf') return { kind: 'member-of' }
  const depth = typeof maxGroupSearchDepth === 'number' ? maxGroupSearchDepth : 10
  return {
    kind: 'search',
    base,
    filter: withPlaceholder('groupSearchFilter', trimmed('groupSearchFilter') ?? 'member={0}', '{0}', '{1}'),
    scope: flag('groupSearchSubTree', true) ? 'sub' : 'one',
    depth: Math.min(Math.max(depth, 1), MAX_GROUP_DEPTH),
    roleAttribute: trimmed('groupRoleAttribute') ?? 'description',
    takesPartialResults: flag('groupsIgnorePartialResults', true),
  }
}

/** How users are found, and their passwords checked. */
function readProfile(read: MemberReader, places: DirectoryPlaces | undefined): DirectoryProfile {
  switch (read.text('ldapProfileFile') ?? 'ldap/ldap-simple-bind.xml') {
    case 'ldap/ldap-simple-bind.xml':
      return { kind: 'simple-bind', patterns: readPatterns(read, places) }
    case 'ldap/ldap-search-and-bind.xml':
      return { kind: 'search-and-bind', search: readSearch(read, places) }
    case 'ldap/ldap-search-and-compare.xml':
      return { kind: 'search-and-compare', search: readSearch(read, places), compare: readComparison(read) }
    default:
      throw new UnusableDirectory('ldapProfileFile is unknown')
  }
}

function readPatterns({ text, trimmed }: MemberReader, places: DirectoryPlaces | undefined): readonly string[] {
  const patterns = required('userDNPattern', text('userDNPattern') ?? places?.pattern)
    .split(trimmed('userDNPatternDelimiter') ?? ';')
    .map(pattern => pattern.trim())
    .filter(pattern => pattern !== '')
  if (patterns.length > MAX_PATTERNS) {
    throw new UnusableDirectory(`userDNPattern has more than ${MAX_PATTERNS} patterns`)
  }
  if (patterns.length === 0) throw new UnusableDirectory('userDNPattern must be given')
  for (const pattern of patterns) {
    withPlaceholder('userDNPattern', pattern, '{0}')
    // A name is escaped as an attribute value, so the placeholder must be part of one.
    if (/(?:^|[,+])[^=,+]*\{0\}/.test(pattern)) {
      throw new UnusableDirectory('userDNPattern must use {0} in an attribute value')
    }
  }
  return patterns
}

const readSearch = ({ text, trimmed }: MemberReader, places: DirectoryPlaces | undefined): UserSearch => ({
  base: required('userSearchBase', text('userSearchBase') ?? places?.searchBase),
  filter: withPlaceholder('userSearchFilter', trimmed('userSearchFilter') ?? 'cn={0}', '{0}'),
})

const readComparison = ({ trimmed, flag }: MemberReader): PasswordComparison => ({
  attribute: trimmed('passwordAttributeName') ?? 'userPassword',
  by: flag('localPasswordCompare', true) ? 'server' : 'directory',
})

const loginOf = (profile: DirectoryProfile): DirectorySettings['login'] =>
  profile.kind === 'simple-bind'
    ? { attributes: profile.patterns.flatMap(namesInPattern), isUnambiguous: profile.patterns.length === 1 }
    : { attributes: namesInFilter(profile.search.filter), isUnambiguous: true }

/** Why a record cannot be used; undefined for a usable one, and for one without a URL, which is not configured yet. */
export function directoryProblem(record: JsonRecord): string | undefined {
  const { baseUrl }: LdapProviderConfig = record
  if (typeof baseUrl !== 'string' || baseUrl.trim() === '') return undefined
  try {
    readDirectorySettings(record)
    return undefined
  } catch (error) {
    if (error instanceof UnusableDirectory) return error.message
    throw error
  }
}

/** `URL` does not normalise the host of an unknown scheme, so the host is parsed again with https. */
function readUrl(url: string, usesStartTls: boolean): DirectoryUrl {
  const parsed = URL.canParse(url) ? new URL(url) : undefined
  const isTls = parsed?.protocol === 'ldaps:'
  const readable = `https://${parsed?.hostname ?? ''}/`
  if (!parsed || (!isTls && parsed.protocol !== 'ldap:') || parsed.hostname === '' || !URL.canParse(readable)) {
    throw new UnusableDirectory('baseUrl must be addresses with ldap:// or ldaps://, with spaces in between')
  }
  if (/[^/]/.test(parsed.pathname) || parsed.search !== '' || parsed.hash !== '' || parsed.username !== '') {
    throw new UnusableDirectory('an address in baseUrl has more than a host and a port')
  }
  return {
    hostname: new URL(readable).hostname,
    port: Number(parsed.port || (isTls ? 636 : 389)),
    tls: isTls ? 'ldaps' : usesStartTls ? 'start-tls' : 'none',
  }
}

function readAuthorities(pem: unknown): string | undefined {
  if (typeof pem !== 'string' || pem.trim() === '') return undefined
  const certificates = pem.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? []
  const text = certificates.join('\n') // without what stands around them
  if (pem.length > MAX_PEM_LENGTH || !readCertificates(text))
    throw new UnusableDirectory('caCertificates must be certificates in PEM')
  return text
}

/** There is no built-in account: without one, searches are anonymous. */
function readAccount(dn: string | undefined, password: string | undefined): BindAccount | undefined {
  if (dn === undefined) return undefined
  // RFC 4513 §5.1.2: a bind without a password succeeds without authentication.
  if (password === undefined || password === '') throw new UnusableDirectory('bindUserDn requires a bindPassword')
  // A DN, or a name that Active Directory accepts. The library interprets a bare word as a SASL mechanism.
  if (!/[=@\\]/.test(dn)) throw new UnusableDirectory('bindUserDn must be a DN')
  return { dn, password }
}

const namesInPattern = (pattern: string): readonly string[] =>
  [...pattern.matchAll(/(?:^|[,+])\s*([A-Za-z][A-Za-z0-9-]*)\s*=\s*\{0\}\s*(?=[,+]|$)/g)].map(([, name = '']) => name)

/** The attributes that the whole name is compared with. */
const namesInFilter = (filter: string): readonly string[] =>
  [...filter.matchAll(/(?:^|\()\s*([A-Za-z][A-Za-z0-9-]*)\s*=\s*\{0\}\s*(?=\)|$)/g)].map(([, name = '']) => name)

/** The mapped attributes, and the defaults of those that are not mapped. */
function readAttributes(config: LdapProviderConfig, more: readonly string[]): readonly string[] {
  const mappings = config.attributeMappings
  const mapped = typeof mappings === 'object' && mappings !== null ? Object.values(mappings).flat() : []
  const names = [...more, ...mapped, 'cn', 'givenname', 'sn', 'telephonenumber']
  // RFC 4512 §2.5: a name or an OID, with options. Excludes `*`, which would return all attributes.
  const valid = names.filter(
    (name): name is string => typeof name === 'string' && /^[A-Za-z0-9][A-Za-z0-9.;-]*$/.test(name),
  )
  const unique = new Map(valid.map(name => [name.toLowerCase(), name]))
  if (unique.size > MAX_ATTRIBUTES) throw new UnusableDirectory('attributeMappings name too many attributes')
  return [...unique.values()]
}
