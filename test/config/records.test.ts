import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Config } from '../../src/config.ts'
import { loadText, problemsOf, temporaryFolder } from '../support/config.ts'

const folder = temporaryFolder()
const load = (text: string): Promise<Config> => loadText(folder, text)

describe('Bootstrap records', () => {
  const client = (members: object): object => ({
    clients: [{ client_id: 'a', client_secret: 's', authorized_grant_types: ['client_credentials'], ...members }],
  })
  const code = { authorized_grant_types: 'authorization_code' }
  const user = (members: object): object => ({
    users: [{ userName: 'u', password: 'p', emails: [{ value: 'u@example.org' }], ...members }],
  })
  const zone = (members: object): object => ({ identity_zones: [{ id: 'z1', subdomain: 'z1', name: 'Z', ...members }] })
  const policy = { type: 'svc', originKey: 'svc', name: 'Internal' }

  const cases: readonly { name: string; bootstrap: object; compatibility?: string; want: readonly string[] }[] = [
    {
      name: 'an authorization code client without a redirect URI',
      bootstrap: client(code),
      want: ['clients[0].redirect_uri: authorization_code grant type requires at least one redirect URL.'],
    },
    {
      name: 'a tile with an unsafe link or invalid image',
      bootstrap: client({ appLaunchUrl: 'javascript:alert(1)', appIcon: '<svg>', showOnHomePage: true }),
      want: ['clients[0].appLaunchUrl: must be an http or https URL', 'clients[0].appIcon: must be base64'],
    },
    {
      name: 'a tile with wrong types',
      bootstrap: client({ appLaunchUrl: 1, appIcon: [], showOnHomePage: 'yes' }),
      want: [
        'clients[0].appLaunchUrl: must be a string: put it in quotes',
        'clients[0].appIcon: must be a string',
        'clients[0].showOnHomePage: must be true or false',
      ],
    },
    {
      name: 'a tile with UAA’s key names',
      bootstrap: client({ 'show-on-homepage': true, 'app-launch-url': 'https://a.example', 'app-icon': 'AA==' }),
      want: [
        'clients[0].app-icon: is not supported; use appIcon',
        'clients[0].app-launch-url: is not supported; use appLaunchUrl',
        'clients[0].show-on-homepage: is not supported; use showOnHomePage',
      ],
    },
    {
      name: 'an implicit client without a redirect URI',
      bootstrap: client({ authorized_grant_types: ['implicit'] }),
      want: ['clients[0].redirect_uri: implicit grant type requires at least one redirect URL.'],
    },
    {
      name: 'an unknown grant type',
      bootstrap: client({ authorized_grant_types: ['client_credentials', 'magic'] }),
      want: ['clients[0].authorized_grant_types: magic is not an allowed grant type.'],
    },
    {
      name: 'a client without grant types',
      bootstrap: client({ authorized_grant_types: [] }),
      want: ['clients[0].authorized_grant_types: An authorized grant type must be provided.'],
    },
    {
      name: 'client_credentials without a credential',
      bootstrap: client({ client_secret: null, jwks: null }),
      want: [
        'clients[0].client_secret: must be a string: it is empty',
        'clients[0].jwks: must be a string or a mapping: it is empty',
      ],
    },
    {
      name: 'an empty second secret, with which every caller could authenticate',
      bootstrap: client({ secondary_client_secret: ' ' }),
      want: ['clients[0].secondary_client_secret: A second secret must not be empty'],
    },
    {
      name: 'an empty secret beside a second one',
      bootstrap: client({ client_secret: '', secondary_client_secret: 's' }),
      want: ['clients[0].client_secret: The first of two secrets must not be empty'],
    },
    {
      name: 'client_credentials with an empty secret',
      bootstrap: client({ client_secret: '' }),
      want: ['clients[0].client_secret: Client secret is required for client_credentials grant type'],
    },
    {
      name: 'a wildcard redirect URI',
      bootstrap: client({ ...code, redirect_uri: ['https://*.example/cb'] }),
      want: [
        'clients[0].redirect_uri: One of the redirect_uri is invalid: https://*.example/cb; it must be an absolute URI of ASCII characters without * and #, which is compared exactly',
      ],
    },
    {
      name: 'a redirect URI with a fragment',
      bootstrap: client({ ...code, redirect_uri: ['https://a.example/#x'] }),
      want: [
        'clients[0].redirect_uri: One of the redirect_uri is invalid: https://a.example/#x; it must be an absolute URI of ASCII characters without * and #, which is compared exactly',
      ],
    },
    {
      name: 'a javascript redirect URI',
      bootstrap: client({ ...code, redirect_uri: ['JavaScript:alert(1)'] }),
      want: [
        'clients[0].redirect_uri: One of the redirect_uri is invalid: JavaScript:alert(1); it must be an absolute URI of ASCII characters without * and #, which is compared exactly',
      ],
    },
    {
      name: 'a data redirect URI',
      bootstrap: client({ ...code, redirect_uri: ['data:text/html,x'] }),
      want: [
        'clients[0].redirect_uri: One of the redirect_uri is invalid: data:text/html,x; it must be an absolute URI of ASCII characters without * and #, which is compared exactly',
      ],
    },
    {
      name: 'a relative redirect URI',
      bootstrap: client({ ...code, redirect_uri: ['/cb'] }),
      want: [
        'clients[0].redirect_uri: One of the redirect_uri is invalid: /cb; it must be an absolute URI of ASCII characters without * and #, which is compared exactly',
      ],
    },
    {
      name: 'a wildcard for a whole domain, in uaa',
      compatibility: 'uaa',
      bootstrap: client({ ...code, redirect_uri: ['https://*.com/cb'] }),
      want: ['clients[0].redirect_uri: One of the redirect_uri is invalid: https://*.com/cb'],
    },
    {
      name: 'a javascript redirect URI, in uaa',
      compatibility: 'uaa',
      bootstrap: client({ ...code, redirect_uri: ['javascript://a.example/%0aalert(1)'] }),
      want: ['clients[0].redirect_uri: One of the redirect_uri is invalid: javascript://a.example/%0aalert(1)'],
    },
    {
      name: 'the service name as client id',
      bootstrap: client({ client_id: 'svc' }),
      want: ['clients[0].client_id: Not allowed: svc is a reserved client_id'],
    },
    {
      name: 'a lifetime that is not a number',
      bootstrap: client({ access_token_validity: 'soon' }),
      want: ['clients[0].access_token_validity: must be a positive number of seconds, or -1'],
    },
    {
      name: 'credentials that are not a list',
      bootstrap: client({ jwt_creds: 'iss' }),
      want: ['clients[0].jwt_creds: must be a list of objects with iss, sub and optionally aud'],
    },
    {
      name: 'a list as lifetime',
      bootstrap: client({ access_token_validity: [60] }),
      want: ['clients[0].access_token_validity: must be a whole number or a string'],
    },
    {
      name: 'an empty lifetime',
      bootstrap: client({ refresh_token_validity: 0 }),
      want: ['clients[0].refresh_token_validity: must not be 0'],
    },
    {
      name: 'another spelling of a key',
      bootstrap: client({ 'redirect-uri': 'https://a.example' }),
      want: ['clients[0].redirect-uri: is not supported; use redirect_uri'],
    },
    {
      name: 'a secret in plain text',
      bootstrap: client({ secret: 'readable' }),
      want: [
        'clients[0].secret: looks like a secret, and cannot be an additional attribute; the secret of a client is client_secret',
      ],
    },
    {
      name: 'a symmetric client key',
      bootstrap: client({ jwks: { kty: 'oct', k: 'AAAA' } }),
      want: ['clients[0].jwks: Client jwt configuration cannot be parsed'],
    },
    {
      name: 'two client keys with the same id',
      bootstrap: client({
        jwks: {
          keys: [
            { kty: 'RSA', kid: 'a' },
            { kty: 'RSA', kid: 'a' },
          ],
        },
      }),
      want: ['clients[0].jwks: Invalid private_key_jwt: duplicate kid in JWKSet not allowed'],
    },
    {
      name: 'client keys over http',
      bootstrap: client({ jwks_uri: 'http://app.example/jwks' }),
      want: ['clients[0].jwks_uri: Invalid private_key_jwt: jwks_uri with http is not on localhost'],
    },
    {
      name: 'client keys on a host name that starts with localhost',
      bootstrap: client({ jwks_uri: 'http://127.0.0.1.example/jwks' }),
      want: ['clients[0].jwks_uri: Invalid private_key_jwt: jwks_uri with http is not on localhost'],
    },
    {
      name: 'a repeated client',
      bootstrap: {
        clients: [
          { client_id: 'a', authorized_grant_types: 'password' },
          { client_id: 'a', authorized_grant_types: 'password' },
        ],
      },
      want: ['clients[1].client_id: is a duplicate'],
    },
    {
      name: 'an internal user without a password',
      bootstrap: { users: [{ userName: 'u', emails: [{ value: 'u@example.org' }] }] },
      want: ['users[0].password: an internal user requires password or password_file'],
    },
    {
      name: 'a user name with a space',
      bootstrap: user({ userName: 'a b' }),
      want: [String.raw`users[0].userName: Username must match pattern: [\p{L}+0-9+\-_.@'!]+`],
    },
    {
      name: 'a user without an e-mail address',
      bootstrap: user({ emails: [] }),
      want: ['users[0].emails: must have at least 1 entries'],
    },
    {
      name: 'a user with a blank e-mail address',
      bootstrap: user({ emails: [{ value: ' ' }], origin: 'ldap' }),
      want: ['users[0].emails[0].value: must not be empty'],
    },
    {
      name: 'a user with two e-mail addresses',
      bootstrap: user({ emails: [{ value: 'a@example.org' }, { value: 'b@example.org' }] }),
      want: ['users[0].emails: must have at most 1 entries'],
    },
    { name: 'an unknown field of a user', bootstrap: user({ mail: 'x' }), want: ['users[0].mail: is not a known key'] },
    {
      name: 'names of groups that no group can have',
      bootstrap: { ...user({ groups: ['g'.repeat(256)] }), default_groups: ['g'.repeat(256)] },
      want: [
        'users[0].groups[0]: must have at most 255 characters',
        'default_groups[0]: must have at most 255 characters',
      ],
    },
    {
      name: 'a repeated user, ignoring case',
      bootstrap: {
        users: ['u', 'U'].map(userName => ({ userName, password: 'p', emails: [{ value: 'x@example.org' }] })),
      },
      want: ['users[1].userName: is a duplicate'],
    },
    {
      name: 'a repeated group, ignoring case',
      bootstrap: { groups: [{ displayName: 'a.b' }, { displayName: 'A.B' }] },
      want: ['groups[1].displayName: is a duplicate'],
    },
    {
      name: 'a repeated group mapping',
      bootstrap: {
        external_groups: [
          { displayName: 'a', externalGroup: 'CN=x' },
          { displayName: 'a', externalGroup: 'cn=x', origin: 'ldap' },
        ],
      },
      want: ['external_groups[1].externalGroup: is a duplicate'],
    },
    {
      name: 'an unknown provider type',
      bootstrap: { identity_providers: [{ originKey: 'o', type: 'oidc', name: 'O' }] },
      want: ['identity_providers[0].type: must be one of svc, ldap, saml, oauth2.0, oidc1.0, keystone'],
    },
    {
      name: 'another type with the origin ldap',
      bootstrap: { identity_providers: [{ originKey: 'ldap', type: 'saml', name: 'O' }] },
      want: ['identity_providers[0].originKey: ldap is reserved for providers of type ldap'],
    },
    {
      name: 'an incomplete lockout policy',
      bootstrap: { identity_providers: [{ ...policy, config: { lockoutPolicy: { lockoutAfterFailures: 3 } } }] },
      want: [
        'identity_providers[0].config.lockoutPolicy.countFailuresWithin: must be a whole number that is not negative',
        'identity_providers[0].config.lockoutPolicy.lockoutPeriodSeconds: must be a whole number that is not negative',
      ],
    },
    {
      name: 'provider settings that are not JSON',
      bootstrap: { identity_providers: [{ ...policy, config: '{' }] },
      want: ['identity_providers[0].config: is not JSON text of an object'],
    },
    {
      name: 'a provider member with a wrong type, also in JSON text',
      bootstrap: {
        identity_providers: [
          { originKey: 'a', type: 'oidc1.0', name: 'A', config: { authUrl: 'javascript:alert(1)', scopes: 'openid' } },
          { originKey: 'b', type: 'saml', name: 'B', config: '{"groupMappingMode":"X"}' },
        ],
      },
      want: [
        'identity_providers[0].config.authUrl: must be an http or https URL',
        'identity_providers[0].config.scopes: must be a list of strings',
        'identity_providers[1].config.groupMappingMode: must be one of EXPLICITLY_MAPPED, AS_SCOPES',
      ],
    },
    {
      name: 'too many mappings and wildcards of a provider',
      bootstrap: {
        identity_providers: [
          {
            originKey: 'a',
            type: 'oidc1.0',
            name: 'A',
            config: {
              attributeMappings: Object.fromEntries(
                Array.from({ length: 201 }, (_, index) => [`user.attribute.${index}`, 'a']),
              ),
              externalGroupsWhitelist: ['*a*a*a*a*', '*a*a*a*a*a*'],
            },
          },
        ],
      },
      want: [
        'identity_providers[0].config.externalGroupsWhitelist: must be a list of strings with at most 5 wildcards each',
        'identity_providers[0].config.attributeMappings: must be an object of strings and lists of strings, with at most 200 members',
      ],
    },
    {
      name: 'a private key for a provider’s public key',
      bootstrap: {
        identity_providers: [
          { originKey: 'a', type: 'oidc1.0', name: 'A', config: { tokenKey: '{"kty":"EC","d":"private"}' } },
        ],
      },
      want: ['identity_providers[0].config.tokenKey: must be a public key'],
    },
    {
      name: 'an unknown member of the password policy',
      bootstrap: {
        identity_providers: [
          {
            ...policy,
            config: {
              passwordPolicy: {
                minLength: 1,
                maxLength: 9,
                requireUpperCaseCharacter: 0,
                requireLowerCaseCharacter: 0,
                requireDigit: 0,
                requireSpecialCharacter: 0,
                expirePasswordInMonths: 0,
                minlength: 3,
              },
            },
          },
        ],
      },
      want: ['identity_providers[0].config.passwordPolicy.minlength: is not a known member'],
    },
    {
      name: 'the default zone among the other zones',
      bootstrap: zone({ id: 'svc' }),
      want: ['identity_zones[0].id: svc is the id of the default zone'],
    },
    {
      name: 'a subdomain that is not a host name',
      bootstrap: zone({ subdomain: 'a/b' }),
      want: ['identity_zones[0].subdomain: must consist of letters, digits, dots and hyphens, as in a host name'],
    },
    {
      name: 'a subdomain that is not a host name label',
      bootstrap: zone({ subdomain: 'a..b' }),
      want: ['identity_zones[0].subdomain: must consist of letters, digits, dots and hyphens, as in a host name'],
    },
    ...['x.clients', 'a,b', '*', 'ü', 'a b'].map(id => ({
      name: `a zone id that collides with others in scopes: ${id}`,
      bootstrap: zone({ id }),
      want: [
        'identity_zones[0].id: must have at most 36 characters of ASCII, without white space, dots, commas, plus signs, stars, slashes and quotes',
      ],
    })),
    {
      name: 'nested zones',
      bootstrap: zone({ bootstrap: { identity_zones: [] } }),
      want: ['identity_zones[0].bootstrap.identity_zones: is not a known key'],
    },
    {
      name: 'an invalid record in a zone',
      bootstrap: zone({ bootstrap: client(code) }),
      want: [
        'identity_zones[0].bootstrap.clients[0].redirect_uri: authorization_code grant type requires at least one redirect URL.',
      ],
    },
    {
      name: 'a repeated subdomain',
      bootstrap: {
        identity_zones: [
          { id: 'a', subdomain: 'x', name: 'A' },
          { id: 'b', subdomain: 'X', name: 'B' },
        ],
      },
      want: ['identity_zones[1].subdomain: is a duplicate'],
    },
  ]
  for (const { name, bootstrap, compatibility = 'standard', want } of cases) {
    it(`reject ${name}`, async () => {
      const got = await problemsOf(load(JSON.stringify({ compatibility, bootstrap })))
      const short = got.map(line => line.replace(/^bootstrap\./, '').replace(/ Must be one of: \[.*\]$/, ''))
      assert.deepEqual(short, want)
    })
  }

  it('reject default groups in two places', async () => {
    const text = JSON.stringify({
      zone_config: { userConfig: { defaultGroups: ['a'] } },
      bootstrap: { default_groups: ['b'] },
    })
    const got = await problemsOf(load(text))
    assert.deepEqual(got, [
      'bootstrap.default_groups: cannot be given together with userConfig.defaultGroups of the zone',
    ])
  })

  it('accept the same values as the APIs', async () => {
    const { bootstrap } = await load(
      JSON.stringify({
        bootstrap: {
          clients: [
            {
              client_id: 'a',
              authorized_grant_types: 'authorization_code,implicit',
              redirect_uri: 'https://a.example/cb com.example.app:/cb',
              post_logout_redirect_uris: ['https://a.example/'],
            },
            {
              client_id: 'k',
              authorized_grant_types: ['client_credentials'],
              jwks: { keys: [{ kty: 'RSA', n: 'AA', e: 'AQAB' }] },
            },
            { client_id: 'u', authorized_grant_types: ['client_credentials'], jwks_uri: 'http://127.0.0.1:9000/jwks' },
          ],
          users: [{ userName: 'someone from ldap', origin: 'ldap', emails: [{ value: 'x@example.org' }] }],
          default_groups: ['openid', 'openid'],
          identity_zones: [
            { id: ' z1 ', subdomain: 'Z1', name: 'Zone 1', bootstrap: { groups: [{ displayName: 'g' }] } },
          ],
        },
      }),
    )
    assert.equal(bootstrap.clients.length, 3)
    assert.deepEqual(bootstrap.defaultGroups, ['openid'])
    assert.equal(bootstrap.identityZones[0]?.id, 'z1')
    assert.equal(bootstrap.identityZones[0]?.subdomain, 'z1')
    assert.deepEqual(bootstrap.identityZones[0]?.bootstrap.groups, [{ displayName: 'g' }])
  })

  it('accept wildcard redirect URIs in uaa', async () => {
    const bootstrap = client({ ...code, redirect_uri: ['http*://*.apps.example.org:*/**', 'http://localhost:8080/*'] })
    assert.deepEqual(await problemsOf(load(JSON.stringify({ compatibility: 'uaa', bootstrap }))), [])
  })
})
