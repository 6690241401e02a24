import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { clientNamed, MODES, refused, tokensOf } from '../../support/oauth.ts'
import type { TestAnswer, TestRequest, TestServer } from '../../support/server.ts'
import { startServer, defaultBootstrap } from '../../support/server.ts'

interface List {
  readonly resources: readonly Readonly<Record<string, unknown>>[]
  readonly startIndex: number
  readonly itemsPerPage: number
  readonly totalResults: number
  readonly schemas: readonly string[]
}

const caller = (id: string, ...authorities: readonly string[]) => ({
  client_id: id,
  client_secret: `${id}-secret`,
  authorized_grant_types: ['client_credentials'],
  authorities,
})

const bootstrap = {
  ...defaultBootstrap,
  clients: [
    ...defaultBootstrap.clients,
    caller('admin', 'svc.admin'),
    caller('clients-admin', 'clients.admin'),
    caller('reader', 'clients.read'),
    caller('zone-admin', 'zones.svc.admin'),
    caller('foreign-reader', 'zones.shop.clients.read'),
    caller('foreign-zone-admin', 'zones.shop.admin'),
    caller('writer', 'clients.write', 'clients.secret', 'clients.trust', 'zones.shop.read'),
  ],
  identity_zones: [
    {
      id: 'shop',
      subdomain: 'shop',
      name: 'The shop',
      bootstrap: {
        clients: [
          {
            client_id: 'shop',
            client_secret: 'shop-secret',
            name: 'Shop',
            authorized_grant_types: ['authorization_code'],
            redirect_uri: ['https://shop.example/cb'],
            scope: ['openid'],
            required_user_groups: ['staff'],
          },
          caller('reader', 'clients.read'),
          caller('pretender', 'zones.shop.admin'),
          { ...caller('100%_sure', 'a'), 'it"s': "a'b" },
        ],
      },
    },
  ],
}
const SHOP = { host: 'shop.localhost:8080' }
const IN_SHOP = { headers: { 'x-identity-zone-id': 'shop' } }

const INJECTIONS: readonly string[] = [
  '',
  "'",
  '"',
  '%',
  '_',
  '%_%',
  '\\',
  '\\\\%',
  "' or '1'='1",
  '" or "1"="1',
  "x'; drop table clients; --",
  'x" or client_id pr or client_id eq "x',
  '/* */',
  '--',
  ':zone_id',
  '$1',
  '?',
  '\u2028\u{1f511}',
]

const NO_ATTRIBUTES =
  'authorities resource_ids name redirect_uri nothing __proto__ constructor toString zone_id secrets jwks token_salt updated_at clients.client_id'.split(
    ' ',
  )
const SORTABLE =
  'client_id resource_ids scope authorized_grant_types web_server_redirect_uri authorities access_token_validity refresh_token_validity additional_information autoapprove lastmodified'.split(
    ' ',
  )

for (const mode of MODES) {
  describe(`GET /oauth/clients (${mode})`, () => {
    let server: TestServer
    const tokens = new Map<string, string>()

    async function tokenOf(id: string, request: TestRequest = {}): Promise<string> {
      const key = `${id} at ${request.host ?? 'home'}`
      const known = tokens.get(key)
      if (known !== undefined) return known
      const basic = [id, `${id}-secret`] as const
      const { access_token } = tokensOf(await server.token({ grant_type: 'client_credentials' }, { basic, ...request }))
      tokens.set(key, access_token)
      return access_token
    }
    const get = async (query: Readonly<Record<string, string>> = {}, request: TestRequest = {}): Promise<TestAnswer> =>
      server.send('/oauth/clients', { query, bearer: await tokenOf('reader'), ...request })
    const list = async (query?: Readonly<Record<string, string>>, request?: TestRequest): Promise<List> => {
      const answer = await get(query, request)
      assert.equal(answer.status, 200, answer.text)
      return answer.json<List>()
    }
    const inShop = async (query: Readonly<Record<string, string>> = {}): Promise<List> =>
      list(query, { ...SHOP, bearer: await tokenOf('reader', SHOP) })
    const idsOf = ({ resources }: List): readonly unknown[] => resources.map(resource => resource['client_id'])

    before(async () => {
      server = await startServer({ mode, config: { bootstrap } })
    })
    after(async () => {
      assert.deepEqual(server.faults, [])
      await server.stop()
    })

    // Covers GET /oauth/clients: response: resources; startIndex; schemas
    it('returns envelope and members in the order of UAA', async () => {
      const answer = await get({ filter: 'client_id eq "shop"' }, { ...SHOP, bearer: await tokenOf('reader', SHOP) })
      const shop = await server.store.clients.find('shop', 'shop')
      assert.equal(answer.status, 200)
      assert.match(String(answer.headers['content-type']), /^application\/json\b/)
      assert.equal(
        answer.text,
        `{"resources":[{"client_id":"shop","scope":["openid"],"resource_ids":["none"],"authorized_grant_types":["authorization_code","refresh_token"],` +
          `"redirect_uri":["https://shop.example/cb"],"autoapprove":[],"authorities":["svc.none"],"name":"Shop","lastModified":${String(shop?.updatedAt.getTime())}}],` +
          `"startIndex":1,"itemsPerPage":1,"totalResults":1,"schemas":["http://cloudfoundry.org/schema/scim/oauth-clients-1.0"]}`,
      )
    })

    it('omits secrets, keys and required groups', async () => {
      const { text } = await get({}, { ...SHOP, bearer: await tokenOf('reader', SHOP) })
      assert.doesNotMatch(text, /secret|argon2|jwks|required_user_groups|staff/)
    })

    it('returns all clients of the zone, sorted by id, by default', async () => {
      assert.deepEqual(idsOf(await inShop()), ['100%_sure', 'pretender', 'reader', 'shop'])
      const { totalResults, itemsPerPage } = await list()
      const expected = bootstrap.clients.length
      assert.deepEqual([totalResults, itemsPerPage], [expected, expected])
    })

    it('treats empty parameters as absent', async () => {
      const empty = { filter: '', sortBy: '', sortOrder: '', startIndex: '', count: '', attributes: '' }
      assert.deepEqual(await inShop(empty), await inShop())
    })

    describe('allows', () => {
      for (const id of ['admin', 'clients-admin', 'reader', 'zone-admin']) {
        it(id, async () => assert.ok((await list({}, { bearer: await tokenOf(id) })).totalResults > 0))
      }
      for (const id of ['admin', 'foreign-reader', 'foreign-zone-admin']) {
        it(`${id} in another zone by header`, async () => {
          const found = await list({}, { ...IN_SHOP, bearer: await tokenOf(id) })
          assert.deepEqual(idsOf(found), ['100%_sure', 'pretender', 'reader', 'shop'])
        })
      }
    })

    describe('rejects', () => {
      for (const id of ['writer', 'service', 'foreign-reader', 'foreign-zone-admin']) {
        it(id, async () => {
          const bearer = await tokenOf(id)
          const answer = await refused(server, mode, () => get({}, { bearer }), {
            want: '403 insufficient_scope',
            description: 'Insufficient scope for this resource',
          })
          assert.equal(answer.json()['scope'], 'svc.admin clients.read clients.admin zones.svc.admin')
        })
      }
      it('a token of another zone with the scope zones.shop.admin', async () => {
        const bearer = await tokenOf('pretender', SHOP)
        await refused(server, mode, () => get({}, { ...SHOP, bearer }), { want: '403 insufficient_scope' })
      })
      it('a caller that may read the zone, but not its clients', async () => {
        const bearer = await tokenOf('writer')
        await refused(server, mode, () => get({}, { ...IN_SHOP, bearer }), { want: '403 insufficient_scope' })
      })
      it('a token of another zone', async () => {
        const bearer = await tokenOf('reader', SHOP)
        await refused(server, mode, () => get({}, { bearer }), { want: '401 invalid_token' })
      })
      it('a caller without a token', async () => {
        const sending = (): Promise<TestAnswer> => server.send('/oauth/clients')
        await refused(server, mode, sending, {
          want: '401 unauthorized',
          description: 'Full authentication is required to access this resource',
        })
      })
      it('an invalid token before an invalid filter', async () => {
        const sending = (): Promise<TestAnswer> =>
          server.send('/oauth/clients', { query: { filter: '(' }, bearer: 'x' })
        await refused(server, mode, sending, { want: '401 invalid_token' })
      })
    })

    describe('filter', () => {
      const filters: readonly { filter: string; want: readonly string[] }[] = [
        { filter: 'client_id eq "SHOP"', want: ['shop'] },
        { filter: `client_id eq 'shop'`, want: ['shop'] },
        { filter: 'Client_Id SW "S" oR client_id co "EAD"', want: ['reader', 'shop'] },
        { filter: 'client_id gt "pretender" and client_id lt "shop"', want: ['reader'] },
        { filter: 'client_id ge "reader" and not (client_id le "reader")', want: ['shop'] },
        { filter: 'client_id co "%"', want: ['100%_sure'] },
        { filter: 'client_id sw "100%_"', want: ['100%_sure'] },
        { filter: 'client_id sw "1_0"', want: [] },
        { filter: 'client_id eq "%"', want: [] },
        { filter: 'scope eq "openid"', want: ['shop'] },
        { filter: 'web_server_redirect_uri sw "https://SHOP."', want: ['shop'] },
        { filter: 'authorized_grant_types eq "client_credentials" and client_id sw "p"', want: ['pretender'] },
        { filter: 'required_user_groups eq "staff"', want: ['shop'] },
        { filter: 'lastmodified gt "2000-01-01T00:00:00.000Z" and client_id sw "s"', want: ['shop'] },
        { filter: 'lastmodified lt "2000-01-01T00:00:00.000Z"', want: [] },
        { filter: 'access_token_validity pr', want: [] },
      ]
      for (const { filter, want } of filters) {
        it(`finds ${want.length} by ${filter}`, async () => assert.deepEqual(idsOf(await inShop({ filter })), want))
      }

      for (const value of INJECTIONS) {
        // Covers GET /oauth/clients: filter
        it(`treats ${JSON.stringify(value)} as a literal`, async () => {
          for (const attribute of ['client_id', 'scope', 'created_by', 'autoapprove']) {
            const found = await inShop({ filter: `${attribute} eq ${JSON.stringify(value)}` })
            assert.deepEqual([idsOf(found), found.totalResults], [[], 0])
          }
        })
      }
    })

    describe('rejects a filter', () => {
      const bad: readonly { name: string; filter: string; sortBy?: string }[] = [
        { name: 'without an operator', filter: 'client_id' },
        { name: 'with an unknown operator', filter: 'client_id ne "x"' },
        // Covers GET /oauth/clients: error: bad filter
        { name: 'with an unclosed quote', filter: `client_id eq "x' or client_id pr` },
        { name: 'with a second statement', filter: 'client_id pr; drop table clients' },
        { name: 'with a comment', filter: 'client_id pr --' },
        { name: 'with a function call', filter: 'lower(client_id) eq "x"' },
        { name: 'with an unclosed parenthesis', filter: '(client_id pr' },
        { name: 'with a NUL character', filter: 'client_id eq "\\u0000"' },
        { name: 'with a lone surrogate', filter: 'client_id co "\\ud800"' },
        { name: 'with a number for a string', filter: 'client_id eq 1' },
        { name: 'with a fraction of a second', filter: 'access_token_validity gt 0.5' },
        { name: 'with an invalid date', filter: 'lastmodified gt "2030-02-30T00:00:00.000Z"' },
        { name: 'with 2000 parentheses', filter: '('.repeat(2000) },
        { name: 'with 101 comparisons', filter: Array.from({ length: 101 }, () => 'scope pr').join(' or ') },
        ...NO_ATTRIBUTES.map(attribute => ({ name: `by ${attribute}`, filter: `${attribute} pr` })),
        ...['name', 'zone_id', 'secrets', 'client_id desc', 'client_id,scope', '1', '__proto__', "client_id'--"].map(
          sortBy => ({ name: `sorted by ${sortBy}`, filter: 'client_id pr', sortBy }),
        ),
      ]
      for (const { name, filter, sortBy = 'client_id' } of bad) {
        it(name, async () => {
          const description = `Invalid filter expression: [${filter}] [${sortBy}]`
          const answer = await refused(server, mode, () => get({ filter, sortBy }), {
            want: '400 unknown_error',
            description: mode === 'uaa' ? description : description.replace(/[^ !#-[\]-~]/g, '?'),
          })
          assert.deepEqual(Object.keys(answer.json()), ['error', 'error_description'])
        })
      }

      it('of 100 kB, without repeating it', async () => {
        const filter = `client_id eq "${'x'.repeat(100_000)}"`
        const { text } = await refused(server, mode, () => get({ filter }), { want: '400 unknown_error' })
        assert.ok(text.length < 10_000)
      })

      it('that is the default if sortBy is invalid', async () => {
        await refused(server, mode, () => get({ sortBy: 'x' }), {
          want: '400 unknown_error',
          description: 'Invalid filter expression: [client_id pr] [x]',
        })
      })

      it('that is not UTF-8', async () => {
        const bearer = await tokenOf('reader')
        for (const query of ['filter=%ff', 'filter=client_id%20eq%20%22%ed%a0%80%22', 'filter=%00', 'count=%']) {
          const answer = await server.send(`/oauth/clients?${query}`, { bearer })
          assert.equal(answer.status, 400, query)
        }
      })
    })

    describe('pagination', () => {
      const all = ['100%_sure', 'pretender', 'reader', 'shop']
      const pages: readonly {
        query: Readonly<Record<string, string>>
        want: readonly string[]
        itemsPerPage: number
      }[] = [
        { query: { count: '2' }, want: all.slice(0, 2), itemsPerPage: 2 },
        { query: { startIndex: '3', count: '2' }, want: all.slice(2), itemsPerPage: 2 },
        { query: { startIndex: '4', count: '3' }, want: all.slice(3), itemsPerPage: 3 },
        { query: { startIndex: '5' }, want: [], itemsPerPage: 4 },
        { query: { startIndex: '2147483647' }, want: [], itemsPerPage: 4 },
        { query: { count: '501' }, want: all, itemsPerPage: 4 },
        { query: { count: '2147483647' }, want: all, itemsPerPage: 4 },
        { query: { count: '0' }, want: [], itemsPerPage: 0 },
        { query: { count: '-1' }, want: [], itemsPerPage: 0 },
        { query: { sortOrder: 'descending' }, want: all.toReversed(), itemsPerPage: 4 },
        { query: { sortOrder: 'Ascending' }, want: all.toReversed(), itemsPerPage: 4 },
        {
          query: { sortOrder: 'descending', startIndex: '2', count: '2' },
          want: ['reader', 'pretender'],
          itemsPerPage: 2,
        },
        {
          query: { sortBy: 'Scope', filter: 'client_id sw "s" or client_id sw "r"' },
          want: ['shop', 'reader'],
          itemsPerPage: 2,
        },
      ]
      for (const { query, want, itemsPerPage } of pages) {
        it(`applies ${JSON.stringify(query)}`, async () => {
          const found = await inShop(query)
          assert.deepEqual(idsOf(found), want)
          const startIndex = Number(query['startIndex'] ?? 1)
          const totalResults = query['filter'] === undefined ? all.length : 2
          assert.deepEqual(
            [found.startIndex, found.itemsPerPage, found.totalResults],
            [startIndex, itemsPerPage, totalResults],
          )
        })
      }

      for (const sortBy of SORTABLE) {
        // Covers GET /oauth/clients: sortBy; sortOrder
        it(`sorts by ${sortBy} in both directions`, async () => {
          const [up, down] = [await inShop({ sortBy }), await inShop({ sortBy, sortOrder: 'descending' })]
          assert.equal(up.resources.length, all.length)
          assert.deepEqual(idsOf(down), idsOf(up).toReversed())
        })
      }

      const numbers = ['0', '-1', '1.5', '1e3', 'x', ' 1', '0x1', '2147483648', '9'.repeat(400), 'NaN', '١']
      for (const startIndex of numbers) {
        // Covers GET /oauth/clients: startIndex
        it(`rejects startIndex=${startIndex.slice(0, 20)}`, async () => {
          await refused(server, mode, () => get({ startIndex }), {
            want: '400 invalid_request',
            description: /startIndex/,
          })
        })
      }
      for (const count of numbers.slice(2)) {
        // Covers GET /oauth/clients: count
        it(`rejects count=${count.slice(0, 20)}`, async () => {
          await refused(server, mode, () => get({ count }), { want: '400 invalid_request', description: /count/ })
        })
      }

      // Covers GET /oauth/clients: clientMaxCount; response: itemsPerPage; totalResults
      it('limits a page to 500 clients', async () => {
        const model = await clientNamed(server, 'service')
        for (let number = 0; number < 501; number += 1) {
          await server.store.clients.insert('svc', { ...model, clientId: `many-${number}` })
        }
        const filter = 'client_id sw "many-"'
        const { resources, itemsPerPage, totalResults } = await list({ filter, count: '1000' })
        assert.deepEqual([resources.length, itemsPerPage, totalResults], [500, 500, 501])
        assert.equal((await list({ filter })).resources.length, 100)
      })
    })

    describe('attributes', () => {
      const shop = { filter: 'client_id eq "shop"' }
      // Covers GET /oauth/clients: attributes
      it('selects members, including aliases', async () => {
        const { resources } = await inShop({ ...shop, attributes: ' client_id,scope, redirect_uri ,,name' })
        assert.deepEqual(resources, [
          { client_id: 'shop', scope: ['openid'], redirect_uri: ['https://shop.example/cb'], name: 'Shop' },
        ])
      })
      it('returns null for absent members', async () => {
        const attributes = 'constructor,nothing,client_secret,required_user_groups,access_token_validity'
        const { resources } = await inShop({ ...shop, attributes })
        assert.deepEqual(resources, [
          {
            constructor: null,
            nothing: null,
            client_secret: null,
            required_user_groups: null,
            access_token_validity: null,
          },
        ])
      })
      it('does not read prototypes', async () => {
        const { text } = await get({ count: '1', attributes: '__proto__' })
        assert.match(text, /^\{"resources":\[\{"__proto__":null\}\],/)
      })
      it('selects additional attributes', async () => {
        const { resources } = await inShop({ filter: 'client_id co "%"', attributes: 'it"s' })
        assert.deepEqual(resources, [{ 'it"s': "a'b" }])
      })
    })

    it(mode === 'uaa' ? 'uses the first of repeated parameters' : 'rejects repeated parameters', async () => {
      const sending = async (): Promise<TestAnswer> =>
        server.send('/oauth/clients?count=1&count=2', { bearer: await tokenOf('reader') })
      if (mode === 'uaa') assert.equal((await sending()).json<List>().resources.length, 1)
      else
        await refused(server, mode, sending, { want: '400 invalid_request', description: /count must not be repeated/ })
    })
  })
}
