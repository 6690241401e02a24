// Signing algorithms for clients that register none, in a zone with several keys.
import assert from 'node:assert/strict'
import { after, before, describe, it, mock } from 'node:test'
import { decodeProtectedHeader, exportJWK, generateKeyPair } from 'jose'
import { StoreUnavailable } from '../../../src/store/store.ts'
import { authorize, signedIn } from '../../support/authorize.ts'
import { KEYS } from '../../support/keys.ts'
import { startLogoutReceiver } from '../../support/logout-receiver.ts'
import type { LogoutReceiver } from '../../support/logout-receiver.ts'
import { changeClient, tokensOf } from '../../support/oauth.ts'
import type { Tokens } from '../../support/oauth.ts'
import {
  initialToken,
  manage,
  METADATA,
  register,
  registered,
  startRegistrationServer,
} from '../../support/registration.ts'
import type { Registered } from '../../support/registration.ts'
import type { Browser, TestAnswer, TestServer } from '../../support/server.ts'

const REDIRECT = METADATA.redirect_uris[0] ?? ''
const algorithmOf = (token: string): unknown => decodeProtectedHeader(token).alg

interface Visit {
  readonly browser: Browser
  readonly tokens: Tokens
  readonly signedResponse: string
}

/** A user signs in, approves the client, and returns to it again with a signed response. */
async function visit(server: TestServer, client: Registered): Promise<Visit> {
  const browser = await signedIn(server)
  const request = { response_type: 'code', client_id: client.client_id, redirect_uri: REDIRECT, scope: 'openid' }
  await authorize(browser, request)
  const form = { user_oauth_approval: 'true', 'scope.0': 'scope.openid', 'X-Svc-Csrf': browser.csrf }
  const answer = await browser.send('/oauth/authorize', { form })
  const code = answer.location().searchParams.get('code') ?? ''
  const exchanged = await server.token(
    { grant_type: 'authorization_code', code, redirect_uri: REDIRECT },
    { basic: [client.client_id, client.client_secret] },
  )
  const again = await authorize(browser, { ...request, response_mode: 'jwt' })
  return {
    browser,
    tokens: tokensOf(exchanged),
    signedResponse: again.location().searchParams.get('response') ?? '',
  }
}

describe('Signing algorithm of a client that registered none', () => {
  const servers: TestServer[] = []
  let receiver: LogoutReceiver
  const start = async (signing_keys: object, more: object = {}): Promise<TestServer> => {
    const server = await startRegistrationServer({ mode: 'open' }, { config: { signing_keys, ...more } })
    servers.push(server)
    return server
  }
  before(async () => {
    receiver = await startLogoutReceiver()
  })
  after(async () => {
    await receiver.stop()
    for (const server of servers) {
      assert.deepEqual(server.faults, [])
      await server.stop()
    }
  })

  it('is RS256 for ID tokens, responses and logout tokens, even if another key is active', async () => {
    const server = await start({ active: 'ec', keys: { ec: KEYS.ES256, rsa: KEYS.RS256 } })
    const client = registered(await register(server))
    await changeClient(server, client.client_id, { backchannelLogoutUri: receiver.url })
    const { browser, tokens, signedResponse } = await visit(server, client)
    assert.deepEqual([tokens.id_token, signedResponse].map(algorithmOf), ['RS256', 'RS256'])
    assert.equal(algorithmOf(tokens.access_token), 'ES256', 'access tokens are for resource servers')
    await browser.send('/logout.do', { query: { id_token_hint: tokens.id_token } })
    await (await server.app.backChannel()).deliver()
    assert.deepEqual(receiver.tokens.map(algorithmOf), ['RS256'])
    assert.equal(Reflect.get(client, 'id_token_signed_response_alg'), undefined)
    assert.equal(Reflect.get(client, 'authorization_signed_response_alg'), undefined)
  })

  it('is that of the active key without an RS256 key, and returned by registration', async () => {
    const server = await start({ active: 'ec', keys: { ec: KEYS.ES256 } })
    const client = registered(await register(server))
    const { tokens, signedResponse } = await visit(server, client)
    assert.deepEqual([tokens.id_token, signedResponse].map(algorithmOf), ['ES256', 'ES256'])
    const read = registered(await manage(server, 'GET', client))
    for (const response of [client, read]) {
      assert.equal(Reflect.get(response, 'id_token_signed_response_alg'), 'ES256')
      assert.equal(Reflect.get(response, 'authorization_signed_response_alg'), 'ES256')
    }
  })

  it('is that of the zone profile, and returned by registration', async () => {
    const keys = { rsa: KEYS.RS256, ec: KEYS.ES256 }
    const server = await start({ active: 'rsa', keys }, { zone_config: { profile: 'fapi2-security' } })
    const { publicKey } = await generateKeyPair('ES256')
    const jwks = { keys: [await exportJWK(publicKey)] }
    const metadata = { ...METADATA, token_endpoint_auth_method: 'private_key_jwt', jwks }
    const client = registered(await register(server, metadata))
    assert.equal(Reflect.get(client, 'id_token_signed_response_alg'), 'ES256')
    assert.equal(Reflect.get(client, 'authorization_signed_response_alg'), 'ES256')
  })
  it('is that of a later zone profile for responses, instead of the registered one', async () => {
    const server = await start({ active: 'rsa', keys: { rsa: KEYS.RS256, ec: KEYS.ES256 } })
    const algorithms = { authorization_signed_response_alg: 'RS256', id_token_signed_response_alg: 'RS256' }
    const client = registered(await register(server, { ...METADATA, ...algorithms }))
    const zone = await server.store.zones.find('svc')
    assert.ok(zone)
    await server.store.zones.update({ ...zone, config: { ...zone.config, profile: 'fapi2-security' } })
    const request = { response_type: 'code', client_id: client.client_id, redirect_uri: REDIRECT, response_mode: 'jwt' }
    const refused = await authorize(await signedIn(server), request)
    assert.equal(algorithmOf(refused.location().searchParams.get('response') ?? ''), 'ES256')
    const read = registered(await manage(server, 'GET', client))
    assert.equal(Reflect.get(read, 'authorization_signed_response_alg'), 'ES256')
    assert.equal(Reflect.get(read, 'id_token_signed_response_alg'), 'RS256')
  })

  it('is determined before anything is stored, so that a registration without an answer has no effect', async () => {
    const server = await startRegistrationServer()
    const bearer = await initialToken(server)
    const failing = async (request: () => Promise<TestAnswer>): Promise<void> => {
      server.clock.advance(60)
      const mocked = mock.method(server.store.keys, 'list', () => Promise.reject(new StoreUnavailable('gone')))
      assert.equal((await request()).status, 503)
      mocked.mock.restore()
    }
    await failing(() => register(server, METADATA, { bearer }))
    const client = registered(await register(server, METADATA, { bearer }))
    const change = { ...METADATA, client_id: client.client_id, client_name: 'Another name' }
    await failing(() => manage(server, 'PUT', client, change))
    registered(await manage(server, 'PUT', client, change))
    await server.stop()
  })

  it('is not replaced for logout tokens if the zone has no key for it', async () => {
    const server = await start({ active: 'rsa', keys: { rsa: KEYS.RS256 } })
    const client = registered(await register(server))
    await changeClient(server, client.client_id, { backchannelLogoutUri: receiver.url })
    const { browser, tokens } = await visit(server, client)
    await changeClient(server, client.client_id, { idTokenSignedResponseAlg: 'ES512' })
    const before = receiver.tokens.length
    await browser.send('/logout.do', { query: { id_token_hint: tokens.id_token } })
    await (await server.app.backChannel()).deliver()
    assert.equal(receiver.tokens.length, before)
    const expected = `${client.client_id} was not notified, will retry: the zone has no key for ES512`
    assert.ok(
      server.lines.some(line => line.includes(expected)),
      server.lines.join('\n'),
    )
  })
})
