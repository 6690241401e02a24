import assert from 'node:assert/strict'
import { TO_Z1, startClientServer } from '../support/clients.ts'
import { freshDatabase } from '../support/databases.ts'
import { MODES } from '../support/oauth.ts'
import type { TestAnswer, TestServer } from '../support/server.ts'
import { defaultBootstrap, startServer } from '../support/server.ts'
import { HOST_OF_Z1, caller, sendJson, startZoneServer, tokenOf } from '../support/zones.ts'
import type { Attack } from './attack.ts'

/** The response to a change of the zone z1 by its administrator. */
async function setOwnZone(server: TestServer, config: object): Promise<number> {
  const bearer = await tokenOf(server, 'admin-of-z1')
  const body = { id: 'z1', subdomain: 'one', name: 'Zone 1', config }
  const headers = { 'x-identity-zone-id': 'z1' }
  return (await sendJson(server, 'PUT', '/identity-zones/z1', body, { bearer, headers })).status
}

/** Privilege escalation by administrators of one zone or with partial rights. */
export const tenantAttacks: readonly Attack[] = [
  ...MODES.map(
    (mode): Attack => ({
      attack: `changes, describes or deletes the client of an administrator with clients.write alone (${mode})`,
      outcome: 'is refused in the own zone and in another one',
      async attempt() {
        const api = await startClientServer(mode)
        const grants = { authorized_grant_types: ['authorization_code'], redirect_uri: ['https://evil.example/'] }
        for (const [target, by, headers] of [
          ['root', 'writer', {}],
          ['native', 'z1-writer', TO_Z1],
        ] as const) {
          const before = await api.read(target, { headers })
          const harmless = { client_id: target, scope: ['svc.none'], authorities: ['svc.none'], client_secret: 'taken' }
          const path = `/oauth/clients/${target}`
          for (const [method, place, body] of [
            ['PUT', path, harmless],
            ['PUT', path, { ...harmless, ...grants }],
            ['PUT', `/oauth/clients/restricted/${target}`, harmless],
            ['PUT', `${path}/meta`, { appLaunchUrl: 'https://evil.example/', showOnHomePage: true }],
            ['PUT', `${path}/secret`, { secret: 'taken' }],
            ['PUT', `${path}/clientjwt`, { jwks_uri: 'https://evil.example/keys' }],
            ['PUT', '/oauth/clients/tx', [harmless]],
            ['POST', '/oauth/clients/tx/secret', [{ clientId: target, secret: 'taken' }]],
            ['POST', '/oauth/clients/tx/modify', [{ ...harmless, action: 'update,secret' }]],
            ['POST', '/oauth/clients/tx/delete', [{ client_id: target }]],
            ['DELETE', path, undefined],
          ] as const) {
            const answer = await api.send(method, place, body, { by, headers })
            assert.equal(answer.status, 403, `${method} ${place}: ${answer.text}`)
            assert.equal(answer.json()['error'], 'insufficient_scope')
          }
          assert.deepEqual(await api.read(target, { headers }), before)
          const { appLaunchUrl } =
            (await api.server.store.clients.findMetadata(by === 'writer' ? 'svc' : 'z1', target)) ?? {}
          assert.equal(appLaunchUrl, undefined)
        }
        await api.stop()
      },
    }),
  ),
  {
    attack: 'creates identity providers of a megabyte each, which every process caches',
    outcome: 'is refused beyond 16 megabytes, and link texts are limited',
    async attempt() {
      for (const mode of MODES) {
        const server = await startZoneServer({ mode })
        const bearer = await tokenOf(server, 'admin-of-z1')
        const create = (originKey: string, config: object): Promise<TestAnswer> => {
          const record = { authUrl: 'https://a.example/', tokenUrl: 'https://a.example/', tokenKey: 'k', ...config }
          const body = { originKey, name: originKey, type: 'oidc1.0', active: true, config: record }
          const headers = { 'x-identity-zone-id': 'z1' }
          return sendJson(server, 'POST', '/identity-providers', body, { bearer, headers })
        }
        const relyingPartyId = 'x'.repeat(1_000_000)
        const statuses: number[] = []
        for (let index = 0; index < 18; index += 1) {
          statuses.push((await create(`p${index}`, { relyingPartyId, linkText: 'Link' })).status)
        }
        assert.deepEqual([statuses.filter(status => status === 201).length, statuses.at(-1)], [16, 422])
        assert.equal((await create('long', { relyingPartyId: 'a', linkText: 'x'.repeat(256) })).status, 422)
        assert.deepEqual(server.faults, [])
        await server.stop()
      }
    },
  },
  {
    attack:
      'deletes or changes the client of an administrator with clients.write, with a client that administrators use',
    outcome: 'is refused: the scopes of users do not count for the client',
    async attempt() {
      for (const mode of MODES) {
        const server = await startZoneServer({
          mode,
          config: {
            bootstrap: {
              clients: [
                { ...caller('portal', 'clients.write'), scope: ['svc.admin', 'openid'] },
                { ...caller('root', 'svc.admin') },
              ],
            },
          },
        })
        const bearer = await tokenOf(server, 'portal')
        const emptied = { client_id: 'root', scope: ['svc.none'], authorities: ['svc.none'] }
        assert.equal((await sendJson(server, 'PUT', '/oauth/clients/root', emptied, { bearer })).status, 403)
        assert.equal((await server.send('/oauth/clients/root', { method: 'DELETE', bearer })).status, 403)
        assert.deepEqual((await server.store.clients.find('svc', 'root'))?.authorities, ['svc.admin'])
        await server.stop()
      }
    },
  },
  {
    attack: 'reads the shared secret of a zone with a client created with clients.write alone, to sign tokens',
    outcome: 'in standard no client sees the secret; in uaa only clients created by administrators',
    async attempt() {
      for (const mode of MODES) {
        const key = { signingKey: 'a shared secret of thirty-two characters' }
        const clients = [
          ...defaultBootstrap.clients,
          caller('writer', 'clients.write'),
          caller('root', 'svc.admin'),
          caller('seen', 'svc.resource'),
        ]
        const zone_config = { tokenPolicy: { activeKeyId: 'k1', keys: { k1: key } } }
        const server = await startServer({ mode, config: { zone_config, bootstrap: { ...defaultBootstrap, clients } } })
        const body = { ...caller('mine', 'svc.resource'), scope: ['svc.none'] }
        const writer = { bearer: await tokenOf(server, 'writer') }
        const made = await sendJson(server, 'POST', '/oauth/clients', body, writer)
        const { client_secret: _, ...service } = caller('plain')
        await sendJson(server, 'POST', '/oauth/clients', { ...caller('plain'), scope: ['svc.none'] }, writer)
        const raised = { ...service, scope: ['svc.none'], authorities: ['svc.resource'] }
        const changed = await sendJson(server, 'PUT', '/oauth/clients/plain', raised, writer)
        assert.deepEqual([made.status, changed.status], mode === 'uaa' ? [400, 400] : [201, 200])
        for (const id of ['mine', 'plain']) {
          assert.doesNotMatch((await server.send('/token_key', { basic: [id, `${id}-secret`] })).text, /thirty-two/)
        }
        const root = { bearer: await tokenOf(server, 'root') }
        const other = { ...caller('other', 'svc.resource'), scope: ['svc.none'] }
        assert.equal((await sendJson(server, 'POST', '/oauth/clients', other, root)).status, 201)
        const known = { ...caller('seen', 'svc.resource'), client_secret: undefined, name: 'New' }
        assert.equal((await sendJson(server, 'PUT', '/oauth/clients/seen', known, writer)).status, 200)
        await server.stop()
      }
    },
  },
  {
    attack: 'creates a client with keys before the configuration makes it one of an administrator',
    outcome: 'the secret is removed if the configuration grants more rights, and kept with the same rights',
    async attempt() {
      for (const mode of MODES) {
        const database = await freshDatabase('sqlite')
        const start = (...clients: readonly object[]): Promise<TestServer> => {
          const bootstrap = { ...defaultBootstrap, clients: [...defaultBootstrap.clients, ...clients] }
          return startServer({ mode, database: database.url, config: { bootstrap } })
        }
        const before = await start(caller('writer', 'clients.write'))
        const bearer = await tokenOf(before, 'writer')
        for (const id of ['dash', 'same']) {
          const body = { ...caller(id, 'svc.none'), scope: ['svc.none'] }
          assert.equal((await sendJson(before, 'POST', '/oauth/clients', body, { bearer })).status, 201)
        }
        await before.stop()
        const named = (id: string, right: string) => ({
          ...caller(id, right),
          client_secret: undefined,
          jwks_uri: 'https://keys.example/jwks',
        })
        const after = await start(named('dash', 'svc.admin'), named('same', 'svc.none'))
        const enter = (id: string) => after.token({ grant_type: 'client_credentials' }, { basic: [id, `${id}-secret`] })
        assert.equal((await enter('dash')).status, 401)
        assert.equal((await enter('same')).status, 200)
        await after.stop()
        await database.drop()
      }
    },
  },
  {
    attack: 'gives a client a thousand scopes of hundreds of wildcards, to slow matching down',
    outcome: 'is refused beyond five wildcards in a scope, on creation, update and in a batch',
    async attempt() {
      for (const mode of MODES) {
        const server = await startZoneServer({ mode })
        const request = { bearer: await tokenOf(server, 'admin-of-z1'), headers: { 'x-identity-zone-id': 'z1' } }
        const client = (scope: string, autoapprove: string) => ({
          ...caller('slow', 'svc.none'),
          scope: Array.from({ length: 999 }, (_, place) => `${scope}${place}`),
          autoapprove: [autoapprove],
        })
        const [few, many] = ['*a'.repeat(5), '*a'.repeat(6)] as const
        const send = async (method: string, path: string, body: unknown): Promise<number> =>
          (await sendJson(server, method, path, body, request)).status
        for (const bad of [client(many, 'a'), client('a', many)]) {
          assert.equal(await send('POST', '/oauth/clients', { ...bad, scope: bad.scope.slice(0, 99) }), 400)
          assert.equal(await send('POST', '/oauth/clients/tx', [bad]), 400)
        }
        assert.equal(await send('POST', '/oauth/clients/tx', [client(few, few)]), 201)
        assert.equal(await send('PUT', '/oauth/clients/slow', { client_id: 'slow', scope: [many] }), 400)
        await server.stop()
      }
    },
  },
  {
    attack: 'adds an attribute to clients with each update, to exhaust memory by listing them',
    outcome: 'is refused beyond 64 Ki characters, in a batch and with keys, too; larger existing ones can shrink',
    async attempt() {
      for (const mode of MODES) {
        const grown = {
          ...caller('grown', 'svc.none'),
          scope: ['svc.none'],
          one: 'x'.repeat(40_000),
          two: 'x'.repeat(40_000),
        }
        const clients = [...defaultBootstrap.clients, caller('writer', 'clients.write'), caller('root', 'svc.admin')]
        const bootstrap = { ...defaultBootstrap, clients: [...clients, grown] }
        const server = await startServer({ mode, config: { bootstrap } })
        const [bearer, root] = [await tokenOf(server, 'writer'), await tokenOf(server, 'root')]
        const put = async (id: string, members: object) =>
          (await sendJson(server, 'PUT', `/oauth/clients/${id}`, { client_id: id, ...members }, { bearer })).status
        const made = { ...caller('small', 'svc.none'), scope: ['svc.none'] }
        assert.equal((await sendJson(server, 'POST', '/oauth/clients', made, { bearer })).status, 201)
        assert.deepEqual(
          [await put('small', { one: 'x'.repeat(60_000) }), await put('small', { two: 'x'.repeat(60_000) })],
          [200, 400],
        )
        assert.deepEqual(
          [await put('grown', { two: 'x'.repeat(39_000) }), await put('grown', { name: 'x'.repeat(5000) })],
          [200, 400],
        )
        const long = (kid: string) => JSON.stringify({ kty: 'EC', kid, crv: 'P-256', x5c: ['x'.repeat(40_000)] })
        const addKey = async (kid: string) =>
          (await sendJson(server, 'PUT', '/oauth/clients/small/clientjwt', { jwks: long(kid) }, { bearer: root }))
            .status
        assert.deepEqual([await addKey('a'), await addKey('b')], [200, 400])
        const batch = [{ ...made, client_id: 'batched', one: 'x'.repeat(70_000) }]
        assert.equal((await sendJson(server, 'POST', '/oauth/clients/tx', batch, { bearer: root })).status, 400)
        await server.stop()
      }
    },
  },
  {
    attack: 'signs the tokens of a zone with a secret that can be brute-forced',
    outcome: 'is refused below the hash size of the algorithm',
    async attempt() {
      const server = await startZoneServer()
      for (const [signingAlg, bytes] of [
        [undefined, 32],
        ['HS256', 32],
        ['HS384', 48],
        ['HS512', 64],
      ] as const) {
        const policy = (length: number) => ({
          tokenPolicy: { keys: { k1: { signingKey: 'x'.repeat(length), ...(signingAlg && { signingAlg }) } } },
        })
        assert.equal(await setOwnZone(server, policy(bytes - 1)), 422)
        assert.equal(await setOwnZone(server, policy(bytes)), 200)
      }
      await server.stop()
    },
  },
  {
    attack: 'sets the issuer of a zone to the URL of the server or of another zone',
    outcome: 'is refused in every spelling',
    async attempt() {
      const server = await startZoneServer()
      const keys = { tokenPolicy: { keys: { k1: { signingKey: 'x'.repeat(32) } } } }
      assert.equal(await setOwnZone(server, { ...keys, issuer: 'https://issuer.example' }), 200)
      for (const issuer of [
        'http://localhost:8080',
        'HTTP://LOCALHOST:8080/',
        'http://localhost:8080/oauth/token',
        'https://localhost',
        'http://two.localhost:8080',
        'http://localhost:8080/z/two/oauth/token',
        'http://admin@localhost:8080',
        'http://127.0.0.1:8080',
      ]) {
        assert.ok((await setOwnZone(server, { ...keys, issuer })) >= 400, issuer)
      }
      await server.stop()
    },
  },
  {
    attack: 'uses the SAML entity id of the server or of another zone',
    outcome: 'is refused, ignoring case',
    async attempt() {
      const server = await startZoneServer({ config: { saml: { entity_id: 'https://sp.example' } } })
      const statusOf = (entityID: string): Promise<number> => setOwnZone(server, { samlConfig: { entityID } })
      for (const entityID of ['https://one.sp.example', 'https://one.example', 'https://sp.example.org', '', ' ']) {
        assert.equal(await statusOf(entityID), 200, entityID)
      }
      for (const entityID of [
        'https://sp.example',
        'HTTPS://SP.example',
        ' https://sp.example ',
        'https://two.sp.example',
        'https://later.SP.example',
        'https://x.one.sp.example',
      ]) {
        assert.equal(await statusOf(entityID), 422, entityID)
      }
      const metadata = await server.send('/saml/metadata', { host: HOST_OF_Z1 })
      assert.match(metadata.text, / entityID="https:\/\/one\.sp\.example"/)
      await server.stop()
    },
  },
  {
    attack: 'adds thousands of links to every page of their zone',
    outcome: 'is refused beyond a hundred',
    async attempt() {
      const server = await startZoneServer()
      const links = (count: number) =>
        Object.fromEntries(Array.from({ length: count }, (_, index) => [`link ${index}`, 'https://shop.example/']))
      assert.equal(await setOwnZone(server, { branding: { footerLinks: links(101) } }), 400)
      assert.equal(await setOwnZone(server, { branding: { footerLinks: links(100) } }), 200)
      await server.stop()
    },
  },
  {
    attack: 'sets links and redirect URIs with host names of thousands of characters, which are slow to parse',
    outcome: 'is refused before parsing',
    async attempt() {
      const server = await startZoneServer()
      const letters = Array.from({ length: 3900 }, (_, index) =>
        String.fromCodePoint(0x4e00 + ((index * 7919) % 20_000)),
      )
      const long = `https://${letters.join('')}.example/`
      const footerLinks = Object.fromEntries(Array.from({ length: 80 }, (_, index) => [`${index}`, long]))
      const client = { client_id: 'long', client_secret: 'secret', scope: ['openid'], redirect_uri: [long] }
      const authUrl = { originKey: 'long', name: 'long', type: 'oidc1.0', config: { authUrl: long } }
      const bearer = await tokenOf(server, 'admin-of-z1')
      const headers = { 'x-identity-zone-id': 'z1' }
      const post = async (path: string, body: object): Promise<number> =>
        (await sendJson(server, 'POST', path, body, { bearer, headers })).status
      assert.equal(await setOwnZone(server, { branding: { footerLinks } }), 422)
      assert.equal(await setOwnZone(server, { branding: { consent: { text: 'x', link: long } } }), 422)
      assert.equal(await post('/oauth/clients', { ...client, authorized_grant_types: ['authorization_code'] }), 400)
      assert.equal(await post('/identity-providers', authUrl), 400)
      await server.stop()
    },
  },
  {
    attack: 'sets a link of a zone to a URL with characters that are invalid in headers',
    outcome: 'the redirect is encoded in ASCII',
    async attempt() {
      for (const mode of MODES) {
        const server = await startZoneServer({ mode })
        const link = 'https://b\u00fccher.example/\u20ac/\u010d\u010aX'
        const links = { logout: { redirectUrl: link } }
        assert.equal(await setOwnZone(server, { links }), 200)
        const target = 'https://xn--bcher-kva.example/%E2%82%AC/%C4%8D%C4%8AX'
        const answer = await server.send('/logout.do?redirect=x', { host: HOST_OF_Z1 })
        assert.equal(answer.headers['location'], target)
        assert.deepEqual(server.faults, [])
        await server.stop()
      }
    },
  },
  {
    attack: 'sets links of a zone to a javascript: URL',
    outcome: 'is refused in every setting with a link',
    async attempt() {
      const server = await startZoneServer()
      for (const link of ['javascript:alert(1)', 'data:text/html,<script>', 'vbscript:x', '//evil.example']) {
        for (const config of [
          { links: { homeRedirect: link } },
          { links: { selfService: { signup: link } } },
          { links: { selfService: { passwd: link } } },
          { links: { logout: { redirectUrl: link } } },
          { links: { logout: { whitelist: [link] } } },
          { branding: { footerLinks: { Imprint: link } } },
          { branding: { banner: { text: 'x', link } } },
          { branding: { consent: { text: 'x', link } } },
        ]) {
          assert.equal(await setOwnZone(server, config), 422, JSON.stringify(config))
        }
      }
      await server.stop()
    },
  },
]
