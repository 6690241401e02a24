import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { HOST_OF_Z1, startClientServer, TO_Z1 } from '../../support/clients.ts'
import type { ClientServer } from '../../support/clients.ts'
import { MODES } from '../../support/oauth.ts'
import type { TestRequest } from '../../support/server.ts'

const app = {
  client_id: 'app',
  scope: ['openid', 'profile', 'email', 'cloud.read', 'cloud.write'],
  resource_ids: ['none'],
  authorized_grant_types: ['authorization_code', 'refresh_token', 'password'],
  redirect_uri: ['https://app.example/cb'],
  authorities: ['svc.none'],
}

for (const mode of MODES) {
  describe(`/clientinfo in ${mode}`, () => {
    let api: ClientServer
    before(async () => {
      api = await startClientServer(mode)
    })
    after(() => api.stop())
    const ask = (request: TestRequest) => api.server.send('/clientinfo', request)
    const basic = ['app', 'app-secret'] as const

    for (const method of ['GET', 'POST', 'PUT', 'DELETE', 'PATCH']) {
      // Covers any /clientinfo: Authorization: Basic; response: client_id; scope; resource_ids; authorized_grant_types
      // Covers any /clientinfo: response: redirect_uri; authorities
      it(`returns the authenticated client to ${method}`, async () => {
        const answer = await ask({ method, basic })
        assert.deepEqual([answer.status, answer.json()], [200, app])
      })
    }

    // Covers any /clientinfo: `client_id` and `client_secret`
    it('accepts credentials in a form', async () => {
      for (const method of ['POST', 'PUT', 'DELETE']) {
        const answer = await ask({ method, form: { client_id: 'app', client_secret: 'app-secret' } })
        assert.deepEqual([answer.status, answer.json()], [200, app])
      }
    })

    // Covers any /clientinfo: response: validities
    it('returns lifetimes, and omits empty members', async () => {
      const body = {
        client_id: 'timed',
        client_secret: 'timed-secret',
        authorized_grant_types: ['client_credentials'],
        access_token_validity: 60,
        refresh_token_validity: 600,
        autoapprove: true,
        name: 'Timed',
        note: 'x',
      }
      assert.equal((await api.send('POST', '/oauth/clients', body)).status, 201)
      assert.deepEqual((await ask({ basic: ['timed', 'timed-secret'] })).json(), {
        client_id: 'timed',
        scope: ['svc.none'],
        resource_ids: ['none'],
        authorized_grant_types: ['client_credentials'],
        authorities: ['svc.none'],
        access_token_validity: 60,
        refresh_token_validity: 600,
      })
    })

    const refused: readonly { name: string; request: () => Promise<TestRequest> }[] = [
      { name: 'no credentials', request: async () => ({}) },
      { name: 'a wrong secret', request: async () => ({ basic: ['app', 'wrong'] }) },
      { name: 'an unknown client', request: async () => ({ basic: ['nobody', 'app-secret'] }) },
      { name: 'a client of another zone', request: async () => ({ basic, host: HOST_OF_Z1 }) },
      { name: 'a wrong secret in a form', request: async () => ({ form: { client_id: 'app', client_secret: 'x' } }) },
      { name: 'a client without a credential', request: async () => ({ form: { client_id: 'spa' } }) },
      { name: 'a token', request: async () => ({ bearer: await api.tokenOf('root') }) },
    ]
    for (const { name, request } of refused) {
      it(`refuses ${name}`, async () => {
        const answer = await ask(await request())
        assert.equal(answer.status, 401, answer.text)
        assert.match(String(answer.headers['www-authenticate']), /^Basic realm="SVC\/client"/)
        assert.equal(answer.headers['cache-control'], 'no-store')
      })
    }

    it('ignores credentials in the query', async () => {
      assert.equal((await ask({ query: { client_id: 'app', client_secret: 'app-secret' } })).status, 401)
      assert.equal((await ask({ query: { format: 'json' }, basic })).status, 200)
    })

    it('rejects a deleted client, and a zone header', async () => {
      assert.equal((await ask({ basic, headers: TO_Z1 })).status, 403)
      const body = { client_id: 'brief', client_secret: 's', authorized_grant_types: ['client_credentials'] }
      assert.equal((await api.send('POST', '/oauth/clients', body)).status, 201)
      assert.equal((await ask({ basic: ['brief', 's'] })).status, 200)
      assert.equal((await api.send('DELETE', '/oauth/clients/brief')).status, 200)
      assert.equal((await ask({ basic: ['brief', 's'] })).status, 401)
    })
  })
}

describe('/clientinfo with jwt.token.queryString enabled', () => {
  it('accepts credentials in the query', async () => {
    const api = await startClientServer('uaa', { config: { jwt: { token: { queryString: { enabled: true } } } } })
    try {
      const query = { client_id: 'app', client_secret: 'app-secret' }
      assert.deepEqual((await api.server.send('/clientinfo', { query })).json(), app)
    } finally {
      await api.stop()
    }
  })
})
