// The specification of `POST /oauth/token/alias/{entity_id}`, one test per statement.
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { decodeJwt, exportJWK, generateKeyPair, SignJWT } from 'jose'
import { MODES, refused, tokensOf, verified } from '../support/oauth.ts'
import type { Refusal } from '../support/oauth.ts'
import type { TestAnswer, TestServer } from '../support/server.ts'
import { startServer } from '../support/server.ts'
import {
  ALIAS,
  bearerClient,
  CARRIER,
  present,
  presentFrom,
  RECIPIENT,
  SAML_BEARER,
  samlWorld,
} from '../support/saml/saml-bearer.ts'
import { base64UrlOf } from '../support/saml/saml-xml.ts'

const world = samlWorld()
const { clock, corp, rival, off, stranger, shared, sharedOfZone, ofZone, next } = world
const { privateKey, publicKey } = await generateKeyPair('ES256')
const jwks = { keys: [{ ...(await exportJWK(publicKey)), kid: 'k1', alg: 'ES256' }] }
const signer = bearerClient('signer', { client_secret: undefined, jwks })
const bootstrap = { ...world.bootstrap, clients: [...world.bootstrap.clients, signer] }

const ASSERTION_TYPE = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer'
const BAD = {
  want: { standard: '400 invalid_grant', uaa: '401 unauthorized' },
  description: 'Error validating SAML message',
} as const
const UNKNOWN = {
  want: { standard: '400 invalid_grant', uaa: '401 unauthorized' },
  description:
    /^(No SAML identity provider found in zone for the issuer of the assertion|Error determining metadata contracts)$/,
} as const
const BARRED = {
  want: { standard: '400 unauthorized_client', uaa: '401 unauthorized_client' },
  description: "Client is not authorized for specified user's identity provider.",
} as const

for (const mode of MODES) {
  describe(`POST /oauth/token/alias/{entity_id} with the SAML bearer grant in ${mode}`, () => {
    let server: TestServer
    before(async () => (server = await startServer({ mode, clock, config: { bootstrap } })))
    after(() => server.stop())

    const refuse = async (sending: () => Promise<TestAnswer>, want: Refusal): Promise<void> => {
      await refused(server, mode, sending, want)
    }

    let jti = 0
    const clientAssertion = (clientId = 'signer'): Promise<string> => {
      const now = Math.floor(clock.now().getTime() / 1000)
      const aud = `${server.baseUrl}/oauth/token`
      return new SignJWT({ iss: clientId, sub: clientId, aud, jti: `j${(jti += 1)}`, exp: now + 60 })
        .setProtectedHeader({ alg: 'ES256', kid: 'k1' })
        .sign(privateKey)
    }

    describe('client', () => {
      it('must have the grant type', async () => {
        const xml = corp.signedAssertion()
        await refuse(() => present(server, xml, { basic: ['app', 'app-secret'] }), {
          want: { standard: '400 unauthorized_client', uaa: '401 invalid_client' },
          description: 'Unauthorized grant type',
        })
        tokensOf(await present(server, xml)) // the assertion was not consumed
      })

      it('accepts any provider without allowedproviders', async () => {
        for (const idp of [corp, rival]) tokensOf(await presentFrom(server, idp))
      })

      // Covers POST /oauth/token/alias/{entity_id} grant_type=saml2-bearer: error: provider not allowed
      // Covers POST /oauth/token/alias/{entity_id} grant_type=saml2-bearer: rule: allowedproviders
      it('must list the provider in allowedproviders', async () => {
        tokensOf(await presentFrom(server, corp, { basic: ['corp-only', 'secret'] }))
        const parts = { nameId: 'barred' }
        for (const client of ['own-only', 'corp-only']) {
          const xml = rival.signedAssertion(parts)
          await refuse(() => present(server, xml, { basic: [client, 'secret'] }), BARRED)
          assert.equal(server.events.at(-1)?.data, 'client')
        }
        assert.equal(await server.store.users.findByName('svc', 'rival', 'barred'), undefined)
      })
    })

    describe('issuer', () => {
      it('may use any key of its metadata', async () => {
        tokensOf(await presentFrom(server, corp))
        tokensOf(await presentFrom(server, corp, { signing: { key: next } }))
      })
      it('may not use another key, or that of another provider', async () => {
        for (const { key } of [stranger, rival, sharedOfZone]) {
          await refuse(() => presentFrom(server, corp, { signing: { key } }), BAD)
        }
      })
      // Covers POST /oauth/token/alias/{entity_id} grant_type=saml2-bearer: rule: issuer by entity id
      it('must be registered', () => refuse(() => presentFrom(server, stranger), UNKNOWN))
      // Covers POST /oauth/token/alias/{entity_id} grant_type=saml2-bearer: error: provider unknown or inactive
      it('must be active', () => refuse(() => presentFrom(server, off), UNKNOWN))
      it('must be of the same zone', async () => {
        tokensOf(await presentFrom(server, shared))
        await refuse(() => presentFrom(server, ofZone), UNKNOWN)
        await refuse(() => presentFrom(server, sharedOfZone), BAD)
      })
      // Covers POST /oauth/token/alias/{entity_id} grant_type=saml2-bearer: rule: signature required
      it('must sign the assertion', async () => {
        await refuse(() => present(server, corp.assertion()), BAD)
      })
    })

    describe('Recipient', () => {
      const recipients = [
        { name: 'missing', recipient: null },
        { name: 'the token endpoint', recipient: 'http://localhost:8080/oauth/token' },
        { name: 'the assertion consumer service', recipient: 'http://localhost:8080/saml/SSO/alias/latchkey' },
        { name: 'another scheme', recipient: RECIPIENT.replace('http:', 'https:') },
        { name: 'another host', recipient: RECIPIENT.replace('localhost', 'evil.example') },
        { name: 'another port', recipient: RECIPIENT.replace('8080', '8081') },
        { name: 'a longer path', recipient: `${RECIPIENT}/x` },
        { name: 'a trailing slash', recipient: `${RECIPIENT}/` },
        { name: 'a query', recipient: `${RECIPIENT}?a=b` },
        { name: 'upper case', recipient: RECIPIENT.toUpperCase() },
        { name: 'percent-encoding', recipient: RECIPIENT.replace('latchkey', '%6Catchkey') },
        { name: 'the alias of another zone', recipient: RECIPIENT.replace('latchkey', 'z1.latchkey') },
        { name: 'a relative URL', recipient: ALIAS },
      ]
      for (const { name, recipient } of recipients) {
        // Covers POST /oauth/token/alias/{entity_id} grant_type=saml2-bearer: rule: Recipient is this URL
        it(`must equal the endpoint URL: ${name}`, () =>
          refuse(() => presentFrom(server, corp, { parts: { recipient } }), BAD))
      }
      it('must be the alias URL even at /oauth/token', async () => {
        tokensOf(await presentFrom(server, corp, { path: '/oauth/token' }))
      })
      it('must be that of the zone, by host or path as in the request', async () => {
        const host = 'z1.localhost:8080'
        const byHost = { path: '/oauth/token/alias/z1.latchkey', host }
        const byPath = { path: '/z/z1/oauth/token/alias/z1.latchkey' }
        const recipient = `http://localhost:8080${byPath.path}`
        tokensOf(await presentFrom(server, ofZone, byHost))
        tokensOf(await presentFrom(server, ofZone, { ...byPath, parts: { recipient } }))
        await refuse(() => presentFrom(server, ofZone, byPath), BAD)
        await refuse(() => presentFrom(server, ofZone, { ...byHost, parts: { recipient } }), BAD)
      })
    })

    describe('request', () => {
      it('requires grant_type', async () => {
        const form = { assertion: base64UrlOf(corp.signedAssertion()) }
        await refuse(() => server.send(ALIAS, { form, basic: CARRIER }), {
          want: '400 invalid_request',
          description: 'Missing grant type',
        })
      })
      it('requires assertion', async () => {
        await refuse(() => server.send(ALIAS, { form: { grant_type: SAML_BEARER }, basic: CARRIER }), {
          want: { standard: '400 invalid_request', uaa: '401 unauthorized' },
          description: 'SAML Assertion is missing',
        })
      })
      // Covers POST /oauth/token/alias/{entity_id} grant_type=saml2-bearer: assertion
      it('requires base64url-encoded XML in assertion', async () => {
        const send = (assertion: string) => present(server, '', { form: { assertion } })
        const xml = corp.signedAssertion()
        for (const assertion of [xml, encodeURIComponent(xml), `${base64UrlOf(xml)}!`, 'AAAA', '%%%']) {
          await refuse(() => send(assertion), {
            want: { standard: '400 invalid_grant', uaa: '401 unauthorized' },
            description: 'Error decoding incoming SAML message',
          })
        }
        tokensOf(await send(base64UrlOf(xml)))
      })
      // Covers POST /oauth/token/alias/{entity_id} grant_type=saml2-bearer: client_id; client_secret
      it('may have client_id and client_secret instead of the header', async () => {
        const form = { client_id: 'carrier', client_secret: 'secret' }
        tokensOf(await presentFrom(server, corp, { form, basic: null }))
        tokensOf(await presentFrom(server, corp, { form: { client_id: 'carrier' } }))
        await refuse(() => presentFrom(server, corp, { form: { ...form, client_secret: 'bad' }, basic: null }), {
          want: '401 invalid_client',
          description: 'Bad credentials',
        })
      })
      // Covers POST /oauth/token/alias/{entity_id} grant_type=saml2-bearer: client_assertion; client_assertion_type
      it('may have client_assertion and client_assertion_type instead of a secret', async () => {
        const form = { client_assertion_type: ASSERTION_TYPE, client_assertion: await clientAssertion() }
        const { access_token: token } = tokensOf(await presentFrom(server, corp, { form, basic: null }))
        assert.equal(decodeJwt(token)['client_auth_method'], 'private_key_jwt')
        for (const wrong of [
          { client_assertion: await clientAssertion('carrier'), client_assertion_type: ASSERTION_TYPE },
          { client_assertion: await clientAssertion(), client_assertion_type: 'urn:x' },
          { client_assertion: await clientAssertion(), client_assertion_type: '' },
        ]) {
          await refuse(() => presentFrom(server, corp, { form: wrong, basic: null }), {
            want: '401 invalid_client',
          })
        }
      })
      it('must authenticate the client, because an assertion is not bound to one', () =>
        refuse(() => presentFrom(server, corp, { form: { client_id: 'open' }, basic: null }), {
          want: '401 invalid_client',
          description: 'Missing credentials',
        }))
      // Covers POST /oauth/token/alias/{entity_id} grant_type=saml2-bearer: scope
      it('may have scope to reduce the scopes', async () => {
        const all = tokensOf(await presentFrom(server, corp)).scope.split(' ')
        assert.deepEqual(all.toSorted(), ['openid', 'profile', 'roles', 'user_attributes'])
        assert.equal(tokensOf(await presentFrom(server, corp, { form: { scope: 'openid' } })).scope, 'openid')
        await refuse(() => presentFrom(server, corp, { form: { scope: 'cloud.write' } }), {
          want: { standard: '400 invalid_scope', uaa: '400 invalid_scope' },
        })
      })
      // Covers POST /oauth/token/alias/{entity_id} grant_type=saml2-bearer: token_format
      it('may have token_format', async () => {
        const opaque = tokensOf(await presentFrom(server, corp, { form: { token_format: 'opaque' } }))
        assert.match(opaque.access_token, /^[0-9a-f]{32}$/)
        const jwt = tokensOf(await presentFrom(server, corp, { form: { token_format: 'jwt' } }))
        assert.equal(decodeJwt(jwt.access_token)['origin'], 'corp')
        await refuse(() => presentFrom(server, corp, { form: { token_format: 'xml' } }), {
          want: '400 invalid_request',
        })
      })
    })

    it('accepts the same assertion id from different providers', async () => {
      for (const idp of [rival, corp]) tokensOf(await presentFrom(server, idp, { parts: { id: '_chosen' } }))
    })

    describe('response', () => {
      // Covers POST /oauth/token/alias/{entity_id} grant_type=saml2-bearer: response: access_token; token_type; jti
      it('is JSON with access_token, token_type, refresh_token, expires_in, scope and jti', async () => {
        const answer = await presentFrom(server, corp, { form: { scope: 'openid' } })
        assert.equal(answer.status, 200)
        assert.equal(answer.headers['content-type'], 'application/json;charset=UTF-8')
        assert.deepEqual([answer.headers['cache-control'], answer.headers['pragma']], ['no-store', 'no-cache'])
        assert.equal(answer.headers['set-cookie'], undefined)
        const members = ['access_token', 'token_type', 'refresh_token', 'expires_in', 'scope', 'jti']
        assert.deepEqual(Object.keys(answer.json()).toSorted(), members.toSorted())
        const tokens = tokensOf(answer)
        const { payload } = await verified(server, tokens.access_token)
        assert.equal(tokens.token_type, mode === 'uaa' ? 'bearer' : answer.json()['token_type'])
        assert.equal(tokens.token_type.toLowerCase(), 'bearer')
        assert.equal(tokens.expires_in > 0 && tokens.jti === payload.jti, true)
        assert.equal(tokens.scope, 'openid')
        assert.equal(payload['grant_type'], SAML_BEARER)
      })
      // Covers POST /oauth/token/alias/{entity_id} grant_type=saml2-bearer: response: no `id_token`
      it('has no id_token, even with openid and after a refresh', async () => {
        const { refresh_token: token, ...tokens } = tokensOf(await presentFrom(server, corp))
        assert.equal(tokens.id_token, undefined)
        const form = { grant_type: 'refresh_token', refresh_token: token }
        const again = tokensOf(await server.send(ALIAS, { form, basic: CARRIER }))
        assert.equal(again.id_token, undefined)
        assert.equal(decodeJwt(again.access_token)['grant_type'], SAML_BEARER)
      })
      // Covers POST /oauth/token/alias/{entity_id} grant_type=saml2-bearer: response: refresh_token
      it('has a refresh_token only for clients with that grant type', async () => {
        const tokens = tokensOf(await presentFrom(server, corp, { basic: ['once', 'secret'] }))
        assert.equal(tokens.refresh_token, undefined)
      })
      // Covers POST /oauth/token/alias/{entity_id} grant_type=saml2-bearer: response: scope
      it('has scopes that require approval at refresh unless auto-approved', async () => {
        const tokens = tokensOf(
          await presentFrom(server, corp, { form: { scope: 'openid' }, basic: ['asking', 'secret'] }),
        )
        // The user cannot approve here: introspection and refresh require approval, as with JWT bearer.
        const form = { grant_type: 'refresh_token', refresh_token: tokens.refresh_token }
        await refuse(() => server.token(form, { basic: ['asking', 'secret'] }), {
          want: { standard: '400 invalid_grant', uaa: '401 invalid_token' },
          description: /not approved/,
        })
      })
    })

    it('logs no faults', () => assert.deepEqual(server.faults, []))
  })
}
