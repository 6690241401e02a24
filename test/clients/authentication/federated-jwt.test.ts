import assert from 'node:assert/strict'
import { createHmac, generateKeyPairSync } from 'node:crypto'
import type { KeyObject } from 'node:crypto'
import { createServer } from 'node:http'
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, afterEach, before, describe, it } from 'node:test'
import { CompactSign, decodeJwt } from 'jose'
import { epochSeconds } from '../../../src/base/clock.ts'
import { changeClient, MODES, passwordTokens, refused, tokensOf } from '../../support/oauth.ts'
import type { Refusal } from '../../support/oauth.ts'
import { rsaKeys } from '../../support/rsa-keys.ts'
import type { TestAnswer, TestRequest, TestServer } from '../../support/server.ts'
import { defaultBootstrap, startServer } from '../../support/server.ts'

type Members = Readonly<Record<string, unknown>>
type Form = Readonly<Record<string, string>>

const TYPE = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer'
const DISCOVERY = '/.well-known/openid-configuration'
const pairs = {
  rsa: rsaKeys(),
  ec: generateKeyPairSync('ec', { namedCurve: 'P-256' }),
  stranger: rsaKeys(),
}
const jwk = (name: keyof typeof pairs): Members => ({
  ...pairs[name].publicKey.export({ format: 'jwk' }),
  kid: name,
})
const SUBJECT = 'repo:acme/deploy:ref:refs/heads/main'
const AUDIENCE = 'https://deployments.example'

/** The platform that issues the tokens: its documents by path, and the requests it received. */
interface Platform {
  readonly host: Server
  readonly url: string
  readonly asked: string[]
  readonly pages: Map<string, (response: ServerResponse) => void>
}

const json = (value: unknown) => (response: ServerResponse) => void response.end(JSON.stringify(value))

async function startPlatform(): Promise<Platform> {
  const pages: Platform['pages'] = new Map()
  const asked: string[] = []
  const host = createServer(({ url = '' }: IncomingMessage, response) => {
    asked.push(url)
    const page = pages.get(url) ?? (answer => void answer.writeHead(404).end('{}'))
    page(response)
  })
  await new Promise<void>(resolve => host.listen(0, '127.0.0.1', resolve))
  const { port } = host.address() as AddressInfo // no pipe
  return { host, url: `http://127.0.0.1:${port}`, asked, pages }
}

/** Publishes an issuer below the platform with these keys and returns its identifier. */
function publish({ url, pages }: Platform, path: string, ...keys: readonly Members[]): string {
  pages.set(path + DISCOVERY, json({ issuer: url + path, jwks_uri: `${url}${path}/keys` }))
  pages.set(`${path}/keys`, json({ keys }))
  return url + path
}

const bootstrapOf = (iss: string, { clients = [] }: { readonly clients?: readonly Members[] } = {}) => {
  const service = { authorized_grant_types: ['client_credentials'], authorities: ['jobs.run', 'svc.resource'] }
  const trusting = (id: string, ...entries: readonly Members[]): Members => ({
    client_id: id,
    ...service,
    jwt_creds: entries.map(entry => ({ iss, sub: SUBJECT, ...entry })),
  })
  return {
    ...defaultBootstrap,
    clients: [
      ...defaultBootstrap.clients,
      trusting('deployer', {}, { sub: 'second' }),
      trusting('twin', {}),
      trusting('audience', { aud: AUDIENCE }),
      { ...trusting('es', {}), token_endpoint_auth_signing_alg: 'ES256' },
      { ...trusting('secret-only', {}), token_endpoint_auth_method: 'client_secret_basic', client_secret: 's' },
      { ...trusting('signer', {}), token_endpoint_auth_method: 'private_key_jwt' },
      { ...trusting('fapi', {}), profile: 'fapi2-security' },
      trusting('slash', { iss: `${iss}/` }),
      trusting('absent', { iss: new URL('/absent', iss).href }),
      trusting('other-name', { iss: new URL('/other-name', iss).href }),
      trusting('no-document', { iss: new URL('/no-document', iss).href }),
      trusting('large', { iss: new URL('/large', iss).href }),
      trusting('inner-keys', { iss: new URL('/inner-keys', iss).href }),
      trusting('inner', { iss: 'https://10.0.0.1' }),
      // As a JSON string, like in UAA's configuration file.
      { client_id: 'texted', ...service, jwt_creds: JSON.stringify([{ iss, sub: SUBJECT }]) },
      ...clients,
    ],
    identity_zones: [
      {
        id: 'z1',
        subdomain: 'z1',
        name: 'Zone 1',
        bootstrap: { clients: [trusting('deployer', {}), trusting('only-here', {})] },
      },
    ],
  }
}

interface Parts {
  readonly claims?: Members
  readonly header?: Members
  readonly key?: KeyObject
}

/** A valid token of the platform, with these changes. */
async function tokenOf(server: TestServer, iss: string, { claims, header, key }: Parts = {}): Promise<string> {
  const now = epochSeconds(server.clock.now())
  const usual = { iss, sub: SUBJECT, aud: `${server.baseUrl}/oauth/token`, iat: now, nbf: now, exp: now + 300 }
  return new CompactSign(Buffer.from(JSON.stringify({ ...usual, ...claims })))
    .setProtectedHeader({ alg: 'RS256', kid: 'rsa', typ: 'JWT', ...header })
    .sign(key ?? pairs.rsa.privateKey)
}

const formOf = (assertion: string, clientId = 'deployer'): Form => ({
  grant_type: 'client_credentials',
  client_assertion_type: TYPE,
  client_assertion: assertion,
  client_id: clientId,
})

interface Case {
  readonly name: string
  readonly clientId?: string
  /** Changed claims, by the current time, the server's URL and the issuer. */
  readonly claims?: (now: number, base: string, iss: string) => Members
  readonly header?: Members
  readonly key?: KeyObject
}

const accepted: readonly Case[] = [
  // Covers client authentication private_key_jwt: rule: `jwt_creds` of the client has its iss and sub
  { name: 'for the token endpoint' },
  { name: 'matching the second entry', claims: () => ({ sub: 'second' }) },
  // Covers configuration file: bootstrap.clients[]: jwt_creds
  { name: 'matching an entry configured as a JSON string', clientId: 'texted' },
  {
    name: 'for this server and others',
    claims: (_, base) => ({ aud: ['https://a.example', `${base}/oauth/token`] }),
  },
  // Covers client authentication private_key_jwt: rule: aud of the entry
  { name: 'for the audience of the entry', clientId: 'audience', claims: () => ({ aud: AUDIENCE }) },
  {
    name: 'for the audience of the entry and others',
    clientId: 'audience',
    claims: () => ({ aud: ['https://a.example', AUDIENCE] }),
  },
  { name: 'without iat and nbf', claims: () => ({ iat: undefined, nbf: undefined }) },
  { name: 'that is an access token', header: { typ: 'at+jwt' } },
  { name: 'that is a JWT-SVID', header: { typ: 'JOSE' } },
  { name: 'without a type', header: { typ: undefined } },
  { name: 'with a lifetime of a day', claims: now => ({ exp: now + 86_400 }) },
  { name: 'signed with ES256', header: { alg: 'ES256', kid: 'ec' }, key: pairs.ec.privateKey },
  {
    name: 'signed with the algorithm the client requires',
    clientId: 'es',
    header: { alg: 'ES256', kid: 'ec' },
    key: pairs.ec.privateKey,
  },
  { name: 'of a client with private_key_jwt only', clientId: 'signer' },
]

const UNTRUSTED = 'Untrusted client_assertion'
const UNAUTHORIZED = 'Unauthorized client_assertion'

interface Rejected extends Case {
  readonly description: string
  /** The reason in the log. */
  readonly detail?: RegExp
}

const rejected: readonly Rejected[] = [
  { name: 'of an unknown client', clientId: 'nobody', description: UNTRUSTED, detail: /no jwt_creds with iss/ },
  { name: 'of a client without jwt_creds', clientId: 'service', description: UNTRUSTED, detail: /no jwt_creds/ },
  { name: 'of a client of another zone', clientId: 'only-here', description: UNTRUSTED, detail: /no jwt_creds/ },
  { name: 'of another subject', claims: () => ({ sub: `${SUBJECT}2` }), description: UNTRUSTED, detail: /and sub/ },
  { name: 'of the subject in another case', claims: () => ({ sub: SUBJECT.toUpperCase() }), description: UNTRUSTED },
  { name: 'of the subject with a space', claims: () => ({ sub: `${SUBJECT} ` }), description: UNTRUSTED },
  { name: 'of another issuer', claims: () => ({ iss: 'https://other.example' }), description: UNTRUSTED },
  { name: 'of the issuer with a trailing slash', claims: (_, __, iss) => ({ iss: `${iss}/` }), description: UNTRUSTED },
  {
    name: 'of an issuer with a trailing slash missing from its document',
    clientId: 'slash',
    claims: (_, __, iss) => ({ iss: `${iss}/` }),
    description: UNTRUSTED,
    detail: /discovery document has another issuer/,
  },
  {
    name: 'for another audience',
    claims: () => ({ aud: 'https://other.example' }),
    description: UNTRUSTED,
    detail: /the audience of the assertion is not this server/,
  },
  {
    name: 'for another zone',
    claims: (_, base) => ({ aud: `${base.replace('//', '//z1.')}/oauth/token` }),
    description: UNTRUSTED,
  },
  {
    name: 'for this server if the entry has another audience',
    clientId: 'audience',
    description: UNTRUSTED,
    detail: /the audience of the assertion is not "https:\/\/deployments.example"/,
  },
  {
    name: 'for the audience of another client',
    claims: () => ({ aud: AUDIENCE }),
    description: UNTRUSTED,
  },
  ...['iss', 'sub', 'aud', 'exp'].map(claim => ({
    name: `without ${claim}`,
    claims: () => ({ [claim]: undefined }),
    description: 'Bad credentials',
  })),
  { name: 'with an empty list of audiences', claims: () => ({ aud: [] }), description: 'Bad credentials' },
  {
    name: 'that expired',
    claims: now => ({ exp: now - 60 }),
    description: UNAUTHORIZED,
    detail: /client deployer: the assertion has expired/,
  },
  { name: 'issued in the future', claims: now => ({ iat: now + 61 }), description: UNAUTHORIZED, detail: /the future/ },
  { name: 'that is not valid yet', claims: now => ({ nbf: now + 61 }), description: UNAUTHORIZED },
  {
    name: 'with a lifetime of more than a day',
    claims: now => ({ exp: now + 86_461 }),
    description: UNAUTHORIZED,
    detail: /lifetime of the assertion is too long/,
  },
  { name: 'with an exp of 1e300', claims: () => ({ exp: 1e300 }), description: UNAUTHORIZED },
  ...['logout+jwt', 'secevent+jwt', 'application/dpop+jwt', 7].map(typ => ({
    name: `of the type ${typ}`,
    header: { typ },
    description: UNAUTHORIZED,
    detail: /another kind of JWT/,
  })),
  { name: 'with an unknown key', header: { kid: 'nobody' }, description: UNTRUSTED, detail: /no usable key matches/ },
  { name: 'with a key of another kind', header: { kid: 'ec' }, description: UNTRUSTED },
  {
    name: 'signed with another key',
    key: pairs.stranger.privateKey,
    description: UNTRUSTED,
    detail: /the signature of the assertion is invalid/,
  },
  {
    name: 'with its own key in the header',
    header: { jwk: jwk('stranger') },
    key: pairs.stranger.privateKey,
    description: UNTRUSTED,
  },
  {
    name: 'with another algorithm than the client requires',
    clientId: 'es',
    description: UNTRUSTED,
    detail: /the algorithm of the assertion is not ES256/,
  },
  {
    name: 'of a client with client_secret_basic only',
    clientId: 'secret-only',
    description: 'This client must authenticate by client_secret_basic',
  },
  // FAPI 2.0 Security Profile §5.3.2.1
  { name: 'of a FAPI client', clientId: 'fapi', description: UNTRUSTED, detail: /keys of the client/ },
  ...(
    [
      ['absent', /answered 404/],
      ['other-name', /discovery document has another issuer/],
      ['no-document', /not a discovery document/],
      ['large', /127\.0\.0\.1/],
      ['inner-keys', /not allowed/],
    ] as const
  ).map(([clientId, detail]) => ({
    name: `of an issuer with invalid discovery: ${clientId}`,
    clientId,
    claims: (_: number, __: string, iss: string) => ({ iss: new URL(`/${clientId}`, iss).href }),
    description: UNTRUSTED,
    detail,
  })),
  {
    name: 'of an issuer in a private network',
    clientId: 'inner',
    claims: () => ({ iss: 'https://10.0.0.1' }),
    description: UNTRUSTED,
    detail: /not allowed/,
  },
]

const CHALLENGE = 'Basic realm="SVC/client", error="unauthorized", error_description="Bad credentials"'
const refusalOf = (description: string): Refusal => ({ want: '401 invalid_client', description, challenge: CHALLENGE })

for (const mode of MODES) {
  describe(`Client authentication by a JWT of a trusted issuer in ${mode}`, () => {
    let platform: Platform
    let server: TestServer
    let iss: string
    before(async () => {
      platform = await startPlatform()
      iss = publish(platform, '/acme', jwk('rsa'), jwk('ec'))
      const { pages, url } = platform
      pages.set(`/other-name${DISCOVERY}`, json({ issuer: iss, jwks_uri: `${iss}/keys` }))
      pages.set(`/no-document${DISCOVERY}`, json({ issuer: `${url}/no-document` }))
      pages.set(`/large${DISCOVERY}`, json({ issuer: `${url}/large`, more: 'x'.repeat(70_000) }))
      pages.set(`/inner-keys${DISCOVERY}`, json({ issuer: `${url}/inner-keys`, jwks_uri: 'https://10.0.0.1/keys' }))
      server = await startServer({ mode, config: { bootstrap: bootstrapOf(iss) } })
    })
    after(async () => {
      platform.host.closeAllConnections()
      platform.host.close()
      assert.deepEqual(server.faults, [])
      await server.stop()
    })
    const partsOf = ({ claims, header, key }: Case): Parts => ({
      claims: claims?.(epochSeconds(server.clock.now()), server.baseUrl, iss) ?? {},
      ...(header && { header }),
      ...(key && { key }),
    })
    const send = async (parts: Parts = {}, clientId = 'deployer', request: TestRequest = {}): Promise<TestAnswer> =>
      server.token(formOf(await tokenOf(server, iss, parts), clientId), request)

    for (const each of accepted) {
      it(`accepts a JWT ${each.name}`, async () => {
        const claims = decodeJwt(tokensOf(await send(partsOf(each), each.clientId)).access_token)
        assert.equal(claims['client_id'], each.clientId ?? 'deployer')
        assert.equal(claims['sub'], each.clientId ?? 'deployer')
        assert.equal(claims['client_auth_method'], 'private_key_jwt')
      })
    }

    for (const { description, detail, ...each } of rejected) {
      // Covers client authentication private_key_jwt: error: not trusted by `jwt_creds`
      it(`refuses a JWT ${each.name}`, async () => {
        const jwt = await tokenOf(server, iss, partsOf(each))
        const from = server.refusals.length
        await refused(server, mode, () => server.token(formOf(jwt, each.clientId)), refusalOf(description))
        if (detail) assert.match(server.refusals.slice(from).join('\n'), detail)
      })
    }

    for (const alg of ['none', 'HS256', '']) {
      it(`refuses the algorithm ${JSON.stringify(alg)}`, async () => {
        const [, claims = ''] = (await tokenOf(server, iss)).split('.')
        const data = `${Buffer.from(JSON.stringify({ alg, kid: 'rsa' })).toString('base64url')}.${claims}`
        const secret = pairs.rsa.publicKey.export({ type: 'spki', format: 'pem' }) // the public key
        for (const signature of ['', createHmac('sha256', secret).update(data).digest('base64url')]) {
          const form = formOf(`${data}.${signature}`)
          await refused(server, mode, () => server.token(form), refusalOf('Bad client_assertion algorithm'))
        }
      })
    }

    it('requires client_id, which selects among clients that trust the same subject', async () => {
      const jwt = await tokenOf(server, iss)
      for (const clientId of ['deployer', 'twin']) {
        const claims = decodeJwt(tokensOf(await server.token(formOf(jwt, clientId))).access_token)
        assert.equal(claims['client_id'], clientId)
      }
      for (const clientId of ['', 'Deployer']) {
        const description = clientId === '' ? 'Bad credentials' : UNTRUSTED
        await refused(server, mode, () => server.token(formOf(jwt, clientId)), refusalOf(description))
      }
    })

    it('accepts a JWT repeatedly until it expires', async () => {
      const jwt = await tokenOf(server, iss, { claims: { jti: 'one' } })
      for (let use = 0; use < 3; use += 1) tokensOf(await server.token(formOf(jwt)))
    })

    it('accepts the issuer as audience in standard only (C3)', async () => {
      const answer = await send({ claims: { aud: server.baseUrl } })
      assert.equal(answer.status, mode === 'standard' ? 200 : 401)
    })

    it('is supported at introspection in standard only (C1)', async () => {
      const { access_token: token } = await passwordTokens(server)
      const { grant_type: _, ...form } = formOf(await tokenOf(server, iss))
      const answer = await server.send('/introspect', { form: { ...form, token } })
      if (mode === 'standard') assert.equal(answer.json()['active'], true)
      else assert.equal(answer.status, 401)
    })

    it('accepts a JWT only in the zone of its audience', async () => {
      const host = 'z1.localhost:8080'
      const aud = 'http://z1.localhost:8080/oauth/token'
      tokensOf(await send({ claims: { aud } }, 'deployer', { host }))
      await refused(server, mode, () => send({ claims: { aud } }), refusalOf(UNTRUSTED))
      await refused(server, mode, () => send({}, 'deployer', { host }), refusalOf(UNTRUSTED))
    })

    it('returns the same error for any cause of mistrust', async () => {
      const bad = { key: pairs.stranger.privateKey }
      const answers = [await send(bad, 'nobody'), await send(bad, 'service'), await send(bad)]
      answers.push(await send({ ...bad, claims: { iss: new URL('/absent', iss).href } }, 'absent'))
      answers.push(await send({ ...bad, claims: { aud: 'https://other.example' } }))
      assert.equal(new Set(answers.map(({ text }) => text)).size, 1)
    })

    it('refuses this server as issuer, even if it is in jwt_creds', async () => {
      const { issuer } = (await server.send(DISCOVERY)).json()
      const own = { iss: String(issuer), sub: 'service' }
      await changeClient(server, 'twin', { jwtCreds: [own, { ...own, iss: 'http://z1.localhost:8080/oauth/token' }] })
      for (const claims of [own, { ...own, iss: 'http://z1.localhost:8080/oauth/token' }]) {
        const from = server.refusals.length
        await refused(server, mode, () => send({ claims }, 'twin'), refusalOf(UNTRUSTED))
        assert.match(server.refusals.slice(from).join('\n'), /its issuer is this server/)
      }
    })

    // Covers audit trail: rule: ClientAuthenticationSuccess names the iss and sub that `jwt_creds` trusts
    it('records issuer and subject in the audit log after verification', async () => {
      const from = server.events.length
      tokensOf(await send())
      await send({ key: pairs.stranger.privateKey })
      const [success, , failure] = server.events.slice(from)
      assert.deepEqual([success?.type, success?.principal], ['ClientAuthenticationSuccess', 'deployer'])
      assert.deepEqual(JSON.parse(success?.data ?? ''), { iss, sub: SUBJECT })
      assert.deepEqual([failure?.type, failure?.data], ['ClientAuthenticationFailure', undefined])
    })
  })
}

describe('Keys of a trusted issuer', () => {
  let platform: Platform
  let server: TestServer
  let iss: string
  before(async () => {
    platform = await startPlatform()
    iss = publish(platform, '/acme', jwk('rsa'))
    server = await startServer({ config: { bootstrap: bootstrapOf(iss) } })
  })
  after(async () => {
    platform.host.closeAllConnections()
    platform.host.close()
    await server.stop()
  })
  afterEach(() => {
    publish(platform, '/acme', jwk('rsa'))
    server.clock.advance(2 * 86_400)
  })
  const send = async (parts: Parts = {}, clientId = 'deployer'): Promise<string> => {
    const answer = await server.token(formOf(await tokenOf(server, iss, parts), clientId))
    return answer.status === 200 ? 'good' : String(answer.json()['error_description'])
  }
  const asked = async (work: () => Promise<void>): Promise<readonly string[]> => {
    const from = platform.asked.length
    await work()
    return platform.asked.slice(from)
  }
  const BOTH = [`/acme${DISCOVERY}`, '/acme/keys']

  it('are fetched once for concurrent requests, and cached', async () => {
    const paths = await asked(async () => {
      assert.deepEqual(new Set(await Promise.all(Array.from({ length: 8 }, () => send()))), new Set(['good']))
      assert.equal(await send({}, 'twin'), 'good')
    })
    assert.deepEqual(paths, BOTH)
  })

  // Covers client authentication private_key_jwt: rule: keys of the issuer by its discovery document, fetched and cached
  it('are refetched for an unknown kid at most every 30 s', async () => {
    const newer = { header: { alg: 'ES256', kid: 'ec' }, key: pairs.ec.privateKey }
    const paths = await asked(async () => {
      assert.equal(await send(), 'good')
      publish(platform, '/acme', jwk('ec'))
      for (let attempt = 0; attempt < 5; attempt += 1) assert.equal(await send(newer), UNTRUSTED)
      server.clock.advance(30)
      assert.equal(await send(newer), 'good')
      assert.equal(await send(), UNTRUSTED)
    })
    assert.deepEqual(paths, [...BOTH, '/acme/keys'])
  })

  it('are not fetched for a JWT that is refused anyway', async () => {
    const paths = await asked(async () => {
      await send({}, 'nobody')
      await send({}, 'service')
      await send({ claims: { sub: 'other' } })
      await send({ claims: { aud: 'https://other.example' } })
      await send({ claims: { exp: 1 } })
      await send({ header: { typ: 'logout+jwt' } })
      await send({}, 'fapi')
      await send({}, 'es')
    })
    assert.deepEqual(paths, [])
  })

  it('are retried every 30 s while the issuer is down, and used stale for an hour', async () => {
    assert.equal(await send(), 'good')
    platform.pages.clear()
    server.clock.advance(10 * 60)
    const paths = await asked(async () => {
      for (let attempt = 0; attempt < 3; attempt += 1) assert.equal(await send(), 'good')
    })
    assert.deepEqual(paths, BOTH)
    server.clock.advance(3600)
    assert.equal(await send(), UNTRUSTED)
    assert.equal(await send(), UNTRUSTED)
    publish(platform, '/acme', jwk('rsa'))
    assert.equal(await send(), UNTRUSTED)
    server.clock.advance(30)
    assert.equal(await send(), 'good')
  })

  it('are fetched from a changed jwks_uri', async () => {
    assert.equal(await send(), 'good')
    const { pages, url } = platform
    pages.set(`/acme${DISCOVERY}`, json({ issuer: iss, jwks_uri: `${url}/elsewhere` }))
    pages.set('/elsewhere', json({ keys: [jwk('stranger')] }))
    server.clock.advance(10 * 60)
    assert.equal(await send(), UNTRUSTED)
    assert.equal(await send({ header: { kid: 'stranger' }, key: pairs.stranger.privateKey }), 'good')
  })
})
