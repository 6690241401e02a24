import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { memberOf } from '../../src/base/json.ts'
import { createPasswords } from '../../src/base/passwords.ts'
import { createRandom } from '../../src/base/random.ts'
import { createVault, digest } from '../../src/base/secrets.ts'
import { openProviderSecrets } from '../../src/providers/provider-secrets.ts'
import { serviceNamed } from '../../src/model/service.ts'
import { openStore } from '../../src/store/open.ts'
import type { Store } from '../../src/store/store.ts'
import { openUaaDatabase } from '../../src/store/uaa/uaa-database.ts'
import { importRecords } from '../../src/uaa/import-records.ts'
import { createReport, refusedIn, summaryOf } from '../../src/uaa/report.ts'
import type { ImportReport } from '../../src/uaa/report.ts'
import { certificateOf } from '../support/certificate.ts'
import { privatePem } from '../support/config.ts'
import { freshUaa, UAA_HASHES, WITHOUT_POSTGRES } from '../support/uaa-database.ts'
import type { TestRow, TestUaa } from '../support/uaa-database.ts'

const NOW = new Date('2026-06-01T12:00:00Z')
const random = createRandom()
const vault = createVault(Buffer.alloc(32, 7), random)
const passwords = createPasswords({ concurrency: 2, cost: { memoryKib: 64, passes: 1 } })

interface Run {
  readonly lines: readonly string[]
  readonly report: ImportReport
  readonly isComplete: boolean
}

/** Imports everything into the store. */
async function run(uaa: TestUaa, store: Store, { exactRedirectUri = false } = {}): Promise<Run> {
  const source = await openUaaDatabase(uaa.url)
  const lines: string[] = []
  const report = createReport(line => lines.push(line))
  try {
    const isComplete = await importRecords({
      source,
      store,
      vault,
      passwords,
      clock: { now: () => NOW },
      random,
      rules: { service: serviceNamed('uaa'), exactRedirectUri, furtherProtocols: false },
      samlEntityId: 'sp.example',
      isForeignIssuer: issuer => issuer.startsWith('https://uaa.example'),
      report,
    })
    return { lines, report, isComplete }
  } finally {
    await source.close()
  }
}

const newStore = (): Promise<Store> => openStore('sqlite::memory:', { clock: { now: () => NOW } })

const user = (more: TestRow = {}): TestRow => ({
  id: '11111111-1111-4111-8111-111111111111',
  username: 'ann',
  password: UAA_HASHES.koala,
  email: 'ann@example.org',
  ...more,
})
const client = (more: TestRow = {}): TestRow => ({
  client_id: 'app',
  client_secret: UAA_HASHES.appclientsecret,
  scope: 'openid',
  authorized_grant_types: 'client_credentials',
  additional_information: '{}',
  ...more,
})
const approval = (more: TestRow = {}): TestRow => ({
  user_id: '11111111-1111-4111-8111-111111111111',
  client_id: 'app',
  scope: 'openid',
  expiresat: '2999-01-01',
  identity_zone_id: 'uaa',
  ...more,
})
const zone = (config: unknown, more: TestRow = {}): TestRow => ({
  id: 'z1',
  subdomain: 'z1',
  name: 'Z1',
  config: typeof config === 'string' ? config : JSON.stringify(config),
  ...more,
})
const provider = (config: unknown, more: TestRow = {}): TestRow => ({
  id: 'p1',
  identity_zone_id: 'uaa',
  name: 'P1',
  origin_key: 'p1',
  type: 'oidc1.0',
  config: typeof config === 'string' ? config : JSON.stringify(config),
  ...more,
})
const OIDC = {
  authUrl: 'https://p.example/a',
  tokenUrl: 'https://p.example/t',
  tokenKeyUrl: 'https://p.example/k',
  relyingPartyId: 'uaa',
  relyingPartySecret: 'upstream-secret',
}
const SAML_KEY = privatePem('rsa', 2048)
const cost31 = UAA_HASHES.koala.replace('$10$', '$31$')
const token = (claims: object): string => `e30.${Buffer.from(JSON.stringify(claims)).toString('base64url')}.c2ln`

/** Rows that an import must reject or change: the added rows, and the line that reports it. */
const CASES: readonly {
  readonly name: string
  readonly rows: readonly (readonly [table: string, row: TestRow])[]
  readonly says: RegExp
  /** Whether the row is written nevertheless, or omitted without failing the import. */
  readonly isAccepted?: true
}[] = [
  {
    name: 'a zone id that is ambiguous in scopes',
    rows: [['identity_zone', zone({}, { id: 'z1.clients' })]],
    says: /^refused: zone z1\.clients \(Z1\): its id cannot be part of a scope$/m,
  },
  {
    name: 'a zone subdomain that is not a host name label',
    rows: [['identity_zone', zone({}, { subdomain: 'a/b' })]],
    says: /^refused: zone z1 .*its subdomain cannot be part of a host name$/m,
  },
  {
    name: 'a zone with malformed settings',
    rows: [['identity_zone', zone('{"links":')]],
    says: /^refused: zone z1 .*config is not a JSON object that can be stored$/m,
  },
  {
    name: 'a zone with a NUL in its settings',
    rows: [['identity_zone', zone(String.raw`{"branding":{"companyName":"a\u0000"}}`)]],
    says: /^refused: zone z1 .*that can be stored$/m,
  },
  {
    name: 'a zone with deeply nested settings',
    rows: [['identity_zone', zone(`{"a":${'['.repeat(20_000)}${']'.repeat(20_000)}}`)]],
    says: /^refused: zone z1 .*that can be stored$/m,
  },
  {
    name: 'a zone with a setting of a wrong type',
    rows: [['identity_zone', zone({ tokenPolicy: { accessTokenValidity: 'long' } })]],
    says: /^refused: zone z1 .*config\.tokenPolicy\.accessTokenValidity must be a whole number/m,
  },
  {
    name: 'a zone with a javascript link',
    rows: [['identity_zone', zone({ links: { homeRedirect: 'javascript:alert(1)' } })]],
    says: /^refused: zone z1 .*Invalid home link/m,
  },
  {
    name: 'a zone with the issuer of another zone',
    rows: [['identity_zone', zone({ issuer: 'https://uaa.example/oauth/token' })]],
    says: /^refused: zone z1 .*config\.issuer must not be a URL of this server/m,
  },
  {
    name: 'a zone with the SAML entity id of the server',
    rows: [['identity_zone', zone({ samlConfig: { entityID: 'sp.example' } })]],
    says: /^refused: zone z1 .*The SAML entity ID must not be that of the server/m,
  },
  {
    name: 'a second zone with a SAML entity id',
    rows: [
      ['identity_zone', zone({ samlConfig: { entityID: 'own.example' } })],
      ['identity_zone', zone({ samlConfig: { entityID: 'OWN.example' } }, { id: 'z2', subdomain: 'z2' })],
    ],
    says: /^refused: zone z2 .*another zone has its SAML entity id$/m,
  },
  {
    name: 'records of a rejected zone',
    rows: [
      ['identity_zone', zone('no JSON')],
      ['users', user({ identity_zone_id: 'z1' })],
    ],
    says: /^refused: user 1.*: its zone z1 is refused$/m,
  },
  {
    name: 'records of a deleted zone',
    rows: [['users', user({ identity_zone_id: 'gone' })]],
    says: /^left out: user 1.*: its zone gone does not exist$/m,
    isAccepted: true,
  },
  {
    name: 'a signing key that is too short',
    rows: [['identity_zone', zone({ tokenPolicy: { keys: { weak: { signingKey: privatePem('rsa', 1024) } } } })]],
    says: /^refused: signing key weak \(zone z1\): its key an RSA key needs at least 2048 bits/m,
  },
  {
    name: 'a shared secret that is too short',
    rows: [['identity_zone', zone({ tokenPolicy: { keys: { weak: { signingKey: 'tokenkey' } } } })]],
    says: /^refused: signing key weak \(zone z1\): its key HS256 needs a secret of at least 32 bytes/m,
  },
  {
    name: 'a certificate for another key',
    rows: [
      [
        'identity_zone',
        zone({
          tokenPolicy: { keys: { k: { signingKey: SAML_KEY, signingCert: certificateOf(privatePem('rsa', 2048)) } } },
        }),
      ],
    ],
    says: /^note: signing key k \(zone z1\): without its certificate, which is the certificate of another key$/m,
    isAccepted: true,
  },
  {
    name: 'an unknown active key',
    rows: [['identity_zone', zone({ tokenPolicy: { activeKeyId: 'other', keys: { k: { signingKey: SAML_KEY } } } })]],
    says: /^note: zone z1: none of its signing keys can be active, so that of the default zone signs/m,
    isAccepted: true,
  },
  {
    name: 'a SAML key without a certificate',
    rows: [
      ['identity_zone', zone({ samlConfig: { activeKeyId: 's', keys: { s: { key: SAML_KEY, certificate: '' } } } })],
    ],
    says: /^refused: SAML key \(zone z1\): /m,
  },
  {
    name: 'a provider with malformed settings',
    rows: [['identity_provider', provider('{')]],
    says: /^refused: identity provider p1 \(zone uaa\): config is not a JSON object/m,
  },
  {
    name: 'a provider with prototype members in its settings',
    rows: [['identity_provider', provider('{"__proto__":{"isAdmin":true}}')]],
    says: /^refused: identity provider p1 \(zone uaa\): config is not a JSON object/m,
  },
  {
    name: 'a provider with a setting of a wrong type',
    rows: [['identity_provider', provider({ ...OIDC, showLinkText: 7 })]],
    says: /^refused: identity provider p1 \(zone uaa\): config\.showLinkText /m,
  },
  {
    name: 'a provider of the internal type with another origin',
    rows: [['identity_provider', provider('{}', { type: 'uaa' })]],
    says: /^refused: identity provider p1 \(zone uaa\): originKey uaa is reserved/m,
  },
  {
    name: 'a provider with a key in UAA’s configuration file',
    rows: [
      [
        'identity_provider',
        provider({ ...OIDC, jwtClientAuthentication: { kid: '${jwt.client.kid}', key: '${jwt.client.key}' } }),
      ],
    ],
    says: /^refused: identity provider p1 \(zone uaa\): .*references \(\$\{\.\.\.\}\) are not resolved/m,
  },
  {
    name: 'a missing provider alias',
    rows: [['identity_provider', provider(OIDC, { alias_id: 'p2', alias_zid: 'z1' })]],
    says: /^note: identity provider p1 \(zone uaa\): without its alias, which does not exist$/m,
    isAccepted: true,
  },
  {
    name: 'a client with a hash too costly to verify',
    rows: [['oauth_client_details', client({ client_secret: cost31 })]],
    says: /^refused: client app \(zone uaa\): the hash of its secret must have a cost from 4 to 12$/m,
  },
  {
    name: 'a client with a secret that is not a hash',
    rows: [['oauth_client_details', client({ client_secret: 'plain' })]],
    says: /^refused: client app \(zone uaa\): the hash of its secret must be a bcrypt hash/m,
  },
  {
    name: 'a client with three secrets',
    rows: [
      [
        'oauth_client_details',
        client({ client_secret: `${UAA_HASHES.koala} ${UAA_HASHES.koala} ${UAA_HASHES.koala}` }),
      ],
    ],
    says: /^refused: client app \(zone uaa\): it has more than two secrets$/m,
  },
  {
    name: 'a client with a secret in its attributes',
    rows: [['oauth_client_details', client({ additional_information: '{"api_secret":"hunter2hunter2hunter2"}' })]],
    says: /^refused: client app \(zone uaa\): api_secret looks like a secret/m,
  },
  {
    name: 'a client with malformed attributes',
    rows: [['oauth_client_details', client({ additional_information: '[1]' })]],
    says: /^refused: client app \(zone uaa\): additional_information is not a JSON object/m,
  },
  {
    name: 'a client with malformed keys',
    rows: [['oauth_client_details', client({ client_jwt_config: '{"jwks":{"keys":[{"kty":"RSA","d":"AQAB"}]}}' })]],
    says: /^refused: client app \(zone uaa\): jwks /m,
  },
  {
    name: 'a client id that is a relative path',
    rows: [['oauth_client_details', client({ client_id: '../admin' })]],
    says: /^refused: client \.\.\/admin \(zone uaa\): Not allowed characters/m,
  },
  {
    name: 'a client id equal to the service name',
    rows: [['oauth_client_details', client({ client_id: 'uaa' })]],
    says: /^refused: client uaa \(zone uaa\): Not allowed: uaa is a reserved client_id$/m,
  },
  {
    name: 'a javascript redirect URI',
    rows: [
      [
        'oauth_client_details',
        client({ authorized_grant_types: 'implicit', web_server_redirect_uri: 'javascript://x/%0aalert(1)' }),
      ],
    ],
    says: /^refused: client app \(zone uaa\): One of the redirect_uri is invalid/m,
  },
  {
    name: 'a tile with a javascript link',
    rows: [['oauth_client_details', client({ app_launch_url: 'javascript:alert(1)' })]],
    says: /^note: client app \(zone uaa\): without its tile/m,
    isAccepted: true,
  },
  {
    name: 'a user with a hash too costly to verify',
    rows: [['users', user({ password: cost31 })]],
    says: /^refused: user 1.* \(ann, zone uaa\): the hash of its password must have a cost from 4 to 12$/m,
  },
  {
    name: 'a user with another password encoding',
    rows: [['users', user({ password: '{noop}koala' })]],
    says: /^refused: user 1.* \(ann, zone uaa\): the hash of its password must be a bcrypt hash/m,
  },
  {
    name: 'a user name with an escape sequence',
    rows: [['users', user({ username: '\u001b[2Jann' })]],
    says: /^refused: user 1.* \(\\u001b\[2Jann, zone uaa\): its user name cannot be displayed$/m,
  },
  {
    name: 'a user id that is a relative path',
    rows: [['users', user({ id: '../ann' })]],
    says: /^refused: user \.\.\/ann .*its id is not one of 1 to 36 visible characters, other than dots$/m,
  },
  {
    name: 'a user name that differs in Unicode form only',
    rows: [
      ['users', user()],
      ['users', user({ id: '2', username: 'ａｎｎ' })],
    ],
    says: /^refused: user 2 \(ａｎｎ, zone uaa\): another user of its origin has its name/m,
  },
  {
    name: 'a duplicate external id',
    rows: [
      ['users', user({ origin: 'corp', external_id: 'x' })],
      ['users', user({ id: '2', username: 'bob', origin: 'corp', external_id: 'x' })],
    ],
    says: /^refused: user 2 .*or its external id$/m,
  },
  {
    name: 'user details that are not JSON',
    rows: [
      ['users', user()],
      ['user_info', { user_id: '11111111-1111-4111-8111-111111111111', info: '{' }],
    ],
    says: /^note: user 1.*: without the roles and attributes/m,
    isAccepted: true,
  },
  {
    name: 'a group name that differs in case only',
    rows: [
      ['groups', { id: 'g1', displayname: 'ops' }],
      ['groups', { id: 'g2', displayname: 'OPS' }],
    ],
    says: /^refused: group OPS \(zone uaa\): another group of the zone has its name/m,
  },
  {
    name: 'nested groups in a cycle',
    rows: [
      ['groups', { id: 'g1', displayname: 'a' }],
      ['groups', { id: 'g2', displayname: 'b' }],
      ['group_membership', { group_id: 'g1', member_id: 'g2', member_type: 'GROUP' }],
      ['group_membership', { group_id: 'g2', member_id: 'g1', member_type: 'GROUP' }],
    ],
    says: /^refused: membership of GROUP g1 in group g2: the groups would contain each other$/m,
  },
  {
    name: 'a member of another zone',
    rows: [
      ['identity_zone', zone({})],
      ['users', user({ identity_zone_id: 'z1' })],
      ['groups', { id: 'g1', displayname: 'uaa.admin' }],
      ['group_membership', { group_id: 'g1', member_id: '11111111-1111-4111-8111-111111111111' }],
    ],
    says: /^left out: membership of USER 1.* in group g1: its zone has no such member$/m,
    isAccepted: true,
  },
  {
    name: 'a member that UAA ignores because of its row’s zone',
    rows: [
      ['users', user()],
      ['groups', { id: 'g1', displayname: 'uaa.admin' }],
      [
        'group_membership',
        { group_id: 'g1', member_id: '11111111-1111-4111-8111-111111111111', identity_zone_id: null },
      ],
    ],
    says: /^left out: membership of USER 1.* in group g1: its zone is not that of its group$/m,
    isAccepted: true,
  },
  {
    name: 'a mapping that UAA ignores because of its row’s zone',
    rows: [
      ['groups', { id: 'g1', displayname: 'uaa.admin' }],
      ['external_group_mapping', { group_id: 'g1', external_group: 'cn=x', origin: 'ldap', identity_zone_id: 'z9' }],
    ],
    says: /^left out: external group cn=x for group g1: its zone is not that of its group$/m,
    isAccepted: true,
  },
  {
    name: 'an approval that UAA ignores because of its row’s zone',
    rows: [
      ['users', user()],
      ['oauth_client_details', client()],
      ['authz_approvals', approval({ identity_zone_id: 'z9' })],
    ],
    says: /^left out: approval of user 1.*: its zone is not that of its user$/m,
    isAccepted: true,
  },
  {
    name: 'a user id that URLs cannot contain',
    rows: [['users', user({ id: '..' })]],
    says: /^refused: user \.\. \(ann, zone uaa\): its id is not one of 1 to 36 visible characters, other than dots$/m,
  },
  {
    name: 'a group id that URLs cannot contain',
    rows: [['groups', { id: '.', displayname: 'a' }]],
    says: /^refused: group a \(zone uaa\): its id is not one of 1 to 36 visible characters, other than dots$/m,
  },
  {
    name: 'a member of an unknown type',
    rows: [
      ['groups', { id: 'g1', displayname: 'a' }],
      ['group_membership', { group_id: 'g1', member_id: 'x', member_type: 'ALL' }],
    ],
    says: /^refused: membership of ALL x in group g1: its member is neither a USER nor a GROUP$/m,
  },
  {
    name: 'a mapping of a missing group',
    rows: [['external_group_mapping', { group_id: 'g9', external_group: 'cn=x' }]],
    says: /^left out: external group cn=x for group g9: its group does not exist$/m,
    isAccepted: true,
  },
  {
    name: 'an approval with an unknown status',
    rows: [
      ['users', user()],
      ['oauth_client_details', client()],
      ['authz_approvals', approval({ status: 'MAYBE' })],
    ],
    says: /^refused: approval of user 1.*: its status must be APPROVED or DENIED/m,
  },
  {
    name: 'a token with another user in its content',
    rows: [
      ['users', user()],
      ['oauth_client_details', client()],
      [
        'revocable_tokens',
        {
          token_id: 't-r',
          client_id: 'app',
          user_id: '11111111-1111-4111-8111-111111111111',
          format: 'opaque',
          response_type: 'REFRESH_TOKEN',
          issued_at: 1,
          expires_at: NOW.getTime() + 1000,
          data: token({ jti: 't-r', client_id: 'app', user_id: 'another' }),
          identity_zone_id: 'uaa',
        },
      ],
    ],
    says: /^refused: token of client app and user 1.*: its content is that of another token$/m,
  },
  {
    name: 'an invalid token',
    rows: [
      ['oauth_client_details', client()],
      [
        'revocable_tokens',
        {
          token_id: 't',
          client_id: 'app',
          format: 'opaque',
          response_type: 'ACCESS_TOKEN',
          issued_at: 1,
          expires_at: NOW.getTime() + 1000,
          data: 'garbage',
          identity_zone_id: 'uaa',
        },
      ],
    ],
    says: /^refused: token of client app: its content is not a JWT$/m,
  },
  {
    name: 'nothing of a token of an unknown kind',
    rows: [
      ['oauth_client_details', client()],
      [
        'revocable_tokens',
        {
          token_id: 't',
          client_id: 'app',
          format: 'opaque',
          response_type: 'constructor',
          issued_at: 1,
          expires_at: NOW.getTime() + 1000,
          data: token({ jti: 't', client_id: 'app' }),
          identity_zone_id: 'uaa',
        },
      ],
    ],
    says: /^(?![^]*token of)/,
    isAccepted: true,
  },
]

describe('Importing records of a UAA', { skip: WITHOUT_POSTGRES }, () => {
  let uaa: TestUaa
  before(async () => {
    uaa = await freshUaa()
  })
  after(() => uaa.drop())

  /** Runs the work with only these additional rows. */
  async function withRows<T>(rows: readonly (readonly [string, TestRow])[], work: () => Promise<T>): Promise<T> {
    await uaa.run(`begin`)
    await uaa.run(`create table if not exists kept_zone as select * from identity_zone`)
    await uaa.run(`create table if not exists kept_provider as select * from identity_provider`)
    await uaa.run(`commit`)
    for (const [table, row] of rows) await uaa.insert(table, row)
    try {
      return await work()
    } finally {
      const tables = [
        'users',
        'user_info',
        'groups',
        'group_membership',
        'external_group_mapping',
        'oauth_client_details',
        'authz_approvals',
        'revocable_tokens',
      ]
      await uaa.run(`truncate identity_zone, identity_provider, ${tables.join(', ')}`)
      await uaa.run(`insert into identity_zone select * from kept_zone`)
      await uaa.run(`insert into identity_provider select * from kept_provider`)
    }
  }

  for (const { name, rows, says, isAccepted = false } of CASES) {
    it(`reports ${name}`, async () => {
      const store = await newStore()
      try {
        const { lines, report } = await withRows(rows, () => run(uaa, store))
        assert.match(lines.join('\n'), says)
        assert.equal(refusedIn(report) > 0, !isAccepted, lines.join('\n'))
      } finally {
        await store.close()
      }
    })
  }

  it('imports all zone settings, including null, and reports those without a counterpart', async () => {
    const store = await newStore()
    const cors = {
      allowedOrigins: ['.*'],
      allowedOriginPatterns: [],
      allowedUris: ['.*'],
      allowedUriPatterns: [],
      allowedHeaders: ['Accept', 'Authorization', 'Content-Type'],
      allowedMethods: ['GET'],
      allowedCredentials: false,
      maxAge: 1_728_000,
    }
    const policy = {
      minLength: -1,
      maxLength: -1,
      requireUpperCaseCharacter: -1,
      requireLowerCaseCharacter: -1,
      requireDigit: -1,
      requireSpecialCharacter: -1,
      expireSecretInMonths: -1,
    }
    const saml = {
      assertionSigned: true,
      requestSigned: true,
      wantAssertionSigned: true,
      wantAuthnRequestSigned: false,
      assertionTimeToLiveSeconds: 600,
      activeKeyId: null,
      keys: {},
      entityID: null,
      disableInResponseToCheck: false,
    }
    const config = {
      clientSecretPolicy: policy,
      tokenPolicy: {
        accessTokenValidity: -1,
        refreshTokenValidity: -1,
        jwtRevocable: false,
        refreshTokenUnique: -1,
        refreshTokenRotate: false,
        refreshTokenFormat: 'opaque',
        activeKeyId: null,
      },
      samlConfig: saml,
      corsPolicy: { xhrConfiguration: cors, defaultConfiguration: cors },
      links: {
        logout: {
          redirectUrl: '/login',
          redirectParameterName: 'redirect',
          disableRedirectParameter: false,
          whitelist: null,
        },
        homeRedirect: null,
        selfService: { selfServiceLinksEnabled: true, signup: null, passwd: null },
      },
      prompts: [{ name: 'username', type: 'text', text: 'Email' }],
      idpDiscoveryEnabled: false,
      branding: { banner: { logo: null, link: null, text: null }, loginConsent: { text: 'x' } },
      accountChooserEnabled: false,
      userConfig: {
        defaultGroups: ['openid'],
        allowedGroups: null,
        maxUsers: -1,
        checkOriginEnabled: false,
        allowOriginLoop: true,
      },
      mfaConfig: { enabled: false, providerName: null },
      issuer: null,
      defaultIdentityProvider: null,
    }
    const rows = [
      ['identity_zone', zone(config)],
      ['identity_provider', provider({ ...OIDC, linkText: 'P', isFast: true })],
    ] as const
    const { lines, report } = await withRows(rows, () => run(uaa, store))
    assert.deepEqual(lines.slice(1), [
      'note: zone z1: without settings that have no counterpart: branding.loginConsent',
      'note: identity provider p1 (zone uaa): without settings that have no counterpart: isFast',
    ])
    assert.equal(report.counts.zone.imported, 2)
    await store.close()
  })

  it('rejects wildcards in redirect URIs where they are matched exactly', async () => {
    const store = await newStore()
    const row = client({
      authorized_grant_types: 'authorization_code',
      web_server_redirect_uri: 'https://*.app.example/cb',
    })
    await withRows([['oauth_client_details', row]], async () => {
      const strict = await run(uaa, store, { exactRedirectUri: true })
      assert.match(strict.lines.join('\n'), /^refused: client app \(zone uaa\): One of the redirect_uri is invalid/m)
      assert.equal((await run(uaa, store)).report.counts.client.imported, 1)
    })
    await store.close()
  })

  it('reports keys that UAA has only in its configuration', async () => {
    const store = await newStore()
    assert.match(
      (await run(uaa, store)).lines.join('\n'),
      /^note: the default zone has no signing keys in the database/,
    )
    await store.close()
  })

  it('imports records without aliases in a rejected zone', async () => {
    const store = await newStore()
    const rows = [
      ['identity_zone', zone('{"links":')],
      ['identity_provider', provider(OIDC, { alias_id: 'p2', alias_zid: 'z1' })],
      ['identity_provider', provider(OIDC, { identity_zone_id: 'z1', id: 'p2', alias_id: 'p1', alias_zid: 'uaa' })],
      ['users', user({ id: 'u', origin: 'p1', alias_id: 'v', alias_zid: 'z1' })],
      ['users', user({ id: 'v', origin: 'p1', identity_zone_id: 'z1', alias_id: 'u', alias_zid: 'uaa' })],
    ] as const
    const { lines } = await withRows(rows, () => run(uaa, store))
    assert.match(lines.join('\n'), /^note: user u +\(ann, zone uaa\): without its alias, whose zone was not imported$/m)
    assert.match(
      lines.join('\n'),
      /^note: identity provider p1 \(zone uaa\): without its alias, which does not exist$/m,
    )
    const [found, own] = [await store.users.find('uaa', 'u'), await store.providers.findStored('uaa', 'p1')]
    assert.deepEqual([found?.id, found?.aliasId, found?.aliasZoneId], ['u', undefined, undefined])
    assert.deepEqual([own?.id, own?.aliasId, own?.aliasZoneId], ['p1', undefined, undefined])
    await store.close()
  })

  // Covers import-uaa: identity_zone: active
  it('stops if the default zone cannot be imported', async () => {
    const store = await newStore()
    await withRows([['users', user()]], async () => {
      await uaa.run(`update identity_zone set active = false`)
      const { isComplete, report } = await run(uaa, store)
      assert.deepEqual([isComplete, report.counts.user.imported, report.counts.zone.refused], [false, 0, 1])
    })
    await store.close()
  })

  it('imports each row of many pages once, continues after an interruption, and is idempotent', async () => {
    const store = await newStore()
    const rows = [
      ['groups', { id: 'g1', displayname: 'many' }],
      ['identity_provider', provider(OIDC)],
      ['oauth_client_details', client()],
    ] as const
    await withRows(rows, async () => {
      await uaa.run(
        `insert into users (id, username, password, email) select 'user-' || n, 'name-' || n, '${UAA_HASHES.koala}', n || '@example.org' from generate_series(1, 2345) n`,
      )
      await uaa.run(
        `insert into group_membership (group_id, member_id) select 'g1', 'user-' || n from generate_series(1, 2345) n`,
      )
      const first = await run(uaa, store)
      assert.deepEqual(
        [first.report.counts.user.imported, first.report.counts.membership.imported],
        [2345, 2345],
        first.lines.join('\n'),
      )
      assert.equal(await store.users.count('uaa'), 2345)
      await store.users.delete('uaa', 'user-7')
      await store.users.setSalt('uaa', 'user-8', 'changed here')
      const second = await run(uaa, store)
      assert.deepEqual(second.report.counts.user, { imported: 1, same: 2344, leftOut: 0, refused: 0 })
      assert.equal((await store.users.find('uaa', 'user-8'))?.salt, 'changed here')
      const third = await run(uaa, store)
      const taken = Object.values(third.report.counts).reduce((sum, counts) => sum + counts.imported, 0)
      assert.deepEqual([taken, refusedIn(third.report)], [0, 0], summaryOf(third.report))
    })
    await store.close()
  })

  it('encrypts keys and secrets, and stores no opaque token', async () => {
    const store = await newStore()
    const rows = [
      ['identity_zone', zone({ tokenPolicy: { keys: { k: { signingKey: SAML_KEY } } } })],
      ['identity_provider', provider(OIDC)],
      ['oauth_client_details', client()],
      [
        'revocable_tokens',
        {
          token_id: 'the-token-itself',
          client_id: 'app',
          format: 'OPAQUE',
          response_type: 'ACCESS_TOKEN',
          issued_at: 1,
          expires_at: NOW.getTime() + 1000,
          data: token({ jti: 'the-token-itself', client_id: 'app', scope: ['x'] }),
          identity_zone_id: 'uaa',
        },
      ],
      [
        'revocable_tokens',
        {
          token_id: 'expired',
          client_id: 'app',
          format: 'opaque',
          response_type: 'ACCESS_TOKEN',
          issued_at: 1,
          expires_at: 2,
          data: 'x',
          identity_zone_id: 'uaa',
        },
      ],
    ] as const
    await withRows(rows, async () => {
      const { lines, report } = await run(uaa, store)
      assert.deepEqual(report.counts.token, { imported: 1, same: 0, leftOut: 1, refused: 0 }, lines.join('\n'))
    })
    const stored = await store.providers.findStored('uaa', 'p1')
    assert.ok(stored)
    assert.ok(!JSON.stringify(stored).includes('upstream-secret'))
    assert.equal(openProviderSecrets(stored, vault).config['relyingPartySecret'], 'upstream-secret')
    const [key] = await store.keys.list('z1')
    assert.deepEqual([key?.keyId, key?.active, key?.sealedPrivateKey?.includes('PRIVATE')], ['k', true, false])
    assert.equal((await store.zones.find('z1'))?.config.tokenPolicy?.activeKeyId, 'k')
    assert.equal(memberOf((await store.zones.find('z1'))?.config.tokenPolicy, 'keys'), undefined)
    const found = await store.tokens.find('uaa', digest('the-token-itself'))
    assert.ok(found && !JSON.stringify(found).includes('the-token-itself'))
    await store.close()
  })

  // Covers import-uaa: oauth_client_details: refresh_token_validity
  it('keeps an empty secret, shortens lifetimes of zero, and keeps -1', async () => {
    const store = await newStore()
    const row = client({
      client_id: 'cf',
      client_secret: UAA_HASHES[''],
      authorized_grant_types: 'password,refresh_token',
      access_token_validity: 0,
      refresh_token_validity: -1,
    })
    await withRows([['oauth_client_details', row]], () => run(uaa, store))
    const cf = await store.clients.find('uaa', 'cf')
    assert.deepEqual([cf?.secrets[0]?.empty, cf?.accessTokenSeconds, cf?.refreshTokenSeconds], [true, 1, -1])
    await store.close()
  })

  it('omits the inactive default providers of UAA', async () => {
    const store = await newStore()
    const external = { emailDomain: null, additionalConfiguration: null, attributeMappings: {} }
    const ldap = {
      ...external,
      ldapProfileFile: null,
      baseUrl: null,
      mailAttributeName: 'mail',
      maxGroupSearchDepth: 10,
    }
    await withRows([], async () => {
      const update = (type: string, config: object | null): Promise<unknown> =>
        uaa.run(
          `update identity_provider set active = false, config = '${JSON.stringify(config)}' where type = '${type}'`,
        )
      await update('ldap', ldap)
      await update('keystone', external)
      await update('login-server', null)
      const { report } = await run(uaa, store)
      assert.deepEqual(report.counts['identity provider'], { imported: 1, same: 0, leftOut: 3, refused: 0 })
    })
    await store.close()
  })

  it('keeps a client without a secret, also one with the hash prefix from a migration of UAA', async () => {
    const store = await newStore()
    const more = { authorized_grant_types: 'implicit', web_server_redirect_uri: 'https://old.example.org/cb' }
    const rows = [
      ['oauth_client_details', client({ ...more, client_id: 'null', client_secret: null })],
      ['oauth_client_details', client({ ...more, client_id: 'prefix', client_secret: '{bcrypt}' })],
      [
        'oauth_client_details',
        client({ ...more, client_id: 'later', client_secret: `{bcrypt} ${UAA_HASHES.appclientsecret}` }),
      ],
    ] as const
    const { lines, report } = await withRows(rows, () => run(uaa, store))
    assert.equal(refusedIn(report), 0, lines.join('\n'))
    const numbers = ['null', 'prefix', 'later'].map(async id =>
      (await store.clients.find('uaa', id))?.secrets.map(({ hash }) => hash),
    )
    assert.deepEqual(await Promise.all(numbers), [[], [], [UAA_HASHES.appclientsecret]])
    await store.close()
  })

  // Covers import-uaa: users: created; lastmodified; passwd_lastmodified; passwd_change_required; phonenumber; alias_id
  // Covers import-uaa: users: alias_zid; previous_logon_success_time; legacy_verification_behavior
  // Covers import-uaa: identity_zone: created; lastmodified
  // Covers import-uaa: identity_provider: created; lastmodified; alias_id; alias_zid
  // Covers import-uaa: groups: created; lastmodified
  // Covers import-uaa: oauth_client_details: lastmodified; required_user_groups; client_jwt_config; show_on_home_page
  // Covers import-uaa: oauth_client_details: app_icon
  // Covers import-uaa: authz_approvals: lastmodifiedat
  it('keeps times, aliases, required groups, keys and tiles', async () => {
    const store = await newStore()
    const created = '2020-01-02 03:04:05.678'
    const lastmodified = '2021-01-02 03:04:05'
    const times = { created, lastmodified }
    const [createdAt, updatedAt] = [new Date('2020-01-02T03:04:05.678Z'), new Date('2021-01-02T03:04:05Z')]
    const alias = { identity_zone_id: 'z1', id: 'p2', alias_id: 'p1', alias_zid: 'uaa' }
    const jwks = { keys: [{ kty: 'oct', kid: 'k', k: 'AA' }] }
    const tile = { app_launch_url: 'https://app.example/', app_icon: Buffer.from('icon'), show_on_home_page: false }
    const rows = [
      ['identity_zone', zone({}, times)],
      ['identity_provider', provider(OIDC, { ...times, alias_id: 'p2', alias_zid: 'z1' })],
      ['identity_provider', provider(OIDC, alias)],
      ['groups', { id: 'g1', displayname: 'a', ...times }],
      [
        'users',
        user({
          ...times,
          id: 'u',
          passwd_lastmodified: lastmodified,
          passwd_change_required: true,
          phonenumber: '+1',
          legacy_verification_behavior: true,
          alias_id: 'v',
          alias_zid: 'z1',
          previous_logon_success_time: 4000,
        }),
      ],
      [
        'oauth_client_details',
        client({
          ...tile,
          lastmodified,
          required_user_groups: 'a,b',
          client_jwt_config: '{"jwks_uri":"https://app.example/keys"}',
        }),
      ],
      ['oauth_client_details', client({ client_id: 'shared', client_jwt_config: JSON.stringify({ jwks }) })],
      [
        'authz_approvals',
        {
          user_id: 'u',
          client_id: 'app',
          scope: 'openid',
          status: 'DENIED',
          expiresat: '2999-01-01',
          identity_zone_id: 'uaa',
          lastmodifiedat: lastmodified,
        },
      ],
    ] as const
    const { lines } = await withRows(rows, () => run(uaa, store))
    assert.match(lines.join('\n'), /^note: users without a verified address .*: 1$/m)
    assert.match(lines.join('\n'), /^refused: client shared \(zone uaa\): Client jwt configuration/m)
    const timesOf = (record: { readonly createdAt: Date; readonly updatedAt: Date } | undefined) => [
      record?.createdAt,
      record?.updatedAt,
    ]
    const found = await store.users.find('uaa', 'u')
    const [p1, group] = [await store.providers.findStored('uaa', 'p1'), await store.groups.find('uaa', 'g1')]
    for (const record of [found, await store.zones.find('z1'), p1, group])
      assert.deepEqual(timesOf(record), [createdAt, updatedAt])
    assert.deepEqual(
      [found?.passwordChangedAt, found?.passwordChangeRequired, found?.phoneNumber],
      [updatedAt, true, '+1'],
    )
    assert.deepEqual([found?.aliasId, found?.aliasZoneId, found?.previousLogonAt], ['v', 'z1', new Date(4000)])
    assert.equal(found?.verified, false)
    assert.deepEqual([p1?.aliasId, p1?.aliasZoneId], ['p2', 'z1'])
    const app = await store.clients.find('uaa', 'app')
    assert.deepEqual(
      [app?.requiredUserGroups, app?.jwksUri, app?.updatedAt],
      [['a', 'b'], 'https://app.example/keys', updatedAt],
    )
    const shown = await store.clients.findMetadata('uaa', 'app')
    assert.deepEqual(
      [shown?.showOnHomePage, shown?.appIcon, shown?.appLaunchUrl],
      [false, btoa('icon'), 'https://app.example/'],
    )
    const [approval] = await store.approvals.listAllOfUser('uaa', 'u')
    assert.deepEqual([approval?.status, approval?.updatedAt], ['DENIED', updatedAt])
    await store.close()
  })

  // Covers import-uaa: users: last_logon_success_time
  // Covers import-uaa: user_info: user_id; info
  it('keeps UAA’s data of an external user, without a password', async () => {
    const store = await newStore()
    const rows = [
      [
        'users',
        user({ id: 'u', origin: 'corp', password: UAA_HASHES[''], external_id: 'x', last_logon_success_time: 5000 }),
      ],
      ['user_info', { user_id: 'u', info: '{"roles":["r1"],"user_attributes":{"costCenter":["17"],"odd":"text"}}' }],
    ] as const
    await withRows(rows, () => run(uaa, store))
    const found = await store.users.find('uaa', 'u')
    assert.deepEqual([found?.passwordHash, found?.externalId, found?.lastLogonAt], [undefined, 'x', new Date(5000)])
    assert.deepEqual([found?.providerRoles, found?.profile?.custom], [['r1'], { costCenter: ['17'] }])
    await store.close()
  })
})

describe('The database of a UAA', { skip: WITHOUT_POSTGRES }, () => {
  // Covers import-uaa: engines: schema_version
  it('is rejected if a column or table is missing', async () => {
    const uaa = await freshUaa()
    try {
      await uaa.run(`alter table users drop column alias_zid`)
      await assert.rejects(openUaaDatabase(uaa.url), {
        message: "UAA's database lacks users.alias_zid: bring UAA to its schema 4.110 or a later one first",
      })
      await uaa.run(`drop table identity_zone`)
      await assert.rejects(openUaaDatabase(uaa.url), {
        message: "UAA's database: there is no table identity_zone in it, or its user has no access to that table",
      })
    } finally {
      await uaa.drop()
    }
  })

  it('is rejected if the user may not read a table, which is named', async () => {
    const uaa = await freshUaa()
    const url = new URL(uaa.url)
    const role = `reader_${url.pathname.slice(1)}`
    try {
      await uaa.run(`create role ${role} login password 'reader'`)
      await uaa.run(`grant select on all tables in schema public to ${role}`)
      url.username = role
      url.password = 'reader'
      await (await openUaaDatabase(url.href)).close()
      await uaa.run(`revoke select on groups, user_info from ${role}`)
      await assert.rejects(openUaaDatabase(url.href), {
        message: "UAA's database: its user may not read the tables groups, user_info: grant it select on them",
      })
    } finally {
      await uaa.run(`drop owned by ${role}`)
      await uaa.run(`drop role ${role}`)
      await uaa.drop()
    }
  })

  it('is read by one writing import at a time, and by concurrent dry runs', async () => {
    const uaa = await freshUaa()
    const first = await openUaaDatabase(uaa.url, { isAlone: true })
    try {
      await (await openUaaDatabase(uaa.url)).close()
      await assert.rejects(openUaaDatabase(uaa.url, { isAlone: true }), {
        message: "UAA's database: another import is under way: wait until it has ended",
      })
      await first.close()
      await (await openUaaDatabase(uaa.url, { isAlone: true })).close()
    } finally {
      await first.close()
      await uaa.drop()
    }
  })

  it('is named in the error if it is unreachable', async () => {
    await assert.rejects(
      openUaaDatabase('postgres://127.0.0.1:1/uaa'),
      /^StoreUnavailable: UAA's database: .*ECONNREFUSED/,
    )
  })
})
