import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { ServerResponse } from 'node:http'
import { authorize, authorizeBootstrap, signedIn, Z1_HOST } from '../support/authorize.ts'
import { changeClient, MODES } from '../support/oauth.ts'
import {
  initialToken,
  manage,
  managementPath,
  METADATA,
  register,
  registered,
  setRegistration,
  startRegistrationServer,
} from '../support/registration.ts'
import type { Registered } from '../support/registration.ts'
import type { ServerOptions, TestServer } from '../support/server.ts'
import { sendJson, tokenOf } from '../support/zones.ts'
import type { Attack } from './attack.ts'

/** Runs the attack in both modes, in a zone with open registration by default. */
export async function trying(
  attempt: (server: TestServer) => Promise<void>,
  policy: object = { mode: 'open' },
  options: ServerOptions = {},
): Promise<void> {
  for (const mode of MODES) {
    const server = await startRegistrationServer(policy, { ...options, mode })
    try {
      await attempt(server)
      assert.deepEqual(server.faults, [])
    } finally {
      await server.stop()
    }
  }
}

const clientsOf = async (server: TestServer): Promise<number> =>
  (await server.store.clients.listMetadata('svc', { count: 10_000, all: true })).length

/** Asserts that the registration is refused and nothing is stored. */
async function refuses(server: TestServer, metadata: unknown, name: string): Promise<void> {
  const before = await clientsOf(server)
  const answer = await register(server, metadata)
  assert.ok([400, 413].includes(answer.status), `${name}: ${answer.status} ${answer.text}`)
  assert.equal(await clientsOf(server), before, name)
}

const asking = ({ client_id }: Registered, more: Readonly<Record<string, string>> = {}) => ({
  response_type: 'code',
  client_id,
  redirect_uri: 'https://new.example/cb',
  scope: 'openid',
  ...more,
})

/** Attacks by and on self-registered clients. */
export const registrationAttacks: readonly Attack[] = [
  {
    attack: 'registers the redirect URI of another application, or a URL that browsers parse with its host',
    outcome: 'refused; redirect URIs are compared exactly',
    attempt: () =>
      trying(async server => {
        for (const uri of [
          'https://app.example/cb',
          'https://APP.example/other',
          'https://app.example:443/cb',
          'https://app.example:8443/cb',
          'HTTPS://app.example/cb',
          'https://app.example./cb',
          'https://app%2eexample/cb',
          'https://user@app.example/cb',
          'https://app.example\\@evil.example/cb',
          'https://app.example%2f@evil.example/cb',
          'https://ａpp.example/cb',
        ]) {
          await refuses(server, { redirect_uris: ['https://evil.example/cb', uri] }, uri)
        }
        const client = registered(await register(server))
        const browser = await signedIn(server)
        for (const redirect_uri of [
          'https://app.example/cb',
          'https://new.example/cb/../x',
          'https://x.new.example/cb',
        ]) {
          const answer = await authorize(browser, asking(client, { redirect_uri }))
          assert.equal(answer.status, 400, redirect_uri)
        }
      }),
  },
  {
    attack: 'registers links to another application, to imitate it on the approval page',
    outcome: 'refused, also on update; existing links may stay',
    attempt: () =>
      trying(async server => {
        for (const name of ['client_uri', 'policy_uri', 'tos_uri']) {
          await refuses(server, { ...METADATA, [name]: 'https://APP.example./privacy' }, name)
        }
        const metadata = { ...METADATA, client_uri: 'https://new.example/' }
        let client = registered(await register(server, metadata))
        const change = (more: object) => ({ client_id: client.client_id, ...metadata, ...more })
        const refused = await manage(server, 'PUT', client, change({ tos_uri: 'https://app.example/' }))
        assert.deepEqual([refused.status, refused.json()['error']], [400, 'invalid_client_metadata'])
        client = registered(await manage(server, 'PUT', client, change({ policy_uri: 'https://new.example/privacy' })))
      }),
  },
  {
    attack: 'registers the host of this server or of one of its zones, to imitate it',
    outcome: 'refused in redirect URIs and links; other hosts with the same ending are accepted',
    attempt: async () => {
      for (const mode of MODES) {
        const zones = { internal: { hostnames: ['sign-in.example'] } }
        const config = { base_url: 'https://id.example/auth', zones }
        const server = await startRegistrationServer({ mode: 'open' }, { mode, config })
        try {
          const post = (metadata: object) => {
            const headers = { 'content-type': 'application/json' }
            return server.send('/auth/connect/register', { body: JSON.stringify(metadata), headers })
          }
          for (const host of ['id.example', 'ID.example.', 'id.example:8443', 'z1.id.example', 'sign-in.example']) {
            for (const more of [{ redirect_uris: [`https://${host}/cb`] }, { client_uri: `https://${host}/` }]) {
              const answer = await post({ ...METADATA, ...more })
              assert.equal(answer.status, 400, host)
              assert.match(String(answer.json()['error_description']), / belongs to this server$/)
            }
          }
          assert.equal((await post({ redirect_uris: ['https://paid.example/cb'] })).status, 201)
          const onDevice = ['http://localhost:3000/cb', 'https://localhost/cb']
          assert.equal((await post({ redirect_uris: onDevice, application_type: 'native' })).status, 201)
          assert.deepEqual(server.faults, [])
        } finally {
          await server.stop()
        }
      }
    },
  },
  {
    attack: 'changes its redirect URI by its registration token after an administrator allowed it a resource',
    outcome: 'refused: only administrators can change the client now',
    attempt: () =>
      trying(async server => {
        const client = registered(await register(server))
        await changeClient(server, client.client_id, { resources: ['https://payments.example/'] })
        const moved = { client_id: client.client_id, redirect_uris: ['https://evil.example/cb'] }
        const answer = await manage(server, 'PUT', client, moved)
        assert.deepEqual([answer.status, answer.json()['error']], [403, 'access_denied'])
      }),
  },
  {
    attack: 'registers a host that another client matches by a wildcard, or its app scheme',
    outcome: 'refused, where the mode has such rules; other hosts are accepted',
    attempt: async () => {
      for (const mode of MODES) {
        const isUaa = mode === 'uaa'
        const uris = isUaa
          ? ['https://*.corp.example/**', 'http*://**.wide.example/cb', 'https://shop.example/cb']
          : ['com.corp.app:/cb']
        const corp = { client_id: 'corp', client_secret: 'x', authorized_grant_types: ['authorization_code'] }
        const clients = [...authorizeBootstrap.clients, { ...corp, scope: ['openid'], redirect_uri: uris }]
        const server = await startRegistrationServer(
          { mode: 'open' },
          { mode, config: { bootstrap: { ...authorizeBootstrap, clients } } },
        )
        try {
          const taken = isUaa
            ? [
                'https://x.corp.example/cb',
                'https://X.Y.corp.example',
                'https://a.wide.example/',
                'https://pay.shop.example/',
              ]
            : ['com.corp.app:/other', 'COM.corp.app://cb']
          const free = isUaa ? ['https://corp.example.evil/', 'https://notshop.example/'] : ['com.corp.app2:/cb']
          for (const uri of taken) {
            await refuses(server, { redirect_uris: [uri], application_type: isUaa ? 'web' : 'native' }, uri)
          }
          for (const uri of free) registered(await register(server, { redirect_uris: [uri] }))
          assert.deepEqual(server.faults, [])
        } finally {
          await server.stop()
        }
      }
    },
  },
  {
    attack: 'registers javascript:, data: or vbscript: URLs, in any case and after blanks, as links or redirect URIs',
    outcome: 'refused; markup in names and links is escaped',
    attempt: () =>
      trying(async server => {
        for (const link of [
          'javascript:alert(1)',
          'JaVaScRiPt:alert(1)',
          ' javascript:alert(1)',
          'java\nscript:alert(1)',
          'data:text/html,<script>alert(1)</script>',
          'vbscript:msgbox',
          'blob:https://new.example/x',
          'file:///etc/passwd',
          'view-source:https://new.example',
          'ms-msdt:/id',
        ]) {
          await refuses(server, { redirect_uris: [link], application_type: 'native' }, link)
          for (const name of ['logo_uri', 'policy_uri', 'tos_uri', 'client_uri', 'initiate_login_uri']) {
            await refuses(server, { ...METADATA, [name]: link }, `${name} ${link}`)
          }
        }
        const script = '"><script>alert(1)</script>'
        const metadata = { ...METADATA, client_name: script, policy_uri: `https://new.example/?${script}` }
        const client = registered(await register(server, metadata))
        const page = await authorize(await signedIn(server), asking(client))
        assert.equal(page.status, 200)
        assert.doesNotMatch(page.text, /<script>alert/)
      }),
  },
  {
    attack: 'sends a thousand keys, a thousand redirect URIs, names of a megabyte, or JSON a thousand levels deep',
    outcome: 'refused, and nothing is stored',
    attempt: () =>
      trying(async server => {
        const many = <T>(make: (index: number) => T): readonly T[] =>
          Array.from({ length: 1000 }, (_, index) => make(index))
        const keys = many(index => ({ kty: 'OKP', crv: 'Ed25519', x: 'x', kid: String(index) }))
        await refuses(server, { ...METADATA, jwks: { keys } }, 'keys')
        await refuses(server, { redirect_uris: many(index => `https://new.example/${index}`) }, 'redirect URIs')
        await refuses(server, { ...METADATA, contacts: many(index => `${index}@new.example`) }, 'contacts')
        for (const name of ['client_name', 'software_id', 'scope', 'policy_uri']) {
          await refuses(server, { ...METADATA, [name]: `https://new.example/${'x'.repeat(1_000_000)}` }, name)
        }
        await refuses(server, `{"jwks":${'['.repeat(1000)}${']'.repeat(1000)}}`, 'levels')
        await refuses(
          server,
          '{"redirect_uris":["https://new.example/cb"],"__proto__":{"autoapprove":true}}',
          'prototype',
        )
      }),
  },
  {
    attack: 'reads, changes or deletes other clients with another, an old, an API or no token',
    outcome: 'the same refusal for existing and unknown clients; nothing is changed',
    attempt: () =>
      trying(async server => {
        await setRegistration(server, { mode: 'open' }, 'z1')
        const [own, other] = [registered(await register(server)), registered(await register(server))]
        const old = registered(await register(server))
        registered(await manage(server, 'PUT', old, { client_id: old.client_id, ...METADATA }))
        const before = JSON.stringify(await server.store.clients.find('svc', other.client_id))
        const root = await tokenOf(server, 'root')
        const tokens = [
          own.registration_access_token,
          old.registration_access_token,
          root,
          other.client_secret,
          '',
          undefined,
        ]
        const paths = [
          other.client_id,
          'app',
          'root',
          'nothing',
          `../${other.client_id}`,
          `${other.client_id}%00`,
          '%2e%2e',
        ]
        for (const bearer of tokens) {
          for (const id of paths) {
            for (const method of ['GET', 'PUT', 'DELETE']) {
              const body = method === 'PUT' ? { client_id: id, ...METADATA } : undefined
              const request = bearer === undefined ? {} : { bearer }
              const answer = await sendJson(server, method, `/connect/register/${id}`, body, request)
              // UAA: an unknown path redirects to sign-in.
              assert.ok([302, 400, 401, 404].includes(answer.status), `${method} ${id}: ${answer.status}`)
              assert.doesNotMatch(answer.text, /client_id"|redirect_uris"/)
            }
          }
        }
        const elsewhere = { bearer: other.registration_access_token, host: Z1_HOST }
        assert.equal((await server.send(managementPath(other), elsewhere)).status, 401, 'in another zone')
        assert.equal(JSON.stringify(await server.store.clients.find('svc', other.client_id)), before)
        assert.equal((await manage(server, 'GET', other)).status, 200)
      }),
  },
  {
    attack: 'floods a zone with registrations, sequentially and concurrently',
    outcome: 'limited to 60 an hour per address and by the limit of the zone; sign-in still works',
    attempt: () =>
      trying(async server => {
        const outcomes: number[] = []
        for (let round = 0; round < 7; round += 1) {
          const answers = await Promise.all(Array.from({ length: 10 }, () => register(server)))
          outcomes.push(...answers.map(({ status }) => status))
        }
        assert.equal(outcomes.filter(status => status === 201).length, 60)
        assert.equal(outcomes.filter(status => status === 429).length, 10)
        await setRegistration(server, { mode: 'token', maxClients: 62 })
        const bearer = await initialToken(server, { max_uses: 100 })
        const more = await Promise.all(Array.from({ length: 10 }, () => register(server, METADATA, { bearer })))
        assert.equal(more.filter(({ status }) => status === 201).length, 2)
        assert.equal(more.filter(({ status }) => status === 403).length, 8)
        const browser = await signedIn(server)
        assert.equal(
          (
            await authorize(browser, {
              ...asking({ client_id: 'app' } as Registered),
              redirect_uri: 'https://app.example/cb',
            })
          ).status,
          200,
        )
      }),
  },
  {
    attack: 'registers authorities, automatic approval, grants without users or scopes of this server',
    outcome: 'ignored or refused, even if the settings of the zone have them',
    attempt: () =>
      trying(
        async server => {
          const elevated = {
            authorities: ['svc.admin'],
            autoapprove: true,
            authorized_grant_types: ['client_credentials'],
            allowpublic: true,
            require_nonce: false,
            access_token_validity: 999_999_999,
            required_user_groups: [],
            secondFactor: { requirement: 'optional' },
            registration: { tokenDigest: 'x' },
            created_by: 'x',
            secrets: [],
          }
          const { client_id, client_secret } = registered(
            await register(server, { ...METADATA, ...elevated, scope: 'openid' }),
          )
          const client = await server.store.clients.find('svc', client_id)
          assert.deepEqual(
            [
              client?.authorities,
              client?.autoapprove,
              client?.authorizedGrantTypes,
              client?.allowPublic,
              client?.requireNonce,
            ],
            [['svc.none'], [], ['authorization_code'], undefined, true],
          )
          assert.deepEqual(
            [client?.accessTokenSeconds, client?.secondFactor, client?.additional],
            [undefined, undefined, {}],
          )
          const basic = [client_id, client_secret] as const
          const own = await server.token({ grant_type: 'client_credentials' }, { basic })
          assert.ok(own.status >= 400)
          const password = { grant_type: 'password', username: 'marissa', password: 'koala' }
          assert.ok((await server.token(password, { basic })).status >= 400)
          for (const scope of [
            'svc.admin',
            'svc.user',
            'SVC.admin',
            'clients.write',
            'approvals.me',
            'oauth.approvals',
            'scim.me',
            'zones.svc.admin',
            'password.write',
            '*',
            'cloud.*',
            'openid,svc.admin',
            'openid\tsvc.admin',
            'openid+svc.admin',
          ]) {
            await refuses(server, { ...METADATA, scope }, scope)
          }
          for (const grant of [
            'password',
            'client_credentials',
            'user_token',
            'urn:ietf:params:oauth:grant-type:jwt-bearer',
          ]) {
            await refuses(server, { ...METADATA, grant_types: ['authorization_code', grant] }, grant)
          }
        },
        // Written to the store without the checks of the zone API.
        { mode: 'open', scopes: ['openid', 'svc.admin', 'svc.user', 'clients.write', 'approvals.me', '*', 'cloud.*'] },
      ),
  },
  {
    attack: 'obtains approval for a trusted host, then gets the code at another one without approval',
    outcome: 'the page shows every host; a change of hosts requires approval again',
    attempt: () =>
      trying(async server => {
        const redirect_uris = ['https://new.example/cb', 'https://evil.example/cb']
        const client = registered(await register(server, { ...METADATA, redirect_uris }))
        const browser = await signedIn(server)
        const page = await authorize(browser, asking(client))
        assert.match(page.text, /evil\.example/)
        const honest = registered(await register(server))
        const approve = async (): Promise<void> => {
          await authorize(browser, asking(honest))
          const form = { user_oauth_approval: 'true', 'scope.0': 'scope.openid', 'X-Svc-Csrf': browser.csrf }
          const answer = await browser.send('/oauth/authorize', { form })
          assert.match(String(answer.headers['location']), /[?&]code=/)
        }
        await approve()
        const silent = asking(honest, { prompt: 'none' })
        assert.match(String((await authorize(browser, silent)).headers['location']), /[?&]code=/)
        const { client_id } = honest
        registered(await manage(server, 'PUT', honest, { client_id, ...METADATA, redirect_uris }))
        const moved = await authorize(browser, { ...silent, redirect_uri: 'https://evil.example/cb' })
        assert.doesNotMatch(String(moved.headers['location']), /[?&]code=/)
      }),
  },
  {
    attack: 'has the server fetch internal addresses by sector_identifier_uri or jwks_uri',
    outcome: 'refused, without revealing anything about the address',
    attempt: () =>
      trying(
        async server => {
          for (const host of ['169.254.169.254', '127.0.0.1', '10.0.0.1', '[::1]', '[::ffff:127.0.0.1]', 'localhost']) {
            const sector = { ...METADATA, sector_identifier_uri: `https://${host}/latest`, subject_type: 'pairwise' }
            const answer = await register(server, sector)
            if (answer.status === 201) continue // `uaa`: the zone speaks no pairwise subjects, and ignores it
            assert.equal(answer.json()['error_description'], 'sector_identifier_uri cannot be read', host)
          }
          const keys = { ...METADATA, token_endpoint_auth_method: 'private_key_jwt' }
          await refuses(server, { ...keys, jwks_uri: 'http://169.254.169.254/keys' }, 'http')
          await refuses(server, { ...keys, jwks_uri: 'gopher://127.0.0.1/' }, 'gopher')
          await refuses(server, { ...keys, jwks_uri: 'https://user:password@127.0.0.1/' }, 'credentials')
        },
        { mode: 'open' },
        { config: { base_url: 'https://login.example' } },
      ),
  },
  {
    attack: 'authenticates as many clients whose jwks_uri never responds',
    outcome: 'keys of other clients are still fetched',
    attempt: () =>
      trying(async server => {
        const waiting = new Set<ServerResponse>()
        const [slow, slower, quick] = [
          createServer((_, answer) => void waiting.add(answer)),
          createServer((_, answer) => void waiting.add(answer)),
          createServer((_, answer) => void answer.end('{"keys":[{"kty":"OKP","crv":"Ed25519","x":"x","kid":"k"}]}')),
        ]
        const addresses: string[] = []
        for (const each of [slow, slower, quick]) {
          each.listen(0, '127.0.0.1')
          await once(each, 'listening')
          const address = each.address()
          addresses.push(`http://localhost:${typeof address === 'object' ? address?.port : ''}`)
        }
        const method = { token_endpoint_auth_method: 'private_key_jwt' }
        const ids: string[] = []
        for (const address of addresses.slice(0, 2)) {
          for (let index = 0; index < 6; index += 1) {
            const metadata = { ...METADATA, ...method, jwks_uri: `${address}/${index}` }
            ids.push(registered(await register(server, metadata)).client_id)
          }
        }
        const app = await server.store.clients.find('svc', 'app')
        assert.ok(app)
        await server.store.clients.update('svc', { ...app, jwksUri: `${addresses[2]}/keys` })
        const send = (id: string) => {
          const exp = Math.floor(server.clock.now().getTime() / 1000) + 60
          const claims = { iss: id, sub: id, aud: `${server.baseUrl}/oauth/token`, jti: id, exp }
          const parts = [{ alg: 'EdDSA', kid: 'k' }, claims].map(part =>
            Buffer.from(JSON.stringify(part)).toString('base64url'),
          )
          const client_assertion_type = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer'
          const client_assertion = `${parts.join('.')}.AAAA`
          return server.token({ grant_type: 'client_credentials', client_assertion_type, client_assertion })
        }
        const all = ids.map(send)
        while (waiting.size < 8) await new Promise(resolve => setImmediate(resolve))
        let isAsked = false
        quick.on('request', () => (isAsked = true))
        await send('app')
        for (const each of [slow, slower, quick]) {
          each.closeAllConnections()
          each.close()
        }
        await Promise.all(all)
        assert.ok(isAsked, 'turned away for want of a place')
      }),
  },
  {
    attack: 'uses an initial access token as access token, in another zone, twice at once or after its removal',
    outcome: 'refused; it registers only its number of clients',
    attempt: () =>
      trying(
        async server => {
          await setRegistration(server, { mode: 'token' }, 'z1')
          const bearer = await initialToken(server)
          for (const path of ['/oauth/clients', '/oauth/registration-tokens', '/userinfo', '/Users']) {
            assert.equal((await server.send(path, { bearer })).status, 401, path)
          }
          assert.equal((await register(server, METADATA, { bearer, host: Z1_HOST })).status, 401)
          const both = await Promise.all([1, 2, 3, 4].map(() => register(server, METADATA, { bearer })))
          assert.equal(both.filter(({ status }) => status === 201).length, 1)
          const root = await tokenOf(server, 'root')
          const made = await sendJson(server, 'POST', '/oauth/registration-tokens', {}, { bearer: root })
          const { id, token } = made.json<{ id: string; token: string }>()
          await server.send(`/oauth/registration-tokens/${id}`, { method: 'DELETE', bearer: root })
          assert.equal((await register(server, METADATA, { bearer: token })).status, 401)
          const stored = JSON.stringify(await server.store.registrations.listTokens('svc'))
          assert.ok(!stored.includes(token) && !stored.includes(bearer))
        },
        { mode: 'token' },
      ),
  },
]
