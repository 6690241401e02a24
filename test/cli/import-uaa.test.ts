import assert from 'node:assert/strict'
import { existsSync, readdirSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { decodeJwt, decodeProtectedHeader, importPKCS8, SignJWT } from 'jose'
import { memberOf } from '../../src/base/json.ts'
import { murmur3 } from '../../src/token/revocation-signature.ts'
import { certificateOf } from '../support/certificate.ts'
import { privatePem, temporaryFolder } from '../support/config.ts'
import type { TestDatabase } from '../support/databases.ts'
import { DATABASE_KINDS, emptyDatabase } from '../support/databases.ts'
import { freePort } from '../support/free-port.ts'
import type { ServerProcess } from '../support/process.ts'
import { runToEnd, serve } from '../support/process.ts'
import { freshUaa, UAA_ENGINES, UAA_HASHES, WITHOUT_POSTGRES } from '../support/uaa-database.ts'
import type { TestRow, TestUaa } from '../support/uaa-database.ts'

const ANN = '11111111-1111-4111-8111-111111111111'
const OPS = '22222222-2222-4222-8222-222222222222'
const SHADOW = '33333333-3333-4333-8333-333333333333'
const TENANT_USER = '44444444-4444-4444-8444-444444444444'
const GROUP = '55555555-5555-4555-8555-555555555555'
const OUTER = '66666666-6666-4666-8666-666666666666'
const REFRESH = `${'7'.repeat(30)}abcd-r`

const SIGNING_KEY = privatePem('rsa', 2048)
const SAML_KEY = privatePem('rsa', 2048)
/** Older first, as UAA appends the newer. */
const SECRETS = `{bcrypt}${UAA_HASHES.appclientsecret} ${UAA_HASHES['second-secret']}`

/** UAA's revocation signature: each value is hashed with the hash of those before it; the second secret is the newer. */
const revSig = (...values: readonly string[]): string =>
  values.reduce((hash, value) => murmur3(`${hash}###${value}`, 0xf0_f0).toString(16), '')
const ANNS_SIGNATURE = revSig(
  'app',
  UAA_HASHES['second-secret'],
  ANN,
  UAA_HASHES.koala,
  'pepper',
  'ann@example.org',
  'Ann',
)

/** The value at a path of members. */
const at = (value: unknown, path: string): unknown =>
  path.split('.').reduce<unknown>((inner, name) => memberOf(inner, name), value)
const listAt = (value: unknown, path?: string): readonly unknown[] => {
  const list = path === undefined ? value : at(value, path)
  assert.ok(Array.isArray(list), `${path ?? 'the answer'} is no list`)
  return list
}

const seconds = (): number => Math.floor(Date.now() / 1000)

/** A JWT as UAA has signed it. */
async function jwtOf(claims: Readonly<Record<string, unknown>>, issuer: string): Promise<string> {
  const key = await importPKCS8(SIGNING_KEY, 'RS256')
  const times = { iat: seconds(), exp: seconds() + 3600 }
  return new SignJWT({ ...times, iss: issuer, zid: 'uaa', ...claims })
    .setProtectedHeader({ alg: 'RS256', kid: 'uaa-key-1', typ: 'JWT' })
    .sign(key)
}

const ofAnn = {
  sub: ANN,
  user_id: ANN,
  user_name: 'Ann',
  origin: 'uaa',
  email: 'ann@example.org',
  client_id: 'app',
  cid: 'app',
  azp: 'app',
  grant_type: 'password',
  rev_sig: ANNS_SIGNATURE,
  aud: ['app', 'openid', 'orders'],
}

/** A zone of a UAA with at least one record of each kind. */
async function fill(uaa: TestUaa, issuer: string): Promise<void> {
  const insert = (table: string, row: TestRow): Promise<void> => uaa.insert(table, row)
  await insert('identity_zone', {
    id: 'tenant-1',
    subdomain: 'Tenant',
    name: 'Tenant',
    config: JSON.stringify({
      tokenPolicy: { accessTokenValidity: 300, keys: {} },
      links: null,
      mfaConfig: { enabled: true },
    }),
  })
  await insert('identity_provider', {
    id: 'idp-t',
    identity_zone_id: 'tenant-1',
    name: 'uaa',
    origin_key: 'uaa',
    type: 'uaa',
  })
  const ldap = {
    ldapProfileFile: 'ldap/ldap-search-and-bind.xml',
    baseUrl: 'ldap://ldap.example.org',
    bindUserDn: 'cn=admin',
    bindPassword: 'ldap-secret',
    userSearchBase: 'ou=people',
    userSearchFilter: 'cn={0}',
    emailDomain: null,
  }
  await uaa.run(`update identity_provider set config = '${JSON.stringify(ldap)}' where type = 'ldap'`)
  await uaa.run(
    `update identity_provider set config = '${JSON.stringify({
      passwordPolicy: {
        minLength: 3,
        maxLength: 255,
        requireUpperCaseCharacter: 0,
        requireLowerCaseCharacter: 0,
        requireDigit: 0,
        requireSpecialCharacter: 0,
        expirePasswordInMonths: 0,
        passwordNewerThan: null,
      },
      lockoutPolicy: null,
      disableInternalUserManagement: false,
      emailDomain: null,
      providerDescription: null,
    })}' where type = 'uaa' and identity_zone_id = 'uaa'`,
  )
  await insert('identity_provider', {
    id: 'idp-oidc',
    identity_zone_id: 'uaa',
    name: 'Corp',
    origin_key: 'corp',
    type: 'oidc1.0',
    external_key: 'https://corp.example.org',
    config: JSON.stringify({
      authUrl: 'https://corp.example.org/auth',
      tokenUrl: 'https://corp.example.org/token',
      tokenKeyUrl: 'https://corp.example.org/keys',
      relyingPartyId: 'uaa',
      relyingPartySecret: 'upstream-secret',
      scopes: ['openid'],
      attributeMappings: { external_groups: ['groups'] },
    }),
  })
  await insert('identity_provider', {
    id: 'idp-saml',
    identity_zone_id: 'uaa',
    name: 'SAML',
    origin_key: 'saml-idp',
    type: 'saml',
    config: JSON.stringify({
      metaDataLocation: 'https://saml.example.org/metadata',
      idpEntityAlias: 'saml-idp',
      zoneId: 'uaa',
      nameID: 'urn:oasis:names:tc:SAML:1.1:nameid-format:unspecified',
      assertionConsumerIndex: 0,
      metadataTrustCheck: true,
      showSamlLink: true,
      linkText: null,
      iconUrl: null,
      groupMappingMode: 'EXPLICITLY_MAPPED',
      skipSslValidation: false,
      authnContext: null,
    }),
  })
  await insert('oauth_client_details', {
    client_id: 'app',
    client_secret: SECRETS,
    scope: 'openid,orders.read,uaa.user',
    authorities: 'uaa.none',
    authorized_grant_types: 'password,refresh_token,authorization_code',
    web_server_redirect_uri: 'https://app.example.org/cb,https://*.example.org/**',
    autoapprove: 'openid',
    resource_ids: 'none',
    access_token_validity: 600,
    refresh_token_validity: -1,
    additional_information: JSON.stringify({
      name: 'The app',
      allowedproviders: ['uaa', 'ldap'],
      team: 'blue',
      lastModified: 1,
    }),
    app_launch_url: 'https://app.example.org/',
    created_by: OPS,
  })
  await insert('oauth_client_details', {
    client_id: 'inspector',
    client_secret: UAA_HASHES.appclientsecret,
    authorities: 'audit.read,uaa.resource,scim.read,idps.read,clients.read,zones.read,uaa.admin',
    authorized_grant_types: 'client_credentials',
    additional_information: '{}',
  })
  await insert('oauth_client_details', {
    client_id: 'tenant-app',
    identity_zone_id: 'tenant-1',
    client_secret: UAA_HASHES[''],
    scope: 'openid',
    authorized_grant_types: 'password',
    additional_information: null,
  })
  await insert('users', {
    id: ANN,
    username: 'Ann',
    password: UAA_HASHES.koala,
    email: 'ann@example.org',
    givenname: 'Ann',
    familyname: 'Lee',
    verified: true,
    salt: 'pepper',
    version: 3,
    last_logon_success_time: 1_700_000_000_000,
  })
  await insert('users', {
    id: OPS,
    username: 'ops',
    password: UAA_HASHES.koala,
    email: 'ops@example.org',
    verified: true,
    active: false,
  })
  await insert('users', {
    id: SHADOW,
    username: 'bob@corp',
    password: UAA_HASHES[''],
    email: 'bob@example.org',
    origin: 'corp',
    external_id: 'sub-7',
    verified: true,
  })
  await insert('user_info', {
    user_id: SHADOW,
    info: JSON.stringify({ roles: ['admin'], user_attributes: { costCenter: ['17'] } }),
  })
  await insert('users', {
    id: TENANT_USER,
    username: 'ann',
    password: UAA_HASHES.koala,
    email: 'ann@tenant.example',
    identity_zone_id: 'tenant-1',
    legacy_verification_behavior: true,
  })
  await insert('groups', { id: GROUP, displayname: 'orders.read', description: 'Read orders' })
  await insert('groups', { id: OUTER, displayname: 'shops.read', description: null })
  await insert('group_membership', { group_id: GROUP, member_id: ANN })
  await insert('group_membership', { group_id: OUTER, member_id: GROUP, member_type: 'GROUP' })
  await insert('group_membership', { group_id: GROUP, member_id: 'long-gone' })
  await insert('external_group_mapping', {
    group_id: GROUP,
    external_group: 'cn=readers,ou=groups',
    origin: 'ldap',
    identity_zone_id: 'uaa',
  })
  await insert('authz_approvals', {
    user_id: ANN,
    client_id: 'app',
    scope: 'orders.read',
    status: 'APPROVED',
    expiresat: '2999-01-01',
    identity_zone_id: 'uaa',
  })
  await insert('authz_approvals', {
    user_id: ANN,
    client_id: 'app',
    scope: 'openid',
    status: 'APPROVED',
    expiresat: '2001-01-01',
    identity_zone_id: 'uaa',
  })
  const refresh = {
    ...ofAnn,
    jti: REFRESH,
    granted_scopes: ['openid', 'orders.read'],
    revocable: true,
    client_auth_method: 'client_secret_basic',
  }
  await insert('revocable_tokens', {
    token_id: REFRESH,
    client_id: 'app',
    user_id: ANN,
    format: 'opaque',
    response_type: 'REFRESH_TOKEN',
    issued_at: Date.now(),
    expires_at: Date.now() + 3_600_000,
    scope: '[openid]',
    data: await jwtOf(refresh, issuer),
    identity_zone_id: 'uaa',
  })
}

const zoneConfig = () => ({
  tokenPolicy: {
    accessTokenValidity: -1,
    refreshTokenValidity: -1,
    jwtRevocable: false,
    refreshTokenUnique: false,
    refreshTokenFormat: 'opaque',
    activeKeyId: 'uaa-key-1',
    keys: { 'uaa-key-1': { signingKey: SIGNING_KEY } },
  },
  samlConfig: {
    assertionSigned: true,
    requestSigned: true,
    activeKeyId: 'saml-1',
    keys: { 'saml-1': { key: SAML_KEY, passphrase: '', certificate: certificateOf(SAML_KEY) } },
    entityID: null,
  },
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
  userConfig: { defaultGroups: ['openid', 'uaa.user'] },
  mfaConfig: { enabled: false },
})

const pairs = UAA_ENGINES.flatMap(engine => DATABASE_KINDS.map(kind => ({ engine, kind })))
  // Each database once on either side.
  .filter(({ engine, kind }) => engine.name === 'PostgreSQL' || kind === 'sqlite')
for (const { engine, kind } of pairs) {
  describe(`latchkey import-uaa from ${engine.name} into ${kind}`, { skip: engine.skip }, () => {
    const folder = temporaryFolder()
    let uaa: TestUaa
    let target: TestDatabase
    let server: ServerProcess | undefined
    let port = 0
    const run = (...args: readonly string[]) =>
      runToEnd(['import-uaa', '--config', 'latchkey.json', '--from', uaa.url, ...args], { folder })

    before(async () => {
      uaa = await freshUaa(zoneConfig(), engine.empty)
      target = await emptyDatabase(kind)
      port = await freePort()
      await fill(uaa, `http://localhost:${port}/oauth/token`)
      const config = {
        service: 'uaa',
        compatibility: 'uaa',
        base_url: `http://localhost:${port}`,
        database: target.url,
        audit: { enabled: true },
        passwords: { memory_kib: 1024, passes: 1 },
      }
      writeFileSync(join(folder, 'latchkey.json'), JSON.stringify(config))
    })
    after(async () => {
      await server?.stop()
      await target.drop()
      await uaa.drop()
    })

    // Covers latchkey: import-uaa
    // Covers latchkey import-uaa: --config; --from
    // Covers import-uaa: engines: PostgreSQL; MySQL and MariaDB
    // Covers import-uaa: not imported: orphans
    it('prints its plan in a dry run, and writes nothing', async () => {
      const folders = (): readonly string[] => readdirSync(tmpdir()).filter(name => name.startsWith('latchkey-import-'))
      const before = folders()
      const { status, stdout, stderr } = await run()
      assert.deepEqual([status, stderr], [0, ''])
      assert.match(stdout, /^zones {15}2 imported\n/m)
      assert.match(stdout, /^users {15}4 imported\n/m)
      assert.match(stdout, /^memberships {9}2 imported, 1 left out\n/m)
      assert.match(stdout, /^left out: membership of USER long-gone in group 5{8}-.*: its zone has no such member\n/m)
      assert.match(stdout, /^note: zone tenant-1: its second factors/m)
      assert.match(stdout, /Nothing was written: `.*latchkey.* import-uaa --apply` does\.\n$/)
      assert.deepEqual(
        folders().filter(name => !before.includes(name)),
        [],
      )
      if (kind === 'sqlite') assert.equal(existsSync(target.url.slice('sqlite:'.length)), false)
    })

    // Covers latchkey import-uaa: --apply; --database
    it('imports into a new database, once', async () => {
      const first = await run('--apply')
      assert.deepEqual([first.status, first.stderr], [0, ''], first.stdout)
      assert.match(first.stdout, /The import has finished; the server can start\.\n$/)
      for (const secret of ['ldap-secret', 'upstream-secret', 'PRIVATE', '$2a$', REFRESH]) {
        assert.ok(!first.stdout.includes(secret), `${secret} was printed`)
      }
      const again = await run('--apply')
      assert.equal(again.status, 1)
      assert.match(again.stderr, /^latchkey: an import has already filled this database; start over with a new one\n$/)
    })

    describe('the server afterwards', () => {
      const form = (path: string, auth: string, body: Record<string, string>) =>
        fetch(`http://localhost:${port}${path}`, {
          method: 'POST',
          headers: { authorization: `Basic ${btoa(auth)}`, accept: 'application/json' },
          body: new URLSearchParams(body),
        })
      let admin = ''
      const get = async (path: string, zone = 'uaa'): Promise<unknown> => {
        const headers = { authorization: `Bearer ${admin}`, accept: 'application/json', 'x-identity-zone-id': zone }
        return (await fetch(`http://localhost:${port}${path}`, { headers })).json()
      }
      const post = async (path: string, auth: string, body: Record<string, string>): Promise<unknown> =>
        (await form(path, auth, body)).json()
      const claimsOf = (answer: unknown) => decodeJwt(String(at(answer, 'access_token')))

      before(async () => {
        server = await serve({ folder, port, args: ['--config', 'latchkey.json'] })
        const answer = await post('/oauth/token', 'inspector:appclientsecret', { grant_type: 'client_credentials' })
        admin = String(at(answer, 'access_token'))
      })

      for (const secret of ['appclientsecret', 'second-secret']) {
        // Covers import-uaa: users: id; username; password; email; verified; identity_zone_id
        // Covers import-uaa: oauth_client_details: client_id; client_secret; authorized_grant_types; scope; autoapprove
        // Covers import-uaa: keeping issued tokens valid: signing keys and issuer
        it(`signs a user in with the old password, for a client with the old secret ${secret}`, async () => {
          const body = { grant_type: 'password', username: 'ann', password: 'koala' }
          const answer = await post('/oauth/token', `app:${secret}`, body)
          const claims = claimsOf(answer)
          assert.equal(decodeProtectedHeader(String(at(answer, 'access_token'))).kid, 'uaa-key-1')
          assert.deepEqual([claims.sub, claims['user_name'], claims['zid']], [ANN, 'Ann', 'uaa'])
          assert.equal(claims.iss, `http://localhost:${port}/oauth/token`)
          const scopes = String(at(answer, 'scope')).split(' ')
          assert.deepEqual(scopes.toSorted(), ['openid', 'orders.read', 'uaa.user'])
          assert.equal(typeof at(answer, 'refresh_token'), 'string')
        })
      }

      // Covers import-uaa: users: active
      it('rejects a wrong password, an inactive account, and the empty password of an external account', async () => {
        const attempts = [
          ['ann', 'wrong'],
          ['ops', 'koala'],
          ['bob@corp', ''],
        ] as const
        for (const [username, password] of attempts) {
          const body = { grant_type: 'password', username, password }
          assert.equal((await form('/oauth/token', 'app:appclientsecret', body)).status, 401, username)
        }
      })

      // Covers import-uaa: keeping issued tokens valid: inputs of `rev_sig`
      // Covers import-uaa: users: salt
      it('accepts an access token of UAA with UAA’s revocation signature', async () => {
        const issuer = `http://localhost:${port}/oauth/token`
        const token = await jwtOf({ ...ofAnn, jti: 'a'.repeat(32), scope: ['openid', 'orders.read'] }, issuer)
        const checked = await post('/check_token', 'inspector:appclientsecret', { token })
        assert.deepEqual([at(checked, 'user_id'), at(checked, 'client_id')], [ANN, 'app'])
        const other = await jwtOf({ ...ofAnn, rev_sig: 'abcd', jti: 'b'.repeat(32), scope: ['openid'] }, issuer)
        assert.equal((await form('/check_token', 'inspector:appclientsecret', { token: other })).status, 400)
      })

      // Covers import-uaa: keeping issued tokens valid: revocable tokens
      // Covers import-uaa: revocable_tokens: token_id; client_id; user_id; format; response_type; issued_at; expires_at
      // Covers import-uaa: revocable_tokens: scope; data
      // Covers import-uaa: revocable_tokens: identity_zone_id
      it('accepts an opaque refresh token of UAA', async () => {
        const body = { grant_type: 'refresh_token', refresh_token: REFRESH }
        assert.equal(claimsOf(await post('/oauth/token', 'app:appclientsecret', body)).sub, ANN)
      })

      // Covers import-uaa: users: givenname; familyname; version; origin; external_id
      // Covers import-uaa: groups: id; displayname; description; identity_zone_id; version
      // Covers import-uaa: group_membership: group_id; member_id; member_type; origin; identity_zone_id
      // Covers import-uaa: external_group_mapping: group_id; external_group; origin; identity_zone_id; added
      // Covers import-uaa: authz_approvals: user_id; client_id; scope; status; expiresat; identity_zone_id
      it('has the users with ids, groups and approvals', async () => {
        const ann = await get(`/Users/${ANN}`)
        assert.deepEqual([at(ann, 'userName'), at(ann, 'name.givenName'), at(ann, 'meta.version')], ['Ann', 'Ann', 3])
        const groups = listAt(ann, 'groups').map(group => [at(group, 'display'), at(group, 'value'), at(group, 'type')])
        const own = groups.filter(([name]) => String(name).endsWith('.read'))
        assert.deepEqual(
          own.toSorted(([left], [right]) => String(left).localeCompare(String(right))),
          [
            ['orders.read', GROUP, 'DIRECT'],
            ['shops.read', OUTER, 'INDIRECT'],
          ],
        )
        assert.deepEqual(
          listAt(ann, 'approvals').map(approval => at(approval, 'scope')),
          ['orders.read'],
        )
        const bob = await get(`/Users/${SHADOW}`)
        assert.deepEqual([at(bob, 'origin'), at(bob, 'externalId')], ['corp', 'sub-7'])
        assert.equal(at(await get(`/Users/${TENANT_USER}`, 'tenant-1'), 'zoneId'), 'tenant-1')
        assert.equal(at(await get('/identity-zones/tenant-1'), 'subdomain'), 'tenant')
        const mappings = listAt(await get('/Groups/External'), 'resources')
        assert.deepEqual(
          mappings.map(each => [at(each, 'displayName'), at(each, 'externalGroup'), at(each, 'origin')]),
          [['orders.read', 'cn=readers,ou=groups', 'ldap']],
        )
      })

      // Covers import-uaa: oauth_client_details: identity_zone_id; web_server_redirect_uri; access_token_validity
      // Covers import-uaa: oauth_client_details: additional_information; created_by; app_launch_url; authorities
      it('has the clients unchanged', async () => {
        const app = await get('/oauth/clients/app')
        assert.deepEqual(at(app, 'redirect_uri'), ['https://app.example.org/cb', 'https://*.example.org/**'])
        assert.deepEqual(at(app, 'allowedproviders'), ['uaa', 'ldap'])
        const members = ['team', 'name', 'access_token_validity', 'refresh_token_validity']
        assert.deepEqual(
          members.map(name => at(app, name)),
          ['blue', 'The app', 600, -1],
        )
        assert.equal(at(await get('/oauth/clients/app/meta'), 'createdBy'), OPS)
        // The API adds refresh_token to a client with the password grant; an import adds nothing.
        const other = await get('/oauth/clients/tenant-app', 'tenant-1')
        assert.deepEqual(at(other, 'authorized_grant_types'), ['password'])
      })

      // Covers import-uaa: identity_provider: id; identity_zone_id; name; type; origin_key; config; active; version
      // Covers import-uaa: identity_provider: external_key
      it('has the providers, without showing their secrets', async () => {
        const providers = listAt(await get('/identity-providers?rawConfig=true'))
        const byOrigin = Object.fromEntries(providers.map(each => [String(at(each, 'originKey')), each]))
        assert.equal(at(byOrigin, 'ldap.config.baseUrl'), 'ldap://ldap.example.org')
        assert.equal(at(byOrigin, 'ldap.config.bindPassword'), undefined)
        assert.deepEqual(
          [at(byOrigin, 'corp.id'), at(byOrigin, 'corp.config.issuer')],
          ['idp-oidc', 'https://corp.example.org'],
        )
        assert.equal(at(byOrigin, 'saml-idp.config.metaDataLocation'), 'https://saml.example.org/metadata')
        assert.equal(at(byOrigin, 'uaa.config.passwordPolicy.minLength'), 3)
      })

      // Covers import-uaa: identity_zone: id; subdomain; name; description; config; version
      it('has the settings and keys of the default zone, and an audit entry of the import', async () => {
        const zone = await get('/identity-zones/uaa')
        assert.deepEqual(at(zone, 'config.userConfig.defaultGroups'), ['openid', 'uaa.user'])
        assert.equal(at(zone, 'config.samlConfig.activeKeyId'), 'saml-1')
        assert.deepEqual(Object.keys(Object(at(zone, 'config.samlConfig.keys'))), ['saml-1'])
        const [event] = listAt(await get('/audit/events?type=RecordsImportedEvent'), 'events')
        assert.match(String(at(event, 'data')), /^import from a UAA: zones 2 imported; .*; users 4 imported; /)
        await server?.stop()
        const keys = await runToEnd(['keys', 'list', '--config', 'latchkey.json'], { folder })
        assert.match(keys.stdout, /^uaa-key-1 +RS256 +active/m)
      })
    })
  })
}

describe('latchkey import-uaa', { skip: WITHOUT_POSTGRES }, () => {
  const folder = temporaryFolder()
  let uaa: TestUaa
  const config = { service: 'uaa', compatibility: 'uaa', base_url: 'http://localhost:1' }
  const run = (file: object, ...args: readonly string[]) => {
    writeFileSync(join(folder, 'latchkey.json'), JSON.stringify({ ...config, ...file }))
    return runToEnd(['import-uaa', '--config', 'latchkey.json', ...args], {
      folder,
      env: { LATCHKEY_UAA_DATABASE: uaa.url },
    })
  }

  before(async () => {
    uaa = await freshUaa()
    await uaa.insert('oauth_client_details', {
      client_id: 'broken',
      client_secret: 'plain',
      authorized_grant_types: 'password',
    })
  })
  after(() => uaa.drop())

  const refused: readonly { name: string; file?: object; args?: readonly string[]; status: number; says: RegExp }[] = [
    { name: 'another service name', file: { service: 'svc' }, status: 1, says: /must have `service: uaa`/ },
    {
      name: 'settings of the default zone in the configuration',
      file: { zone_config: { branding: { companyName: 'x' } }, bootstrap: { default_groups: ['openid'] } },
      status: 1,
      says: /^latchkey: zone_config, bootstrap\.default_groups in the configuration would replace/,
    },
    {
      name: 'an in-memory database',
      args: ['--database', 'sqlite::memory:'],
      status: 1,
      says: /a database in memory belongs to one process/,
    },
    {
      name: 'a URL of another kind of database',
      args: ['--from', 'jdbc:mysql://uaa:s3cret@db/uaa'],
      status: 2,
      says: /^latchkey: --from: must be postgres:\/\/user:password@host\/database, or the same with mysql:\n$/,
    },
    {
      name: 'a MySQL URL without a database',
      args: ['--from', 'mysql://uaa:s3cret@db/'],
      status: 2,
      says: /^latchkey: --from: must name one host and a database; .*%40.*\n$/,
    },
    {
      name: 'a password without percent-encoding',
      args: ['--from', 'mysql://uaa:100%s3cret@db/uaa'],
      status: 2,
      says: /^latchkey: --from: must name one host and a database; .* such as % as %25, .*\n$/,
    },
    {
      name: 'sslrootcert=system for MySQL',
      args: ['--from', 'mysql://db.example/uaa?sslrootcert=system'],
      status: 2,
      says: /^latchkey: --from: sslrootcert must be the path of a file; .*\n$/,
    },
    {
      name: 'a TLS mode without meaning for MySQL',
      args: ['--from', 'mysql://db.example/uaa?sslmode=prefer'],
      status: 2,
      says: /^latchkey: --from: sslmode must be one of disable, verify-full\n$/,
    },
    {
      name: 'an option of another driver',
      args: ['--from', 'mysql://db.example/uaa?useSSL=true'],
      status: 2,
      says: /^latchkey: --from: useSSL is no parameter of the URL: there are sslmode and sslrootcert\n$/,
    },
    {
      name: 'an unknown file of certification authorities',
      args: ['--from', 'mysql://db.example/uaa?sslrootcert=/no/such.pem'],
      status: 2,
      says: /^latchkey: --from: sslrootcert \/no\/such\.pem cannot be read: .*\n$/,
    },
    {
      name: 'an unknown TLS mode',
      args: ['--from', 'postgres://db.example/uaa?sslmode=verify'],
      status: 2,
      says: /^latchkey: --from: sslmode must be one of/,
    },
    {
      name: '--skip without --apply',
      args: ['--skip-refused'],
      status: 2,
      says: /'--skip-refused' needs '--apply'/,
    },
  ]
  for (const { name, file = {}, args = [], status, says } of refused) {
    it(`rejects ${name}`, async () => {
      const ended = await run(file, ...args)
      assert.deepEqual([ended.status, ended.stdout], [status, ''])
      assert.match(ended.stderr, says)
    })
  }

  it('requires a configuration file and a URL', async () => {
    const env = { LATCHKEY_UAA_DATABASE: uaa.url }
    assert.match((await runToEnd(['import-uaa'], { folder, env })).stderr, /name it by --config/)
    assert.match((await runToEnd(['import-uaa'], { folder })).stderr, /LATCHKEY_UAA_DATABASE in the environment/)
  })

  // Covers latchkey import-uaa: --skip-refused
  it('is incomplete if a row is rejected, which keeps servers from starting', async () => {
    const file = { database: 'sqlite:./unfinished.db' }
    const rehearsed = await run(file)
    assert.equal(rehearsed.status, 1)
    assert.match(
      rehearsed.stdout,
      /^refused: client broken \(zone uaa\): .*\n[^]*Nothing was written, and one row is refused: /m,
    )
    const applied = await run(file, '--apply')
    assert.equal(applied.status, 1)
    assert.match(applied.stdout, /The import has not finished, as one row is refused: /)
    const served = await runToEnd(['serve', '--config', 'latchkey.json', '--port', '0'], { folder })
    assert.deepEqual([served.status, served.signal], [1, null])
    assert.match(served.stderr, /an import from a UAA was started in this database and has not finished/)
    const finished = await run(file, '--apply', '--skip-refused')
    assert.equal(finished.status, 0, finished.stderr)
    assert.match(finished.stdout, /^clients +0 imported, 1 refused\n/m)
  })

  it('rejects a database used by a server', async () => {
    const used = { ...config, database: 'sqlite:./used.db' }
    const server = await serve({ folder, config: used })
    await server.stop()
    const { status, stderr } = await run({ database: 'sqlite:./used.db' }, '--apply')
    assert.equal(status, 1)
    assert.match(stderr, /a server has used this database already: an import needs a new one/)
  })
})
