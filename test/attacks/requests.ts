import assert from 'node:assert/strict'
import { createPublicKey } from 'node:crypto'
import { createServer } from 'node:http'
import type { RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { SignJWT, UnsecuredJWT } from 'jose'
import { authorize, responseOf, signedIn } from '../support/authorize.ts'
import { changeClient, passwordTokens } from '../support/oauth.ts'
import type { ObjectOptions } from '../support/request-objects.ts'
import {
  BANK,
  BANK_REQUEST,
  CALLBACK,
  JWKS,
  bankClient,
  pkce,
  push,
  pushed,
  requestObject,
  withBanks,
} from '../support/request-objects.ts'
import type { Browser, TestAnswer, TestServer } from '../support/server.ts'
import { startServer } from '../support/server.ts'
import type { Attack } from './attack.ts'

/** A bank that signs its requests, and a victim's browser with a session. */
interface Scene {
  readonly server: TestServer
  readonly victim: Browser
  /** Sends the victim with a request object, beside a redirect URI of the client. */
  readonly bring: (request: string, query?: Readonly<Record<string, string>>) => Promise<TestAnswer>
  readonly object: (options?: ObjectOptions) => Promise<string>
  /** The URL at which the client publishes request objects, and its response. */
  readonly address: string
  readonly publish: (listener: RequestListener) => void
  /** The number of requests to the URL. */
  readonly fetched: () => number
}

const against = (attempt: (scene: Scene) => Promise<void>) => async (): Promise<void> => {
  let listener: RequestListener = (_, response) => response.end()
  let fetched = 0
  const files = createServer((request, response) => {
    fetched += 1
    listener(request, response)
  })
  await new Promise<void>(resolve => files.listen(0, '127.0.0.1', resolve))
  const address = `http://127.0.0.1:${(files.address() as AddressInfo).port}/request`
  const inside = ['https://169.254.169.254/latest', 'https://10.0.0.1/']
  const server = await startServer({
    config: {
      bootstrap: withBanks(
        bankClient('rival'),
        bankClient('strict', { require_pushed_authorization_requests: true, require_signed_request_object: true }),
        bankClient('kiosk', { client_secret: undefined, allowpublic: true }),
        bankClient('published', { request_uris: [address, ...inside] }),
      ),
    },
  })
  try {
    const victim = await signedIn(server)
    await attempt({
      server,
      victim,
      bring: (request, query) => authorize(victim, { client_id: 'bank', redirect_uri: CALLBACK, request, ...query }),
      object: options => requestObject(server, options),
      address,
      publish: next => (listener = next),
      fetched: () => fetched,
    })
    assert.deepEqual(server.faults, [])
  } finally {
    await server.stop()
    files.closeAllConnections()
    files.close()
  }
}

function refusedAs(answer: TestAnswer, error: string): void {
  const reported = answer.status === 302 ? responseOf(answer).query : { error: undefined }
  assert.equal(reported.error, error, answer.text)
}

/** Asserts that a push with a used object is refused. */
function refusedHere(answer: TestAnswer): void {
  const { error, error_description: description } = answer.json()
  assert.deepEqual(
    [answer.status, error, description],
    [400, 'invalid_request_object', 'The request object was used already'],
  )
}

/** Asserts an error page without a redirect. */
function isPage(answer: TestAnswer): void {
  assert.equal(answer.status, 400, answer.text)
  assert.equal(answer.headers['location'], undefined)
}

const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url')

/** Attacks on signed (RFC 9101) and pushed (RFC 9126) authorization requests. */
export const requestAttacks: readonly Attack[] = [
  {
    attack: 'sends an unsigned request object with `none` in any spelling',
    outcome: 'invalid_request_object',
    attempt: against(async ({ bring }) => {
      refusedAs(await bring(new UnsecuredJWT({ ...BANK_REQUEST }).encode()), 'invalid_request_object')
      for (const alg of ['None', 'nOnE', '', undefined, 0]) {
        refusedAs(await bring(`${part({ alg })}.${part(BANK_REQUEST)}.`), 'invalid_request_object')
      }
    }),
  },
  {
    attack: 'signs a request object with the public key of the client as a shared secret, or with its client secret',
    outcome: 'invalid_request_object',
    attempt: against(async ({ bring, object }) => {
      for (const key of JWKS.keys) {
        const pem = createPublicKey({ key: { ...key }, format: 'jwk' }).export({ format: 'pem', type: 'spki' })
        for (const secret of [String(pem), JSON.stringify(key), BANK[1]]) {
          const forged = new SignJWT({ ...BANK_REQUEST }).setProtectedHeader({ alg: 'HS256', kid: key.kid })
          refusedAs(await bring(await forged.sign(Buffer.from(secret))), 'invalid_request_object')
        }
      }
      const [, payload = '', signature = ''] = (await object()).split('.')
      for (const alg of ['HS256', 'ES384', 'RS256', 'PS256']) {
        refusedAs(await bring(`${part({ alg, kid: 'ec' })}.${payload}.${signature}`), 'invalid_request_object')
      }
    }),
  },
  {
    attack: 'puts their own key into the header of a request object (`jwk`, `jku`, `x5c`)',
    outcome: 'invalid_request_object, and nothing is fetched',
    attempt: against(async ({ bring, object, address, fetched }) => {
      const header = { kid: 'mine', jku: address, x5u: address, x5c: ['MIIB'], jwk: JWKS.keys[0] }
      refusedAs(await bring(await object({ by: 'stranger', header })), 'invalid_request_object')
      assert.equal(fetched(), 0)
    }),
  },
  {
    attack: 'uses a client assertion, a DPoP proof or an access token as a request object',
    outcome: 'invalid_request_object',
    attempt: against(async ({ bring, object }) => {
      refusedAs(
        await bring(await object({ claims: { sub: 'bank' }, header: { typ: 'JWT' } })),
        'invalid_request_object',
      )
      for (const typ of ['dpop+jwt', 'at+jwt', 'client-authentication+jwt', 'logout+jwt']) {
        refusedAs(await bring(await object({ header: { typ } })), 'invalid_request_object')
      }
    }),
  },
  {
    attack: 'sends the signed request of another client',
    outcome: 'invalid_request_object',
    attempt: against(async ({ bring, object }) => {
      refusedAs(await bring(await object(), { client_id: 'rival' }), 'invalid_request_object')
      const mixed = await object({ claims: { client_id: 'rival' } })
      refusedAs(await bring(mixed, { client_id: 'rival' }), 'invalid_request_object')
    }),
  },
  {
    attack: 'adds parameters to a signed request, for a wider scope, a token or another state',
    outcome: 'they are ignored',
    attempt: against(async ({ bring, object }) => {
      const answer = await bring(await object(), {
        state: 'evil',
        scope: 'openid profile cloud.read',
        response_type: 'token',
        response_mode: 'fragment',
        nonce: 'evil',
      })
      const { query, fragment } = responseOf(answer)
      assert.equal(query['state'], 'signed-state')
      assert.deepEqual(fragment, {})
    }),
  },
  {
    attack: 'redirects an error to their own address with an unsigned request object',
    outcome: 'an error page',
    attempt: against(async ({ victim }) => {
      const redirect_uri = 'https://evil.example/'
      const request = new UnsecuredJWT({ ...BANK_REQUEST, redirect_uri }).encode()
      isPage(await authorize(victim, { client_id: 'bank', request }))
      isPage(await authorize(victim, { client_id: 'bank', request, redirect_uri }))
    }),
  },
  {
    attack: 'skips the required sign-in of a signed request with internal parameters of this server',
    outcome: 'sign-in is required',
    attempt: against(async ({ server, victim, bring, object }) => {
      server.clock.advance(1)
      const demanding = await object({ claims: { prompt: 'login' } })
      // The attacker signs in for the same request in another browser, and takes the URL from there.
      const own = server.browser()
      await authorize(own, { client_id: 'bank', request: await object() })
      const other = (await own.signIn('joel', 'wombat')).location().searchParams.get('begun') ?? ''
      for (const begun of ['', 'true', '2020-01-01T00:00:00Z', other]) {
        const answer = await bring(demanding, { begun, prompt: '', hint_was_asked: 'true', account_was_chosen: 'true' })
        assert.equal(answer.location().pathname, '/login')
      }
      assert.ok(await victim.send('/home'))
    }),
  },
  {
    attack: 'replays a signed request from the history of a browser',
    outcome: 'a request with a `jti` is accepted once, even concurrently',
    attempt: against(async ({ victim, object, server }) => {
      const request = await object()
      const ask = () => authorize(victim, { client_id: 'bank', request })
      const codes = async (answers: readonly TestAnswer[]) =>
        answers.filter(answer => answer.status === 302 && responseOf(answer).query['code'] !== undefined).length
      assert.equal(await codes(await Promise.all(Array.from({ length: 8 }, ask))), 1)
      isPage(await ask())
      server.clock.advance(400)
      refusedAs(
        await authorize(victim, { client_id: 'bank', redirect_uri: CALLBACK, request }),
        'invalid_request_object',
      )
    }),
  },
  {
    attack: 'pushes a signed request from the browser history for a public client, or one object several times',
    outcome: 'refused: an object with a `jti` is accepted once, in a URL or pushed',
    attempt: against(async ({ server, victim, object }) => {
      const claims = {
        iss: 'kiosk',
        client_id: 'kiosk',
        code_challenge: pkce().challenge,
        code_challenge_method: 'S256',
      }
      const answered = await object({ claims })
      const ask = (query: Readonly<Record<string, string>>) => authorize(victim, { client_id: 'kiosk', ...query })
      assert.ok(responseOf(await ask({ request: answered })).query['code'])
      const pushedAs = (request: string) => server.send('/oauth/par', { form: { client_id: 'kiosk', request } })
      refusedHere(await pushedAs(answered))
      const fresh = await object({ claims })
      const pushes = await Promise.all(Array.from({ length: 4 }, () => pushedAs(fresh)))
      const [accepted, ...more] = pushes.toSorted((a, b) => a.status - b.status)
      assert.equal(accepted?.status, 201)
      for (const each of more) refusedHere(each)
      isPage(await ask({ request: fresh }))
      assert.ok(responseOf(await ask({ request_uri: String(accepted.json()['request_uri']) })).query['code'])
    }),
  },
  {
    attack: 'starts a pushed or signed request, and sends the URL after sign-in to a victim',
    outcome: 'it continues only in the browser where it was started',
    attempt: against(async ({ server, victim, object }) => {
      for (const isPushed of [true, false]) {
        const own = server.browser()
        const query = isPushed ? { request_uri: await pushed(server) } : { request: await object() }
        await authorize(own, { client_id: 'bank', ...query })
        const { pathname, search } = (await own.signIn('joel', 'wombat')).location()
        server.clock.advance(1000)
        isPage(await victim.send(pathname + search))
        isPage(await server.browser().send(pathname + search))
        assert.ok(responseOf(await own.send(pathname + search)).query['code'])
      }
    }),
  },
  {
    attack: 'starts a pushed or signed request without a browser, and sends the resulting URL to a victim',
    outcome: 'it continues in no browser',
    attempt: against(async ({ server, victim, object }) => {
      await changeClient(server, 'bank', { autoapprove: [] })
      await changeClient(server, 'app', { scope: ['openid', 'svc.user'] })
      const bearer = (await passwordTokens(server)).access_token
      for (const isPushed of [true, false]) {
        const query = isPushed ? { request_uri: await pushed(server) } : { request: await object() }
        const call = { client_id: 'bank', response_type: 'code', state: 's', ...query }
        const asked = (await authorize(server, call, { bearer })).json()
        const { pathname, search } = new URL(String(asked['original_uri']))
        server.clock.advance(1000)
        isPage(await server.browser().send(pathname + search))
        isPage(await victim.send(pathname + search))
      }
    }),
  },
  {
    attack: 'has the server fetch request objects from internal addresses, by http, from files or unregistered URLs',
    outcome: 'invalid_request_uri, and nothing is fetched',
    attempt: against(async ({ victim, fetched, address }) => {
      for (const uri of [
        'https://169.254.169.254/latest',
        'https://10.0.0.1/',
        'file:///etc/passwd',
        'http://example.com/',
        `${address}/../x`,
        `${address}?x`,
        address.replace('127.0.0.1', 'localhost'),
      ]) {
        const query = { client_id: 'published', redirect_uri: CALLBACK, request_uri: uri }
        refusedAs(await authorize(victim, query), 'invalid_request_uri')
      }
      assert.equal(fetched(), 0)
    }),
  },
  {
    attack: 'responds to the fetch of a request object with a redirect, a flood or another client’s object',
    outcome: 'refused, and no redirect is followed',
    attempt: against(async ({ victim, publish, address, fetched, object }) => {
      const ask = () => authorize(victim, { client_id: 'published', redirect_uri: CALLBACK, request_uri: address })
      publish((_, response) => response.writeHead(302, { location: address }).end())
      refusedAs(await ask(), 'invalid_request_uri')
      assert.equal(fetched(), 1)
      publish((_, response) => response.end('x'.repeat(1_000_000)))
      refusedAs(await ask(), 'invalid_request_uri')
      const foreign = await object()
      publish((_, response) => response.end(foreign))
      refusedAs(await ask(), 'invalid_request_object')
    }),
  },
  {
    attack: 'uses the pushed request of another client, or one twice',
    outcome: 'an error page without a code',
    attempt: against(async ({ server, victim }) => {
      const uri = await pushed(server)
      isPage(await authorize(victim, { client_id: 'rival', request_uri: uri, redirect_uri: 'https://evil.example' }))
      const answers = await Promise.all(
        Array.from({ length: 8 }, () => authorize(victim, { client_id: 'bank', request_uri: uri })),
      )
      const codes = answers.filter(answer => answer.status === 302 && responseOf(answer).query['code'] !== undefined)
      assert.equal(codes.length, 1)
      isPage(await authorize(victim, { client_id: 'bank', request_uri: uri }))
    }),
  },
  {
    attack: 'uses an expired or guessed pushed request',
    outcome: 'an error page',
    attempt: against(async ({ server, victim }) => {
      const uri = await pushed(server)
      server.clock.advance(91)
      isPage(await authorize(victim, { client_id: 'bank', request_uri: uri }))
      for (const guess of ['', 'x', '%00', 'x'.repeat(43), `${'x'.repeat(43)}' or 1=1`]) {
        const request_uri = `urn:ietf:params:oauth:request_uri:${guess}`
        isPage(await authorize(victim, { client_id: 'bank', request_uri }))
      }
    }),
  },
  {
    attack: 'bypasses required pushing and signing by a plain request, an object in the URL or an unsigned push',
    outcome: 'invalid_request',
    attempt: against(async ({ server, bring, object, victim }) => {
      const strict = { ...BANK_REQUEST, client_id: 'strict' }
      refusedAs(await authorize(victim, strict), 'invalid_request')
      const signed = await object({ claims: { iss: 'strict', client_id: 'strict' } })
      refusedAs(await bring(signed, { client_id: 'strict' }), 'invalid_request')
      const unsigned = await push(server, strict, ['strict', 'strict-secret'])
      assert.equal(unsigned.json()['error'], 'invalid_request')
    }),
  },
  {
    attack: 'pushes for a client without its credential, or as another one',
    outcome: 'invalid_client',
    attempt: against(async ({ server }) => {
      for (const basic of [
        ['bank', ''],
        ['bank', 'wrong'],
        ['rival', BANK[1]],
      ] as const) {
        const answer = await push(server, { ...BANK_REQUEST, client_id: basic[0] }, basic)
        assert.equal(`${answer.status} ${String(answer.json()['error'])}`, '401 invalid_client')
      }
      const bare = await server.send('/oauth/par', { method: 'POST', form: BANK_REQUEST })
      assert.equal(bare.status, 401)
      const foreign = await push(server, { ...BANK_REQUEST, client_id: 'rival' })
      assert.equal(foreign.json()['error'], 'invalid_client')
    }),
  },
]
