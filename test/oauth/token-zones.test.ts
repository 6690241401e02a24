import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { decodeJwt } from 'jose'
import { privatePem } from '../support/config.ts'
import type { TestAnswer, TestServer } from '../support/server.ts'
import { startServer, defaultBootstrap } from '../support/server.ts'
import type { Tokens } from '../support/oauth.ts'
import {
  APP,
  AUTO,
  insertCode,
  isAlive,
  MODES,
  refused,
  RESOURCE,
  SERVICE,
  tokensOf,
  verified,
} from '../support/oauth.ts'

const ZONES = [
  { id: 'z1', host: 'z1.localhost:8080', password: 'koala-1' },
  { id: 'z2', host: 'z2.localhost:8080', password: 'koala-2' },
] as const
type TestZone = (typeof ZONES)[number]
const [one, two] = ZONES

/** Each zone has the same clients and user names; only the password differs. */
const zoneRecord = (id: string, password: string, config: object) => ({
  id,
  subdomain: id,
  name: id,
  config,
  bootstrap: { ...defaultBootstrap, users: [{ ...defaultBootstrap.users[0], password }] },
})

const configWith = (keys: (zone: string) => object) => ({
  bootstrap: {
    ...defaultBootstrap,
    identity_zones: [
      ...ZONES.map(({ id, password }) => zoneRecord(id, password, keys(id))),
      { ...zoneRecord('off', 'koala', {}), active: false },
    ],
  },
})

const pem = privatePem('rsa', 2048)
const keyNamed = (id: string, signingKey: string) => ({
  tokenPolicy: { activeKeyId: id, keys: { [id]: { signingKey, signingAlg: 'RS256' } } },
})
const sharedKey = keyNamed('same', pem)
const settings = [
  { name: 'with their own keys', keys: (zone: string) => keyNamed(zone, privatePem('rsa', 2048)) },
  { name: 'with the key of the default zone', keys: () => ({}) },
  // Covers signing keys: activeKeyId
  { name: 'with the same key', keys: () => sharedKey },
]

for (const mode of MODES) {
  for (const { name, keys } of settings) {
    describe(`Two zones ${name} in ${mode}`, () => {
      let server: TestServer
      before(async () => (server = await startServer({ mode, config: configWith(keys) })))
      after(() => server.stop())

      const token = (
        { host }: { host: string },
        form: Readonly<Record<string, string>>,
        basic: readonly [string, string] = APP,
      ): Promise<TestAnswer> => server.token(form, { host, basic })
      const signIn = async (zone: TestZone, form: Readonly<Record<string, string>> = {}): Promise<Tokens> =>
        tokensOf(await token(zone, { grant_type: 'password', username: 'marissa', password: zone.password, ...form }))
      const introspect = async ({ host }: { host: string }, value: string): Promise<unknown> =>
        (await server.send('/introspect', { host, form: { token: value }, basic: RESOURCE })).json()['active']

      it('sign with the issuer and id of the zone, verifiable with its keys', async () => {
        for (const zone of ZONES) {
          const issuer = `http://${zone.host}${mode === 'uaa' ? '/oauth/token' : ''}`
          const tokens = await signIn(zone)
          for (const value of [tokens.access_token, tokens.id_token]) {
            const { payload } = await verified(server, value, { host: zone.host, issuer, audience: 'app' })
            assert.equal(payload['zid'], zone.id)
          }
        }
      })

      it('have separate users of the same name', async () => {
        const [first, second] = await Promise.all(ZONES.map(zone => signIn(zone)))
        assert.notEqual(decodeJwt(first?.access_token ?? '').sub, decodeJwt(second?.access_token ?? '').sub)
        const foreign = { grant_type: 'password', username: 'marissa', password: two.password }
        await refused(server, mode, () => token(one, foreign), {
          want: { standard: '400 invalid_grant', uaa: '401 invalid_client' },
        })
      })

      it('have separate clients of the same id', async () => {
        const client = await server.store.clients.find('z1', 'service')
        assert.ok(client)
        await server.store.clients.update('z1', { ...client, secrets: [], authorities: ['jobs.run'] })
        const form = { grant_type: 'client_credentials' }
        await refused(server, mode, () => token(one, form, SERVICE), { want: '401 invalid_client' })
        assert.equal(tokensOf(await token(two, form, SERVICE)).scope, 'jobs.run jobs.read')
      })

      for (const format of ['jwt', 'opaque']) {
        // Covers every endpoint: rule: tokens of one zone are refused by another
        it(`refuse ${format} access tokens of another zone, as does the default zone`, async () => {
          const { access_token: value } = await signIn(one, { token_format: format })
          assert.equal(await introspect(one, value), true)
          for (const { host } of [two, { host: 'localhost:8080' }]) {
            assert.equal(await introspect({ host }, value), false)
            const answer = await server.send('/userinfo', { host, bearer: value })
            assert.deepEqual([answer.status, answer.json()['error']], [401, 'invalid_token'])
          }
        })
      }

      it('refuse refresh tokens of another zone', async () => {
        const { refresh_token: value } = await signIn(one)
        const form = { grant_type: 'refresh_token', refresh_token: value }
        const want = { standard: '400 invalid_grant', uaa: '401 invalid_token' }
        await refused(server, mode, () => token(two, form), { want })
        tokensOf(await token(one, form))
      })

      it('refuse codes of another zone without consuming them', async () => {
        const code = await insertCode(server, { zoneId: 'z1' })
        const form = { grant_type: 'authorization_code', code }
        await refused(server, mode, () => token(two, form, AUTO), { want: '400 invalid_grant' })
        tokensOf(await token(one, form, AUTO))
      })

      it('count failed sign-ins separately', async () => {
        for (let attempt = 0; attempt < 6; attempt += 1) {
          await token(one, { grant_type: 'password', username: 'marissa', password: 'wrong' })
        }
        await signIn(two)
        server.clock.advance(300)
      })

      it('publish their own keys and metadata', async () => {
        for (const { host } of ZONES) {
          const base = `http://${host}`
          const reported = (await server.send('/.well-known/openid-configuration', { host })).json()
          assert.equal(reported['issuer'], `${base}${mode === 'uaa' ? '/oauth/token' : ''}`)
          assert.equal(reported['token_endpoint'], `${base}/oauth/token`)
          assert.equal(reported['jwks_uri'], `${base}/token_keys`)
        }
        const documents = await Promise.all(
          ZONES.map(async ({ host }) => (await server.send('/token_keys', { host })).text),
        )
        assert.equal(new Set(documents).size, name === 'with their own keys' ? 2 : 1)
      })

      it('log no faults', () => assert.deepEqual(server.faults, []))
    })
  }
}

describe('Zone by host name', () => {
  let server: TestServer
  before(async () => (server = await startServer({ config: configWith(() => ({})) })))
  after(() => server.stop())
  const form = { grant_type: 'client_credentials' }

  const hosts = [
    // Covers zone by host name: rule: lower case
    { name: 'with a trailing dot', host: 'Z1.LocalHost:8080', want: 'z1' },
    { name: 'with another port', host: 'z1.localhost:1', want: 'z1' },
    // Covers zone by host name: rule: subdomain before a root host name
    { name: 'without a port', host: 'z1.localhost', want: 'z1' },
    { name: 'with the dot at the end of a full name', host: 'z1.localhost.', want: 'z1' },
    { name: 'of the base URL', host: 'localhost:8080', want: 'svc' },
  ]
  for (const { name, host, want } of hosts) {
    // Covers every endpoint: rule: zone by host name
    it(`is found ${name}`, async () => {
      const { access_token: token } = tokensOf(await server.token(form, { host, basic: SERVICE }))
      assert.equal(decodeJwt(token)['zid'], want)
    })
  }

  const unknownHosts = [
    { name: 'an unknown subdomain', host: 'z9.localhost:8080' },
    { name: 'an inactive zone', host: 'off.localhost:8080' },
    { name: 'a subdomain below a zone', host: 'x.z1.localhost:8080' },
  ]
  for (const { name, host } of unknownHosts) {
    for (const path of [
      '/oauth/token',
      '/introspect',
      '/token_keys',
      '/userinfo',
      '/.well-known/openid-configuration',
    ]) {
      // Covers every endpoint: rule: unknown or inactive zone is 404
      it(`answers 404 for ${name}: ${path}`, async () => {
        const method = /token$|introspect/.test(path) ? 'POST' : 'GET'
        const request = { host, basic: SERVICE, ...(method === 'POST' && { form }) }
        assert.equal((await server.send(path, { method, ...request })).status, 404)
      })
    }
  }

  it('ignores forwarded hosts', async () => {
    const headers = { 'x-forwarded-host': 'z1.localhost', forwarded: 'host=z1.localhost' }
    const { access_token: token } = tokensOf(await server.token(form, { headers, basic: SERVICE }))
    assert.equal(decodeJwt(token)['zid'], 'svc')
    assert.ok(await isAlive(server, token))
  })
})
