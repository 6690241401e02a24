// Clients that prove themselves by keys, made and changed through the client API like those of the configuration file.
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

/** Where a client can be made, and what is sent there. */
const MAKING: readonly (readonly [path: string, body: (client: object) => unknown])[] = [
  ['/oauth/clients', client => client],
  ['/oauth/clients/restricted', client => client],
  ['/oauth/clients/tx', client => [client]],
  ['/oauth/clients/tx/modify', client => [{ ...client, action: 'add' }]],
]
/** Where it can be changed. */
const CHANGING: readonly (readonly [method: string, path: string, body: (client: object) => unknown])[] = [
  ['PUT', '/oauth/clients/{id}', client => client],
  ['PUT', '/oauth/clients/restricted/{id}', client => client],
  ['PUT', '/oauth/clients/tx', client => [client]],
  ['POST', '/oauth/clients/tx/modify', client => [{ ...client, action: 'update' }]],
  ['POST', '/oauth/clients/tx/modify', client => [{ ...client, action: 'update,secret', client_secret: 'new' }]],
]

for (const mode of MODES) {
  describe(`keys in the records of clients, ${mode}`, () => {
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

    for (const [path, body] of MAKING) {
      it(`are enough without a secret at POST ${path}, as an object and as text`, async () => {
        for (const jwks of [{ keys: [first.jwk] }, first.jwk, JSON.stringify({ keys: [first.jwk] })]) {
          const client_id = newId()
          const answer = await api.send('POST', path, body({ client_id, ...actsItself, jwks }))
          assert.ok([200, 201].includes(answer.status), answer.text)
          assert.doesNotMatch(answer.text, /jwks|"x"/)
          assert.equal(await signedBy(first, client_id), 200)
          assert.equal(await signedBy(second, client_id), 401)
        }
      })

      it(`may be at an address at POST ${path}`, async () => {
        const client_id = newId()
        const jwks_uri = 'https://keys.example/set'
        const answer = await api.send('POST', path, body({ client_id, ...actsItself, jwks_uri }))
        assert.ok([200, 201].includes(answer.status), answer.text)
        assert.equal((await api.server.store.clients.find('svc', client_id))?.jwksUri, jwks_uri)
      })

      it(`are refused at POST ${path} when they are private or none`, async () => {
        for (const [members, text] of [
          [{ jwks: first.privateJwk }, 'jwks must hold public keys only'],
          [{ jwks: JSON.stringify({ keys: [first.privateJwk] }) }, 'jwks must hold public keys only'],
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
      it(`replace others at ${method} ${path} ${JSON.stringify(body({}))}, and stay without others`, async () => {
        const client_id = newId()
        const record = { client_id, ...actsItself }
        const send = (members: object) =>
          api.send(method, path.replace('{id}', client_id), body({ ...record, ...members }))
        await api.send('POST', '/oauth/clients', { ...record, jwks: first.jwk })
        assertInvalid(await send({ jwks: second.privateJwk }), 'jwks must hold public keys only')
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

    it('are changed by administrators only', async () => {
      const client_id = newId()
      const record = { client_id, authorized_grant_types: ['client_credentials'] }
      const made = await api.send('POST', '/oauth/clients', { ...record, jwks: first.jwk }, { by: 'writer' })
      assert.equal(made.status, 201, made.text)
      const path = `/oauth/clients/${client_id}`
      assert.equal((await api.send('PUT', path, { ...record, name: 'x' }, { by: 'writer' })).status, 200)
      assert.equal((await api.send('PUT', path, { ...record, jwks: second.jwk }, { by: 'writer' })).status, 403)
      assert.equal(await signedBy(first, client_id), 200)
    })

    it('are enough for a client that is made in another zone', async () => {
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
}
