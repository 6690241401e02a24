// Clients that authenticate with keys or trusted JWTs, created and changed by the client API.
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { exportJWK, generateKeyPair, SignJWT } from 'jose'
import { epochSeconds } from '../../../src/base/clock.ts'
import { assertInvalid, startClientServer } from '../../support/clients.ts'
import type { ClientServer } from '../../support/clients.ts'
import { MODES } from '../../support/oauth.ts'

const pair = async () => {
  const { privateKey, publicKey } = await generateKeyPair('ES256', { extractable: true })
  const jwk = { ...(await exportJWK(publicKey)), kid: 'k1', alg: 'ES256' }
  return { privateKey, jwk, privateJwk: { ...(await exportJWK(privateKey)), kid: 'k1' } }
}
const first = await pair()
const second = await pair()
const actsItself = { authorized_grant_types: ['client_credentials'], authorities: ['jobs.run'] }

/** Endpoints that create a client, with their bodies. */
const CREATING: readonly (readonly [path: string, body: (client: object) => unknown])[] = [
  ['/oauth/clients', client => client],
  ['/oauth/clients/restricted', client => client],
  ['/oauth/clients/tx', client => [client]],
  ['/oauth/clients/tx/modify', client => [{ ...client, action: 'add' }]],
]
/** Endpoints that change a client, with their bodies. */
const CHANGING: readonly (readonly [method: string, path: string, body: (client: object) => unknown])[] = [
  ['PUT', '/oauth/clients/{id}', client => client],
  ['PUT', '/oauth/clients/restricted/{id}', client => client],
  ['PUT', '/oauth/clients/tx', client => [client]],
  ['POST', '/oauth/clients/tx/modify', client => [{ ...client, action: 'update' }]],
  ['POST', '/oauth/clients/tx/modify', client => [{ ...client, action: 'update,secret', client_secret: 'new' }]],
]

for (const mode of MODES) {
  describe(`Client keys in ${mode}`, () => {
    let api: ClientServer
    let count = 0
    before(async () => {
      api = await startClientServer(mode)
    })
    after(() => api.stop())

    const newId = (): string => `signer-${(count += 1)}`

    /** The status of a token request that the client signs with the key. */
    async function signedBy({ privateKey }: typeof first, clientId: string): Promise<number> {
      const audience = `${api.server.baseUrl}/oauth/token`
      const now = epochSeconds(api.server.clock.now())
      const assertion = await new SignJWT({ jti: `${clientId}-${(count += 1)}` })
        .setProtectedHeader({ alg: 'ES256', kid: 'k1' })
        .setIssuer(clientId)
        .setSubject(clientId)
        .setAudience(audience)
        .setIssuedAt(now)
        .setExpirationTime(now + 60)
        .sign(privateKey)
      const form = {
        grant_type: 'client_credentials',
        client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
        client_assertion: assertion,
      }
      return (await api.server.token(form)).status
    }

    for (const [path, body] of CREATING) {
      it(`replace a secret at POST ${path}, as an object or a string`, async () => {
        for (const jwks of [{ keys: [first.jwk] }, first.jwk, JSON.stringify({ keys: [first.jwk] })]) {
          const client_id = newId()
          const answer = await api.send('POST', path, body({ client_id, ...actsItself, jwks }))
          assert.ok([200, 201].includes(answer.status), answer.text)
          assert.doesNotMatch(answer.text, /jwks|"x"/)
          assert.equal(await signedBy(first, client_id), 200)
          assert.equal(await signedBy(second, client_id), 401)
        }
      })

      it(`can be set by jwks_uri at POST ${path}`, async () => {
        const client_id = newId()
        const jwks_uri = 'https://keys.example/set'
        const answer = await api.send('POST', path, body({ client_id, ...actsItself, jwks_uri }))
        assert.ok([200, 201].includes(answer.status), answer.text)
        assert.equal((await api.server.store.clients.find('svc', client_id))?.jwksUri, jwks_uri)
      })

      it(`are rejected at POST ${path} if private or invalid`, async () => {
        for (const [members, text] of [
          [{ jwks: first.privateJwk }, 'jwks must contain only public keys'],
          [{ jwks: JSON.stringify({ keys: [first.privateJwk] }) }, 'jwks must contain only public keys'],
          [{ jwks: 'nonsense' }, 'Client jwt configuration cannot be parsed'],
          [{ jwks: [first.jwk] }, 'Client jwt configuration cannot be parsed'],
          [{ jwks: { keys: [] } }, /jwk set is empty/],
          [{ jwks_uri: 'http://keys.example/' }, /not on localhost/],
          [{}, 'Client secret is required for client_credentials grant type'],
        ] as const) {
          const client_id = newId()
          assertInvalid(await api.send('POST', path, body({ client_id, ...actsItself, ...members })), text)
          assert.equal(await api.read(client_id), undefined)
        }
      })
    }

    for (const [method, path, body] of CHANGING) {
      it(`are replaced, or kept if null, at ${method} ${path} ${JSON.stringify(body({}))}`, async () => {
        const client_id = newId()
        const record = { client_id, ...actsItself }
        const send = (members: object) =>
          api.send(method, path.replace('{id}', client_id), body({ ...record, ...members }))
        await api.send('POST', '/oauth/clients', { ...record, jwks: first.jwk })
        assertInvalid(await send({ jwks: second.privateJwk }), 'jwks must contain only public keys')
        const silent = await send({ jwks: null })
        assert.equal(silent.status, 200, silent.text)
        assert.equal(await signedBy(first, client_id), 200)
        const changed = await send({ jwks: { keys: [second.jwk] } })
        assert.equal(changed.status, 200, changed.text)
        assert.equal(await signedBy(first, client_id), 401)
        assert.equal(await signedBy(second, client_id), 200)
        const moved = await send({ jwks_uri: 'https://keys.example/set' })
        assert.equal(moved.status, 200, moved.text)
        const { jwks, jwksUri } = (await api.server.store.clients.find('svc', client_id)) ?? {}
        assert.deepEqual([jwks, jwksUri], [undefined, 'https://keys.example/set'])
      })
    }

    it('can be changed by administrators only', async () => {
      const client_id = newId()
      const record = { client_id, authorized_grant_types: ['client_credentials'] }
      const made = await api.send('POST', '/oauth/clients', { ...record, jwks: first.jwk }, { by: 'writer' })
      assert.equal(made.status, 201, made.text)
      const path = `/oauth/clients/${client_id}`
      assert.equal((await api.send('PUT', path, { ...record, name: 'x' }, { by: 'writer' })).status, 200)
      const byCertificate = {
        token_endpoint_auth_method: 'tls_client_auth',
        tls_client_auth_subject_dn: 'CN=me',
      }
      for (const change of [{ jwks: second.jwk }, byCertificate]) {
        const answer = await api.send('PUT', path, { ...record, ...change }, { by: 'writer' })
        assert.equal(answer.status, 403, answer.text)
      }
      assert.equal(await signedBy(first, client_id), 200)
    })

    it('replace a secret at POST /identity-zones/{id}/clients', async () => {
      const record = {
        client_id: newId(),
        authorized_grant_types: ['authorization_code'],
        redirect_uri: ['https://portal.example/cb'],
        scope: ['openid'],
        authorities: ['svc.resource'],
        allowedproviders: ['svc'],
      }
      assertInvalid(await api.send('POST', '/identity-zones/z1/clients', record), 'client_secret cannot be blank')
      const answer = await api.send('POST', '/identity-zones/z1/clients', { ...record, jwks: first.jwk })
      assert.equal(answer.status, 201, answer.text)
    })
  })

  describe(`Client jwt_creds in ${mode}`, () => {
    const iss = 'https://token.actions.example'
    const entry = { sub: 'repo:acme/deploy', iss, aud: 'https://deployments.example' }
    let api: ClientServer
    let count = 0
    before(async () => {
      api = await startClientServer(mode)
    })
    after(() => api.stop())
    const newId = (): string => `workload-${(count += 1)}`

    for (const [path, body] of CREATING) {
      // Covers Client record: jwt_creds
      it(`replace a secret at POST ${path}, as a list or a string, and are returned`, async () => {
        for (const jwt_creds of [[entry], JSON.stringify([entry])]) {
          const client_id = newId()
          const answer = await api.send('POST', path, body({ client_id, ...actsItself, jwt_creds }))
          assert.ok([200, 201].includes(answer.status), answer.text)
          assert.deepEqual([answer.json()].flat()[0]?.['jwt_creds'], [entry])
          assert.deepEqual((await api.read(client_id))?.['jwt_creds'], [entry])
        }
      })
    }

    const entries = (length: number) => Array.from({ length }, (_, index) => ({ ...entry, sub: `s${index}` }))
    const MUST = 'jwt_creds must be a list of objects with iss, sub and optionally aud'
    const SIZE = 'jwt_creds has an iss, sub or aud that is empty or has more than 1000 characters'
    const URL_OF_ISSUER = 'jwt_creds has an iss that is not an https URL without user, query and fragment'
    const OWN = /jwt_creds must not name this server/
    const refused: readonly (readonly [name: string, value: unknown, message: string | RegExp])[] = [
      ['an object', { ...entry }, MUST],
      ['a number', 5, MUST],
      ['invalid JSON', 'x', MUST],
      ['an entry without sub', [{ iss }], MUST],
      ['an entry without iss', [{ sub: 's' }], MUST],
      ['an entry whose aud is a list', [{ ...entry, aud: ['a'] }], MUST],
      // Newer UAA supports patterns; not supported here.
      ['a pattern of subjects', [{ iss, sub_pattern: 'repo:acme/*' }], MUST],
      ['a pattern beside a subject', [{ ...entry, sub_pattern: 'repo:acme/*' }], MUST],
      ['an empty sub', [{ ...entry, sub: '' }], SIZE],
      ['an empty aud', [{ ...entry, aud: '' }], SIZE],
      ['a sub of 1001 characters', [{ ...entry, sub: 's'.repeat(1001) }], SIZE],
      ['an iss that is not a URL', [{ ...entry, iss: 'issuer' }], URL_OF_ISSUER],
      ['an iss without TLS', [{ ...entry, iss: 'http://token.actions.example' }], URL_OF_ISSUER],
      ['an iss with a query', [{ ...entry, iss: `${iss}?a=b` }], URL_OF_ISSUER],
      ['an iss with a fragment', [{ ...entry, iss: `${iss}#a` }], URL_OF_ISSUER],
      ['an iss with a user', [{ ...entry, iss: 'https://me@token.actions.example' }], URL_OF_ISSUER],
      ['a sub equal to iss', [{ ...entry, sub: iss }], 'jwt_creds has an entry whose sub is its iss'],
      ['a repeated sub', [entry, { ...entry, aud: 'b' }], 'jwt_creds has two entries with the same iss and sub'],
      ['eleven entries', entries(11), 'jwt_creds has more than 10 entries'],
      ['the issuer of this zone', [{ ...entry, iss: 'http://localhost:8080/oauth/token' }], OWN],
      ['the path URL of this zone', [{ ...entry, iss: 'http://localhost:8080/z/default' }], OWN],
      ['the issuer of another zone', [{ ...entry, iss: 'http://z1.localhost:8080' }], OWN],
      ['this server with another scheme', [{ ...entry, iss: 'https://LOCALHOST.:8080' }], OWN],
    ]
    for (const [name, jwt_creds, message] of refused) {
      // Covers Client record: error: jwt_creds invalid
      it(`are rejected: ${name}`, async () => {
        const client_id = newId()
        assertInvalid(await api.send('POST', '/oauth/clients', { client_id, ...actsItself, jwt_creds }), message)
        assert.equal(await api.read(client_id), undefined)
        await api.send('POST', '/oauth/clients', { client_id, ...actsItself, jwt_creds: [entry] })
        const path = `/oauth/clients/${client_id}`
        assertInvalid(await api.send('PUT', path, { client_id, ...actsItself, jwt_creds }), message)
        assert.deepEqual((await api.read(client_id))?.['jwt_creds'], [entry])
      })
    }

    it('can have ten entries, and do not replace a secret if empty', async () => {
      const answer = await api.send('POST', '/oauth/clients', {
        client_id: newId(),
        ...actsItself,
        jwt_creds: entries(10),
      })
      assert.equal(answer.status, 201, answer.text)
      const empty = { client_id: newId(), ...actsItself, jwt_creds: [] }
      const message = 'Client secret is required for client_credentials grant type'
      assertInvalid(await api.send('POST', '/oauth/clients', empty), message)
    })

    for (const [method, path, body] of CHANGING) {
      it(`are replaced, kept if omitted, and removed by [], at ${method} ${path} ${JSON.stringify(body({}))}`, async () => {
        const client_id = newId()
        const record = { client_id, ...actsItself }
        const change = async (members: object): Promise<unknown> => {
          const answer = await api.send(method, path.replace('{id}', client_id), body({ ...record, ...members }))
          assert.equal(answer.status, 200, answer.text)
          return (await api.read(client_id))?.['jwt_creds']
        }
        await api.send('POST', '/oauth/clients', { ...record, jwt_creds: [entry] })
        assert.deepEqual(await change({ name: 'x' }), [entry])
        assert.deepEqual(await change({ jwt_creds: null }), [entry])
        const others = [{ sub: 'other', iss }]
        assert.deepEqual(await change({ jwt_creds: others }), others)
        assert.equal(await change({ jwt_creds: [] }), undefined)
      })
    }

    it('can be changed by administrators only', async () => {
      const record = { client_id: newId(), authorized_grant_types: ['client_credentials'] }
      const made = await api.send('POST', '/oauth/clients', { ...record, jwt_creds: [entry] }, { by: 'writer' })
      assert.equal(made.status, 201, made.text)
      const put = async (members: object): Promise<number> =>
        (await api.send('PUT', `/oauth/clients/${record.client_id}`, { ...record, ...members }, { by: 'writer' }))
          .status
      assert.equal(await put({ name: 'x' }), 200)
      assert.equal(await put({ jwt_creds: [entry] }), 200)
      for (const jwt_creds of [[{ ...entry, aud: 'b' }], [entry, { ...entry, sub: 'mine' }], []]) {
        assert.equal(await put({ jwt_creds }), 403)
      }
      assert.deepEqual((await api.read(record.client_id))?.['jwt_creds'], [entry])
    })

    it('replace a secret at POST /identity-zones/{id}/clients', async () => {
      const record = {
        client_id: newId(),
        authorized_grant_types: ['authorization_code'],
        redirect_uri: ['https://portal.example/cb'],
        scope: ['openid'],
        authorities: ['svc.resource'],
        allowedproviders: ['svc'],
      }
      const answer = await api.send('POST', '/identity-zones/z1/clients', { ...record, jwt_creds: [entry] })
      assert.equal(answer.status, 201, answer.text)
      const own = { ...record, client_id: newId(), jwt_creds: [{ ...entry, iss: 'http://z1.localhost:8080' }] }
      assertInvalid(await api.send('POST', '/identity-zones/z1/clients', own), OWN)
    })
  })
}
