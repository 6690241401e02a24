// Against a real directory: OpenLDAP's slapd.
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { getCACertificates, setDefaultCACertificates } from 'node:tls'
import { systemClock } from '../../../src/base/clock.ts'
import type { OutboundOptions } from '../../../src/base/outbound.ts'
import { createOutbound } from '../../../src/base/outbound.ts'
import { createPasswords } from '../../../src/base/passwords.ts'
import { createRandom } from '../../../src/base/random.ts'
import { createDirectories } from '../../../src/identity/directory/directory.ts'
import type { DirectoryResult } from '../../../src/identity/directory/directory.ts'
import { readDirectorySettings } from '../../../src/providers/directory-settings.ts'
import { certificateOf } from '../../support/certificate.ts'
import { privatePem } from '../../support/config.ts'
import { freePort } from '../../support/free-port.ts'
import type { Slapd } from '../../support/slapd.ts'
import { ACCOUNT, dnOf, GROUPS, ODD_NAMES, PASSWORD, PEOPLE, startSlapd, storedPasswords } from '../../support/slapd.ts'

type Config = Readonly<Record<string, unknown>>

const passwords = createPasswords({ concurrency: 2, cost: { memoryKib: 64, passes: 1 } })

const SIMPLE: Config = { userDNPattern: `cn={0},${PEOPLE}` }
const SEARCH: Config = {
  ldapProfileFile: 'ldap/ldap-search-and-bind.xml',
  userSearchBase: PEOPLE,
  bindUserDn: ACCOUNT.dn,
  bindPassword: ACCOUNT.password,
}
const COMPARE: Config = { ...SEARCH, ldapProfileFile: 'ldap/ldap-search-and-compare.xml' }
const PROFILES = { 'simple bind': SIMPLE, 'search and bind': SEARCH, 'search and compare': COMPARE }

let slapd: Slapd
before(async () => {
  slapd = await startSlapd()
})
after(() => slapd.stop())

async function authenticate(
  config: Config,
  userName: string,
  { password = PASSWORD, ...options }: Partial<OutboundOptions> & { readonly password?: string } = {},
): Promise<DirectoryResult> {
  const outbound = createOutbound({ allowPrivate: false, allowLoopback: true, ...options })
  const settings = readDirectorySettings({ baseUrl: slapd.url, ...config })
  return createDirectories({ outbound, passwords, clock: systemClock, random: createRandom() }).authenticate(settings, {
    userName,
    password,
  })
}

function found(result: DirectoryResult): Extract<DirectoryResult, { outcome: 'found' }> {
  assert.ok(result.outcome === 'found', JSON.stringify(result))
  return result
}

const BAD = { outcome: 'bad-credentials' }
/** Replaces the limit of five seconds. */
const never = { deadline: () => new AbortController().signal }

for (const [name, profile] of Object.entries(PROFILES)) {
  describe(`Directory sign-in by ${name}`, () => {
    it('returns the user with the mapped attributes', async () => {
      const config = {
        ...profile,
        attributeMappings: { 'user.attribute.a': 'objectClass', email: '*', phone: ['Mail'] },
      }
      const { entry, groups } = found(await authenticate(config, 'marissa'))
      assert.equal(entry.dn.toLowerCase(), `cn=marissa,${PEOPLE}`)
      const { entryuuid, ...attributes } = Object.fromEntries(entry.attributes)
      assert.match(entry.uniqueId ?? '', /^[\da-f-]{36}$/)
      assert.deepEqual([entry.uniqueId], entryuuid)
      assert.deepEqual(attributes, {
        cn: ['marissa'],
        givenname: ['Marissa'],
        mail: ['marissa@example.org'],
        objectclass: ['inetOrgPerson'],
        sn: ['marissa family'],
        telephonenumber: ['+1 555 0100'],
      })
      assert.deepEqual(groups, [])
    })

    it('answers the same to a wrong password, an empty one and an unknown user', async () => {
      for (const password of [
        '',
        ' ',
        'x',
        `${PASSWORD} `,
        PASSWORD.toUpperCase(),
        '\0',
        `${PASSWORD}\0`,
        `${PASSWORD}\n`,
        `${PASSWORD}\x7f`,
        `${PASSWORD}\x9f`,
        '\ud800',
      ]) {
        assert.deepEqual(await authenticate(profile, 'marissa', { password }), BAD, JSON.stringify(password))
      }
      for (const userName of [
        'nobody',
        '',
        ' ',
        '\0',
        'marissa\0',
        'marissa\t',
        'marissa\x7f',
        'marissa\x85',
        '\ud800',
        'x'.repeat(500),
        'x'.repeat(50_000),
      ]) {
        assert.deepEqual(await authenticate(profile, userName), BAD, JSON.stringify(userName))
      }
      assert.deepEqual(await authenticate(profile, 'without-password'), BAD)
    })

    // Covers ldap sign-in: escaping of names
    it('escapes user names in DNs and filters', async () => {
      for (const userName of ODD_NAMES) {
        const { entry } = found(await authenticate(profile, userName))
        assert.deepEqual(entry.attributes.get('cn'), [userName])
        assert.deepEqual(await authenticate(profile, userName, { password: 'x' }), BAD, userName)
      }
      const injected = [
        '*',
        'mariss*',
        'marissa)(cn=*',
        '*)(objectClass=*',
        'x)(|(cn=marissa)',
        '\\2a',
        'mariss\\61',
        `marissa,${PEOPLE}`,
        'marissa+sn=marissa family',
        'marissa,ou=people;x',
        '"marissa"',
        'EXTERNAL',
        'PLAIN',
      ]
      for (const userName of injected) assert.deepEqual(await authenticate(profile, userName), BAD, userName)
    })

    it('reports an unreachable or forbidden server, without the user name', async () => {
      const port = await freePort()
      const options: readonly [Config, Partial<OutboundOptions>, RegExp][] = [
        [{ baseUrl: `ldap://localhost:${port}` }, {}, /^localhost:\d+: cannot be reached \(\w+\)$/],
        [{}, { allowLoopback: false }, /resolves to an address that is not allowed$/],
        [{ baseUrl: 'ldap://10.0.0.1' }, {}, /^10\.0\.0\.1:389: resolves to an address that is not allowed$/],
        [{ baseUrl: 'ldap://169.254.169.254' }, { allowPrivate: true }, /not allowed$/],
        [{ baseUrl: 'ldap://[::ffff:127.0.0.1]' }, { allowPrivate: true }, /not allowed$/],
        [{ baseUrl: 'ldap://0x7f.1:1' }, { allowLoopback: false }, /^127\.0\.0\.1:1: .*not allowed$/],
        [
          { baseUrl: 'ldap://directory.example' },
          { resolve: () => Promise.resolve(['1.1.1.1', '192.168.0.1']) },
          /^directory\.example:389: resolves to an address that is not allowed$/,
        ],
        [
          { baseUrl: 'ldaps://directory.example' },
          { resolve: () => Promise.reject(Object.assign(new Error('no'), { code: 'ENOTFOUND' })) },
          /^directory\.example:636: cannot be reached \(ENOTFOUND\)$/,
        ],
      ]
      for (const [config, more, reason] of options) {
        const result = await authenticate({ ...profile, ...config }, 'marissa', { ...never, ...more })
        assert.ok(result.outcome === 'unreachable', JSON.stringify(result))
        assert.equal(result.because, 'no-answer')
        assert.match(result.reason, reason)
      }
    })

    it('connects to the checked address, without a second DNS lookup', async () => {
      let lookUps = 0
      const resolve = () => Promise.resolve([['127.0.0.1'], ['10.0.0.1']][lookUps++] ?? [])
      const config = { ...profile, baseUrl: `ldap://directory.example:${slapd.port}` }
      found(await authenticate(config, 'marissa', { resolve, allowLoopback: true }))
      assert.equal(lookUps, 1)
    })

    // Covers ldap config: baseUrl
    it('tries the next address if one does not respond, but not after a refusal', async () => {
      const closed = `ldap://localhost:${await freePort()}`
      found(await authenticate({ ...profile, baseUrl: `${closed}  ${slapd.url}` }, 'marissa'))
      assert.deepEqual(
        await authenticate({ ...profile, baseUrl: `${slapd.url} ${closed}` }, 'marissa', { password: 'x' }),
        BAD,
      )
      const result = await authenticate({ ...profile, baseUrl: `${closed} ${closed}` }, 'marissa')
      assert.equal(result.outcome, 'unreachable')
    })
  })
}

describe('simple bind', () => {
  // Covers ldap config: userDNPattern; userDNPatternDelimiter
  // Covers ldap sign-in: simple bind
  it('tries every pattern in turn', async () => {
    const patterns = [`cn={0},ou=nowhere,${PEOPLE}`, `uid={0},${PEOPLE}`, `cn={0},${PEOPLE}`]
    found(await authenticate({ userDNPattern: patterns.join(' ; ') }, 'marissa'))
    const userDNPattern = patterns.join('##')
    found(await authenticate({ userDNPattern, userDNPatternDelimiter: '##' }, 'marissa'))
    assert.deepEqual(await authenticate({ userDNPattern: patterns.join(';') }, 'marissa', { password: 'x' }), BAD)
  })

  it('reports a pattern that is not a DN, rather than an unknown user', async () => {
    const result = await authenticate({ userDNPattern: 'cn={0},nothing' }, 'marissa')
    assert.deepEqual(result, { outcome: 'misconfigured', reason: 'responded with result code 34 (invalidDNSyntax)' })
  })

  it('searches groups as the bind account, or else as the user', async () => {
    const groups = { ...SIMPLE, ldapGroupFile: 'ldap/ldap-groups-map-to-scopes.xml', groupSearchBase: GROUPS }
    const account = { bindUserDn: ACCOUNT.dn, bindPassword: ACCOUNT.password }
    assert.equal(found(await authenticate(groups, 'marissa')).groups.length, 3)
    assert.equal(found(await authenticate({ ...groups, ...account }, 'marissa')).groups.length, 3)
    const wrong = await authenticate({ ...groups, ...account, bindPassword: 'x' }, 'marissa')
    assert.deepEqual(wrong, {
      outcome: 'misconfigured',
      reason: 'bindUserDn: responded with result code 49 (invalidCredentials)',
    })
  })
})

describe('search and bind', () => {
  const byMail = { ...SEARCH, userSearchFilter: '(&(objectClass=inetOrgPerson)(mail={0}))' }

  // Covers ldap config: userSearchFilter
  // Covers ldap sign-in: search and bind
  it('requires exactly one entry', async () => {
    assert.equal(found(await authenticate(byMail, 'loner@example.org')).entry.dn, `cn=loner,${PEOPLE}`)
    assert.deepEqual(await authenticate(byMail, 'twin@example.org'), BAD)
    assert.deepEqual(
      await authenticate({ ...byMail, ldapProfileFile: COMPARE['ldapProfileFile'] }, 'twin@example.org'),
      BAD,
    )
  })

  const filters = [
    '(|(mail={0}@example.org)(uid={0}))',
    '(mail={0}@*)',
    '(mail=*{0}@example.org)',
    '(&(cn={0})(!(cn=other {0})))',
    '(cn:caseIgnoreMatch:={0})',
  ]
  for (const userSearchFilter of filters) {
    it(`supports the filter ${userSearchFilter}`, async () => {
      const config = { ...SEARCH, userSearchFilter }
      assert.equal(found(await authenticate(config, 'loner')).entry.dn, `cn=loner,${PEOPLE}`)
      assert.deepEqual(await authenticate(config, 'l*r'), BAD)
      assert.deepEqual(await authenticate(config, 'loner)(cn=loner'), BAD)
    })
  }

  const answered = (setting: string, result: string): string => `${setting}: responded with result code ${result}`
  const badAccount = answered('bindUserDn', '49 (invalidCredentials)')
  const mistakes: readonly (readonly [name: string, config: Config, reason: string])[] = [
    // Covers ldap config: bindPassword
    ['an account with a wrong password', { bindPassword: 'x' }, badAccount],
    // Covers ldap config: bindUserDn
    ['an unknown account', { bindUserDn: `cn=x,${PEOPLE}` }, badAccount],
    ['an account with an invalid DN', { bindUserDn: 'me@' }, answered('bindUserDn', '34 (invalidDNSyntax)')],
    // Covers ldap config: userSearchBase
    ['an unknown search base', { userSearchBase: 'dc=x' }, answered('userSearchBase', '32 (noSuchObject)')],
    ['an invalid filter', { userSearchFilter: '(cn={0}' }, 'userSearchFilter is not a filter'],
    [
      'a filter that is nested too deeply',
      { userSearchFilter: `${'(!'.repeat(900)}(cn={0}` },
      'userSearchFilter is not a filter',
    ],
    ['a placeholder as attribute', { userSearchFilter: '({0}=x)' }, 'userSearchFilter is not a filter'],
  ]
  for (const [name, config, reason] of mistakes) {
    it(`reports the misconfigured setting: ${name}`, async () => {
      assert.deepEqual(await authenticate({ ...SEARCH, ...config }, 'marissa'), { outcome: 'misconfigured', reason })
    })
  }

  it('is anonymous without a bind account', async () => {
    found(await authenticate({ ...SEARCH, bindUserDn: undefined, bindPassword: undefined }, 'marissa'))
  })
})

describe('search and compare', () => {
  for (const name of Object.keys(storedPasswords(''))) {
    it(`accepts a password stored as ${name}`, async () => {
      const { entry } = found(await authenticate(COMPARE, `stored-${name}`))
      assert.ok(!JSON.stringify([...entry.attributes]).includes(PASSWORD), 'the stored password is not returned')
      assert.ok(!entry.attributes.has('userpassword'))
      assert.deepEqual(await authenticate(COMPARE, `stored-${name}`, { password: `${PASSWORD}x` }), BAD)
    })
  }

  // Covers ldap sign-in: search and compare
  it('refuses a password stored in an unsupported scheme', async () => {
    for (const name of ['unknown', 'unix', 'slow']) assert.deepEqual(await authenticate(COMPARE, `stored-${name}`), BAD)
    assert.deepEqual(await authenticate(COMPARE, 'stored-unknown', { password: `{ROT13}${PASSWORD}` }), BAD)
    const stored = storedPasswords(PASSWORD)['ssha']
    assert.deepEqual(await authenticate(COMPARE, 'stored-ssha', { password: stored ?? '' }), BAD)
  })

  // Covers ldap config: passwordAttributeName
  it('compares the attribute passwordAttributeName', async () => {
    found(await authenticate({ ...COMPARE, passwordAttributeName: 'MAIL' }, 'loner', { password: 'loner@example.org' }))
  })

  it('refuses users if the search may not read passwords', async () => {
    const anonymous = { ...COMPARE, bindUserDn: undefined, bindPassword: undefined }
    assert.deepEqual(await authenticate(anonymous, 'marissa'), BAD)
  })

  // Covers ldap config: localPasswordCompare
  it('lets the directory compare if localPasswordCompare is false', async () => {
    const config = { ...COMPARE, localPasswordCompare: false }
    found(await authenticate(config, 'stored-plain'))
    assert.deepEqual(await authenticate(config, 'stored-plain', { password: 'x' }), BAD)
    assert.deepEqual(await authenticate(config, 'without-password', { password: 'x' }), BAD)
  })
})

describe('Directory groups', () => {
  const SCOPES = { ...SEARCH, ldapGroupFile: 'ldap/ldap-groups-as-scopes.xml', groupSearchBase: GROUPS }
  const names = async (config: Config, userName = 'marissa') =>
    found(await authenticate(config, userName)).groups.map(({ cn }) => cn)

  it('include parent groups once, even in a cycle', async () => {
    const { groups } = found(await authenticate(SCOPES, 'marissa'))
    assert.deepEqual(groups, [
      { dn: `cn=readers,${GROUPS}`, cn: 'readers', roles: ['cloud.read,cloud.list'] },
      { dn: `cn=staff,${GROUPS}`, cn: 'staff', roles: ['cloud.write'] },
      { dn: `cn=everybody,${GROUPS}`, cn: 'everybody', roles: ['openid'] },
    ])
  })

  const rules: readonly (readonly [name: string, config: Config, want: readonly string[]])[] = [
    // Covers ldap config: maxGroupSearchDepth
    ['up to maxGroupSearchDepth', { maxGroupSearchDepth: 2 }, ['readers', 'staff']],
    ['without nesting for a depth of one', { maxGroupSearchDepth: 1 }, ['readers']],
    ['without nesting for a negative depth', { maxGroupSearchDepth: -3 }, ['readers']],
    ['in the subtree', { groupSearchBase: 'dc=example,dc=org', maxGroupSearchDepth: 1 }, ['readers']],
    // Covers ldap config: groupSearchSubTree
    [
      'outside the subtree if groupSearchSubTree is false',
      { groupSearchBase: 'dc=example,dc=org', groupSearchSubTree: false },
      [],
    ],
    // Covers ldap config: groupSearchFilter
    ['by the login name', { groupSearchFilter: '(member=cn={1},ou=people,dc=example,dc=org)' }, ['readers']],
    // Covers ldap config: groupSearchBase
    ['in memberOf', { groupSearchBase: 'memberOf' }, ['readers']],
    ['never for ldap-groups-null.xml', { ldapGroupFile: 'ldap/ldap-groups-null.xml' }, []],
    // Covers ldap config: ldapGroupFile
    ['never for ldap-groups-populator.xml', { ldapGroupFile: 'ldap/ldap-groups-populator.xml' }, []],
  ]
  for (const [name, config, want] of rules) {
    it(`are found ${name}`, async () => {
      assert.deepEqual(await names({ ...SCOPES, ...config }), want)
    })
  }

  it('are found by the login name of a user who signs in by email address', async () => {
    const config = {
      userSearchFilter: '(|(cn={0})(mail={0}))',
      groupSearchFilter: '(member=cn={1},ou=people,dc=example,dc=org)',
    }
    assert.deepEqual(await names({ ...SCOPES, ...config }, 'loner@example.org'), ['elsewhere'])
  })

  it('are empty for a user without groups', async () => {
    assert.deepEqual(await names(SCOPES, 'star*'), [])
  })

  // Covers ldap config: groupRoleAttribute
  it('have the roles in groupRoleAttribute', async () => {
    const [first] = found(await authenticate({ ...SCOPES, groupRoleAttribute: 'CN' }, 'loner')).groups
    assert.deepEqual(first, { dn: `cn=elsewhere,${GROUPS}`, cn: 'elsewhere', roles: ['elsewhere'] })
  })

  it('are a misconfiguration if the search fails', async () => {
    assert.deepEqual(await authenticate({ ...SCOPES, groupSearchBase: 'dc=x' }, 'marissa'), {
      outcome: 'misconfigured',
      reason: 'groups: responded with result code 32 (noSuchObject)',
    })
  })
})

describe('TLS to the directory', () => {
  const secured = () => [
    ['ldaps', { ...SEARCH, baseUrl: slapd.tlsUrl }] as const,
    ['StartTLS', { ...SEARCH, tlsConfiguration: 'simple' }] as const,
  ]

  it('requires a certificate of a trusted authority', async () => {
    for (const [name, config] of secured()) {
      const result = await authenticate(config, 'marissa')
      assert.ok(result.outcome === 'unreachable', name)
      assert.equal(result.because, 'untrusted')
      assert.match(result.reason, /^localhost:\d+: its certificate is not trusted \(DEPTH_ZERO_SELF_SIGNED_CERT\)$/)
    }
  })

  // Covers ldap config: skipSSLVerification
  it('accepts any certificate with skipSSLVerification, over ldaps only', async () => {
    const [ldaps, startTls] = secured()
    found(await authenticate({ ...ldaps?.[1], skipSSLVerification: true }, 'marissa'))
    assert.equal(
      (await authenticate({ ...startTls?.[1], skipSSLVerification: true }, 'marissa')).outcome,
      'unreachable',
    )
  })

  it('trusts only the caCertificates of the record if set', async () => {
    const other = certificateOf(privatePem('ec', 'P-256'), { name: 'another' })
    for (const [name, config] of secured()) {
      const trusting = { ...config, caCertificates: `${other}${slapd.certificate}` }
      for (let time = 0; time < 2; time += 1)
        assert.equal((await authenticate(trusting, 'marissa')).outcome, 'found', name)
      const result = await authenticate({ ...config, caCertificates: other }, 'marissa')
      assert.ok(result.outcome === 'unreachable' && result.because === 'untrusted', name)
      const away = { ...trusting, baseUrl: (config as { baseUrl?: string }).baseUrl?.replace('localhost', '127.0.0.1') }
      if (away.baseUrl !== undefined) assert.equal((await authenticate(away, 'marissa')).outcome, 'unreachable')
    }
    const usual = getCACertificates('default')
    setDefaultCACertificates([...usual, slapd.certificate])
    try {
      for (const [, config] of secured())
        assert.equal((await authenticate({ ...config, caCertificates: other }, 'marissa')).outcome, 'unreachable')
    } finally {
      setDefaultCACertificates(usual)
    }
  })

  describe('with a trusted certificate', () => {
    const usual = getCACertificates('default')
    before(() => setDefaultCACertificates([...usual, slapd.certificate]))
    after(() => setDefaultCACertificates(usual))

    // Partly covers ldap config: tlsConfiguration
    it('signs in', async () => {
      for (const [name, config] of secured())
        assert.equal((await authenticate(config, 'marissa')).outcome, 'found', name)
    })

    // Covers unsafe behaviour: StartTLS host is verified
    it('requires the host name in the certificate', async () => {
      const resolve = () => Promise.resolve(['127.0.0.1'])
      for (const [name, config] of secured()) {
        const { baseUrl = slapd.url } = config as { readonly baseUrl?: string }
        for (const host of ['directory.example', '127.0.0.1']) {
          const other = { ...config, baseUrl: baseUrl.replace('localhost', host) }
          const result = await authenticate(other, 'marissa', { resolve })
          assert.ok(result.outcome === 'unreachable' && result.because === 'untrusted', `${name} ${host}`)
          assert.match(result.reason, /ERR_TLS_CERT_ALTNAME_INVALID/)
        }
      }
    })

    it('fails with a directory without TLS', async () => {
      const result = await authenticate({ ...SEARCH, baseUrl: slapd.url.replace('ldap:', 'ldaps:') }, 'marissa')
      assert.ok(result.outcome === 'unreachable' && result.because === 'no-answer', JSON.stringify(result))
    })
  })
})

describe('dnValue', () => {
  it('is parsed correctly by the directory', async () => {
    for (const name of ODD_NAMES) {
      const { entry } = found(await authenticate(SIMPLE, name))
      const again = await authenticate({ ...SEARCH, userSearchBase: entry.dn }, name)
      assert.equal(found(again).entry.dn, entry.dn)
      found(await authenticate({ ...SEARCH, userSearchBase: dnOf(name) }, name))
    }
  })
})
