import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { isDeepStrictEqual } from 'node:util'
import { decodeJwt } from 'jose'
import { sectorOf, sectorProblem } from '../../src/model/tokens/subject.ts'
import { authorize, signedIn } from '../support/authorize.ts'
import {
  changeUser,
  exchange,
  isAlive,
  MODES,
  refresh,
  RESOURCE,
  tokensOf,
  userNamed,
  verified,
} from '../support/oauth.ts'
import type { Tokens } from '../support/oauth.ts'
import type { Browser, TestServer } from '../support/server.ts'
import { defaultBootstrap, startServer } from '../support/server.ts'
import { caller, sendJson, tokenOf } from '../support/zones.ts'

const client = (id: string, host: string, more: object = {}) => ({
  client_id: id,
  client_secret: `${id}-secret`,
  authorized_grant_types: ['authorization_code', 'refresh_token', 'implicit'],
  scope: ['openid', 'profile'],
  redirect_uri: [`https://${host}/${id}`],
  post_logout_redirect_uris: [`https://${host}/bye`],
  autoapprove: true,
  subject_type: 'pairwise',
  ...more,
})

const bootstrap = {
  ...defaultBootstrap,
  clients: [
    ...defaultBootstrap.clients,
    client('one', 'shop.example'),
    client('two', 'shop.example'),
    client('other', 'other.example'),
    client('sector', 'third.example', {
      redirect_uri: ['https://third.example/sector', 'https://fourth.example/cb'],
      sector_identifier_uri: 'https://shop.example/sector.json',
    }),
    client('public', 'shop.example', { subject_type: 'public' }),
  ],
}

describe('Pairwise subjects', () => {
  let server: TestServer
  let browser: Browser
  let userId: string
  before(async () => {
    server = await startServer({ config: { bootstrap } })
    browser = await signedIn(server)
    ;({ id: userId } = await userNamed(server, 'marissa'))
  })
  after(async () => {
    assert.deepEqual(server.faults, [])
    await server.stop()
  })

  const hosts: Readonly<Record<string, string>> = { other: 'other.example', sector: 'third.example' }
  const request = (id: string, more: object = {}) => ({
    response_type: 'code',
    client_id: id,
    redirect_uri: `https://${hosts[id] ?? 'shop.example'}/${id}`,
    scope: 'openid profile',
    ...more,
  })
  const secret = (id: string) => [id, `${id}-secret`] as const
  async function tokens(id: string, form: Record<string, string> = {}): Promise<Tokens> {
    const code = (await authorize(browser, request(id))).location().searchParams.get('code') ?? ''
    const redirectUri = request(id).redirect_uri
    return tokensOf(await exchange(server, code, { redirect_uri: redirectUri, ...form }, secret(id)))
  }
  const subjectOf = async (id: string): Promise<unknown> =>
    (await verified(server, (await tokens(id)).id_token)).payload.sub

  // Covers later standards: pairwise subjects
  it('are equal within a sector, and differ between sectors', async () => {
    const [one, two, other, sector, again] = await Promise.all(['one', 'two', 'other', 'sector', 'one'].map(subjectOf))
    assert.match(String(one), /^[\w-]{43}$/)
    assert.equal(two, one)
    assert.equal(sector, one)
    assert.equal(again, one)
    assert.notEqual(other, one)
    assert.ok(![one, other].includes(userId))
  })

  it('replace user id and name in all tokens and userinfo', async () => {
    const issued = await tokens('one', { token_format: 'jwt' })
    const info = await server.send('/userinfo', { bearer: issued.access_token })
    assert.equal(info.json()['sub'], decodeJwt(issued.id_token).sub)
    const front = await authorize(browser, request('one', { response_type: 'code id_token token', nonce: 'n' }))
    const fragment = new URLSearchParams(front.location().hash.slice(1))
    const seen = [issued.access_token, issued.refresh_token, issued.id_token, fragment.get('access_token') ?? '']
    for (const token of [...seen, fragment.get('id_token') ?? '']) {
      assert.ok(token.length > 20)
      const parts = token.split('.').map(part => Buffer.from(part, 'base64url').toString('utf8'))
      assert.ok(!parts.join(' ').includes(userId), token)
    }
    assert.equal(issued.access_token.split('.').length, 1)
    assert.ok(!info.text.includes(userId))
    assert.equal(info.json()['user_name'], undefined)
    for (const claim of ['user_id', 'user_name', 'origin', 'rev_sig']) {
      assert.equal(decodeJwt(issued.id_token)[claim], undefined, claim)
    }
  })

  it('are not exposed by endpoints without scope, session_state or error descriptions', async () => {
    const there = await startServer({ config: { bootstrap } })
    const { id } = await userNamed(there, 'marissa')
    const { searchParams } = (await authorize(await signedIn(there), request('one'))).location()
    assert.equal(searchParams.get('session_state'), null)
    const refused = (await authorize(await signedIn(there), { ...request('one'), request: 'a.b.c' })).location()
    assert.equal(refused.searchParams.get('error'), 'invalid_request_object')
    assert.equal(refused.searchParams.get('session_state'), null)
    const form = { redirect_uri: request('one').redirect_uri }
    const issued = tokensOf(await exchange(there, searchParams.get('code') ?? '', form, secret('one')))
    const bearer = issued.access_token
    const reported = [await there.send('/scim/v2/Me', { bearer }), await there.send(`/Users/${id}`, { bearer })]
    await changeUser(there, 'marissa', { active: false })
    reported.push(
      await there.send('/userinfo', { bearer }),
      await refresh(there, issued.refresh_token, {}, secret('one')),
    )
    for (const { status, text, headers } of reported) {
      assert.ok([400, 401, 403].includes(status), text)
      assert.ok(!JSON.stringify([text, headers]).includes(id), text)
    }
    assert.deepEqual(there.faults, [])
    await there.stop()
  })

  it('leave no other claim by which two sectors can correlate users', async () => {
    for (const mode of MODES) {
      const zone_config = { protocols: { pairwiseSubjects: true } }
      const there = await startServer({ mode, config: { bootstrap, zone_config } })
      await signedIn(there) // sets the previous sign-in
      there.clock.advance(5)
      const visitor = await signedIn(there)
      const reported = async (id: string) => {
        const asked = await authorize(visitor, request(id, { scope: 'openid' }))
        const code = asked.location().searchParams.get('code') ?? ''
        const form = { redirect_uri: request(id).redirect_uri }
        const issued = tokensOf(await exchange(there, code, form, secret(id)))
        const info = await there.send('/userinfo', { bearer: issued.access_token })
        return { ...info.json(), ...decodeJwt(issued.id_token) }
      }
      const [one, other] = [await reported('one'), await reported('other')]
      const common = Object.keys(one).filter(name => isDeepStrictEqual(one[name], other[name]))
      // Claims of the request and the sign-in, in whole seconds.
      const harmless = new Set(['iss', 'iat', 'exp', 'auth_time', 'amr', 'acr', 'scope', 'zid', 'grant_type'])
      assert.deepEqual(
        common.filter(name => !harmless.has(name)),
        [],
        mode,
      )
      assert.deepEqual(there.faults, [])
      await there.stop()
    }
  })

  it('remain the same after refresh', async () => {
    const issued = await tokens('one')
    const refreshed = tokensOf(await refresh(server, issued.refresh_token, {}, secret('one')))
    assert.equal(decodeJwt(refreshed.id_token).sub, decodeJwt(issued.id_token).sub)
  })

  it('are not returned to resource servers, which receive the user id', async () => {
    const { access_token: token } = await tokens('one')
    assert.equal(await isAlive(server, token), true)
    const answer = await server.send('/introspect', { form: { token }, basic: RESOURCE })
    assert.equal(answer.json()['sub'], userId)
  })

  it('are accepted in id_token_hint', async () => {
    const { id_token: hint } = await tokens('one')
    const silent = { prompt: 'none', id_token_hint: hint }
    assert.ok((await authorize(browser, request('one', silent))).location().searchParams.get('code'))
    const joel = await signedIn(server, 'joel', 'wombat')
    const refused = await authorize(joel, request('one', silent))
    assert.equal(refused.location().searchParams.get('error'), 'login_required')
    const target = { id_token_hint: hint, post_logout_redirect_uri: 'https://shop.example/bye' }
    assert.equal((await joel.send('/logout.do', { query: target })).status, 200) // confirmation
    const leaving = await signedIn(server)
    const { id_token: own } = await (async () => {
      const code = (await authorize(leaving, request('one'))).location().searchParams.get('code') ?? ''
      return tokensOf(await exchange(server, code, { redirect_uri: 'https://shop.example/one' }, secret('one')))
    })()
    const gone = await leaving.send('/logout.do', { query: { ...target, id_token_hint: own } })
    assert.equal(gone.location().href, 'https://shop.example/bye')
  })

  it('are accepted in id_token_hint only from clients of the sector', async () => {
    const hints = { one: (await tokens('one')).id_token, public: (await tokens('public')).id_token }
    const answerTo = async (id: string, hint: string) => {
      const answer = await authorize(browser, request(id, { prompt: 'none', id_token_hint: hint }))
      const { searchParams } = answer.location()
      return searchParams.get('error_description') ?? (searchParams.has('code') ? 'a code' : answer.text)
    }
    assert.equal(await answerTo('two', hints.one), 'a code')
    for (const [id, hint] of [
      ['other', hints.one],
      ['public', hints.one],
      ['one', hints.public],
    ] as const) {
      assert.equal(await answerTo(id, hint), 'The id_token_hint was issued to a client that has other subjects.')
    }
  })

  it('are not used if they are disabled in the zone', async () => {
    const plain = await startServer({ config: { bootstrap, zone_config: { protocols: { pairwiseSubjects: false } } } })
    const there = await signedIn(plain)
    const code = (await authorize(there, request('one'))).location().searchParams.get('code') ?? ''
    const issued = tokensOf(await exchange(plain, code, { redirect_uri: 'https://shop.example/one' }, secret('one')))
    assert.equal(decodeJwt(issued.id_token).sub, (await userNamed(plain, 'marissa')).id)
    await plain.stop()
  })

  for (const mode of MODES) {
    it(`are refused for new clients if they are disabled in the zone, in ${mode}`, async () => {
      const config = { bootstrap: { ...bootstrap, clients: [...bootstrap.clients, caller('root', 'clients.admin')] } }
      const plain = await startServer({
        mode,
        config: { ...config, zone_config: { protocols: { pairwiseSubjects: false } } },
      })
      const bearer = await tokenOf(plain, 'root')
      const grants = { authorized_grant_types: ['authorization_code'] }
      const created = client('new', 'new.example', grants)
      const refused = await sendJson(plain, 'POST', '/oauth/clients', created, { bearer })
      assert.equal(refused.status, 400, refused.text)
      assert.match(refused.text, /pairwise subjects are disabled in the zone/)
      const { client_secret: _, ...record } = client('one', 'shop.example', { ...grants, name: 'One' })
      const changed = await sendJson(plain, 'PUT', '/oauth/clients/one', record, { bearer })
      assert.equal(changed.status, 200, changed.text)
      await plain.stop()
    })
  }
})

describe('Sector of a client', () => {
  it('is the host of sector_identifier_uri or of the redirect URIs, or the client', () => {
    const clientId = 'c'
    assert.equal(sectorOf({ clientId, redirectUris: ['https://a.example:8443/x'] }), 'a.example:8443')
    const sectorIdentifierUri = 'https://b.example/list'
    assert.equal(sectorOf({ clientId, redirectUris: ['https://a.example/x'], sectorIdentifierUri }), 'b.example')
    assert.equal(sectorOf({ clientId, redirectUris: [] }), 'client c')
  })

  const pairwise = { subjectType: 'pairwise' } as const
  const wrong = [
    [
      'several hosts without sector_identifier_uri',
      { ...pairwise, redirectUris: ['https://a.example/', 'https://b.example/'] },
    ],
    ['no host', { ...pairwise, redirectUris: ['com.example.app:/cb'] }],
    // Other applications may use the same, and would share subjects.
    ['a custom scheme with a host', { ...pairwise, redirectUris: ['com.example.app://callback'] }],
    ['a loopback address', { ...pairwise, redirectUris: ['http://127.0.0.1/cb'] }],
    ['localhost', { ...pairwise, redirectUris: ['http://localhost:3000/cb'] }],
    ['sector_identifier_uri without TLS', { redirectUris: [], sectorIdentifierUri: 'http://a.example/list' }],
    ['a malformed sector_identifier_uri', { redirectUris: [], sectorIdentifierUri: 'https://[/list' }],
  ] as const
  for (const [name, members] of wrong) it(`is refused: ${name}`, () => assert.ok(sectorProblem(members)))

  it('is not restricted for public subjects or a single host', () => {
    assert.equal(sectorProblem({ redirectUris: ['https://a.example/', 'https://b.example/'] }), undefined)
    assert.equal(sectorProblem({ ...pairwise, redirectUris: ['https://a.example/', 'https://a.example/x'] }), undefined)
  })
})
