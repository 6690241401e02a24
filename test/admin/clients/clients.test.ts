import assert from 'node:assert/strict'
import { after, before, describe, it, mock } from 'node:test'
import fc from 'fast-check'
import { StoreUnavailable } from '../../../src/store/store.ts'
import { clientRecords, documented } from '../../support/client-records.ts'
import { MODES, isAlive, tokensOf } from '../../support/oauth.ts'
import { assertInvalid, assertNotFound, changeConcurrently, startClientServer } from '../../support/clients.ts'
import type { ClientServer } from '../../support/clients.ts'
import { freshDatabase } from '../../support/databases.ts'
import { runs } from '../../support/thinning.ts'

type Members = Readonly<Record<string, unknown>>

const code = { authorized_grant_types: ['authorization_code'], redirect_uri: ['https://shop.example/cb'] }
const JWT_BEARER = 'urn:ietf:params:oauth:grant-type:jwt-bearer'
const GRANTS =
  'Must be one of: [authorization_code, implicit, password, client_credentials, refresh_token, user_token, urn:ietf:params:oauth:grant-type:saml2-bearer, urn:ietf:params:oauth:grant-type:jwt-bearer]'
/** Additional grants in `standard` (row N1). */
const FURTHER_GRANTS =
  ', urn:ietf:params:oauth:grant-type:device_code, urn:ietf:params:oauth:grant-type:token-exchange]'
const KEY = { kty: 'RSA', kid: 'a', n: 'n', e: 'AQAB' }

/** Defaults of every record. */
const DEFAULTS = {
  scope: ['svc.none'],
  resource_ids: ['none'],
  authorities: ['svc.none'],
  autoapprove: [],
  required_user_groups: [],
}

const created: readonly { name: string; body: Members; want: Members }[] = [
  // Covers Client record: client_id; authorized_grant_types; redirect_uri; scope; authorities; name
  {
    name: 'a client with lists as arrays',
    body: { ...code, scope: ['openid', 'shop.read'], authorities: ['svc.resource'], name: 'Shop' },
    want: {
      authorized_grant_types: ['authorization_code', 'refresh_token'],
      redirect_uri: ['https://shop.example/cb'],
      scope: ['openid', 'shop.read'],
      authorities: ['svc.resource'],
      name: 'Shop',
    },
  },
  {
    name: 'a client with lifetimes as strings, like uaac',
    body: { ...code, access_token_validity: '600', refresh_token_validity: '2147483647' },
    want: {
      authorized_grant_types: ['authorization_code', 'refresh_token'],
      redirect_uri: ['https://shop.example/cb'],
      access_token_validity: 600,
      refresh_token_validity: 2 ** 31 - 1,
    },
  },
  {
    name: 'a client with lifetimes of -1',
    body: { ...code, access_token_validity: -1, refresh_token_validity: '-1' },
    want: {
      authorized_grant_types: ['authorization_code', 'refresh_token'],
      redirect_uri: ['https://shop.example/cb'],
      access_token_validity: -1,
      refresh_token_validity: -1,
    },
  },
  {
    name: 'a client with empty lifetimes, like uaac -i',
    body: { ...code, access_token_validity: '', refresh_token_validity: '' },
    want: {
      authorized_grant_types: ['authorization_code', 'refresh_token'],
      redirect_uri: ['https://shop.example/cb'],
    },
  },
  {
    name: 'a client with lists as strings',
    body: {
      authorized_grant_types: 'password, implicit',
      redirect_uri: 'https://a.example/ https://b.example/',
      scope: 'a,b c',
      authorities: 'x\ty',
    },
    want: {
      authorized_grant_types: ['password', 'implicit', 'refresh_token'],
      redirect_uri: ['https://a.example/', 'https://b.example/'],
      scope: ['a', 'b', 'c'],
      authorities: ['x', 'y'],
    },
  },
  // Covers Client record: autoapprove; allowpublic; access_token_validity; refresh_token_validity; allowedproviders
  // Covers Client record: required_user_groups; token_salt; signup_redirect_url; change_email_redirect_url
  // Covers Client record: additional attributes
  // Covers POST /oauth/clients: body
  {
    name: 'a client with every member',
    body: {
      authorized_grant_types: ['client_credentials'],
      client_secret: 'first',
      secondary_client_secret: 'second',
      jwks: JSON.stringify(KEY),
      scope: ['a', 'b'],
      autoapprove: ['a', 'c'],
      allowpublic: false,
      access_token_validity: 60,
      refresh_token_validity: 2_147_483_647,
      allowedproviders: ['ldap'],
      required_user_groups: ['staff of the shop'],
      token_salt: 'salt',
      signup_redirect_url: 'https://a.example/in',
      change_email_redirect_url: 'https://a.example/mail',
      post_logout_redirect_uris: ['https://a.example/bye'],
      anything: { at: ['all', null, 1] },
    },
    want: {
      authorized_grant_types: ['client_credentials'],
      scope: ['a', 'b'],
      autoapprove: ['a'],
      allowpublic: false,
      access_token_validity: 60,
      refresh_token_validity: 2_147_483_647,
      allowedproviders: ['ldap'],
      required_user_groups: ['staff of the shop'],
      token_salt: 'salt',
      signup_redirect_url: 'https://a.example/in',
      change_email_redirect_url: 'https://a.example/mail',
      post_logout_redirect_uris: ['https://a.example/bye'],
      anything: { at: ['all', null, 1] },
    },
  },
  // Covers Client record: resource_ids; client_jwt_config
  {
    name: 'a client, ignoring read-only members',
    body: {
      authorized_grant_types: ['password'],
      resource_ids: ['all'],
      createdwith: 'zones.write',
      lastModified: 1,
      approvals_deleted: true,
      action: 'add',
      client_jwt_config: '{}',
    },
    want: { authorized_grant_types: ['password', 'refresh_token'] },
  },
  {
    name: 'a client with autoapprove: true',
    body: { authorized_grant_types: ['password'], autoapprove: true },
    want: { authorized_grant_types: ['password', 'refresh_token'], autoapprove: ['true'] },
  },
  {
    name: 'a client with authorities split at spaces, like scopes',
    body: { authorized_grant_types: ['password'], authorities: ['a clients.admin'] },
    want: { authorized_grant_types: ['password', 'refresh_token'], authorities: ['a', 'clients.admin'] },
  },
  {
    name: 'a client with special characters in the id',
    body: { client_id: 'läden & co:%20', authorized_grant_types: ['password'] },
    want: { client_id: 'läden & co:%20', authorized_grant_types: ['password', 'refresh_token'] },
  },
]

const invalid: readonly { name: string; body: Members; description: string | RegExp; mode?: string }[] = [
  { name: 'no id', body: { client_id: null }, description: 'A client_id must be provided.' },
  // Covers Client validation: error: reserved id
  { name: 'the reserved id', body: { client_id: 'svc' }, description: 'Not allowed: svc is a reserved client_id' },
  // Covers Client validation: error: bad characters
  { name: 'a slash in the id', body: { client_id: 'a/b' }, description: /^Not allowed characters: / },
  { name: 'a backslash in the id', body: { client_id: 'a\\b' }, description: /^Not allowed characters: / },
  { name: 'the id .', body: { client_id: '.' }, description: /^Not allowed: / },
  { name: 'the id ..', body: { client_id: '..' }, description: /^Not allowed: / },
  { name: 'a line break in the id', body: { client_id: 'a\nb' }, description: /^Not allowed characters: / },
  { name: 'an id that is too long', body: { client_id: 'x'.repeat(256) }, description: /at most 255 characters/ },
  // Covers Client validation: error: no redirect URI
  {
    name: 'authorization_code without a redirect URI',
    body: { redirect_uri: [] },
    description: 'authorization_code grant type requires at least one redirect URL.',
  },
  {
    name: 'implicit without a redirect URI',
    body: { authorized_grant_types: ['implicit'], redirect_uri: null },
    description: 'implicit grant type requires at least one redirect URL.',
  },
  // Covers Client validation: error: invalid redirect URI
  {
    name: 'an invalid redirect URI',
    body: { redirect_uri: ['https://a.example/', 'shop'] },
    description: /^One of the redirect_uri is invalid: shop/,
  },
  {
    name: 'a redirect URI with a wildcard',
    body: { redirect_uri: ['https://a.example/**'] },
    description: /^One of the redirect_uri is invalid: https:\/\/a\.example\/\*\*/,
    mode: 'standard',
  },
  {
    name: 'a redirect URI with a fragment',
    body: { redirect_uri: ['https://a.example/#x'] },
    description: /^One of the redirect_uri is invalid/,
    mode: 'standard',
  },
  {
    name: 'a non-ASCII redirect URI',
    body: { redirect_uri: ['https://a.example/läden'] },
    description: /^One of the redirect_uri is invalid/,
    mode: 'standard',
  },
  {
    name: 'a redirect URI that browsers parse differently',
    body: { redirect_uri: ['https://a.example\\@b.example/'] },
    description: /^One of the redirect_uri is invalid/,
    mode: 'standard',
  },
  {
    name: 'a redirect URI without a host',
    body: { redirect_uri: ['https:a.example/cb'] },
    description: /^One of the redirect_uri is invalid/,
  },
  {
    name: 'a javascript: redirect URI',
    body: { redirect_uri: ['javascript:alert(1)'] },
    description: /^One of the redirect_uri is invalid: javascript:alert\(1\)/,
  },
  {
    name: 'a data: redirect URI',
    body: { redirect_uri: ['data:text/html,x'] },
    description: /^One of the redirect_uri is invalid/,
  },
  {
    name: 'a wildcard in the last two labels of the host',
    body: { redirect_uri: ['https://*.example/'] },
    description: /^One of the redirect_uri is invalid: https:\/\/\*\.example\//,
  },
  // Covers Client validation: error: no grant type
  {
    name: 'no grant type',
    body: { authorized_grant_types: [] },
    description: `An authorized grant type must be provided. ${GRANTS}`,
  },
  // Covers Client validation: error: unknown grant type
  {
    name: 'an unknown grant type',
    body: { authorized_grant_types: ['magic'] },
    description: `magic is not an allowed grant type. ${GRANTS}`,
  },
  // Covers Client validation: error: jwt-bearer without scope
  // Covers POST /oauth/clients: error: validation
  {
    name: 'jwt-bearer without a scope',
    body: { authorized_grant_types: [JWT_BEARER], client_secret: 's' },
    description: `Scope cannot be empty for grant_type ${JWT_BEARER}`,
  },
  // Covers Client validation: error: jwt-bearer without secret
  {
    name: 'jwt-bearer without a secret',
    body: { authorized_grant_types: [JWT_BEARER], scope: ['a'] },
    description: `Client secret is required for grant type ${JWT_BEARER}`,
  },
  // Covers Client validation: error: implicit with a secret
  {
    name: 'implicit with a secret',
    body: { authorized_grant_types: ['implicit'], client_secret: 's' },
    description: 'Implicit grant should not have a client_secret',
  },
  // Covers Client validation: error: `client_credentials` without secret
  {
    name: 'client_credentials without a secret',
    body: { authorized_grant_types: ['client_credentials'] },
    description: 'Client secret is required for client_credentials grant type',
  },
  {
    name: 'client_credentials with an empty secret',
    body: { authorized_grant_types: ['client_credentials'], client_secret: '' },
    description: 'Client secret is required for client_credentials grant type',
  },
  // Covers Client validation: error: secret policy
  {
    name: 'a secret that is too long for the policy',
    body: { client_secret: 's'.repeat(256) },
    description: 'Client Secret must be no more than 255 characters in length.',
  },
  {
    name: 'a second secret that is too long for the policy',
    body: { client_secret: 's', secondary_client_secret: 's'.repeat(256) },
    description: 'Client Secret must be no more than 255 characters in length.',
  },
  {
    name: 'an empty second secret',
    body: { client_secret: 's', secondary_client_secret: '' },
    description: 'A second secret must not be empty',
  },
  {
    name: 'an empty secret beside a second one',
    body: { authorized_grant_types: ['password'], client_secret: '', secondary_client_secret: 's' },
    description: 'The first of two secrets must not be empty',
  },
  { name: 'an empty object as jwks', body: { jwks: {} }, description: /kid is required attribute/ },
  {
    name: 'a private key',
    body: { jwks: JSON.stringify({ ...KEY, d: 'private' }) },
    description: 'jwks must contain only public keys',
  },
  {
    name: 'a private key in an object',
    body: { jwks: { keys: [{ ...KEY, dp: 'private' }] } },
    description: 'jwks must contain only public keys',
  },
  {
    name: 'a symmetric key',
    body: { jwks: { kty: 'oct', kid: 'a', k: 'c2VjcmV0' } },
    description: 'Client jwt configuration cannot be parsed',
  },
  // Covers Client validation: error: unusable jwks
  { name: 'invalid JSON as jwks', body: { jwks: '{' }, description: 'Client jwt configuration cannot be parsed' },
  {
    name: 'a key without a kid',
    body: { jwks: '{"kty":"RSA"}' },
    description: 'Invalid private_key_jwt: kid is required attribute',
  },
  {
    name: 'a relative jwks_uri',
    body: { jwks_uri: 'keys' },
    description: 'Invalid private_key_jwt: jwks_uri must be an absolute URL',
  },
]

/** Invalid values of every member. */
const BAD_TYPES: Readonly<Record<string, readonly unknown[]>> = {
  client_id: [5, true, [], {}, ['x'], 'nul\0', '\ud800'],
  client_secret: [5, true, [], {}, 'nul\0', '\ud800'],
  secondary_client_secret: [5, true, [], {}, '\ud800'],
  jwks_uri: [5, true, [], {}, 'https://a.example/\0'],
  jwks: [5, true, [], {}, 'nul\0', '"\ud800"'],
  authorized_grant_types: [5, true, false, {}, [5], [null], [['password']], 'pass\0word'],
  redirect_uri: [5, true, {}, [5], [{}], ['https://a.example/\0'], ['https://a.example/\udfff']],
  scope: [5, true, false, {}, [5], [{}], ['nul\0'], 'nul\0'],
  authorities: [5, true, {}, [5], [{}], ['\ud800']],
  autoapprove: [5, {}, [5], [true], ['\0']],
  allowpublic: [5, 'maybe', [], {}],
  access_token_validity: [0, -2, 0.5, 2 ** 31, 1e300, '0', '-60', '6e1', ' 60', '2147483648', true, [], {}],
  refresh_token_validity: [0, -2, 0.5, 2 ** 31, 1e300, '0', '-60', '6e1', ' 60', '2147483648', true, [], {}],
  name: [5, true, [], {}, 'nul\0', '\ud800'],
  allowedproviders: [5, true, {}, [5], ['\0']],
  required_user_groups: [5, true, {}, [5], ['\0']],
  token_salt: [5, true, [], {}, 'nul\0', '\ud800'],
  refreshTokenUnique: [-2, 1.5, 2 ** 31, '2', [], {}],
  accessTokenType: [5, true, [], {}, 'jwt', 'AT+JWT', ''],
  anything: ['nul\0', '\ud800', { deep: ['nul\0'] }, { '\udc00': 1 }],
}

for (const mode of MODES) {
  describe(`Clients in ${mode}`, () => {
    let api: ClientServer
    let count = 0
    const newId = (): string => `shop-${(count += 1)}`
    before(async () => {
      api = await startClientServer(mode)
    })
    after(() => api.stop())
    const post = (body: unknown, path = '/oauth/clients') => api.send('POST', path, body)
    const put = (id: string, body: Members) => api.send('PUT', `/oauth/clients/${id}`, { client_id: id, ...body })
    const kept = async (id: string) => {
      const client = await api.server.store.clients.find('svc', id)
      assert.ok(client)
      return client
    }
    async function make(members: Members = {}): Promise<string> {
      const id = newId()
      const answer = await post({ client_id: id, ...code, ...members })
      assert.equal(answer.status, 201, answer.text)
      return id
    }

    describe('POST /oauth/clients', () => {
      for (const { name, body, want } of created) {
        it(`creates ${name}`, async () => {
          const id = newId()
          const answer = await post({ client_id: id, ...body })
          assert.equal(answer.status, 201, answer.text)
          const { lastModified, ...record } = answer.json()
          assert.equal(lastModified, api.server.clock.now().getTime())
          assert.deepEqual(record, { client_id: id, ...DEFAULTS, ...want })
          assert.deepEqual(await api.read(record['client_id']), record)
        })
      }

      it('creates any valid client as documented, and returns it unchanged later', async () => {
        const property = fc.asyncProperty(clientRecords, async json => {
          const id = `${newId()} ${String(json['client_id'])}`.slice(0, 200)
          const answer = await post({ ...json, client_id: id })
          assert.equal(answer.status, 201, answer.text)
          const { lastModified: _, ...record } = answer.json()
          assert.deepEqual(record, { ...documented(json), client_id: id })
          assert.deepEqual(await api.read(id), record)
          const { allowpublic, ...again }: Members = record
          const same = { ...again, ...(allowpublic === true && { allowpublic }) }
          const updated = await api.send('PUT', `/oauth/clients/${encodeURIComponent(id)}`, record)
          assert.equal(updated.status, 200, updated.text)
          assert.deepEqual(await api.read(id), same)
        })
        await fc.assert(property, { numRuns: runs(40) })
      })

      // Covers Client record: client_secret; secondary_client_secret
      it('accepts both secrets, and returns neither', async () => {
        const id = await make({
          authorized_grant_types: ['client_credentials'],
          client_secret: 'first-own',
          secondary_client_secret: 'later-own',
        })
        for (const secret of ['first-own', 'later-own']) {
          tokensOf(await api.server.token({ grant_type: 'client_credentials' }, { basic: [id, secret] }))
        }
        const { text } = await api.send('GET', `/oauth/clients/${id}`)
        assert.doesNotMatch(text, /secret|-own|argon/)
      })

      // Covers Client record: jwks_uri; jwks
      it('stores keys, and does not return them', async () => {
        const id = await make({ jwks: JSON.stringify(KEY) })
        assert.equal((await kept(id)).jwks, JSON.stringify({ keys: [KEY] }))
        assert.doesNotMatch((await api.send('GET', `/oauth/clients/${id}`)).text, /jwks|AQAB/)
        const other = await make({ jwks_uri: 'https://a.example/keys', jwks: JSON.stringify(KEY) })
        const { jwks, jwksUri } = await kept(other)
        assert.deepEqual([jwks, jwksUri], [undefined, 'https://a.example/keys'])
      })

      it('stores an empty secret', async () => {
        const id = await make({ authorized_grant_types: ['password'], client_secret: '' })
        assert.equal((await kept(id)).secrets[0]?.empty, true)
      })

      it('suggests the supported names for members of RFC 7591 in standard (M14)', async () => {
        const names = { grant_types: ['authorization_code'], redirect_uris: ['https://a.example/'] }
        const message = 'authorization_code grant type requires at least one redirect URL.'
        const hint =
          ' grant_types is not supported; use authorized_grant_types. redirect_uris is not supported; use redirect_uri.'
        const answer = await post({ client_id: newId(), ...code, redirect_uri: [], ...names })
        assertInvalid(answer, mode === 'standard' ? message + hint : message)
      })

      it('describes valid redirect URIs in standard (M14)', async () => {
        const message = 'One of the redirect_uri is invalid: shop'
        const rule = '; it must be an absolute URI of ASCII characters without * and #, which is compared exactly'
        const answer = await post({ client_id: newId(), ...code, redirect_uri: ['shop'] })
        assertInvalid(answer, mode === 'standard' ? message + rule : message)
      })

      for (const { name, body, description, mode: only = mode } of invalid) {
        it(`${only === mode ? 'rejects' : 'accepts'} ${name}`, async () => {
          const id = newId()
          const answer = await post({ client_id: id, ...code, ...body })
          if (only !== mode) return assert.equal(answer.status, 201, answer.text)
          // RFC 6749 appendix A.8 has no such characters.
          const plain =
            typeof description === 'string' && mode === 'standard'
              ? description.replaceAll('\\', '?').replace(GRANTS, GRANTS.replace(/\]$/, FURTHER_GRANTS))
              : description
          assertInvalid(answer, plain)
          assert.equal(await api.read(id), undefined)
        })
      }

      for (const [key, values] of Object.entries(BAD_TYPES)) {
        it(`rejects invalid values of ${key} at every endpoint`, async () => {
          const id = await make()
          const before = await api.read(id)
          for (const value of values) {
            const body = { ...code, client_id: newId(), [key]: value }
            for (const [path, list] of [
              ['/oauth/clients', false],
              ['/oauth/clients/restricted', false],
              ['/oauth/clients/tx', true],
            ] as const) {
              const answer = await post(list ? [body] : body, path)
              assertInvalid(answer, /./)
              if (key !== 'client_id') assert.equal(await api.read(body.client_id), undefined)
            }
            assertInvalid(await put(id, { ...code, [key]: value }), /./)
            if (key === 'client_id') continue // it would name an unknown client
            const update = { client_id: id, ...code, action: 'update', [key]: value }
            assertInvalid(await post([update], '/oauth/clients/tx/modify'), /./)
            assert.deepEqual(await api.read(id), before)
          }
        })
      }

      // Covers error body families: E3 exception
      // Covers POST /oauth/clients: error: already exists
      it('rejects an existing client id', async () => {
        const id = await make({ name: 'first' })
        const before = await api.read(id)
        for (const path of ['/oauth/clients', '/oauth/clients/restricted']) {
          assertInvalid(
            await post({ client_id: id, ...code, name: 'second' }, path),
            `Client already exists: ${id}`,
            409,
          )
        }
        assert.deepEqual(await api.read(id), before)
      })

      it('creates a client once if requests are concurrent', async () => {
        const id = newId()
        const answers = await Promise.all([1, 2, 3].map(name => post({ client_id: id, ...code, name: `${name}` })))
        assert.deepEqual(answers.map(({ status }) => `${status}`).toSorted(), ['201', '409', '409'])
        const winner = answers.find(({ status }) => status === 201)
        assert.equal((await api.read(id))?.['name'], winner?.json()['name'])
      })

      for (const body of ['', '[]', '5', 'null', '{', '"x"', '{"__proto__":{}}', '{"a":{"__proto__":1}}']) {
        it(`refuses the body ${JSON.stringify(body)}`, async () => {
          for (const [method, path] of [
            ['POST', '/oauth/clients'],
            ['POST', '/oauth/clients/restricted'],
            ['PUT', '/oauth/clients/app'],
            ['PUT', '/oauth/clients/restricted/app'],
          ] as const) {
            const answer = await api.send(method, path, body)
            assert.deepEqual([answer.status, answer.json()['error']], [400, 'invalid_request'], path)
          }
        })
      }

      it('rejects a body of 100 kB', async () => {
        const body = { client_id: newId(), ...code, name: 'x'.repeat(100_000) }
        assert.equal((await post(body)).status, 413)
        assert.equal((await put('app', body)).status, 413)
      })

      it('stores the user who created the client', async () => {
        const ofUser = newId()
        const bearer = await api.userToken()
        const body = { client_id: ofUser, authorized_grant_types: ['client_credentials'], client_secret: 'secret' }
        assert.equal((await api.send('POST', '/oauth/clients', body, { bearer })).status, 201)
        const user = await api.server.store.users.findByName('svc', 'svc', 'marissa')
        assert.ok(user)
        assert.equal((await api.server.store.clients.findMetadata('svc', ofUser))?.createdBy, user.id)
        assert.equal((await api.server.store.clients.findMetadata('svc', await make()))?.createdBy, undefined)
      })

      // Covers audit trail: ClientCreateSuccess
      it('records the caller and the client in the audit log', async () => {
        const id = await make({ scope: ['a'] })
        const { type, principal, clientId, zoneId, data } = api.server.events.at(-1) ?? {}
        assert.deepEqual([type, principal, clientId, zoneId], ['ClientCreateSuccess', id, 'root', 'svc'])
        assert.equal(data, 'scopes=[a], authorities=[svc.none]')
      })
    })

    describe('GET /oauth/clients/{client_id}', () => {
      // Covers GET /oauth/clients/{client_id}: response: client
      it('returns the client', async () => {
        assert.deepEqual(await api.read('app'), {
          client_id: 'app',
          ...DEFAULTS,
          name: 'The application',
          authorized_grant_types: ['authorization_code', 'refresh_token', 'password'],
          scope: ['openid', 'profile', 'email', 'cloud.read', 'cloud.write'],
          redirect_uri: ['https://app.example/cb'],
          post_logout_redirect_uris: ['https://app.example/bye'],
        })
      })

      it('answers 404 for a client that does not exist, or of another zone', async () => {
        for (const id of ['nobody', 'APP', 'a%00b', 'native', 'tx2']) {
          assertNotFound(await api.send('GET', `/oauth/clients/${id}`), mode)
          assertNotFound(await api.send('DELETE', `/oauth/clients/${id}`), mode)
        }
      })
    })

    describe('PUT /oauth/clients/{client_id}', () => {
      const full = {
        scope: ['a', 'b'],
        authorities: ['x'],
        autoapprove: ['a'],
        access_token_validity: 60,
        refresh_token_validity: 600,
        name: 'Shop',
        allowpublic: true,
        allowedproviders: ['ldap'],
        required_user_groups: ['staff'],
        token_salt: 'salt',
        note: { a: 1 },
      }

      for (const [name, empty] of [
        ['absent', {}],
        [
          'null',
          Object.fromEntries(
            [
              'scope',
              'authorities',
              'autoapprove',
              'authorized_grant_types',
              'redirect_uri',
              'access_token_validity',
              'refresh_token_validity',
            ].map(key => [key, null]),
          ),
        ],
        [
          'empty',
          { scope: [], authorities: '', autoapprove: [], authorized_grant_types: [' ', ','], redirect_uri: [''] },
        ],
      ] as const) {
        // Covers PUT /oauth/clients/{client_id}: rule: absent or empty keeps the stored value
        it(`keeps lists and lifetimes that are ${name}`, async () => {
          const id = await make(full)
          const before = await api.read(id)
          const answer = await put(id, empty)
          assert.equal(answer.status, 200, answer.text)
          assert.deepEqual(await api.read(id), before)
        })
      }

      for (const autoapprove of [true, ['a']]) {
        // Covers PUT /oauth/clients/{client_id}: rule: false revokes autoapprove
        it(`clears autoapprove ${String(autoapprove)} on false`, async () => {
          const id = await make({ ...full, autoapprove })
          const answer = await put(id, { autoapprove: false })
          assert.deepEqual([answer.status, answer.json()['autoapprove']], [200, []], answer.text)
          assert.deepEqual((await api.read(id))?.['autoapprove'], [])
        })
      }

      // Covers PUT /oauth/clients/{client_id}: body
      it('replaces the given members, and merges additional attributes', async () => {
        const id = await make(full)
        const change = {
          scope: ['b', 'c'],
          authorities: ['y'],
          authorized_grant_types: ['password'],
          redirect_uri: ['https://b.example/'],
          access_token_validity: 61,
          refresh_token_validity: 601,
          name: 'Store',
          allowedproviders: ['saml'],
          required_user_groups: [],
          token_salt: 'pepper',
          other: [1],
        }
        const answer = await put(id, change)
        assert.equal(answer.status, 200, answer.text)
        const { lastModified: _, ...record } = answer.json()
        assert.deepEqual(record, {
          client_id: id,
          ...DEFAULTS,
          ...change,
          authorized_grant_types: ['password', 'refresh_token'],
          autoapprove: [], // the approved scope was removed
          allowpublic: true,
          note: { a: 1 },
        })
        assert.deepEqual(await api.read(id), record)
      })

      // Covers PUT /oauth/clients/{client_id}: rule: null removes an attribute
      it('removes attributes on null, and allowpublic on false', async () => {
        const id = await make(full)
        const gone = { name: null, allowedproviders: null, required_user_groups: null, token_salt: null, note: null }
        assert.equal((await put(id, { ...gone, allowpublic: false })).status, 200)
        const record = await api.read(id)
        assert.ok(record)
        for (const key of ['name', 'allowedproviders', 'token_salt', 'note', 'allowpublic']) {
          assert.equal(Object.hasOwn(record, key), false, key)
        }
        assert.deepEqual(record['required_user_groups'], [])
      })

      // Covers Client record: createdwith; lastModified
      it('keeps secrets, creation date, read-only members and, if null is sent, keys', async () => {
        const id = await make({ client_secret: 'secret', jwks: JSON.stringify(KEY) })
        const before = await kept(id)
        await api.server.store.clients.update('svc', { ...before, createdWith: 'zones.write' })
        api.server.clock.advance(5)
        const answer = await put(id, {
          client_secret: 'other',
          jwks: null,
          jwks_uri: null,
          createdwith: 'me',
          lastModified: 1,
        })
        assert.equal(answer.status, 200, answer.text)
        assert.equal(answer.json()['createdwith'], 'zones.write')
        const { secrets, jwks, jwksUri, createdAt, updatedAt } = await kept(id)
        assert.deepEqual(
          [secrets, jwks, jwksUri, createdAt],
          [before.secrets, before.jwks, undefined, before.createdAt],
        )
        assert.deepEqual(updatedAt, api.server.clock.now())
      })

      for (const [name, body, description] of [
        [
          'a grant without a redirect URI',
          { authorized_grant_types: ['implicit'] },
          'implicit grant type requires at least one redirect URL.',
        ],
        ['an unknown grant', { authorized_grant_types: ['magic'] }, /^magic is not an allowed grant type/],
        [
          'implicit with a secret',
          { authorized_grant_types: ['implicit'], redirect_uri: ['https://a.example/'], client_secret: 'x' },
          'Implicit grant should not have a client_secret',
        ],
        ['a second secret', { secondary_client_secret: 'x' }, 'secondary_client_secret is not allowed here'],
        // Covers PUT /oauth/clients/{client_id}: error: id differs from the path
        ['another id', { client_id: 'app' }, /does not match/],
        ['no id', { client_id: null }, /does not match/],
        ['an id that is not a string', { client_id: 5 }, /does not match/],
      ] as const) {
        it(`refuses ${name}`, async () => {
          const id = await make({ authorized_grant_types: ['password'], redirect_uri: [] })
          const before = await api.read(id)
          assertInvalid(await put(id, body), description)
          assert.deepEqual(await api.read(id), before)
        })
      }

      it('does not require the secret of a client that has one', async () => {
        const id = await make({ authorized_grant_types: ['client_credentials'], client_secret: 'secret' })
        assert.equal((await put(id, { authorized_grant_types: ['client_credentials', 'password'] })).status, 200)
      })

      // Covers GET /oauth/clients/{client_id}: error: not found
      // Covers PUT /oauth/clients/{client_id}: error: not found
      it('answers 404 for a client that does not exist', async () => {
        for (const path of ['/oauth/clients/nobody', '/oauth/clients/restricted/nobody']) {
          assertNotFound(await api.send('PUT', path, { client_id: 'nobody', ...code }), mode)
        }
      })

      it('answers 409 after a concurrent change', async () => {
        const id = await make()
        changeConcurrently(api.server, client => api.server.store.clients.update('svc', { ...client, name: 'Other' }))
        assertInvalid(await put(id, { scope: ['mine'] }), `The client ${id} was changed concurrently`, 409)
        const record = await api.read(id)
        assert.deepEqual([record?.['name'], record?.['scope']], ['Other', ['svc.none']])
      })

      it('answers 409 after a concurrent deletion', async () => {
        const id = await make()
        changeConcurrently(api.server, () => api.send('DELETE', `/oauth/clients/${id}`))
        assertInvalid(await put(id, { name: 'mine' }), `The client ${id} was changed concurrently`, 409)
        assert.equal(await api.read(id), undefined)
      })

      it('rejects conflicting concurrent changes with 409', async () => {
        const id = await make()
        const answers = await Promise.all(['a', 'b', 'c'].map(name => put(id, { name })))
        const winners = answers.filter(({ status }) => status === 200)
        for (const answer of answers.filter(({ status }) => status !== 200)) {
          assertInvalid(answer, `The client ${id} was changed concurrently`, 409)
        }
        // Every accepted write increments the revision.
        assert.equal((await api.server.store.clients.findForChange('svc', id))?.revision, winners.length)
        const name = (await api.read(id))?.['name']
        assert.ok(winners.some(winner => winner.json()['name'] === name))
      })

      it('revokes tokens if token_salt changes', async () => {
        const id = await make({ authorized_grant_types: ['client_credentials'], client_secret: 'secret' })
        const basic = [id, 'secret'] as const
        const { access_token: token } = tokensOf(
          await api.server.token({ grant_type: 'client_credentials' }, { basic }),
        )
        await put(id, { name: 'x' })
        assert.equal(await isAlive(api.server, token), true)
        await put(id, { token_salt: 'new' })
        assert.equal(await isAlive(api.server, token), false)
      })

      // Covers audit trail: ClientUpdateSuccess
      it('is recorded in the audit log', async () => {
        const id = await make()
        await put(id, { scope: ['a'] })
        const { type, principal, data } = api.server.events.at(-1) ?? {}
        assert.deepEqual([type, principal], ['ClientUpdateSuccess', id])
        assert.equal(data, 'scopes=[a], authorities=[svc.none]')
      })
    })

    describe('DELETE /oauth/clients/{client_id}', () => {
      // Covers audit trail: ClientDeleteSuccess; ClientApprovalsDeleted
      // Covers DELETE /oauth/clients/{client_id}: response: deleted client; error: not found
      it('deletes the client with its tokens and approvals, and returns it', async () => {
        const { store, clock } = api.server
        const id = await make({ authorized_grant_types: ['client_credentials'], client_secret: 'secret' })
        const record = await api.read(id)
        const form = { grant_type: 'client_credentials', token_format: 'opaque' }
        const { access_token: token } = tokensOf(await api.server.token(form, { basic: [id, 'secret'] }))
        const approval = { zoneId: 'svc', userId: 'u', scope: 'a', status: 'APPROVED', updatedAt: clock.now() } as const
        const expiresAt = new Date(clock.now().getTime() + 60_000)
        await store.approvals.save('svc', [
          { ...approval, clientId: id, expiresAt },
          { ...approval, clientId: 'app', expiresAt },
        ])
        const answer = await api.send('DELETE', `/oauth/clients/${id}`)
        assert.equal(answer.status, 200)
        const { lastModified: _, ...deleted } = answer.json()
        assert.deepEqual(deleted, record)
        assert.equal(await api.read(id), undefined)
        assert.deepEqual(await store.tokens.listOfClient('svc', id, clock.now()), [])
        assert.deepEqual(await store.approvals.list('svc', 'u', id, clock.now()), [])
        assert.equal((await store.approvals.list('svc', 'u', 'app', clock.now())).length, 1)
        assert.equal(await isAlive(api.server, token), false)
        const types = api.server.events.filter(({ principal }) => principal === id).map(({ type }) => type)
        assert.deepEqual(types.slice(-2), ['ClientDeleteSuccess', 'ClientApprovalsDeleted'])
        assertNotFound(await api.send('DELETE', `/oauth/clients/${id}`), mode)
      })

      it('accepts a content type without a body', async () => {
        const id = await make()
        const headers = { 'content-type': 'application/json' }
        assert.equal((await api.send('DELETE', `/oauth/clients/${id}`, undefined, { headers })).status, 200)
      })

      it('neither waits for the rows of all tokens, nor fails because of them', async () => {
        const { tokens } = api.server.store
        let left = 50
        const many = mock.method(tokens, 'deleteSomeOfClient', () => Promise.resolve((left -= 1)))
        assert.equal((await api.send('DELETE', `/oauth/clients/${await make()}`)).status, 200)
        many.mock.restore()
        assert.ok(left > 0)
        const failing = mock.method(tokens, 'deleteSomeOfClient', () => Promise.reject(new StoreUnavailable('gone')))
        assert.equal((await api.send('DELETE', `/oauth/clients/${await make()}`)).status, 200)
        failing.mock.restore()
      })

      it('deletes once if requests are concurrent', async () => {
        const id = await make()
        const answers = await Promise.all([1, 2].map(() => api.send('DELETE', `/oauth/clients/${id}`)))
        const statuses = answers.map(({ status }) => `${status}`).toSorted()
        assert.match(statuses.join(' '), /^200 (?:404|409)$/)
      })
    })

    describe('/oauth/clients/restricted', () => {
      // Covers GET /oauth/clients/restricted: response: restricted scopes
      it('lists restricted scopes', async () => {
        const list = (await api.send('GET', '/oauth/clients/restricted')).json<readonly string[]>()
        assert.equal(list.length, 31)
        assert.deepEqual(list.slice(0, 3), ['zones.read', 'zones.write', 'zones.*.admin'])
        assert.deepEqual(list.slice(-2), ['oauth.login', 'svc.admin'])
      })

      // Covers POST /oauth/clients/restricted: body
      // Covers PUT /oauth/clients/restricted/{client_id}: body
      it('creates and changes a client without restricted scopes', async () => {
        const id = newId()
        const body = { client_id: id, ...code, scope: ['openid'], authorities: ['svc.resource'] }
        assert.equal((await post(body, '/oauth/clients/restricted')).status, 201)
        const change = { client_id: id, scope: ['profile'] }
        const answer = await api.send('PUT', `/oauth/clients/restricted/${id}`, change)
        assert.deepEqual([answer.status, answer.json()['scope']], [200, ['profile']])
      })

      it('rejects a second secret', async () => {
        const body = { client_id: newId(), ...code, secondary_client_secret: 's' }
        assertInvalid(await post(body, '/oauth/clients/restricted'), 'secondary_client_secret is not allowed here')
      })

      for (const scope of ['clients.admin', 'svc.admin', 'zones.x.admin', 'zones.a.b.scim.read', 'clients.*', '*.*']) {
        // Covers POST /oauth/clients/restricted: error: restricted scope; restricted authority
        // Covers PUT /oauth/clients/restricted/{client_id}: error: restricted scope; restricted authority
        it(`refuses ${scope}`, async () => {
          const id = await make()
          const before = await api.read(id)
          for (const value of [[scope], `openid,${scope}`, [`openid ${scope}`]]) {
            for (const [member, word] of [
              ['scope', 'scope'],
              ['authorities', 'authority'],
            ] as const) {
              const description = `${scope} is a restricted ${word}.`
              const fresh = { client_id: newId(), ...code, [member]: value }
              assertInvalid(await post(fresh, '/oauth/clients/restricted'), description)
              const change = { client_id: id, [member]: value }
              assertInvalid(await api.send('PUT', `/oauth/clients/restricted/${id}`, change), description)
            }
          }
          assert.deepEqual(await api.read(id), before)
        })
      }
    })
  })
}

describe('Clients in an SQLite file', () => {
  it('keep all accepted concurrent changes', async () => {
    const database = await freshDatabase('sqlite')
    const api = await startClientServer('standard', { database: database.url })
    try {
      const names = Array.from({ length: 20 }, (_, index) => `name ${index}`)
      const answers = await Promise.all(
        names.map(name => api.send('PUT', '/oauth/clients/app', { client_id: 'app', name })),
      )
      assert.ok(answers.every(({ status }) => status === 200 || status === 409))
      const winners = answers.filter(({ status }) => status === 200)
      const stored = await api.server.store.clients.findForChange('svc', 'app')
      assert.equal(stored?.revision, winners.length)
      assert.ok(winners.some(winner => winner.json()['name'] === stored.client.name))
    } finally {
      await api.stop()
      await database.drop()
    }
  })
})
