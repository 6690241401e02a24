// What an LDAP provider's record says, completed and checked. Defaults stand in for what every directory has alike; there
// is none for an account, a DN or a place in the tree: a directory is asked only for what somebody wrote down for it.
import type { JsonRecord } from '../../base/json.ts'

/** One address of the directory. */
export interface DirectoryUrl {
  readonly hostname: string
  readonly port: number
  readonly tls: 'none' | 'ldaps' | 'start-tls'
}

/** The account that searches. */
export interface BindAccount {
  readonly dn: string
  readonly password: string
}

/** How a person is found and their password checked. */
export type DirectoryProfile =
  | { readonly kind: 'simple-bind'; readonly patterns: readonly string[] }
  | { readonly kind: 'search-and-bind'; readonly search: UserSearch }
  | { readonly kind: 'search-and-compare'; readonly search: UserSearch; readonly compare: PasswordComparison }

/** Where people are, and the filter in which `{0}` stands for the name. */
export interface UserSearch {
  readonly base: string
  readonly filter: string
}

/** Which attribute has the password, and who compares it. */
export interface PasswordComparison {
  readonly attribute: string
  readonly by: 'server' | 'directory'
}

/** How a person's groups are found. */
export type GroupRule =
  | { readonly kind: 'none' }
  | { readonly kind: 'member-of' }
  | {
      readonly kind: 'search'
      readonly base: string
      /** `{0}` stands for the DN, `{1}` for the name. */
      readonly filter: string
      readonly scope: 'sub' | 'one'
      readonly depth: number
      readonly roleAttribute: string
      readonly takesPartialResults: boolean
    }

/** A directory as it is to be asked. */
export interface DirectorySettings {
  /** Tried in turn. */
  readonly urls: readonly [DirectoryUrl, ...DirectoryUrl[]]
  readonly verifiesCertificate: boolean
  readonly account: BindAccount | undefined
  readonly profile: DirectoryProfile
  readonly groups: GroupRule
  /** Whether the directory's word that somebody else must be asked is an error; nobody else is asked in either case. */
  readonly refusesReferrals: boolean
  /** What is read of a person. */
  readonly attributes: readonly string[]
  readonly mail: { readonly attribute: string; readonly substitute: string | undefined; readonly overrides: boolean }
}

/** A record that no directory can be asked by; the message names members, never what they hold. */
export class UnusableDirectory extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'UnusableDirectory'
  }
}

/** Each has a share of the time. */
const MAX_URLS = 5
/** Each is a try with the password. */
const MAX_PATTERNS = 10
const MAX_ATTRIBUTES = 100
/** Filters and patterns are parsed by recursion. */
const MAX_STRING_LENGTH = 2000
const MAX_GROUP_DEPTH = 50

/** Reads the `config` of a provider of type `ldap`, whose members have their types; throws `UnusableDirectory`. */
export function readDirectorySettings(config: JsonRecord): DirectorySettings {
  const text = (name: string): string | undefined => {
    const value = Object.hasOwn(config, name) ? config[name] : undefined
    if (typeof value !== 'string') return undefined
    if (value.length > MAX_STRING_LENGTH) throw new UnusableDirectory(`${name} is too long`)
    return value
  }
  const filled = (name: string): string | undefined => text(name)?.trim() || undefined
  const needed = (name: string, value: string | undefined): string => {
    if (value === undefined) throw new UnusableDirectory(`${name} must be given`)
    return value
  }
  const flag = (name: string, usual: boolean): boolean => {
    const value = Object.hasOwn(config, name) ? config[name] : undefined
    return typeof value === 'boolean' ? value : usual
  }
  const withPlace = (name: string, value: string, ...places: readonly string[]): string => {
    // Without it, every name would be the same person.
    if (places.some(place => value.includes(place))) return value
    throw new UnusableDirectory(`${name} must contain ${places.join(' or ')}`)
  }

  const usesStartTls = (text('tlsConfiguration') ?? 'none') !== 'none'
  const urls = needed('baseUrl', filled('baseUrl'))
    .split(/\s+/)
    .map(url => readUrl(url, usesStartTls))
  const [first, ...others] = urls
  if (!first || urls.length > MAX_URLS) throw new UnusableDirectory(`baseUrl has more than ${MAX_URLS} addresses`)

  const search = (): UserSearch => ({
    base: needed('userSearchBase', text('userSearchBase')),
    filter: withPlace('userSearchFilter', filled('userSearchFilter') ?? 'cn={0}', '{0}'),
  })
  const patterns = (): readonly string[] => {
    const all = needed('userDNPattern', filled('userDNPattern'))
      .split(filled('userDNPatternDelimiter') ?? ';')
      .map(pattern => pattern.trim())
      .filter(pattern => pattern !== '')
    if (all.length > MAX_PATTERNS) throw new UnusableDirectory(`userDNPattern has more than ${MAX_PATTERNS} patterns`)
    if (all.length === 0) throw new UnusableDirectory('userDNPattern must be given')
    for (const pattern of all) {
      withPlace('userDNPattern', pattern, '{0}')
      // A name is escaped as the value of an attribute, and is to be nothing else.
      if (/(?:^|[,+])[^=,+]*\{0\}/.test(pattern)) throw new UnusableDirectory('userDNPattern has {0} beside a value')
    }
    return all
  }
  const compare = (): PasswordComparison => ({
    attribute: filled('passwordAttributeName') ?? 'userPassword',
    by: flag('localPasswordCompare', true) ? 'server' : 'directory',
  })
  const groups = (): GroupRule => {
    if (!/-(?:as-scopes|map-to-scopes)\.xml$/.test(text('ldapGroupFile') ?? '')) return { kind: 'none' }
    const base = text('groupSearchBase') ?? ''
    if (base === 'memberOf') return { kind: 'member-of' }
    const depth = config['maxGroupSearchDepth']
    return {
      kind: 'search',
      base,
      filter: withPlace('groupSearchFilter', filled('groupSearchFilter') ?? 'member={0}', '{0}', '{1}'),
      scope: flag('groupSearchSubTree', true) ? 'sub' : 'one',
      depth: Math.min(Math.max(typeof depth === 'number' ? depth : 10, 1), MAX_GROUP_DEPTH),
      roleAttribute: filled('groupRoleAttribute') ?? 'description',
      takesPartialResults: flag('groupsIgnorePartialResults', true),
    }
  }
  const profile = (): DirectoryProfile => {
    switch (text('ldapProfileFile') ?? 'ldap/ldap-simple-bind.xml') {
      case 'ldap/ldap-simple-bind.xml':
        return { kind: 'simple-bind', patterns: patterns() }
      case 'ldap/ldap-search-and-bind.xml':
        return { kind: 'search-and-bind', search: search() }
      case 'ldap/ldap-search-and-compare.xml':
        return { kind: 'search-and-compare', search: search(), compare: compare() }
      default:
        throw new UnusableDirectory('ldapProfileFile is not known')
    }
  }

  const substitute = filled('mailSubstitute')
  if (substitute !== undefined) withPlace('mailSubstitute', substitute, '{0}')
  const mail = {
    attribute: filled('mailAttributeName') ?? 'mail',
    substitute,
    overrides: flag('mailSubstituteOverridesLdap', false),
  }
  const groupRule = groups()
  return {
    urls: [first, ...others],
    verifiesCertificate: !flag('skipSSLVerification', false),
    account: readAccount(filled('bindUserDn'), text('bindPassword')),
    profile: profile(),
    groups: groupRule,
    refusesReferrals: text('referral') === 'throw',
    attributes: readAttributes(config, [mail.attribute, ...(groupRule.kind === 'member-of' ? ['memberOf'] : [])]),
    mail,
  }
}

/** The scheme is not one that `URL` knows, so that the host is read as that of one that it does. */
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

/** There is no built-in account: without one, searches are anonymous. */
function readAccount(dn: string | undefined, password: string | undefined): BindAccount | undefined {
  if (dn === undefined) return undefined
  // RFC 4513 §5.1.2: a bind without a password is a success that proves nothing.
  if (password === undefined || password === '') throw new UnusableDirectory('bindUserDn needs a bindPassword')
  // A DN, or a name as Active Directory takes it; a bare word could be taken for a SASL mechanism.
  if (!/[=@\\]/.test(dn)) throw new UnusableDirectory('bindUserDn must be a DN')
  return { dn, password }
}

/** Attributes that mappings name, and those that stand for what is not mapped. */
function readAttributes(config: JsonRecord, more: readonly string[]): readonly string[] {
  const mappings = config['attributeMappings']
  const mapped = typeof mappings === 'object' && mappings !== null ? Object.values(mappings).flat() : []
  const names = [...more, ...mapped, 'cn', 'givenname', 'sn', 'telephonenumber']
  // RFC 4512 §2.5: a letter or an OID, with options. Anything else would be asked for in vain, `*` for too much.
  const known = names.filter(name => typeof name === 'string' && /^[A-Za-z0-9][A-Za-z0-9.;-]*$/.test(name)) as string[]
  const unique = new Map(known.map(name => [name.toLowerCase(), name]))
  if (unique.size > MAX_ATTRIBUTES) throw new UnusableDirectory('attributeMappings name too many attributes')
  return [...unique.values()]
}
