import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import type { IdentityProvider } from '../../src/model/zones/identity-provider.ts'
import { echoOf, providerFromJson, providerToJson } from '../../src/providers/provider-json.ts'
import type { ProviderFromJson } from '../../src/providers/provider-json.ts'
import { withoutSecrets } from '../../src/providers/provider-secrets.ts'
import { providerTypes } from '../../src/providers/provider-types.ts'
import { webUrls } from '../support/web-urls.ts'
import { showSettings } from '../../src/records/settings.ts'
import { runs } from '../support/thinning.ts'

type Members = Readonly<Record<string, unknown>>

const rules = { serviceName: 'svc' }
const originOf = (type: string): string => (type === 'svc' || type === 'ldap' ? type : 'corp')
const read = (type: string, config: unknown, more: Members = {}): ProviderFromJson =>
  providerFromJson({ type, originKey: originOf(type), name: 'Corp', config, ...more }, rules)
const kinds = (reading: ProviderFromJson): readonly string[] =>
  reading.problems.map(({ key, kind }) => `${key} ${kind}`)

/** The record as it would be stored. */
function stored(reading: ProviderFromJson): IdentityProvider {
  const { definition } = reading
  return { ...definition, zoneId: 'svc', id: 'p1', createdAt: new Date(1), updatedAt: new Date(2) }
}
const shown = (reading: ProviderFromJson): Members =>
  Object(providerToJson(stored(reading), { ...rules, raw: true })['config'])

const common = { emailDomain: null, additionalConfiguration: null, providerDescription: null }
const external = {
  ...common,
  externalGroupsWhitelist: [],
  attributeMappings: {},
  addShadowUserOnLogin: true,
  storeCustomAttributes: true,
}
const oauth = {
  authUrl: null,
  tokenUrl: null,
  tokenKeyUrl: null,
  tokenKey: null,
  userInfoUrl: null,
  logoutUrl: null,
  performRpInitiatedLogout: true,
  issuer: null,
  relyingPartyId: null,
  authMethod: 'none',
  clientAuthInBody: false,
  pkce: true,
  scopes: null,
  responseType: 'code',
  linkText: null,
  showLinkText: true,
  skipSslValidation: false,
  userPropagationParameter: null,
  cacheJwks: true,
}

describe('An origin that is not a valid path segment', () => {
  it('is rejected in a new record, and kept in an existing one', () => {
    const dots = read('oauth2.0', {}, { originKey: '..' })
    assert.ok(kinds(dots).includes('originKey invalid'))
    const before = stored(dots)
    const after = providerFromJson({ type: 'oauth2.0', originKey: '..', name: 'New', config: {} }, { ...rules, before })
    assert.ok(!kinds(after).includes('originKey invalid'))
    assert.equal(after.definition.originKey, '..')
  })
})

describe('linkByEmail', () => {
  for (const type of ['ldap', 'saml', 'oauth2.0', 'oidc1.0']) {
    it(`is a setting of ${type}, returned if set`, () => {
      for (const linkByEmail of [true, false])
        assert.equal(shown(read(type, { linkByEmail }))['linkByEmail'], linkByEmail)
      assert.equal(Object.hasOwn(shown(read(type, {})), 'linkByEmail'), false)
      assert.ok(kinds(read(type, { linkByEmail: 1 })).some(kind => kind.includes('linkByEmail')))
    })
  }
})

describe('The returned config', () => {
  const complete: Readonly<Record<string, Members>> = {
    svc: { ...common, passwordPolicy: null, lockoutPolicy: null, disableInternalUserManagement: false },
    ldap: {
      ...external,
      ldapProfileFile: null,
      baseUrl: null,
      referral: null,
      skipSSLVerification: false,
      tlsConfiguration: 'none',
      userDNPattern: null,
      userDNPatternDelimiter: null,
      bindUserDn: null,
      userSearchBase: null,
      userSearchFilter: null,
      passwordAttributeName: null,
      passwordEncoder: null,
      localPasswordCompare: null,
      mailAttributeName: 'mail',
      mailSubstitute: null,
      mailSubstituteOverridesLdap: false,
      ldapGroupFile: null,
      groupSearchBase: null,
      groupSearchFilter: null,
      groupsIgnorePartialResults: null,
      autoAddGroups: true,
      groupSearchSubTree: true,
      maxGroupSearchDepth: 10,
      groupRoleAttribute: null,
    },
    saml: {
      ...external,
      metaDataLocation: null,
      idpEntityAlias: 'corp',
      zoneId: 'svc',
      nameID: null,
      assertionConsumerIndex: 0,
      metadataTrustCheck: false,
      showSamlLink: false,
      linkText: 'corp',
      iconUrl: null,
      groupMappingMode: 'EXPLICITLY_MAPPED',
      skipSslValidation: false,
      authnContext: null,
      socketFactoryClassName: null,
    },
    'oauth2.0': { ...external, ...oauth, checkTokenUrl: null },
    'oidc1.0': {
      ...external,
      ...oauth,
      discoveryUrl: null,
      passwordGrantEnabled: false,
      setForwardHeader: false,
    },
    keystone: external,
  }
  for (const { type } of providerTypes('svc')) {
    // Covers Identity provider record: config
    // Covers config of type keystone: additionalConfiguration
    it(`has every member of type ${type}, without secrets`, () => {
      for (const empty of [{}, null, undefined, '{}', 'null'])
        assert.deepEqual(shown(read(type, empty)), complete[type])
    })
  }

  // Covers identity provider common config: providerDescription; additionalConfiguration
  it('has the description and the further settings of the request', () => {
    const sent = { providerDescription: 'Head office', additionalConfiguration: { floor: 2 } }
    for (const { type } of providerTypes('svc')) {
      const { providerDescription, additionalConfiguration } = shown(read(type, sent))
      assert.deepEqual({ providerDescription, additionalConfiguration }, sent, type)
    }
  })

  it('omits the default groupMappingMode, except for SAML', () => {
    assert.equal(
      Object.hasOwn(shown(read('oidc1.0', { groupMappingMode: 'EXPLICITLY_MAPPED' })), 'groupMappingMode'),
      false,
    )
    assert.equal(shown(read('oidc1.0', { groupMappingMode: 'AS_SCOPES' }))['groupMappingMode'], 'AS_SCOPES')
    assert.equal(shown(read('saml', { groupMappingMode: 'AS_SCOPES' }))['groupMappingMode'], 'AS_SCOPES')
  })

  it('has prompts and additionalAuthzParameters only if set', () => {
    const prompts = [{ name: 'pin', type: 'password', text: 'PIN' }]
    const config = { prompts: [{ ...prompts[0], more: 1 }], additionalAuthzParameters: { acr_values: 'high' } }
    const { prompts: asked, additionalAuthzParameters } = shown(read('oidc1.0', config))
    assert.deepEqual([asked, additionalAuthzParameters], [prompts, { acr_values: 'high' }])
  })

  it('has a computed authMethod', () => {
    const method = (config: Members) => shown(read('oidc1.0', config))['authMethod']
    assert.equal(method({}), 'none')
    assert.equal(method({ relyingPartySecret: 's' }), 'client_secret_basic')
    assert.equal(method({ relyingPartySecret: 's', clientAuthInBody: true }), 'client_secret_post')
    assert.equal(method({ relyingPartySecret: 's', authMethod: 'client_secret_post' }), 'client_secret_basic')
    assert.equal(method({ clientAuthInBody: true }), 'none')
    assert.equal(method({ jwtClientAuthentication: true }), 'private_key_jwt')
    assert.equal(method({ jwtClientAuthentication: false }), 'none')
    assert.equal(method({ relyingPartySecret: '' }), 'none')
  })

  // Covers saml provider config: linkText
  it('has the actual alias and zone of a SAML provider', () => {
    const { idpEntityAlias, zoneId, linkText } = shown(
      read('saml', { idpEntityAlias: 'x', zoneId: 'y', linkText: 'Federation' }),
    )
    assert.deepEqual([idpEntityAlias, zoneId, linkText], ['corp', 'svc', 'Federation'])
    for (const blank of ['', ' ']) {
      assert.equal(shown(read('saml', { linkText: blank })).linkText, 'corp')
    }
  })
})

describe('providerFromJson', () => {
  it('ignores members unknown to the type', () => {
    const reading = read('oidc1.0', { bindPassword: 'x', passwordPolicy: 1, nothing: 2, checkTokenUrl: 3 })
    assert.deepEqual(reading.definition.config, {})
  })

  it('omits null, and accepts booleans as strings', () => {
    const { config } = read('ldap', { baseUrl: null, skipSSLVerification: 'true', autoAddGroups: 'false' }).definition
    assert.deepEqual(config, { skipSSLVerification: true, autoAddGroups: false })
  })

  const WRONG: readonly unknown[] = [
    7,
    0.5,
    -1,
    2 ** 40,
    true,
    'text',
    'x\0y',
    '\udc00',
    'https://[',
    [],
    [1],
    [null],
    [[]],
    ['x\0'],
    {},
    { a: 1 },
    { a: {} },
    { kid: 7 },
    { a: '\0' },
    [{ name: 'x' }],
  ]
  for (const { type, settings } of providerTypes('svc')) {
    it(`accepts or reports any value of any member of type ${type}`, () => {
      for (const name of Object.keys(settings.members)) {
        for (const value of WRONG) {
          const reading = read(type, { [name]: value })
          const isKept = Object.hasOwn(reading.definition.config, name)
          const isRefused = reading.problems.some(({ key }) => key.startsWith(`config.${name}`))
          const isIgnored = name === 'socketFactoryClassName'
          assert.ok(isKept || isRefused || isIgnored, `${name} ${JSON.stringify(value)}`)
          assert.doesNotThrow(() => JSON.stringify(shown(reading)))
        }
      }
    })
  }

  it('reads its own output as the same record', () => {
    const tables = providerTypes('svc')
    const value = fc.oneof(fc.constantFrom(...WRONG, null, true, false, 'none', 'AS_SCOPES'), webUrls, fc.jsonValue())
    const record = fc
      .constantFrom(...tables)
      .chain(({ type, settings }) =>
        fc.tuple(
          fc.constant(type),
          fc.dictionary(fc.constantFrom(...Object.keys(settings.members)), value, { noNullPrototype: true }),
        ),
      )
    fc.assert(
      fc.property(record, ([type, config]) => {
        const reading = read(type, config)
        const answer = shown(reading)
        const again = read(type, JSON.stringify(answer))
        // Responses contain no secrets, so they cannot be read back.
        const { authMethod: _, tokenKey = null, ...rest } = shown(again)
        const { authMethod: __, tokenKey: wanted = null, ...expected } = answer
        assert.equal(tokenKey, wanted)
        assert.deepEqual(rest, JSON.parse(JSON.stringify(withoutSecrets(expected))))
      }),
      { numRuns: runs(500) },
    )
  })

  it('returns exactly the members of the type', () => {
    for (const { type, settings } of providerTypes('svc')) {
      const names = Object.keys(showSettings(settings, {}))
      assert.deepEqual(Object.keys(shown(read(type, {}))), names)
      assert.equal(new Set(names).size, names.length)
    }
  })
})

describe('Provider validation', () => {
  const policy = {
    minLength: 1,
    maxLength: 9,
    requireUpperCaseCharacter: 0,
    requireLowerCaseCharacter: 0,
    requireDigit: 0,
    requireSpecialCharacter: 0,
    expirePasswordInMonths: 0,
  }
  const lockout = { countFailuresWithin: 1, lockoutAfterFailures: 2, lockoutPeriodSeconds: 3 }
  const oidc = {
    authUrl: 'https://corp.example/a',
    tokenUrl: 'https://corp.example/t',
    tokenKeyUrl: 'https://corp.example/k',
    relyingPartyId: 'me',
    linkText: 'Corp',
  }
  const { linkText: _, ...unlinked } = oidc
  const pem = (what: string): string => `-----BEGIN ${what}-----\nAAAA\n-----END ${what}-----`

  const cases: readonly { name: string; type: string; config: Members; want?: readonly string[] }[] = [
    { name: 'accepts both policies', type: 'svc', config: { passwordPolicy: policy, lockoutPolicy: lockout } },
    { name: 'accepts null policies', type: 'svc', config: { passwordPolicy: null, lockoutPolicy: null } },
    {
      name: 'accepts false for the checks for easily guessed passwords',
      type: 'svc',
      config: { passwordPolicy: { ...policy, refuseCommonPasswords: false, refuseOwnWords: false } },
    },
    ...['refuseCommonPasswords', 'refuseOwnWords'].map(name => ({
      name: `rejects a number for ${name}`,
      type: 'svc',
      config: { passwordPolicy: { ...policy, [name]: 0 } },
      want: [`config.passwordPolicy.${name} unreadable`],
    })),
    {
      name: 'accepts passwordNewerThan in milliseconds',
      type: 'svc',
      config: { passwordPolicy: { ...policy, passwordNewerThan: 1e12 } },
    },
    {
      name: 'accepts passwordNewerThan as a date',
      type: 'svc',
      config: { passwordPolicy: { ...policy, passwordNewerThan: '2026-01-01T00:00:00.000+00:00' } },
    },
    ...['', 'soon', '2026', '2026-02-30T00:00:00Z', '2026-01-01T00:00:00', {}, true, 1e16, 0.5].map(
      passwordNewerThan => ({
        name: `rejects ${JSON.stringify(passwordNewerThan)} as passwordNewerThan`,
        type: 'svc',
        config: { passwordPolicy: { ...policy, passwordNewerThan } },
        want: ['config.passwordPolicy.passwordNewerThan unreadable'],
      }),
    ),
    ...Object.keys(policy).flatMap(name =>
      [
        { value: undefined, kind: 'invalid' },
        { value: null, kind: 'invalid' },
        { value: -1, kind: 'invalid' },
        { value: '1', kind: 'unreadable' },
        { value: 1.5, kind: 'unreadable' },
        { value: 2 ** 31, kind: 'unreadable' },
      ].map(({ value, kind }) => ({
        name: `rejects a password policy whose ${name} is ${JSON.stringify(value) ?? 'missing'}`,
        type: 'svc',
        config: { passwordPolicy: { ...policy, [name]: value } },
        want: [`config.passwordPolicy.${name} ${kind}`],
      })),
    ),
    ...Object.keys(lockout).map(name => ({
      name: `rejects a lockout policy without ${name}`,
      type: 'svc',
      config: { lockoutPolicy: { ...lockout, [name]: undefined } },
      want: [`config.lockoutPolicy.${name} invalid`],
    })),
    {
      name: 'rejects an unknown member of the password policy',
      type: 'svc',
      config: { passwordPolicy: { ...policy, minlength: 3 } },
      want: ['config.passwordPolicy.minlength unreadable'],
    },
    {
      name: 'ignores an unknown member of the lockout policy',
      type: 'svc',
      config: { lockoutPolicy: { ...lockout, x: 1 } },
    },

    ...['simple-bind', 'search-and-bind', 'search-and-compare'].map(name => ({
      name: `accepts the profile ${name}`,
      type: 'ldap',
      config: { ldapProfileFile: `ldap/ldap-${name}.xml` },
    })),
    ...['null', 'as-scopes', 'map-to-scopes', 'populator'].map(name => ({
      name: `accepts the group file ${name}`,
      type: 'ldap',
      config: { ldapGroupFile: `ldap/ldap-groups-${name}.xml` },
    })),
    ...[
      { ldapProfileFile: 'ldap/ldap-magic.xml' },
      { ldapProfileFile: '' },
      { ldapGroupFile: '../ldap-groups-null.xml' },
      { tlsConfiguration: 'always' },
      { referral: 'maybe' },
      { passwordEncoder: 'java.lang.Runtime' },
      { maxGroupSearchDepth: 'deep' },
    ].map(config => ({
      name: `rejects ${JSON.stringify(config)}`,
      type: 'ldap',
      config,
      want: [`config.${String(Object.keys(config)[0])} unreadable`],
    })),
    { name: 'accepts an LDAP provider without a URL', type: 'ldap', config: { baseUrl: '' } },

    {
      name: 'rejects an unknown groupMappingMode',
      type: 'saml',
      config: { groupMappingMode: 'X' },
      want: ['config.groupMappingMode unreadable'],
    },
    // Covers saml provider config: socketFactoryClassName
    { name: 'ignores socketFactoryClassName', type: 'saml', config: { socketFactoryClassName: { x: 1 } } },

    { name: 'accepts complete endpoints', type: 'oidc1.0', config: oidc },
    {
      name: 'accepts discoveryUrl instead of endpoints',
      type: 'oidc1.0',
      config: { discoveryUrl: 'https://corp.example/d', relyingPartyId: 'me', showLinkText: false },
    },
    {
      name: 'accepts tokenKey instead of tokenKeyUrl',
      type: 'oidc1.0',
      config: { ...oidc, tokenKeyUrl: '', tokenKey: pem('PUBLIC KEY') },
    },
    ...['authUrl', 'tokenUrl'].map(name => ({
      name: `requires ${name} without discoveryUrl`,
      type: 'oidc1.0',
      config: { ...oidc, [name]: undefined },
      want: [`config.${name} unusable`],
    })),
    {
      name: 'requires a key',
      type: 'oidc1.0',
      config: { ...oidc, tokenKeyUrl: null },
      want: ['config.tokenKey unusable'],
    },
    { name: 'does not require a key for oauth2.0', type: 'oauth2.0', config: { relyingPartyId: 'me', linkText: 'x' } },
    ...['oauth2.0', 'oidc1.0'].flatMap(type => [
      {
        name: `requires relyingPartyId for ${type}`,
        type,
        config: { ...oidc, relyingPartyId: ' ' },
        want: ['config.relyingPartyId unusable'],
      },
      {
        name: `requires linkText for ${type} if the link is shown`,
        type,
        config: unlinked,
        want: ['config.linkText unusable'],
      },
      {
        name: `accepts a boolean linkText for ${type}, as sent by cf-java-client`,
        type,
        config: { ...oidc, linkText: true },
      },
      {
        name: `does not require linkText for ${type} without a link`,
        type,
        config: { ...unlinked, showLinkText: false },
      },
      {
        name: `rejects an unknown authMethod for ${type}`,
        type,
        config: { ...oidc, authMethod: 'tls_client_auth' },
        want: ['config.authMethod invalid'],
      },
      ...(type === 'oidc1.0' ? ['key', 'kid', 'iss'] : []).map(member => ({
        name: `rejects a reference to a server setting as ${member} for ${type}`,
        type,
        config: { ...oidc, jwtClientAuthentication: { kid: 'k', [member]: '${jwt.token.policy.keys}' } },
        want: ['config.jwtClientAuthentication invalid'],
      })),
      ...['PRIVATE KEY', 'RSA PRIVATE KEY', 'ENCRYPTED PRIVATE KEY'].map(what => ({
        name: `rejects a PEM ${what} for ${type}`,
        type,
        config: { ...oidc, tokenKey: pem(what) },
        want: ['config.tokenKey invalid'],
      })),
      {
        name: `rejects a private JWK for ${type}`,
        type,
        config: { ...oidc, tokenKey: JSON.stringify({ keys: [{ kty: 'EC', d: 'x' }] }) },
        want: ['config.tokenKey invalid'],
      },
      ...[
        'javascript:alert(1)',
        'ftp://corp.example/',
        '/relative',
        'corp.example',
        'file:///etc/passwd',
        'https://',
      ].map(authUrl => ({
        name: `rejects ${authUrl} as authUrl for ${type}`,
        type,
        config: { ...oidc, authUrl },
        want: ['config.authUrl unreadable', ...(type === 'oidc1.0' ? ['config.authUrl unusable'] : [])],
      })),
    ]),
    // Covers saml provider config: iconUrl
    ...['javascript:alert(1)', 'data:text/html,x', 'ftp://icons.example/a.png', 'icon.png'].map(iconUrl => ({
      name: `rejects ${iconUrl} as iconUrl`,
      type: 'saml',
      config: { metaDataLocation: 'https://corp.example/metadata', iconUrl },
      want: ['config.iconUrl unreadable'],
    })),
    ...['https://icons.example/a.png', 'data:image/png;base64,AAAA', ''].map(iconUrl => ({
      name: `accepts ${iconUrl || 'an empty string'} as iconUrl`,
      type: 'saml',
      config: { metaDataLocation: 'https://corp.example/metadata', iconUrl },
    })),
    {
      name: 'rejects an issuer of 2001 characters',
      type: 'oidc1.0',
      config: { ...oidc, issuer: 'x'.repeat(2001) },
      want: ['config.issuer invalid'],
    },
    ...(
      [
        { secret: true, key: true, method: undefined, ok: false },
        { secret: true, key: true, method: 'client_secret_basic', ok: true },
        { secret: true, key: true, method: 'private_key_jwt', ok: true },
        { secret: true, key: true, method: 'none', ok: false },
        { secret: true, key: false, method: undefined, ok: true },
        { secret: true, key: false, method: 'client_secret_post', ok: true },
        { secret: true, key: false, method: 'private_key_jwt', ok: false },
        { secret: true, key: false, method: 'none', ok: false },
        { secret: false, key: true, method: undefined, ok: true },
        { secret: false, key: true, method: 'private_key_jwt', ok: true },
        { secret: false, key: true, method: 'client_secret_basic', ok: false },
        { secret: false, key: true, method: 'none', ok: false },
        { secret: false, key: false, method: undefined, ok: true },
        { secret: false, key: false, method: 'none', ok: true },
        { secret: false, key: false, method: 'client_secret_basic', ok: false },
        { secret: false, key: false, method: 'private_key_jwt', ok: false },
      ] as const
    ).map(({ secret, key, method, ok }) => ({
      name: `${ok ? 'accepts' : 'rejects'} authMethod ${method ?? 'undefined'} ${secret ? 'with' : 'without'} a secret ${key ? 'with' : 'without'} a key`,
      type: 'oidc1.0',
      config: {
        ...oidc,
        ...(method !== undefined && { authMethod: method }),
        ...(secret && { relyingPartySecret: 's' }),
        ...(key && { jwtClientAuthentication: true }),
      },
      ...(!ok && { want: ['config.authMethod unusable'] }),
    })),
    ...[
      'redirect_uri',
      'code',
      'client_id',
      'client_secret',
      'response_type',
      'grant_type',
      'code_verifier',
      'client_assertion',
      'client_assertion_type',
      'code_challenge',
      'code_challenge_method',
      'nonce',
      'state',
      'scope',
      'assertion',
      'subject_token',
      'actor_token',
      'username',
      'password',
    ].map(name => ({
      name: `rejects ${name} in additionalAuthzParameters`,
      type: 'oidc1.0',
      config: { ...oidc, additionalAuthzParameters: { [name]: 'x' } },
      want: ['config.additionalAuthzParameters unusable'],
    })),
    {
      name: 'accepts acr_values in additionalAuthzParameters',
      type: 'oidc1.0',
      config: { ...oidc, additionalAuthzParameters: { acr_values: 'x' } },
    },
    {
      name: 'rejects a number in additionalAuthzParameters',
      type: 'oidc1.0',
      config: { ...oidc, additionalAuthzParameters: { odd: 7 } },
      want: ['config.additionalAuthzParameters unreadable'],
    },
  ]
  for (const { name, type, config, want = [] } of cases) {
    it(name, () => assert.deepEqual(kinds(read(type, config)), want))
  }

  it('converts passwordNewerThan to milliseconds', () => {
    const { config } = read('svc', {
      passwordPolicy: { ...policy, passwordNewerThan: '2026-01-01T00:00:00Z' },
    }).definition
    assert.deepEqual(config['passwordPolicy'], { ...policy, passwordNewerThan: Date.UTC(2026, 0, 1) })
  })
})

describe('echoOf', () => {
  it('returns exactly the sent members of the envelope, without secrets', () => {
    const sent = {
      name: 5,
      type: null,
      id: 'x',
      originKey: 'corp',
      other: 1,
      config: { a: 1, relyingPartySecret: 's' },
    }
    assert.deepEqual(echoOf(sent, { raw: true }), { type: null, config: { a: 1 }, id: 'x', originKey: 'corp', name: 5 })
    assert.equal(echoOf(sent, { raw: false })['config'], '{"a":1}')
    assert.equal(echoOf({ ...sent, config: '{"bindPassword":"s"}' }, { raw: false })['config'], '{}')
    assert.equal(echoOf({ config: '{"bindPassword":"s"' }, { raw: false })['config'], null)
    assert.deepEqual(echoOf({}, { raw: true }), {})
  })
})
