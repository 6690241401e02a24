import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { SignJWT } from 'jose'
import { createTestClock } from '../support/clock.ts'
import { createOidcProvider } from '../support/oidc-provider.ts'
import { issuedBy, MODES, refused, tokensOf } from '../support/oauth.ts'
import type { TestAnswer, TestServer } from '../support/server.ts'
import { startServer, defaultBootstrap } from '../support/server.ts'

const SAML_BEARER = 'urn:ietf:params:oauth:grant-type:saml2-bearer'
const ALIAS = '/oauth/token/alias/latchkey'
const CARRIER = ['carrier', 'secret'] as const

const clock = createTestClock()
const keys = await createOidcProvider(clock)

const carrier = {
  client_id: 'carrier',
  client_secret: 'secret',
  authorized_grant_types: [SAML_BEARER, 'refresh_token', 'client_credentials', 'password'],
  scope: ['openid'],
  authorities: ['jobs.run'],
}

const bootstrap = {
  ...defaultBootstrap,
  clients: [
    ...defaultBootstrap.clients,
    carrier,
    { client_id: 'open', allowpublic: true, authorized_grant_types: [SAML_BEARER, 'refresh_token'], scope: ['openid'] },
    { client_id: 'signer', authorized_grant_types: ['client_credentials'], authorities: ['jobs.run'], jwks: keys.jwks },
  ],
  identity_providers: [
    { originKey: 'saml-corp', type: 'saml', name: 'SAML', config: { metaDataLocation: '<EntityDescriptor/>' } },
  ],
  identity_zones: [{ id: 'z1', subdomain: 'z1', name: 'Zone 1', bootstrap: { clients: [carrier] } }],
}

const ASSERTION = Buffer.from(
  '<saml:Assertion xmlns:saml="urn:oasis:names:tc:SAML:2.0:assertion" ID="a" Version="2.0"><saml:Issuer>saml-corp</saml:Issuer></saml:Assertion>',
).toString('base64url')

for (const mode of MODES) {
  describe(`/oauth/token/alias/{entity_id} in ${mode}`, () => {
    let server: TestServer
    before(async () => (server = await startServer({ mode, clock, config: { bootstrap } })))
    after(() => server.stop())
    const send = (
      form: Readonly<Record<string, string>>,
      {
        path = ALIAS,
        basic = CARRIER,
        host,
      }: { path?: string; basic?: readonly [string, string] | null; host?: string } = {},
    ): Promise<TestAnswer> => server.send(path, { form, ...(basic && { basic }), ...(host !== undefined && { host }) })

    // Covers POST /oauth/token/alias/{entity_id} grant_type=saml2-bearer: error: assertion missing
    it('refuses a missing or empty assertion here and at /oauth/token', async () => {
      for (const form of [{ grant_type: SAML_BEARER }, { grant_type: SAML_BEARER, assertion: '' }]) {
        for (const path of [ALIAS, '/oauth/token']) {
          await refused(server, mode, () => send(form, { path }), {
            want: { standard: '400 invalid_request', uaa: '401 unauthorized' },
            description: 'SAML Assertion is missing',
            challenge:
              mode === 'uaa'
                ? 'Basic realm="SVC/client", error="unauthorized", error_description="SAML Assertion is missing"'
                : null,
          })
        }
      }
    })

    it('refuses an issuer with unusable metadata', async () => {
      await refused(server, mode, () => send({ grant_type: SAML_BEARER, assertion: ASSERTION }), {
        want: { standard: '400 invalid_grant', uaa: '401 unauthorized' },
        description:
          /^(No SAML identity provider found in zone for the issuer of the assertion|Error determining metadata contracts)$/,
      })
    })

    const assertions = [
      { name: 'an assertion that is not base64', assertion: '***' },
      { name: 'an assertion that is not XML', assertion: Buffer.from('nothing').toString('base64url') },
      {
        name: 'XML with entities',
        assertion: Buffer.from('<!DOCTYPE a [<!ENTITY b "c">]><a>&b;</a>').toString('base64url'),
      },
      { name: 'a JWT', assertion: 'e30.e30.AAAA' },
      { name: 'an assertion of 60 KiB', assertion: 'A'.repeat(60_000) },
    ]
    for (const { name, assertion } of assertions) {
      it(`refuses ${name}`, async () => {
        await refused(server, mode, () => send({ grant_type: SAML_BEARER, assertion }), {
          want: { standard: '400 invalid_grant', uaa: '401 unauthorized' },
          description: 'Error decoding incoming SAML message',
        })
      })
    }

    it('answers 413 to an assertion of 1 MB', async () => {
      assert.equal((await send({ grant_type: SAML_BEARER, assertion: 'A'.repeat(1_000_000) })).status, 413)
    })

    // Covers POST /oauth/token/alias/{entity_id} grant_type=saml2-bearer: error: grant not owned
    it('authenticates the client first', async () => {
      const form = { grant_type: SAML_BEARER, assertion: ASSERTION }
      await refused(server, mode, () => send(form, { basic: ['carrier', 'wrong'] }), { want: '401 invalid_client' })
      await refused(server, mode, () => send(form, { basic: null }), {
        want: '401 invalid_client',
      })
      await refused(server, mode, () => send(form, { basic: ['app', 'app-secret'] }), {
        want: { standard: '400 unauthorized_client', uaa: '401 invalid_client' },
        description: 'Unauthorized grant type',
      })
    })

    it('accepts a client assertion', async () => {
      const now = Math.floor(clock.now().getTime() / 1000)
      const claims = { iss: 'signer', sub: 'signer', aud: `${server.baseUrl}/oauth/token`, jti: mode, exp: now + 60 }
      const form = {
        grant_type: 'client_credentials',
        client_id: 'signer',
        client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
        client_assertion: await new SignJWT(claims)
          .setProtectedHeader({ alg: 'RS256', kid: 'corp-1' })
          .sign(keys.privateKey),
      }
      assert.equal(tokensOf(await send(form, { basic: null })).scope, 'jobs.run')
    })

    it('accepts a public client only with grants that allow it at /oauth/token', async () => {
      const form = { grant_type: 'refresh_token', client_id: 'open', refresh_token: 'x' }
      await refused(server, mode, () => send(form, { basic: null }), {
        want: { standard: '400 invalid_grant', uaa: '401 invalid_token' },
      })
      const bearer = { grant_type: SAML_BEARER, client_id: 'open', assertion: ASSERTION }
      await refused(server, mode, () => send(bearer, { basic: null }), {
        want: '401 invalid_client',
        description: 'Missing credentials',
      })
    })

    it('supports other grants', async () => {
      assert.equal(tokensOf(await send({ grant_type: 'client_credentials' })).scope, 'jobs.run')
      const form = {
        grant_type: 'password',
        username: 'marissa',
        password: 'koala',
        client_id: 'carrier',
        client_secret: 'secret',
      }
      assert.equal(tokensOf(await send(form, { basic: null })).scope, 'openid')
    })

    const entities = [
      { name: 'another entity id', path: '/oauth/token/alias/other' },
      { name: 'another case', path: '/oauth/token/alias/LATCHKEY' },
      { name: 'the entity id of another zone', path: '/oauth/token/alias/z1.latchkey' },
      { name: 'the default entity id in another zone', path: ALIAS, host: 'z1.localhost:8080' },
      { name: 'a relative path', path: '/oauth/token/alias/..%2Flatchkey' },
    ]
    for (const { name, path, host } of entities) {
      it(`answers 404 to ${name}`, async () => {
        const before = issuedBy(server)
        const form = { grant_type: 'client_credentials' }
        const answer = await send(form, { path, ...(host !== undefined && { host }) })
        assert.equal(answer.status, 404)
        assert.equal(answer.json()['error'], 'not_found')
        assert.equal(issuedBy(server), before)
      })
    }

    it('has the subdomain as prefix of the entity id in another zone', async () => {
      const path = '/oauth/token/alias/z1.latchkey'
      tokensOf(await send({ grant_type: 'client_credentials' }, { path, host: 'z1.localhost:8080' }))
    })

    for (const method of ['GET', 'PUT', 'DELETE', 'PATCH']) {
      it(`answers 405 to ${method}`, async () => {
        const answer = await server.send(ALIAS, { method })
        assert.deepEqual([answer.status, answer.headers['allow']], [405, 'POST'])
      })
    }

    it('lists the grant in discovery in standard', async () => {
      const { grant_types_supported: grants } = (await server.send('/.well-known/openid-configuration')).json()
      assert.equal(Array.isArray(grants) && grants.includes(SAML_BEARER), mode === 'standard')
    })

    it('logs no faults', () => assert.deepEqual(server.faults, []))
  })
}

describe('Entity id that is a URL', () => {
  it('is percent-encoded in the path', async () => {
    const server = await startServer({ config: { bootstrap, saml: { entity_id: 'https://id.example/saml' } } })
    try {
      const form = { grant_type: 'client_credentials' }
      const path = `/oauth/token/alias/${encodeURIComponent('https://id.example/saml')}`
      tokensOf(await server.send(path, { form, basic: CARRIER }))
    } finally {
      await server.stop()
    }
  })
})
