// Tenants with the same names for everything; each attacker has only ids and tokens of another zone. The general tests send to
// every registered route, including future ones; the others cover requests of a certain form.
import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, beforeEach, describe, it } from 'node:test'
import type { RegisteredRoute } from '../../src/web/route.ts'
import { MODES } from '../support/oauth.ts'
import type { TestAnswer, TestRequest, TestServer } from '../support/server.ts'
import { startServer } from '../support/server.ts'
import type { Tables } from '../support/tables.ts'
import { openTables } from '../support/tables.ts'
import type { Belongings, Tenant } from '../support/tenants.ts'
import { createSkip } from '../support/thinning.ts'
import { recordsOf, hostOf, markOf, onlyClientOf, tenantsConfig, waysTo, ZONE_RIGHTS } from '../support/tenants.ts'

const JSON_TYPE = { 'content-type': 'application/json' }
const TO_B = [{ 'x-identity-zone-id': 'zone-b' }, { 'x-identity-zone-subdomain': 'zone-b' }]

/** Values that a careless comparison takes for the id of the other zone, or for one above it. */
const LOOK_ALIKES = [
  'ZONE-B',
  'zone-b ',
  'zone-b.',
  'zone-b.clients',
  'zone-a.clients',
  'zone-a,zone-b',
  'zone-b\u00ad',
  'z\u00f3ne-b',
  '%',
  '_______',
  'zone-_',
  '*',
  'zone-*',
  '../zone-b',
  'zone-a/../zone-b',
  'zone-b%2f',
  'zone%2db',
  '$&',
  '{zone}',
]

for (const mode of MODES) {
  describe(`Tenant isolation in ${mode}`, () => {
    let folder: string
    let server: TestServer
    let tables: Tables
    let a: Belongings
    let b: Belongings
    let home: Belongings

    before(async () => {
      folder = await mkdtemp(join(tmpdir(), 'latchkey-tenants-'))
      const database = `sqlite:${join(folder, 'tenants.db')}`
      server = await startServer({ mode, database, config: tenantsConfig })
      tables = await openTables(database)
      ;[a, b, home] = [
        await recordsOf(server, 'zone-a'),
        await recordsOf(server, 'zone-b'),
        await recordsOf(server, 'svc'),
      ]
    })
    after(async () => {
      await tables.close()
      await server.stop()
      await rm(folder, { recursive: true })
    })

    /** All rows of the zone except anonymous sessions. */
    async function rowsOf(tenant: Tenant): Promise<string> {
      const rows: unknown[] = [await tables.run('select * from zones where id = ?1', tenant)]
      for (const table of tables.ofZones) {
        const visitors = table === 'sessions' ? 'and user_id is not null' : ''
        rows.push(table, await tables.run(`select * from ${table} where zone_id = ?1 ${visitors}`, tenant))
      }
      return JSON.stringify(rows)
    }

    /** The rows, read again only after a write to the database, as SQLite itself counts it. */
    const lastRead = new Map<Tenant, { readonly version: unknown; readonly rows: string }>()
    async function currentRowsOf(tenant: Tenant): Promise<string> {
      const [row] = await tables.run('pragma data_version')
      const version = row?.['data_version']
      const earlier = lastRead.get(tenant)
      if (earlier && earlier.version === version) return earlier.rows
      const rows = await rowsOf(tenant)
      lastRead.set(tenant, { version, rows })
      return rows
    }

    /** The rows before the first request of the test. */
    const known = new Map<Tenant, string>()
    beforeEach(() => known.clear())

    /** Does the work and asserts that it has not changed the zone. */
    async function unchanged(tenant: Tenant, label: string, work: () => Promise<void>): Promise<void> {
      const earlier = known.get(tenant) ?? (await currentRowsOf(tenant))
      assert.ok(earlier.includes(markOf(tenant)))
      known.set(tenant, earlier)
      await work()
      assert.equal(await currentRowsOf(tenant), earlier, label)
    }

    /** Sends a request and asserts that the response contains nothing of the zone. */
    async function sendAndCheck(
      path: string,
      request: TestRequest,
      { of = 'zone-b', label = '' }: { of?: Tenant; label?: string } = {},
    ) {
      const answer = await server.send(path, request)
      const reported = `${answer.text} ${JSON.stringify(answer.headers)}`
      const what = `${request.method ?? ''} ${path} ${label}: ${answer.status} ${reported.slice(0, 500)}`
      assert.ok(answer.status < 500, what)
      // The response may repeat the request.
      const sent = `${path} ${JSON.stringify(request)}`
      if (!sent.includes(markOf(of))) assert.ok(!reported.includes(markOf(of)), what)
      return answer
    }

    /** The paths of a route, with each id of the other zone as parameter. */
    function pathsOf({ url }: RegisteredRoute): readonly string[] {
      if (!/[:*]/.test(url)) return [url]
      const ids = [onlyClientOf('zone-b'), ...Object.values(b.ids), 'zone-b.latchkey', '..%2fzone-b']
      const paths = ids.map(id => url.replaceAll(/:\w+|\*/g, id.includes('%') ? id : encodeURIComponent(id)))
      const pair = url.replace(/:id\b|:userId\b/, match => (match === ':id' ? b.ids.zone : b.ids.user))
      return [...new Set([pair.replaceAll(/:\w+|\*/g, 'app'), ...paths])]
    }

    /** A body for any route, with ids of the other zone in every member. */
    function bodyOf({ method, body }: RegisteredRoute): TestRequest {
      if (method === 'GET' || method === 'HEAD') return {}
      const { zone, user, provider } = b.ids
      const record = {
        id: zone,
        zoneId: zone,
        zone_id: zone,
        identityZoneId: zone,
        client_id: onlyClientOf('zone-b'),
        clientId: onlyClientOf('zone-b'),
        userId: user,
        user_id: user,
        originKey: 'corp',
        aliasZid: zone,
        aliasId: provider,
        subdomain: zone,
        name: 'Taken over',
        type: 'oidc1.0',
        action: 'delete',
        secret: 'taken over',
        requirePasswordChange: true,
        authorized_grant_types: ['client_credentials'],
        scope: ['openid'],
      }
      if (body === 'json') return { method, body: JSON.stringify(record), headers: JSON_TYPE }
      if (body === 'json list') return { method, body: JSON.stringify([record]), headers: JSON_TYPE }
      const texts = Object.entries(record).filter(([, value]) => typeof value === 'string')
      return { method, form: Object.fromEntries(texts) as Record<string, string> } // strings only
    }

    const every = mode === 'standard' ? 5 : 11
    /**
     * Routes do not depend on the mode, and most of their requests are equivalent: an ordinary run sends the first
     * or second request of each route and every 5th or 11th after it, depending on the mode.
     */
    const leavesOutOf = (place: number): (() => boolean) => createSkip(every, place % 2)

    const isRefusal = ({ status }: TestAnswer): boolean => [401, 403, 404].includes(status)

    it('answers callers of the zone itself (control)', async () => {
      for (const { prefix, request } of waysTo('zone-b')) {
        const token = prefix === '' ? b.adminToken : await tokenByPath()
        for (const path of ['/oauth/clients', '/identity-providers', '/identity-zones', '/oauth/clients/app']) {
          const answer = await server.send(prefix + path, { ...request, bearer: token })
          assert.equal(answer.status, 200, `${prefix}${path} ${answer.text}`)
          assert.ok(answer.text.includes(markOf('zone-b')), path)
        }
      }
      for (const headers of TO_B) {
        const answer = await server.send('/oauth/clients', { bearer: home.adminToken, headers })
        assert.ok(answer.text.includes(markOf('zone-b')), answer.text)
      }
      const profile = await b.browser.send('/profile')
      assert.ok(profile.text.includes(markOf('zone-b')), profile.text)
    })

    async function tokenByPath(): Promise<string> {
      const answer = await server.send('/z/zone-b/oauth/token', {
        form: { grant_type: 'client_credentials' },
        basic: b.basic('root'),
      })
      return answer.json<{ access_token: string }>().access_token
    }

    it('reveals and changes nothing, on any route, with tokens of another zone', async () => {
      const bearers = [a.adminToken, a.zoneToken, a.userToken, a.opaqueToken, a.refreshToken, a.idToken]
      for (const [place, route] of (await server.app.routes()).entries()) {
        const leftOut = leavesOutOf(place)
        const label = `${route.method} ${route.url}`
        await unchanged('zone-b', label, async () => {
          // Routes that read no token need only one.
          for (const bearer of route.access.by === 'bearer' ? bearers : bearers.slice(0, 1)) {
            const paths = pathsOf(route)
            for (const path of bearer === a.adminToken ? paths : paths.slice(0, 2)) {
              const sent = { method: route.method, ...bodyOf(route), bearer }
              const ways = bearer === a.adminToken ? TO_B : TO_B.slice(0, 1)
              for (const way of waysTo('zone-b')) {
                if (leftOut()) continue
                const answer = await sendAndCheck(way.prefix + path, { ...sent, ...way.request }, { label: way.name })
                if (route.access.by === 'bearer') assert.ok(isRefusal(answer), `${label} ${path}: ${answer.status}`)
              }
              for (const headers of ways) {
                for (const host of ['zone-a', 'svc'] as const) {
                  if (leftOut()) continue
                  const request = { ...sent, host: hostOf(host), headers: { ...sent.headers, ...headers } }
                  const answer = await sendAndCheck(path, request, { label: `by header from ${host}` })
                  if (route.access.by === 'bearer') assert.ok(isRefusal(answer), `${label} ${path}: ${answer.status}`)
                }
              }
            }
          }
        })
      }
    })

    it('reveals and changes nothing, on any route, if ids are used in another zone', async () => {
      for (const [place, route] of (await server.app.routes()).entries()) {
        const leftOut = leavesOutOf(place)
        await unchanged('zone-b', `${route.method} ${route.url}`, async () => {
          for (const path of pathsOf(route)) {
            if (path.includes('app')) continue // the client of the same name in the caller's zone
            for (const bearer of [a.adminToken, a.zoneToken, a.userToken]) {
              if (leftOut()) continue
              const request = { method: route.method, ...bodyOf(route), bearer, host: hostOf('zone-a') }
              const query = { originKey: 'corp', origin: 'corp', zone: 'zone-b', client_id: onlyClientOf('zone-b') }
              await sendAndCheck(path, { ...request, ...(route.method === 'GET' && { query }) })
            }
          }
        })
      }
    })

    it('rejects, on any route, session and anti-forgery token of another zone', async () => {
      for (const [place, route] of (await server.app.routes()).entries()) {
        const leftOut = leavesOutOf(place)
        const label = `${route.method} ${route.url}`
        await unchanged('zone-b', label, async () => {
          const cookies = Object.fromEntries(a.browser.cookies)
          const forged = { 'X-Svc-Csrf': a.browser.csrf, 'X-Uaa-Csrf': a.browser.csrf }
          const sent = bodyOf(route)
          const form = sent.form === undefined ? {} : { form: { ...Object(sent.form), ...forged, token: a.userToken } }
          for (const path of pathsOf(route)) {
            for (const way of waysTo('zone-b')) {
              if (leftOut()) continue
              const request = { method: route.method, ...sent, ...form, ...way.request, cookies }
              const answer = await sendAndCheck(way.prefix + path, request, { label: way.name })
              if (route.access.by === 'session')
                assert.ok([302, 403].includes(answer.status), `${label}: ${answer.status}`)
              if (route.access.by === 'bearer') assert.ok(isRefusal(answer), `${label}: ${answer.status}`)
            }
          }
        })
      }
    })

    it('rejects, on any route, the secret of the client of the same name in another zone', async () => {
      for (const route of (await server.app.routes()).filter(({ access }) => access.by === 'client')) {
        await unchanged('zone-b', route.url, async () => {
          for (const basic of [a.basic('app'), a.basic('root'), home.basic('root')]) {
            for (const way of waysTo('zone-b')) {
              const path = way.prefix + route.url.replace(':entity', 'zone-b.latchkey')
              for (const token of [b.userToken, b.opaqueToken, b.refreshToken, a.userToken]) {
                const form = { grant_type: 'client_credentials', token }
                const parameters = ['GET', 'HEAD'].includes(route.method) ? { query: form } : { form }
                const answer = await sendAndCheck(path, { method: route.method, ...way.request, ...parameters, basic })
                // Disabled protocols are unknown paths: in uaa they redirect to the sign-in page.
                const isUnknown = answer.status === 302 && answer.location().pathname.endsWith('/login')
                const isNothing = isUnknown || /^\{"active":false\}$/.test(answer.text)
                assert.ok(answer.status >= 400 || isNothing, `${path}: ${answer.status}`)
                assert.doesNotMatch(answer.text, /access_token"|"active":true/)
              }
            }
          }
        })
      }
    })

    describe('at the token endpoint', () => {
      const grants: readonly { name: string; form: () => Promise<Record<string, string>>; client?: string }[] = [
        {
          name: 'a code',
          form: async () => ({
            grant_type: 'authorization_code',
            code: await a.code(),
            redirect_uri: 'https://app.example/cb',
          }),
        },
        { name: 'a refresh token', form: async () => ({ grant_type: 'refresh_token', refresh_token: a.refreshToken }) },
        { name: 'a passcode', form: async () => ({ grant_type: 'password', passcode: a.passcode }) },
        {
          name: 'a user token',
          form: async () => ({
            grant_type: 'user_token',
            token: a.userToken,
            client_id: 'app',
            response_type: 'token',
          }),
        },
        {
          name: 'a user token as an assertion',
          form: async () => ({ grant_type: 'urn:ietf:params:oauth:grant-type:jwt-bearer', assertion: a.userToken }),
          client: 'jwt',
        },
        {
          name: 'an ID token as an assertion',
          form: async () => ({ grant_type: 'urn:ietf:params:oauth:grant-type:jwt-bearer', assertion: a.idToken }),
          client: 'jwt',
        },
      ]
      for (const { name, form, client = 'app' } of grants) {
        it(`rejects ${name} of another zone`, () =>
          unchanged('zone-b', name, async () => {
            for (const way of waysTo('zone-b')) {
              const request = { ...way.request, form: await form(), basic: b.basic(client) }
              const answer = await sendAndCheck(`${way.prefix}/oauth/token`, request)
              assert.ok([400, 401].includes(answer.status), answer.text)
              const bearer = { ...way.request, form: await form(), bearer: a.userToken }
              assert.ok((await sendAndCheck(`${way.prefix}/oauth/token`, bearer)).status >= 400)
            }
          }))
      }

      it('rejects a client assertion for another zone, even with the same key', () =>
        unchanged('zone-b', 'assertion', async () => {
          const form = async () => ({
            grant_type: 'client_credentials',
            client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
            client_assertion: await a.assertion(),
          })
          for (const way of waysTo('zone-b')) {
            const answer = await sendAndCheck(`${way.prefix}/oauth/token`, { ...way.request, form: await form() })
            assert.equal(answer.status, 401, answer.text)
          }
          const own = await server.send('/oauth/token', { host: hostOf('zone-a'), form: await form() })
          assert.equal(own.status, 200, own.text)
        }))
    })

    it('reports tokens of another zone as inactive, and does not revoke them', async () => {
      for (const token of [a.userToken, a.opaqueToken, a.refreshToken, a.adminToken]) {
        const request = { host: hostOf('zone-b'), form: { token }, basic: b.basic('app') }
        const reported = await sendAndCheck('/introspect', request)
        assert.equal(reported.json()['active'], false)
        assert.equal((await sendAndCheck('/check_token', request)).status, 400)
        await unchanged('zone-a', 'revocation', async () => {
          await sendAndCheck('/oauth/revoke', request, { of: 'zone-a' })
          await sendAndCheck('/oauth/token/revoke/x', { method: 'DELETE', host: hostOf('zone-b'), bearer: token })
        })
      }
      const own = { host: hostOf('zone-a'), form: { token: a.userToken }, basic: a.basic('app') }
      assert.equal((await server.send('/introspect', own)).json()['active'], true)
    })

    it('ignores revocations from other zones', () =>
      unchanged('zone-b', 'revocations', async () => {
        const paths = [`/oauth/token/revoke/user/${b.ids.user}`, `/oauth/token/revoke/${b.opaqueToken}`]
        for (const path of [...paths, `${paths[0]}/client/app`]) {
          for (const [host, bearer] of [
            ['zone-a', a.adminToken],
            ['svc', home.adminToken],
          ] as const) {
            await sendAndCheck(path, { method: path.includes('user') ? 'GET' : 'DELETE', host: hostOf(host), bearer })
          }
        }
        const list = await sendAndCheck(`/oauth/token/list/user/${b.ids.user}`, {
          host: hostOf('zone-a'),
          bearer: a.adminToken,
        })
        assert.doesNotMatch(list.text, /"zid":"zone-b"/)
      }))

    describe('against an administrator of another zone', () => {
      /** A token with all rights of the administrator, and one with each alone. */
      async function administrators(): Promise<readonly string[]> {
        const all = await server.token({ grant_type: 'client_credentials' }, { basic: home.basic('admin-of-a') })
        const each = await Promise.all(
          ZONE_RIGHTS.map(right =>
            server.token(
              { grant_type: 'client_credentials', scope: `zones.zone-a.${right}` },
              { basic: home.basic('admin-of-a') },
            ),
          ),
        )
        return [all, ...each].map(answer => answer.json<{ access_token: string }>().access_token)
      }

      it('rejects, on any route, a header that names the zone', async () => {
        const [all = ''] = await administrators()
        const routes = (await server.app.routes()).filter(({ access }) => access.by === 'bearer')
        for (const [place, route] of routes.entries()) {
          const label = `${route.method} ${route.url}`
          for (const target of ['zone-b', 'svc'] as const) {
            const leftOut = leavesOutOf(place)
            await unchanged(target, label, async () => {
              for (const path of pathsOf(route)) {
                const sent = { method: route.method, ...bodyOf(route), bearer: all }
                // Routes without scopes accept every token of its own zone, with or without the header.
                const atHome = 'scopes' in route.access ? [{ 'x-identity-zone-id': 'svc' }, {}] : []
                for (const more of target === 'svc' ? atHome : TO_B) {
                  if (leftOut()) continue
                  const request = { ...sent, headers: { ...sent.headers, ...more } }
                  const answer = await sendAndCheck(path, request, { of: target, label: JSON.stringify(more) })
                  assert.ok(isRefusal(answer), `${label} ${path} ${JSON.stringify(more)}: ${answer.status}`)
                }
              }
            })
          }
        }
      })

      it('rejects ids that resemble the zone id', async () => {
        const tokens = await administrators()
        const leftOut = createSkip(every)
        await unchanged('svc', 'look-alikes', () =>
          unchanged('zone-b', 'look-alikes', async () => {
            for (const bearer of tokens) {
              for (const id of LOOK_ALIKES) {
                for (const name of ['x-identity-zone-id', 'x-identity-zone-subdomain']) {
                  if (leftOut()) continue
                  for (const path of ['/oauth/clients', '/identity-providers', '/identity-zones/zone-b']) {
                    const answer = await sendAndCheck(path, { bearer, headers: { [name]: id } })
                    assert.ok([403, 404].includes(answer.status), `${name}: ${id}: ${answer.status}`)
                  }
                }
                for (const headers of [{}, { 'x-identity-zone-id': 'zone-a' }]) {
                  const answer = await sendAndCheck(`/identity-zones/${encodeURIComponent(id)}`, { bearer, headers })
                  assert.ok([403, 404].includes(answer.status), `${id}: ${answer.status}`)
                }
              }
            }
          }),
        )
      })

      it('protects the zone record', async () => {
        const [all = ''] = await administrators()
        const body = JSON.stringify({ id: 'zone-b', subdomain: 'stolen', name: 'Stolen', active: false })
        await unchanged('svc', 'zones', () =>
          unchanged('zone-b', 'zones', async () => {
            for (const [host, bearer, inside] of [
              ['svc', all, { 'x-identity-zone-id': 'zone-a' }],
              ['svc', all, {}],
              ['zone-a', a.adminToken, {}],
              ['zone-a', a.zoneToken, {}],
            ] as const) {
              for (const id of ['zone-b', 'svc']) {
                const where = { bearer, host: hostOf(host) }
                for (const [method, path, sent] of [
                  ['GET', '', undefined],
                  ['PUT', '', body],
                  ['DELETE', '', undefined],
                  ['POST', '/clients', '{}'],
                  ['DELETE', '/clients/app', undefined],
                ] as const) {
                  const headers = { ...inside, ...(sent !== undefined && JSON_TYPE) }
                  const request = { ...where, method, headers, ...(sent !== undefined && { body: sent }) }
                  const answer = await sendAndCheck(`/identity-zones/${id}${path}`, request)
                  assert.ok([403, 404].includes(answer.status), `${host} ${method} ${id}${path}: ${answer.status}`)
                }
              }
              const made = await sendAndCheck('/identity-zones', {
                method: 'POST',
                bearer,
                host: hostOf(host),
                body: JSON.stringify({ id: 'new', subdomain: 'new', name: 'New' }),
                headers: { ...inside, ...JSON_TYPE },
              })
              assert.equal(made.status, 403)
            }
          }),
        )
      })

      it('rejects alias providers', () =>
        unchanged('svc', 'aliases', () =>
          unchanged('zone-b', 'aliases', async () => {
            const [all = ''] = await administrators()
            const record = (aliasZid: string) => ({
              type: 'oidc1.0',
              originKey: `to-${aliasZid}`,
              name: 'Copied',
              aliasZid,
              config: {
                discoveryUrl: 'https://idp.example/.well-known/openid-configuration',
                relyingPartyId: 'me',
                linkText: 'x',
              },
            })
            for (const [host, bearer, inside] of [
              ['svc', all, { 'x-identity-zone-id': 'zone-a' }],
              ['zone-a', a.adminToken, {}],
            ] as const) {
              for (const target of ['zone-b', 'svc', 'ZONE-B', 'zone-b ']) {
                const answer = await sendAndCheck('/identity-providers', {
                  bearer,
                  host: hostOf(host),
                  body: JSON.stringify(record(target)),
                  headers: { ...inside, ...JSON_TYPE },
                })
                assert.equal(answer.status, 422, answer.text)
              }
            }
          }),
        ))
    })

    it('causes no faults and keeps tokens valid', async () => {
      assert.deepEqual(server.faults, [])
      for (const token of [b.userToken, b.opaqueToken]) {
        const request = { host: hostOf('zone-b'), form: { token }, basic: b.basic('app') }
        assert.equal((await server.send('/introspect', request)).json()['active'], true)
      }
      assert.equal((await b.browser.send('/profile')).status, 200)
    })
  })
}
