import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { readDirectorySettings, UnusableDirectory } from '../../src/providers/directory-settings.ts'
import { behaviourOf } from '../../src/model/compatibility.ts'

type Config = Readonly<Record<string, unknown>>

const BIND: Config = { baseUrl: 'ldap://directory.example', userDNPattern: 'cn={0},ou=people' }
const SEARCH: Config = {
  baseUrl: 'ldap://directory.example',
  ldapProfileFile: 'ldap/ldap-search-and-bind.xml',
  userSearchBase: 'ou=people',
}
const COMPARE: Config = { ...SEARCH, ldapProfileFile: 'ldap/ldap-search-and-compare.xml' }
const GROUPS: Config = { ...BIND, ldapGroupFile: 'ldap/ldap-groups-as-scopes.xml' }

describe('readDirectorySettings', () => {
  it('applies defaults, without a bind account', () => {
    assert.deepEqual(readDirectorySettings(BIND), {
      urls: [{ hostname: 'directory.example', port: 389, tls: 'none' }],
      verifiesCertificate: true,
      authorities: undefined,
      account: undefined,
      profile: { kind: 'simple-bind', patterns: ['cn={0},ou=people'] },
      groups: { kind: 'none' },
      refusesReferrals: false,
      attributes: ['mail', 'cn', 'entryUUID', 'objectGUID', 'nsUniqueId', 'givenname', 'sn', 'telephonenumber'],
      login: { attributes: ['cn'], isUnambiguous: true },
      mail: { attribute: 'mail', substitute: undefined, overrides: false },
    })
    assert.deepEqual(readDirectorySettings(SEARCH).profile, {
      kind: 'search-and-bind',
      search: { base: 'ou=people', filter: 'cn={0}' },
    })
    assert.deepEqual(readDirectorySettings(COMPARE).profile, {
      kind: 'search-and-compare',
      search: { base: 'ou=people', filter: 'cn={0}' },
      compare: { attribute: 'userPassword', by: 'server' },
    })
    assert.deepEqual(readDirectorySettings(GROUPS).groups, {
      kind: 'search',
      base: '',
      filter: 'member={0}',
      scope: 'sub',
      depth: 10,
      roleAttribute: 'description',
      takesPartialResults: true,
    })
  })

  it('applies the search bases of the mode if absent, but not if empty', () => {
    const { directoryPlaces: places } = behaviourOf('uaa')
    const { baseUrl } = BIND
    assert.deepEqual(readDirectorySettings({ baseUrl, userDNPattern: null }, places).profile, {
      kind: 'simple-bind',
      patterns: ['cn={0},ou=Users,dc=test,dc=com'],
    })
    assert.deepEqual(readDirectorySettings({ ...SEARCH, userSearchBase: undefined }, places).profile, {
      kind: 'search-and-bind',
      search: { base: 'dc=test,dc=com', filter: 'cn={0}' },
    })
    assert.deepEqual(readDirectorySettings(BIND, places), readDirectorySettings(BIND))
    assert.throws(() => readDirectorySettings({ baseUrl, userDNPattern: ' ' }, places), UnusableDirectory)
    assert.equal(behaviourOf('standard').directoryPlaces, undefined)
  })

  it('returns the configured settings', () => {
    const settings = readDirectorySettings({
      ...GROUPS,
      baseUrl: ' ldaps://one.example:1636/  ldap://[2001:db8::1] ',
      tlsConfiguration: 'simple',
      skipSSLVerification: true,
      userDNPattern: 'cn={0},ou=a| uid={0},ou=b |',
      userDNPatternDelimiter: '|',
      bindUserDn: 'EXAMPLE\\svc',
      bindPassword: ' p ',
      mailAttributeName: 'otherMail',
      mailSubstitute: '{0}@example.org',
      mailSubstituteOverridesLdap: true,
      referral: 'throw',
      groupSearchFilter: '(memberUid={1})',
      groupSearchBase: 'ou=groups',
      groupSearchSubTree: false,
      groupsIgnorePartialResults: false,
      maxGroupSearchDepth: 3,
      groupRoleAttribute: 'ou',
      attributeMappings: { email: 'OTHERMAIL', external_groups: ['a;lang-en', '1.2.3', '*', '+', 'x y', ''] },
    })
    assert.deepEqual(settings, {
      urls: [
        { hostname: 'one.example', port: 1636, tls: 'ldaps' },
        { hostname: '[2001:db8::1]', port: 389, tls: 'start-tls' },
      ],
      verifiesCertificate: false,
      authorities: undefined,
      account: { dn: 'EXAMPLE\\svc', password: ' p ' },
      profile: { kind: 'simple-bind', patterns: ['cn={0},ou=a', 'uid={0},ou=b'] },
      groups: {
        kind: 'search',
        base: 'ou=groups',
        filter: '(memberUid={1})',
        scope: 'one',
        depth: 3,
        roleAttribute: 'ou',
        takesPartialResults: false,
      },
      refusesReferrals: true,
      attributes: [
        'OTHERMAIL',
        'cn',
        'uid',
        'entryUUID',
        'objectGUID',
        'nsUniqueId',
        'a;lang-en',
        '1.2.3',
        'givenname',
        'sn',
        'telephonenumber',
      ],
      login: { attributes: ['cn', 'uid'], isUnambiguous: false },
      mail: { attribute: 'otherMail', substitute: '{0}@example.org', overrides: true },
    })
  })

  it('returns the attributes compared with the complete login name', () => {
    const cases: readonly (readonly [filter: string, names: readonly string[]])[] = [
      ['uid={0}', ['uid']],
      ['(&(objectClass=person)( sAMAccountName = {0} ))', ['sAMAccountName']],
      ['(|(uid={0})(mail={0}@example.org)(mail={0}))', ['uid', 'mail']],
      ['(cn=*{0}*)', []],
      ['(cn:caseExactMatch:={0})', []],
    ]
    for (const [userSearchFilter, attributes] of cases)
      assert.deepEqual(readDirectorySettings({ ...SEARCH, userSearchFilter }).login, {
        attributes,
        isUnambiguous: true,
      })
    assert.deepEqual(readDirectorySettings({ ...BIND, userDNPattern: 'ou=x+uid={0}, dc=y' }).login, {
      attributes: ['uid'],
      isUnambiguous: true,
    })
  })

  const long = 'x'.repeat(2001)
  const unusable: readonly (readonly [name: string, config: Config, message: string])[] = [
    ['without a URL', { ...BIND, baseUrl: undefined }, 'baseUrl must be given'],
    [
      'with SASL EXTERNAL',
      { ...BIND, tlsConfiguration: 'external' },
      'tlsConfiguration external requires a certificate of this server, which a record cannot have: use simple',
    ],
    [
      'with caCertificates that are not PEM',
      { ...BIND, caCertificates: 'x' },
      'caCertificates must be certificates in PEM',
    ],
    [
      'with an invalid CA certificate',
      { ...BIND, caCertificates: '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----' },
      'caCertificates must be certificates in PEM',
    ],
    [
      'with caCertificates that are too long',
      { ...BIND, caCertificates: 'x'.repeat(40_000) },
      'caCertificates must be certificates in PEM',
    ],
    ['with an empty URL', { ...BIND, baseUrl: ' ' }, 'baseUrl must be given'],
    ...[
      'directory',
      'http://a',
      'ldapi:///',
      'ldap://',
      'ldap:///x',
      'ldap://a b',
      'ldap://a%00b',
      'ldap://a:99999',
    ].map(
      baseUrl =>
        [
          `with the URL ${baseUrl}`,
          { ...BIND, baseUrl },
          'baseUrl must be addresses with ldap:// or ldaps://, with spaces in between',
        ] as const,
    ),
    ...['ldap://a/dc=x', 'ldap://a?x', 'ldap://me:secret@a', 'ldap://a#x'].map(
      baseUrl =>
        [
          `with the URL ${baseUrl}`,
          { ...BIND, baseUrl },
          'an address in baseUrl has more than a host and a port',
        ] as const,
    ),
    ['with six URLs', { ...BIND, baseUrl: 'ldap://a '.repeat(6) }, 'baseUrl has more than 5 addresses'],
    ['with a URL that is too long', { ...BIND, baseUrl: `ldap://${long}` }, 'baseUrl is too long'],
    ['without a pattern', { baseUrl: 'ldap://a' }, 'userDNPattern must be given'],
    ['with an empty pattern', { ...BIND, userDNPattern: ' ; ' }, 'userDNPattern must be given'],
    ['with 11 patterns', { ...BIND, userDNPattern: 'cn={0};'.repeat(11) }, 'userDNPattern has more than 10 patterns'],
    ['with a pattern without {0}', { ...BIND, userDNPattern: 'cn={0};cn=admin' }, 'userDNPattern must contain {0}'],
    [
      'with {0} outside a DN',
      { ...BIND, userDNPattern: '{0}@example.org' },
      'userDNPattern must use {0} in an attribute value',
    ],
    [
      'with {0} as an attribute type',
      { ...BIND, userDNPattern: 'cn=x,{0}=y' },
      'userDNPattern must use {0} in an attribute value',
    ],
    ['without a search base', { ...SEARCH, userSearchBase: undefined }, 'userSearchBase must be given'],
    [
      'with a search filter without {0}',
      { ...SEARCH, userSearchFilter: 'cn=admin' },
      'userSearchFilter must contain {0}',
    ],
    [
      'with a filter that is too long',
      { ...SEARCH, userSearchFilter: `cn={0}${long}` },
      'userSearchFilter is too long',
    ],
    [
      'with a group filter without {0} or {1}',
      { ...GROUPS, groupSearchFilter: 'cn=*' },
      'groupSearchFilter must contain {0} or {1}',
    ],
    ['with a mailSubstitute without {0}', { ...BIND, mailSubstitute: 'a@b' }, 'mailSubstitute must contain {0}'],
    ['with a bindUserDn without bindPassword', { ...BIND, bindUserDn: 'cn=a' }, 'bindUserDn requires a bindPassword'],
    [
      'with an empty bindPassword',
      { ...BIND, bindUserDn: 'cn=a', bindPassword: '' },
      'bindUserDn requires a bindPassword',
    ],
    [
      'with a SASL mechanism as bindUserDn',
      { ...BIND, bindUserDn: 'EXTERNAL', bindPassword: 'x' },
      'bindUserDn must be a DN',
    ],
    ['with an unknown profile', { ...BIND, ldapProfileFile: 'ldap/x.xml' }, 'ldapProfileFile is unknown'],
    [
      'with 101 attribute mappings',
      { ...BIND, attributeMappings: Object.fromEntries(Array.from({ length: 101 }, (_, n) => [`a${n}`, `a${n}`])) },
      'attributeMappings name too many attributes',
    ],
  ]
  for (const [name, config, text] of unusable) {
    it(`rejects settings ${name}`, () => {
      assert.throws(
        () => readDirectorySettings(config),
        (error: unknown) => error instanceof UnusableDirectory && error.message === text,
      )
    })
  }
})
