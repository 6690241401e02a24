import assert from 'node:assert/strict'
import { after, before, beforeEach, describe, it } from 'node:test'
import type { ClientKeys } from '../../../src/model/clients/client-keys.ts'
import type { JwtCredential } from '../../../src/records/jwt-credential.ts'
import { assertNotFound } from '../../support/clients.ts'
import { DATABASE_KINDS, freshDatabase } from '../../support/databases.ts'
import { changeClient, clientNamed, MODES, tokensOf } from '../../support/oauth.ts'
import type { TestAnswer, TestRequest, TestServer } from '../../support/server.ts'
import { startServer, defaultBootstrap } from '../../support/server.ts'

type Members = Readonly<Record<string, unknown>>

const caller = (id: string, ...authorities: readonly string[]) => ({
  client_id: id,
  client_secret: `${id}-secret`,
  authorized_grant_types: ['client_credentials'],
  authorities,
})
const key = (kid: string, n = 'n'): Members => ({ kty: 'RSA', kid, n, e: 'AQAB' })
const text = (...keys: readonly Members[]): string => JSON.stringify({ keys })

const bootstrap = {
  ...defaultBootstrap,
  clients: [
    ...defaultBootstrap.clients,
    caller('admin', 'svc.admin'),
    caller('clients-admin', 'clients.admin'),
    caller('zone-admin', 'zones.svc.admin'),
    caller('foreign-zone-admin', 'zones.z1.admin'),
    caller('trusted', 'clients.trust'),
    caller('reader', 'clients.read', 'clients.write', 'clients.secret'),
    {
      client_id: 'web-trusted',
      client_secret: 'web-trusted-secret',
      authorized_grant_types: ['password'],
      scope: ['clients.trust'],
    },
  ],
  groups: [...defaultBootstrap.groups, { displayName: 'clients.trust' }],
  users: defaultBootstrap.users.map(user => ({ ...user, groups: ['clients.trust'] })),
  identity_zones: [
    {
      id: 'z1',
      subdomain: 'z1',
      name: 'Zone 1',
      bootstrap: {
        clients: [caller('admin', 'svc.admin'), caller('pretender', 'zones.svc.admin'), caller('app', 'jobs.run')],
      },
    },
  ],
}
const HOST_OF_Z1 = 'z1.localhost:8080'

const tokenOf = async (server: TestServer, id: string, request: TestRequest = {}): Promise<string> =>
  tokensOf(await server.token({ grant_type: 'client_credentials' }, { basic: [id, `${id}-secret`], ...request }))
    .access_token

const put = (server: TestServer, clientId: string, body: unknown, request: TestRequest = {}): Promise<TestAnswer> =>
  server.send(`/oauth/clients/${encodeURIComponent(clientId)}/clientjwt`, {
    method: 'PUT',
    body: typeof body === 'string' ? body : JSON.stringify(body),
    ...request,
    headers: { 'content-type': 'application/json', ...request.headers },
  })

async function keysOf(server: TestServer, clientId = 'app'): Promise<ClientKeys> {
  const { jwks, jwksUri } = await clientNamed(server, clientId)
  return { ...(jwks !== undefined && { jwks }), ...(jwksUri !== undefined && { jwksUri }) }
}

/** Replaces the keys in the database. */
async function reset(server: TestServer, keys: ClientKeys): Promise<void> {
  const { jwks: _, jwksUri: __, ...client } = await clientNamed(server, 'app')
  await server.store.clients.update('svc', { ...client, ...keys })
}

const ADDED = 'Client jwt configuration is added'
const UPDATED = 'Client jwt configuration updated'
const DELETED = 'Client jwt configuration is deleted'
const URI = 'https://app.example/keys'

interface Change {
  readonly name: string
  readonly before?: ClientKeys
  readonly body: Members
  readonly message: string
  readonly want: ClientKeys
}
const changes: readonly Change[] = [
  // Covers PUT /oauth/clients/{client_id}/clientjwt: jwks_uri
  {
    name: 'adds a jwks_uri by default',
    body: { jwks_uri: URI },
    message: ADDED,
    want: { jwksUri: URI },
  },
  // Covers PUT /oauth/clients/{client_id}/clientjwt: client_id
  {
    name: 'ignores the client_id in the body',
    body: { client_id: 'service', changeMode: 'ADD', jwks_uri: URI },
    message: ADDED,
    want: { jwksUri: URI },
  },
  // Covers PUT /oauth/clients/{client_id}/clientjwt: jwks
  {
    name: 'adds a single key',
    body: { jwks: JSON.stringify(key('a')) },
    message: ADDED,
    want: { jwks: text(key('a')) },
  },
  {
    name: 'does not store private key members',
    body: { jwks: JSON.stringify({ ...key('a'), d: 'x', p: 'y' }) },
    message: ADDED,
    want: { jwks: text(key('a')) },
  },
  {
    name: 'treats null as absent',
    body: { jwks_uri: URI, jwks: null, kid: null, changeMode: null },
    message: ADDED,
    want: { jwksUri: URI },
  },
  {
    name: 'prefers jwks_uri to jwks',
    body: { jwks_uri: URI, jwks: text(key('a')) },
    message: ADDED,
    want: { jwksUri: URI },
  },
  {
    name: 'accepts an http jwks_uri on localhost',
    body: { jwks_uri: 'http://localhost:9000/k' },
    message: ADDED,
    want: { jwksUri: 'http://localhost:9000/k' },
  },
  // Covers PUT /oauth/clients/{client_id}/clientjwt: changeMode=ADD
  {
    name: 'adds keys, and keeps existing ones',
    before: { jwks: text(key('a', 'old')) },
    body: { jwks: text(key('a', 'new'), key('b')) },
    message: ADDED,
    want: { jwks: text(key('a', 'old'), key('b')) },
  },
  {
    name: 'does not add keys to a jwks_uri',
    before: { jwksUri: URI },
    body: { jwks: text(key('a')) },
    message: ADDED,
    want: { jwksUri: URI },
  },
  {
    name: 'does not add a jwks_uri to keys',
    before: { jwks: text(key('a')) },
    body: { jwks_uri: URI },
    message: ADDED,
    want: { jwks: text(key('a')) },
  },
  {
    name: 'adds nothing for an empty body',
    before: { jwksUri: URI },
    body: {},
    message: 'No key added',
    want: { jwksUri: URI },
  },
  { name: 'adds nothing for a kid alone', body: { kid: 'a' }, message: 'No key added', want: {} },
  // Covers PUT /oauth/clients/{client_id}/clientjwt: changeMode=UPDATE
  {
    name: 'updates the key with the same kid',
    before: { jwks: text(key('a', 'old'), key('b')) },
    body: { changeMode: 'UPDATE', jwks: text(key('a', 'new')) },
    message: UPDATED,
    want: { jwks: text(key('a', 'new'), key('b')) },
  },
  {
    name: 'replaces keys with a jwks_uri',
    before: { jwks: text(key('a')) },
    body: { changeMode: 'UPDATE', jwks_uri: URI },
    message: UPDATED,
    want: { jwksUri: URI },
  },
  {
    name: 'replaces a jwks_uri with keys',
    before: { jwksUri: URI },
    body: { changeMode: 'UPDATE', jwks: text(key('a')) },
    message: UPDATED,
    want: { jwks: text(key('a')) },
  },
  {
    name: 'adds a jwks_uri by UPDATE',
    body: { changeMode: 'UPDATE', jwks_uri: URI },
    message: UPDATED,
    want: { jwksUri: URI },
  },
  // Covers PUT /oauth/clients/{client_id}/clientjwt: kid
  {
    name: 'deletes a key by kid, ignoring other members',
    before: { jwks: text(key('a'), key('b')) },
    body: { changeMode: 'DELETE', kid: 'a', jwks_uri: URI },
    message: DELETED,
    want: { jwks: text(key('b')) },
  },
  {
    name: 'deletes the last key',
    before: { jwks: text(key('a')) },
    body: { changeMode: 'DELETE', kid: 'a' },
    message: DELETED,
    want: {},
  },
  // Covers PUT /oauth/clients/{client_id}/clientjwt: changeMode=DELETE
  {
    name: 'deletes the listed keys',
    before: { jwks: text(key('a'), key('b'), key('c')) },
    body: { changeMode: 'DELETE', jwks: text(key('a'), key('c')) },
    message: DELETED,
    want: { jwks: text(key('b')) },
  },
  {
    name: 'deletes the jwks_uri',
    before: { jwksUri: URI },
    body: { changeMode: 'DELETE', jwks_uri: URI },
    message: DELETED,
    want: {},
  },
  {
    name: 'deletes any jwks_uri by *',
    before: { jwksUri: URI },
    body: { changeMode: 'DELETE', jwks_uri: '*' },
    message: DELETED,
    want: {},
  },
  {
    name: 'does not delete a different jwks_uri',
    before: { jwksUri: URI },
    body: { changeMode: 'DELETE', jwks_uri: `${URI}/` },
    message: 'No key deleted',
    want: { jwksUri: URI },
  },
  {
    name: 'ignores the deletion of an unknown key',
    before: { jwks: text(key('a')) },
    body: { changeMode: 'DELETE', kid: 'b' },
    message: 'No key deleted',
    want: { jwks: text(key('a')) },
  },
  {
    name: 'deletes nothing for an empty body',
    before: { jwksUri: URI },
    body: { changeMode: 'DELETE' },
    message: 'No key deleted',
    want: { jwksUri: URI },
  },
  {
    name: 'ignores a deletion if there are no keys',
    body: { changeMode: 'DELETE', kid: 'a' },
    message: 'No key deleted',
    want: {},
  },
]

interface Refused {
  readonly name: string
  readonly body: unknown
  readonly description: string | RegExp
}
const CANNOT = 'Client jwt configuration cannot be parsed'
const MANY = 'Invalid private_key_jwt: jwk set is empty of exceeds to maximum of keys. max: + 10'
const list = (count: number): readonly Members[] => Array.from({ length: count }, (_, index) => key(`k${index}`))
const refused: readonly Refused[] = [
  // Covers PUT /oauth/clients/{client_id}/clientjwt: error: cannot be parsed
  { name: 'invalid JSON as jwks', body: { jwks: '{' }, description: CANNOT },
  { name: 'an empty string as jwks', body: { jwks: '' }, description: CANNOT },
  { name: 'jwks as an object', body: { jwks: { keys: [key('a')] } }, description: CANNOT },
  { name: 'keys that are not objects', body: { jwks: '{"keys":[1]}' }, description: CANNOT },
  { name: 'a symmetric key', body: { jwks: JSON.stringify({ kty: 'oct', k: 'AAAA', kid: 'a' }) }, description: CANNOT },
  { name: 'a key without kty', body: { jwks: '{"kid":"a"}' }, description: CANNOT },
  { name: 'an empty list of keys', body: { jwks: '{"keys":[]}' }, description: MANY },
  { name: 'eleven keys', body: { jwks: text(...list(11)) }, description: MANY },
  // Covers PUT /oauth/clients/{client_id}/clientjwt: error: number of keys
  { name: 'ten keys beside an existing one', body: { jwks: text(...list(10)) }, description: MANY },
  // Covers PUT /oauth/clients/{client_id}/clientjwt: error: kid required
  {
    name: 'a key without a kid',
    body: { jwks: JSON.stringify({ kty: 'RSA' }) },
    description: 'Invalid private_key_jwt: kid is required attribute',
  },
  ...['', ' '].map(kid => ({
    name: `a key with the kid ${JSON.stringify(kid)}`,
    body: { jwks: JSON.stringify(key(kid)) },
    description: 'Invalid private_key_jwt: kid is required attribute',
  })),
  // Covers PUT /oauth/clients/{client_id}/clientjwt: error: duplicate kid
  {
    name: 'two keys with the same kid',
    body: { jwks: text(key('x'), key('x')) },
    description: 'Invalid private_key_jwt: duplicate kid in JWKSet not allowed',
  },
  // Covers PUT /oauth/clients/{client_id}/clientjwt: error: not absolute
  {
    name: 'a relative jwks_uri',
    body: { jwks_uri: '/keys' },
    description: 'Invalid private_key_jwt: jwks_uri must be an absolute URL',
  },
  // Covers PUT /oauth/clients/{client_id}/clientjwt: error: scheme
  {
    name: 'a jwks_uri with another scheme',
    body: { jwks_uri: 'ftp://a.example/' },
    description: 'Invalid private_key_jwt: jwks_uri must be either using https or http',
  },
  // Covers PUT /oauth/clients/{client_id}/clientjwt: error: http not on localhost
  {
    name: 'an http jwks_uri that is not on localhost',
    body: { jwks_uri: 'http://a.example/' },
    description: 'Invalid private_key_jwt: jwks_uri with http is not on localhost',
  },
  {
    name: 'a malformed jwks_uri',
    body: { jwks_uri: 'https://a b' },
    description: 'Client jwt configuration with invalid URI',
  },
  // Covers PUT /oauth/clients/{client_id}/clientjwt: error: invalid URI
  {
    name: 'a jwks_uri that is not a string',
    body: { jwks_uri: 5 },
    description: 'Client jwt configuration with invalid URI',
  },
  {
    name: 'a kid that is not a string',
    body: { changeMode: 'DELETE', kid: 5 },
    description: 'Invalid jwt configuration configuration',
  },
  { name: 'invalid jwks to delete', body: { changeMode: 'DELETE', jwks: 'x' }, description: CANNOT },
  {
    name: 'an unknown changeMode',
    body: { changeMode: 'REPLACE', jwks_uri: URI },
    description: 'Invalid jwt configuration configuration',
  },
  {
    name: 'a changeMode in lower case',
    body: { changeMode: 'add', jwks_uri: URI },
    description: 'Invalid jwt configuration configuration',
  },
  {
    name: 'a changeMode that is not a string',
    body: { changeMode: 1, jwks_uri: URI },
    description: 'Invalid jwt configuration configuration',
  },
  {
    name: 'an empty UPDATE',
    body: { changeMode: 'UPDATE' },
    description: 'Invalid jwt configuration configuration',
  },
]

const entry = { sub: 'domain-client-id', iss: 'https://any.domain.example' }
const another = { ...entry, sub: 'another', aud: 'a' }
const ADDED_ENTRY = 'Federated client jwt configuration is added'
const UPDATED_ENTRY = 'Federated client jwt configuration updated'
const DELETED_ENTRY = 'Federated client jwt configuration is deleted'
const NO_ENTRY = 'Invalid federated jwt credentials'
const NO_URL = 'jwt_creds has an iss that is not an https URL without user, query and fragment'
const tenEntries = Array.from({ length: 10 }, (_, index) => ({ ...entry, sub: `s${index}` }))

interface CredentialChange {
  readonly name: string
  readonly before: readonly JwtCredential[]
  readonly body: Members
  /** The message and the resulting entries, or the error description. */
  readonly want: readonly [message: string, after: readonly JwtCredential[]] | string
}
const credentialChanges: readonly CredentialChange[] = [
  // Covers PUT /oauth/clients/{client_id}/clientjwt: iss; sub; aud
  { name: 'adds an entry', before: [], body: entry, want: [ADDED_ENTRY, [entry]] },
  { name: 'adds a second entry', before: [entry], body: another, want: [ADDED_ENTRY, [entry, another]] },
  { name: 'accepts an entry that exists', before: [entry], body: entry, want: [ADDED_ENTRY, [entry]] },
  {
    name: 'treats null as absent beside an entry',
    before: [],
    body: { ...entry, aud: null, jwks: null, jwks_uri: null, kid: null },
    want: [ADDED_ENTRY, [entry]],
  },
  {
    name: 'changes the audience of an entry',
    before: [entry, another],
    body: { ...entry, aud: 'b', changeMode: 'UPDATE' },
    want: [UPDATED_ENTRY, [{ ...entry, aud: 'b' }, another]],
  },
  {
    name: 'adds a new entry by UPDATE',
    before: [],
    body: { ...entry, changeMode: 'UPDATE' },
    want: [UPDATED_ENTRY, [entry]],
  },
  {
    name: 'deletes an entry regardless of its audience',
    before: [entry, another],
    body: { ...another, aud: undefined, changeMode: 'DELETE' },
    want: [DELETED_ENTRY, [entry]],
  },
  {
    name: 'deletes the last entry',
    before: [entry],
    body: { ...entry, changeMode: 'DELETE' },
    want: [DELETED_ENTRY, []],
  },
  {
    name: 'deletes all entries by *',
    before: [entry, another],
    body: { iss: '*', sub: '*', changeMode: 'DELETE' },
    want: [DELETED_ENTRY, []],
  },
  {
    name: 'does not delete by a wildcard issuer alone',
    before: [entry],
    body: { ...entry, iss: '*', changeMode: 'DELETE' },
    want: ['No key deleted', [entry]],
  },
  // Covers PUT /oauth/clients/{client_id}/clientjwt: error: invalid entry of jwt_creds
  { name: 'refuses an entry without sub', before: [entry], body: { iss: entry.iss }, want: NO_ENTRY },
  { name: 'refuses an entry without iss', before: [entry], body: { sub: 's' }, want: NO_ENTRY },
  { name: 'refuses an audience alone', before: [entry], body: { aud: 'a' }, want: NO_ENTRY },
  { name: 'refuses an iss that is not a string', before: [], body: { ...entry, iss: 5 }, want: NO_ENTRY },
  { name: 'refuses an iss that is not a URL', before: [], body: { ...entry, iss: 'issuer' }, want: NO_URL },
  {
    name: 'refuses to delete by an issuer alone',
    before: [entry],
    body: { iss: entry.iss, changeMode: 'DELETE' },
    want: NO_ENTRY,
  },
  {
    name: 'refuses an entry beside keys',
    before: [],
    body: { ...entry, jwks_uri: URI },
    want: 'Invalid jwt configuration configuration',
  },
  {
    name: 'refuses an entry with an unknown changeMode',
    before: [],
    body: { ...entry, changeMode: 'REPLACE' },
    want: 'Invalid jwt configuration configuration',
  },
  {
    name: 'refuses to add an entry with another audience',
    before: [entry],
    body: { ...entry, aud: 'b' },
    want: 'jwt_creds has this iss and sub with another aud: change it with the changeMode UPDATE',
  },
  { name: 'refuses an eleventh entry', before: tenEntries, body: entry, want: 'jwt_creds has more than 10 entries' },
  {
    name: 'refuses this server as the issuer',
    before: [],
    body: { ...entry, iss: 'http://z1.localhost:8080/oauth/token' },
    want: 'jwt_creds must not name this server; use jwks_uri for a client that signs with keys of its own',
  },
]

for (const mode of MODES) {
  // Covers audit trail: ClientJwtChangeSuccess
  describe(`PUT /oauth/clients/{client_id}/clientjwt in ${mode}`, () => {
    let server: TestServer
    let admin: string
    before(async () => {
      server = await startServer({ mode, config: { bootstrap } })
      admin = await tokenOf(server, 'admin')
    })
    after(async () => {
      assert.deepEqual(server.faults, [])
      await server.stop()
    })
    beforeEach(() => reset(server, {}))

    for (const { name, before: keys = {}, body, message, want } of changes) {
      it(name, async () => {
        await reset(server, keys)
        const { jwks: _, jwksUri: __, ...others } = await clientNamed(server, 'app')
        const answer = await put(server, 'app', body, { bearer: admin })
        assert.deepEqual([answer.status, answer.json()], [200, { status: 'ok', message }])
        assert.deepEqual(await keysOf(server), want)
        const { jwks: ___, jwksUri: ____, ...left } = await clientNamed(server, 'app')
        assert.deepEqual(left, others)
        const event = server.events.at(-1)
        assert.deepEqual([event?.type, event?.principal, event?.clientId], ['ClientJwtChangeSuccess', 'app', 'admin'])
      })
    }

    for (const { name, body, description } of refused) {
      // Covers audit trail: ClientJwtChangeFailure
      it(`refuses ${name}`, async () => {
        const existing = { jwks: text(key('there')) }
        await reset(server, existing)
        const answer = await put(server, 'app', body, { bearer: admin })
        assert.deepEqual([answer.status, answer.json()['error']], [400, 'invalid_client'])
        assert.equal(answer.json()['error_description'], description)
        assert.deepEqual(await keysOf(server), existing)
        const event = server.events.at(-1)
        assert.deepEqual([event?.type, event?.principal, event?.clientId], ['ClientJwtChangeFailure', 'app', 'admin'])
      })
    }

    for (const { name, before: existing, body, want } of credentialChanges) {
      it(name, async () => {
        await changeClient(server, 'app', { jwtCreds: existing })
        const { jwtCreds: _, ...others } = await clientNamed(server, 'app')
        const answer = await put(server, 'app', body, { bearer: admin })
        const { jwtCreds: after = [], ...left } = await clientNamed(server, 'app')
        assert.deepEqual(left, others)
        const event = server.events.at(-1)
        assert.deepEqual([event?.principal, event?.clientId], ['app', 'admin'])
        if (typeof want === 'string') {
          assert.deepEqual([answer.status, answer.json()['error']], [400, 'invalid_client'])
          assert.equal(answer.json()['error_description'], want)
          assert.deepEqual(after, existing)
          assert.equal(event?.type, 'ClientJwtChangeFailure')
          return
        }
        assert.deepEqual([answer.status, answer.json()], [200, { status: 'ok', message: want[0] }])
        assert.deepEqual(after, want[1])
        assert.equal(event?.type, 'ClientJwtChangeSuccess')
      })
    }

    for (const body of ['', '[]', '5', 'null', '{', '{"__proto__":{}}']) {
      it(`refuses the body ${JSON.stringify(body)}`, async () => {
        const answer = await put(server, 'app', body, { bearer: admin })
        assert.deepEqual([answer.status, answer.json()['error']], [400, 'invalid_request'])
        assert.deepEqual(await keysOf(server), {})
      })
    }

    it('refuses a form', async () => {
      const headers = { 'content-type': 'application/x-www-form-urlencoded' }
      assert.equal((await put(server, 'app', 'jwks_uri=https://a.example', { bearer: admin, headers })).status, 400)
    })

    it('rejects a body of 70 kB', async () => {
      assert.equal((await put(server, 'app', { jwks: 'x'.repeat(70_000) }, { bearer: admin })).status, 413)
    })

    // Covers PUT /oauth/clients/{client_id}/clientjwt: error: not found
    it('answers 404 for unknown clients, without their id in the audit log', async () => {
      for (const id of ['nobody', 'APP', '../app', '%', 'a\0b']) {
        const answer = await put(server, id, { jwks_uri: URI }, { bearer: admin })
        assertNotFound(answer, mode)
        const event = server.events.at(-1)
        assert.equal(event?.type, 'ClientJwtChangeFailure')
        assert.notEqual(event.principal, id)
      }
    })

    for (const id of ['admin', 'clients-admin', 'zone-admin']) {
      it(`allows ${id}`, async () => {
        const answer = await put(server, 'app', { jwks_uri: URI }, { bearer: await tokenOf(server, id) })
        assert.equal(answer.status, 200, answer.text)
      })
    }

    // Covers PUT /oauth/clients/{client_id}/clientjwt: error: another client
    it('allows a trusted client to change only itself', async () => {
      const bearer = await tokenOf(server, 'trusted')
      assert.equal((await put(server, 'trusted', { jwks_uri: URI }, { bearer })).status, 200)
      for (const other of ['app', 'nobody', 'TRUSTED']) {
        const answer = await put(server, other, { jwks_uri: URI }, { bearer })
        assert.equal(answer.status, 400)
        assert.deepEqual(answer.json(), {
          error: 'invalid_client',
          error_description: "Bad request. Not permitted to change another client's secret",
        })
        const event = server.events.at(-1)
        assert.deepEqual([event?.type, event?.principal === other], ['ClientJwtChangeFailure', other === 'app'])
      }
      assert.deepEqual(await keysOf(server), {})
    })

    it('rejects users of a trusted client', async () => {
      const form = { grant_type: 'password', username: 'marissa', password: 'koala' }
      const basic = ['web-trusted', 'web-trusted-secret'] as const
      const { access_token: bearer } = tokensOf(await server.token(form, { basic }))
      assert.equal((await put(server, 'web-trusted', { jwks_uri: URI }, { bearer })).status, 400)
    })

    it('rejects other callers, naming the required scopes', async () => {
      for (const id of ['reader', 'service', 'foreign-zone-admin']) {
        const answer = await put(server, id, { jwks_uri: URI }, { bearer: await tokenOf(server, id) })
        assert.deepEqual([answer.status, answer.json()['error']], [403, 'insufficient_scope'])
        assert.equal(answer.json()['scope'], 'svc.admin clients.trust clients.admin zones.svc.admin')
        assert.match(
          String(answer.headers['www-authenticate']),
          mode === 'uaa'
            ? /^Bearer error="insufficient_scope"/
            : /^Bearer realm="SVC\/oauth", error="insufficient_scope"/,
        )
      }
      for (const request of [{}, { bearer: 'x' }, { basic: ['admin', 'admin-secret'] as const }]) {
        assert.equal((await put(server, 'app', { jwks_uri: URI }, request)).status, 401)
      }
      assert.deepEqual(await keysOf(server), {})
    })

    it('is limited to the zone of the token', async () => {
      const foreign = await tokenOf(server, 'admin', { host: HOST_OF_Z1 })
      assert.equal((await put(server, 'app', { jwks_uri: URI }, { bearer: foreign })).status, 401)
      assert.equal((await put(server, 'app', { jwks_uri: URI }, { bearer: admin, host: HOST_OF_Z1 })).status, 401)
      assert.equal((await put(server, 'app', { jwks_uri: URI }, { bearer: foreign, host: HOST_OF_Z1 })).status, 200)
      assert.deepEqual(await keysOf(server), {})
      assert.equal((await server.store.clients.find('z1', 'app'))?.jwksUri, URI)
      // Effective in the default zone only.
      const pretender = await tokenOf(server, 'pretender', { host: HOST_OF_Z1 })
      assert.equal((await put(server, 'app', { jwks_uri: URI }, { bearer: pretender, host: HOST_OF_Z1 })).status, 403)
    })

    it('deletes keys at once', async () => {
      await changeClient(server, 'app', { jwksUri: URI })
      const bearer = await tokenOf(server, 'clients-admin')
      await put(server, 'app', { changeMode: 'DELETE', jwks_uri: '*' }, { bearer })
      assert.deepEqual(await keysOf(server), {})
    })
  })
}

for (const kind of DATABASE_KINDS) {
  describe(`Concurrent changes of client keys on ${kind}`, () => {
    it('are all stored, even by different processes', async () => {
      const database = await freshDatabase(kind)
      const first = await startServer({ database: database.url, config: { bootstrap } })
      const second = await startServer({ database: database.url, config: { bootstrap }, clock: first.clock })
      try {
        const bearer = await tokenOf(first, 'admin')
        const answers = await Promise.all(
          list(10).map((each, index) => put(index % 2 ? first : second, 'app', { jwks: text(each) }, { bearer })),
        )
        assert.deepEqual(new Set(answers.map(({ status }) => status)), new Set([200]))
        const { after: kept } = (await first.store.clients.changeKeys('svc', 'app', keys => keys)) ?? {}
        const { keys } = JSON.parse(kept?.jwks ?? '{}') as { keys: readonly Members[] } // the stored JSON
        assert.deepEqual(
          keys.map(({ kid }) => kid).toSorted((a, b) => String(a).localeCompare(String(b))),
          list(10).map(({ kid }) => kid),
        )
      } finally {
        await first.stop()
        await second.stop()
        await database.drop()
      }
    })
  })
}
