// The SAML bearer grant compared with exchanges recorded with UAA, one test per exchange; differences are
// explained at the test.
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { refused, tokensOf } from '../support/oauth.ts'
import type { Refusal } from '../support/oauth.ts'
import type { TestAnswer, TestServer } from '../support/server.ts'
import { startServer } from '../support/server.ts'
import { ALIAS, CARRIER, present, presentFrom, SAML_BEARER, samlWorld } from '../support/saml/saml-bearer.ts'
import { SAML } from '../support/saml/saml-xml.ts'

const { clock, bootstrap, corp, rival, stranger } = samlWorld()
const minutes = (count: number): Date => new Date(clock.now().getTime() + count * 60_000)

const NONSENSE = { grant_type: SAML_BEARER, assertion: 'PHNhbWwyOkFzc2VydGlvbi8-' }
const BY_FORM = { client_id: 'carrier', client_secret: 'secret' }
const DECODING = 'Error decoding incoming SAML message'
const VALIDATING = 'Error validating SAML message'
const CONTRACTS = 'Error determining metadata contracts'

const unauthorized = (description: string) => ({
  want: '401 unauthorized',
  description,
  challenge: `Basic realm="SVC/client", error="unauthorized", error_description="${description}"`,
})

describe('SAML bearer exchanges recorded with UAA', () => {
  let server: TestServer
  before(async () => (server = await startServer({ mode: 'uaa', clock, config: { bootstrap } })))
  after(() => server.stop())
  const refuse = async (sending: () => Promise<TestAnswer>, want: Refusal): Promise<void> => {
    await refused(server, 'uaa', sending, want)
  }
  const send = (
    form: Readonly<Record<string, string>>,
    { path = ALIAS, basic }: { readonly path?: string; readonly basic?: readonly [string, string] } = {},
  ): Promise<TestAnswer> => server.send(path, { form, ...(basic && { basic }) })

  const decoding = [
    { name: 'malformed XML as assertion', form: { ...BY_FORM, ...NONSENSE } },
    { name: 'assertion that is not base64', form: { ...BY_FORM, ...NONSENSE, assertion: '%%%' } },
    { name: 'malformed XML with Basic credentials', form: NONSENSE, basic: CARRIER },
    { name: 'malformed XML at /oauth/token', form: { ...BY_FORM, ...NONSENSE }, path: '/oauth/token' },
  ]
  for (const { name, form, ...how } of decoding) {
    it(name, () => refuse(() => send(form, how), unauthorized(DECODING)))
  }

  it('missing assertion', () =>
    refuse(() => send({ ...BY_FORM, grant_type: SAML_BEARER }), unauthorized('SAML Assertion is missing')))

  const badClient = { ...unauthorized('Bad credentials'), want: '401 invalid_client' }
  it('missing client credentials', () => refuse(() => send(NONSENSE), badClient))
  it('wrong client secret', () => refuse(() => send({ ...BY_FORM, ...NONSENSE, client_secret: 'bad' }), badClient))

  // UAA reads the assertion before checking the grant type of the client; here it is read afterwards.
  it('client without the grant', () =>
    refuse(() => send(NONSENSE, { basic: ['app', 'app-secret'] }), {
      want: '401 invalid_client',
      description: 'Unauthorized grant type',
    }))

  it('password grant at this path', async () => {
    const answer = await send({ ...BY_FORM, grant_type: 'password', username: 'marissa', password: 'koala' })
    assert.equal(tokensOf(answer).token_type, 'bearer')
    assert.equal(typeof answer.json()['id_token'], 'string')
  })
  it('client_credentials grant at this path', async () => {
    assert.equal(tokensOf(await send({ ...BY_FORM, grant_type: 'client_credentials' })).scope, 'jobs.run')
  })
  it('missing grant_type', () =>
    refuse(() => send({ ...BY_FORM, assertion: NONSENSE.assertion }), {
      want: '400 invalid_request',
      description: 'Missing grant type',
      challenge: null,
    }))

  // UAA serves other grants under any entity id, and this one with the text of an unknown issuer.
  it('another entity id in the path', async () => {
    const answer = await send({ ...BY_FORM, ...NONSENSE }, { path: '/oauth/token/alias/other' })
    assert.deepEqual([answer.status, answer.json()['error']], [404, 'not_found'])
  })
  // UAA reads the query, which logs contain; here only if `jwt.token.queryString.enabled` is set.
  it('GET', async () => {
    const { status, headers } = await server.send(ALIAS, { query: { ...BY_FORM, ...NONSENSE } })
    assert.deepEqual([status, headers['allow']], [405, 'POST'])
  })

  // Covers POST /oauth/token/alias/{entity_id} grant_type=saml2-bearer: response: expires_in
  it('signed assertion with the Recipient of this path', async () => {
    const parts = { nameId: 'bearer@saml.org', format: SAML.emailName }
    const answer = await presentFrom(server, corp, { parts, basic: ['once', 'secret'] })
    const { access_token: token, token_type: type, expires_in: seconds, scope, jti } = tokensOf(answer)
    assert.deepEqual(Object.keys(answer.json()), ['access_token', 'token_type', 'expires_in', 'scope', 'jti'])
    assert.deepEqual([type, seconds], ['bearer', 43_199])
    assert.ok(token && jti && scope.split(' ').includes('openid'))
    assert.equal(answer.headers['cache-control'], 'no-store')
  })

  it('shadow user', async () => {
    const user = await server.store.users.findByName('svc', 'corp', 'bearer@saml.org')
    assert.ok(user)
    assert.deepEqual(
      [user.externalId, user.email, user.givenName, user.familyName, user.active, user.verified, user.lastLogonAt],
      ['bearer@saml.org', 'bearer@saml.org', 'bearer', 'saml.org', true, false, clock.now()],
    )
  })

  const refusals = [
    { name: 'unsigned assertion', xml: () => corp.assertion(), description: VALIDATING },
    { name: 'unknown issuer', xml: () => stranger.signedAssertion(), description: CONTRACTS },
    // Covers POST /oauth/token/alias/{entity_id} grant_type=saml2-bearer: rule: time limits
    {
      name: 'another signing key',
      xml: () =>
        corp.signedAssertion({
          notOnOrAfter: minutes(-10),
          conditions: { notBefore: minutes(-20), notOnOrAfter: minutes(-10) },
        }),
      description: VALIDATING,
    },
    // Covers POST /oauth/token/alias/{entity_id} grant_type=saml2-bearer: rule: audience is the entity id
    {
      name: 'wrong audience',
      xml: () => corp.signedAssertion({ audiences: ['https://other.example'] }),
      description: VALIDATING,
    },
    {
      name: 'wrong recipient',
      xml: () => corp.signedAssertion({ recipient: 'http://localhost:8080/oauth/token' }),
      description: VALIDATING,
    },
    // Covers POST /oauth/token/alias/{entity_id} grant_type=saml2-bearer: error: bad assertion
    { name: 'signed by another key', xml: () => corp.signedAssertion({}, { key: rival.key }), description: VALIDATING },
  ]
  for (const { name, xml, description } of refusals) {
    it(name, () => refuse(() => present(server, xml()), unauthorized(description)))
  }

  it('logs no faults', () => assert.deepEqual(server.faults, []))
})
