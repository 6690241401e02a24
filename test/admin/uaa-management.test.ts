// Management responses beyond stored records, and bootstrap clients, in uaa: row C13.
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { KEYS, textOf } from '../support/keys.ts'
import { MODES } from '../support/oauth.ts'
import type { TestServer } from '../support/server.ts'
import { startServer, defaultBootstrap } from '../support/server.ts'

const BOSS = {
  client_id: 'boss',
  client_secret: 'boss-secret',
  authorized_grant_types: ['client_credentials'],
  authorities: ['svc.admin'],
}
const ODD = {
  client_id: 'odd',
  client_secret: 'odd-secret',
  authorized_grant_types: ['authorization_code', 'magic'],
  redirect_uri: ['https://odd.example/cb'],
  signup_redirect_url: 'https://odd.example/joined',
  change_email_redirect_url: 'https://odd.example/moved',
}
const bootstrap = {
  ...defaultBootstrap,
  clients: [...defaultBootstrap.clients, BOSS],
  identity_zones: [{ id: 'z1', subdomain: 'z1', name: 'Zone one', bootstrap: { clients: [BOSS] } }],
}

for (const mode of MODES) {
  const isUaa = mode === 'uaa'
  describe(`Management in ${mode}`, () => {
    let server: TestServer
    before(async () => (server = await startServer({ mode, config: { bootstrap } })))
    after(async () => {
      assert.deepEqual(server.faults, [])
      await server.stop()
    })
    const call = async (method: string, path: string, json?: object, host?: string) => {
      const at = host === undefined ? {} : { host }
      const basic = ['boss', 'boss-secret'] as const
      const { access_token } = (await server.token({ grant_type: 'client_credentials' }, { basic, ...at })).json()
      const body = json && { body: JSON.stringify(json), headers: { 'content-type': 'application/json' } }
      return server.send(path, { method, bearer: String(access_token), ...body, ...at })
    }
    const origins = async (query = '', host?: string): Promise<readonly unknown[]> =>
      (await call('GET', `/identity-providers${query}`, undefined, host))
        .json<readonly { originKey: string; active: boolean; config: unknown }[]>()
        .map(({ originKey, active }) => `${originKey} ${active}`)

    it('lists built-in inactive providers in the default zone in uaa only', async () => {
      const active = [...(isUaa ? ['login-server true'] : []), 'svc true']
      assert.deepEqual(await origins(), [...(isUaa ? ['keystone false', 'ldap false'] : []), ...active])
      assert.deepEqual(await origins('?active_only=true'), active)
      assert.deepEqual(await origins('', 'z1.localhost:8080'), ['svc true'])
    })

    it('returns, but does not delete, built-in providers in uaa, and replaces them by created ones', async () => {
      for (const id of ['keystone', 'ldap', 'login-server']) {
        assert.equal((await call('GET', `/identity-providers/${id}`)).status, isUaa ? 200 : 404, id)
        assert.equal((await call('DELETE', `/identity-providers/${id}`)).status, 404, id)
        assert.equal((await call('GET', `/identity-providers/${id}`, undefined, 'z1.localhost:8080')).status, 404, id)
      }
      const ldap = {
        type: 'ldap',
        originKey: 'ldap',
        name: 'Ours',
        active: false,
        config: { ldapProfileFile: 'ldap/ldap-search-and-bind.xml' },
      }
      const made = await call('POST', '/identity-providers', ldap)
      assert.equal(made.status, 201, made.text)
      assert.equal((await origins()).filter(each => each === 'ldap false').length, 1)
      await call('DELETE', `/identity-providers/${String(made.json()['id'])}`)
    })

    it('requires activeKeyId to update a zone with an issuer in uaa', async () => {
      const zone = { id: 'z1', subdomain: 'z1', name: 'Zone one' }
      const put = (config: object) => call('PUT', '/identity-zones/z1', { ...zone, config })
      const keys = { k1: { signingKey: textOf(KEYS.ES256) } }
      const issuer = 'https://issuer.example'
      assert.equal((await put({ issuer, tokenPolicy: { keys, activeKeyId: 'k1' } })).status, 200)
      for (const tokenPolicy of [undefined, null, {}, { activeKeyId: null }]) {
        const answer = await put({ issuer, tokenPolicy })
        assert.equal(answer.status, isUaa ? 422 : 200, answer.text)
        if (isUaa) assert.match(answer.text, /You cannot set issuer value unless you have set your own signing key/)
      }
      assert.equal((await put({ issuer, tokenPolicy: { activeKeyId: 'k1' } })).status, 200)
      assert.equal((await put({})).status, 200)
    })

    it('lists every client at /oauth/clients/meta in uaa', async () => {
      const list = (await call('GET', '/oauth/clients/meta')).json<readonly { clientId: string; appIcon?: string }[]>()
      const all = bootstrap.clients.map(({ client_id }) => client_id).toSorted()
      assert.deepEqual(
        list.map(({ clientId }) => clientId),
        isUaa ? all : [],
      )
      // cf-java-client fails on a record without an icon.
      assert.ok(list.every(({ appIcon }) => appIcon === ''))
    })
  })

  // Partly covers configuration file: bootstrap.clients[]: signup_redirect_url; change_email_redirect_url
  it(`accepts bootstrap clients with unknown grant types in uaa only, in ${mode}`, async () => {
    const starting = startServer({ mode, config: { bootstrap: { ...defaultBootstrap, clients: [ODD] } } })
    if (!isUaa) return assert.rejects(starting, /magic is not an allowed grant type/)
    const server = await starting
    try {
      const client = await server.store.clients.find('svc', 'odd')
      assert.deepEqual(client?.redirectUris, [
        'https://odd.example/cb',
        'https://odd.example/joined',
        'https://odd.example/moved',
      ])
      assert.equal((await server.token({ grant_type: 'magic' }, { basic: ['odd', 'odd-secret'] })).status, 400)
    } finally {
      await server.stop()
    }
  })
}
