import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { MODES } from '../../support/oauth.ts'
import type { ProviderCall } from '../../support/provider-api.ts'
import { HOST_OF_Z1, oidc, providerApi, providerBootstrap } from '../../support/provider-api.ts'
import type { TestServer } from '../../support/server.ts'
import { startServer } from '../../support/server.ts'

const Z1 = { headers: { 'x-identity-zone-id': 'z1' } }
const BY_SUBDOMAIN = { headers: { 'x-identity-zone-subdomain': 'Z1' } }
const IN_Z1 = { host: HOST_OF_Z1 }
const NOWHERE = { headers: { 'x-identity-zone-id': 'nowhere' } }
const ASLEEP = { headers: { 'x-identity-zone-id': 'z2' } }

interface Row {
  readonly as: string
  readonly where?: ProviderCall
  /** Expected statuses. */
  readonly read: number
  readonly write: number
}
const matrix: readonly Row[] = [
  { as: 'admin', read: 200, write: 201 },
  { as: 'reader', read: 200, write: 403 },
  { as: 'writer', read: 403, write: 201 },
  { as: 'zone-admin', read: 200, write: 201 },
  { as: 'z1-admin', read: 403, write: 403 },
  { as: 'stranger', read: 403, write: 403 },
  { as: 'admin', where: Z1, read: 200, write: 201 },
  { as: 'admin', where: BY_SUBDOMAIN, read: 200, write: 201 },
  { as: 'z1-admin', where: Z1, read: 200, write: 201 },
  { as: 'z1-reader', where: Z1, read: 200, write: 403 },
  { as: 'z1-writer', where: Z1, read: 403, write: 201 },
  { as: 'z1-clients', where: Z1, read: 403, write: 403 },
  { as: 'reader', where: Z1, read: 403, write: 403 },
  { as: 'zone-admin', where: Z1, read: 403, write: 403 },
  { as: 'admin', where: NOWHERE, read: 404, write: 404 },
  { as: 'admin', where: ASLEEP, read: 404, write: 404 },
  { as: 'admin', where: IN_Z1, read: 200, write: 201 },
  { as: 'writer', where: IN_Z1, read: 200, write: 201 },
  { as: 'pretender', where: IN_Z1, read: 403, write: 403 },
  { as: 'admin', where: { ...IN_Z1, ...Z1 }, read: 403, write: 403 },
]
const placeOf = ({ host, headers }: ProviderCall = {}): string =>
  [host ?? 'the default zone', ...Object.values(headers ?? {}).map(zone => `with the zone header ${zone}`)].join(' ')

for (const mode of MODES) {
  describe(`Authorization of /identity-providers in ${mode}`, () => {
    let server: TestServer
    const api = providerApi(() => server)
    before(async () => {
      server = await startServer({ mode, config: { bootstrap: providerBootstrap } })
    })
    after(async () => {
      assert.deepEqual(server.faults, [])
      api.assertNoSecrets()
      await server.stop()
    })
    const zoneOf = ({ host, headers }: ProviderCall = {}): string => ((host ?? headers) ? 'z1' : 'svc')

    for (const { as, where = {}, read, write } of matrix) {
      it(`answers ${as} in ${placeOf(where)} with ${read} to reads and ${write} to writes`, async () => {
        const zone = zoneOf(where)
        assert.equal((await api.call({ as, ...where })).status, read)
        const internal = await server.store.providers.findByOrigin(zone, 'svc')
        assert.ok(internal)
        const path = `/${internal.id}`
        assert.equal((await api.call({ as, path, ...where })).status, read)

        const before = await server.store.providers.list(zone)
        const created = await api.call({ as, method: 'POST', json: oidc('made'), ...where })
        assert.equal(created.status, write, created.text)
        const made = await server.store.providers.findByOrigin(zone, 'made')
        assert.equal(made !== undefined, write === 201)
        if (made) assert.equal(created.json()['identityZoneId'], zone)
        const id = made?.id ?? internal.id
        const later = write === 201 ? 200 : write
        const put = await api.call({ as, method: 'PUT', path: `/${id}`, json: oidc('made'), ...where })
        assert.equal(put.status, later, put.text)
        const status = { requirePasswordChange: true }
        const patch = await api.call({ as, method: 'PATCH', path: `/${id}/status`, json: status, ...where })
        assert.equal(patch.status, write === 201 ? 422 : write, patch.text)
        assert.equal((await api.call({ as, method: 'DELETE', path: `/${id}`, ...where })).status, later)
        assert.deepEqual(await server.store.providers.list(zone), before)
      })
    }

    it('requires a token before reading the body', async () => {
      for (const [method, path] of [
        ['GET', ''],
        ['POST', ''],
        ['POST', '/test'],
        ['GET', '/x'],
        ['PUT', '/x'],
        ['DELETE', '/x'],
        ['PATCH', '/x/status'],
      ] as const) {
        const send = (headers: Readonly<Record<string, string>>) =>
          server.send(`/identity-providers${path}`, {
            method,
            ...(method !== 'GET' && method !== 'DELETE' && { body: '{' }),
            headers: { 'content-type': 'application/json', ...headers },
          })
        const answer = await send({})
        assert.equal(answer.status, 401, `${method} ${path}`)
        assert.match(String(answer.headers['www-authenticate']), /^Bearer realm="SVC\/oauth"/)
        assert.equal((await send({ authorization: 'Bearer x' })).json()['error'], 'invalid_token')
      }
    })

    it('names the required scopes', async () => {
      const answer = await api.call({ as: 'stranger' })
      assert.deepEqual(
        [answer.json()['error'], answer.json()['scope']],
        ['insufficient_scope', 'svc.admin idps.read zones.svc.admin'],
      )
    })

    it('answers 404 for providers of another zone', async () => {
      const here = await api.create(oidc('here'))
      const there = await api.create(oidc('there'), Z1)
      assert.equal((await api.call({ path: `/${there.id}` })).status, 404)
      assert.equal((await api.call({ path: `/${here.id}`, ...Z1 })).status, 404)
      assert.equal((await api.call({ as: 'writer', path: `/${here.id}`, ...IN_Z1 })).status, 404)
      assert.equal((await api.call({ method: 'DELETE', path: `/${there.id}` })).status, 404)
      const found = await api.call({ query: { originKey: 'here' }, ...Z1 })
      assert.equal(found.status, 404)
      // Origin and issuer are unique per zone only.
      await api.create(oidc('here'), Z1)
    })
  })
}
