// Attacks on the management APIs by authorized callers: an administrator of one zone among many, or a client that may write
// clients and nothing else.
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { responseOf, signedIn } from '../support/authorize.ts'
import type { ClientServer } from '../support/clients.ts'
import { assertInvalid, startClientServer } from '../support/clients.ts'
import { MODES } from '../support/oauth.ts'
import { oidc } from '../support/provider-api.ts'
import { cpuStopwatch } from '../support/cpu-time.ts'

const LISTS = ['scope', 'authorities', 'redirect_uri', 'autoapprove', 'allowedproviders', 'required_user_groups']

/** As many entries as fit in a body; fewer in uaa, because the time does not depend on the mode. */
const TOO_MANY = { standard: 49_000, uaa: 2000 }

/** Distinct words. */
const words = (count: number): readonly string[] => Array.from({ length: count }, (_, index) => index.toString(36))

for (const mode of MODES) {
  describe(`Hostile requests to the management APIs in ${mode}`, () => {
    let api: ClientServer
    before(async () => {
      api = await startClientServer(mode)
    })
    after(() => api.stop())

    const service = (id: string, more: object = {}) => ({
      client_id: id,
      client_secret: 'secret',
      authorized_grant_types: ['client_credentials'],
      ...more,
    })

    for (const secret of [undefined, 'secret']) {
      it(`do not revive tokens of a deleted client by reusing its id ${secret ? 'and secret' : 'without a secret'}`, async () => {
        const record = {
          client_id: 'phoenix',
          authorized_grant_types: secret ? ['password'] : ['implicit'],
          ...(secret && { client_secret: secret }),
          scope: ['openid'],
          redirect_uri: ['https://phoenix.example/cb'],
          autoapprove: true,
        }
        const tokenOf = async (): Promise<string> => {
          if (secret) {
            const form = { grant_type: 'password', username: 'marissa', password: 'koala' }
            const answer = await api.server.token(form, { basic: ['phoenix', secret] })
            return answer.json<{ access_token: string }>().access_token
          }
          const query = { client_id: 'phoenix', response_type: 'token', redirect_uri: 'https://phoenix.example/cb' }
          const browser = await signedIn(api.server)
          return responseOf(await browser.send('/oauth/authorize', { query })).fragment['access_token'] ?? ''
        }
        const isGood = async (bearer: string): Promise<boolean> =>
          (await api.server.send('/userinfo', { bearer })).status === 200

        assert.equal((await api.send('POST', '/oauth/clients', record)).status, 201)
        const token = await tokenOf()
        assert.equal(await isGood(token), true)
        const renamed = await api.send('PUT', '/oauth/clients/phoenix', { client_id: 'phoenix', name: 'Renamed' })
        assert.equal(renamed.status, 200)
        assert.equal(await isGood(token), true, 'an update keeps tokens valid')
        const gone = await api.send('DELETE', '/oauth/clients/phoenix')
        assert.equal(gone.status, 200)
        assert.doesNotMatch(gone.text, /incarnation/)
        const again = await api.send('POST', '/oauth/clients', record)
        assert.equal(again.status, 201)
        assert.doesNotMatch(again.text, /incarnation/)
        assert.equal(await isGood(token), false, 'the token of the deleted client is valid again')
        assert.equal(await isGood(await tokenOf()), true)
        await api.send('DELETE', '/oauth/clients/phoenix')
      })
    }

    it('cannot set the incarnation of a client', async () => {
      await api.send('POST', '/oauth/clients', service('marked', { incarnation: 'mine' }))
      const { client } = (await api.server.store.clients.findForChange('svc', 'marked')) ?? {}
      assert.notEqual(client?.incarnation, 'mine')
    })

    for (const name of LISTS) {
      it(`are rejected with ${TOO_MANY[mode]} entries in ${name}, as a list or a string`, async () => {
        const elapsed = cpuStopwatch()
        const many = words(TOO_MANY[mode]).map(word => (name === 'redirect_uri' ? `a:${word}` : word))
        for (const value of [many, many.join(' '), [many.join(',')]]) {
          const entry = service('many', { scope: 'a', [name]: value })
          assertInvalid(await api.send('POST', '/oauth/clients/tx', [entry]), /must have at most 1000 entries|invalid/)
        }
        assert.ok(elapsed() < 20_000, `${elapsed()} ms`) // 200 ms on a quiet machine
        assert.equal(await api.read('many'), undefined)
      })
    }

    it('are accepted with up to 1000 scopes', async () => {
      const scope = words(1000)
      const answer = await api.send('POST', '/oauth/clients', service('full', { scope, autoapprove: scope }))
      assert.equal(answer.status, 201, answer.text)
      assert.deepEqual(answer.json()['autoapprove'], scope)
    })

    it('are rejected with deeply nested keys', async () => {
      const nested = '['.repeat(20_000) + ']'.repeat(20_000)
      const jwks = `{"keys":[{"kty":"RSA","kid":"a","n":"AA","e":"AQAB","x":${nested}}]}`
      const problem = 'Client jwt configuration cannot be parsed'
      assertInvalid(await api.send('POST', '/oauth/clients', service('deep', { jwks })), problem)
      assertInvalid(await api.send('PUT', '/oauth/clients/app/clientjwt', { jwks }), problem)
    })

    it('list the metadata of all clients', async () => {
      const ids = words(120).map(word => `tile-${word}`)
      await api.send(
        'POST',
        '/oauth/clients/tx',
        ids.map(id => service(id)),
      )
      for (const id of ids) await api.send('PUT', `/oauth/clients/${id}/meta`, { appIcon: 'YQ==' })
      const answer = await api.send('GET', '/oauth/clients/meta', undefined, { by: 'stranger' })
      const reported = answer.json<readonly { clientId: string }[]>().map(({ clientId }) => clientId)
      assert.deepEqual(
        reported.filter(id => id.startsWith('tile-')),
        ids.toSorted(),
      )
    })

    it('are rejected with more than 100 attributes', async () => {
      const list = (count: number) =>
        api.send('GET', '/oauth/clients', undefined, { query: { attributes: words(count).join(',') } })
      assert.equal((await list(100)).status, 200)
      const answer = await list(101)
      assert.deepEqual([answer.status, answer.json()['error']], [400, 'invalid_request'])
    })

    it('do not block other requests by filtering long strings', async () => {
      const scope = ['a'.repeat(60_000)]
      for (const id of words(20)) {
        assert.equal((await api.send('POST', '/oauth/clients', service(`long-${id}`, { scope }))).status, 201)
      }
      const wanted = `${'a'.repeat(3000)}b`
      const elapsed = cpuStopwatch()
      for (const filter of [`scope co "${wanted}"`, `scope eq "${wanted}"`, `scope sw "${wanted}"`]) {
        const answer = await api.send('GET', '/oauth/clients', undefined, { query: { filter } })
        assert.equal(answer.json()['totalResults'], 0)
      }
      assert.ok(elapsed() < 3000, `${elapsed()} ms`)
      const found = await api.send('GET', '/oauth/clients', undefined, { query: { filter: 'scope co "AAAA"' } })
      assert.equal(found.json()['totalResults'], 20)
      for (const id of words(20)) await api.send('DELETE', `/oauth/clients/long-${id}`)
    })

    it('gain no scopes by a client id that is a scope prefix', async () => {
      // The caller of this token is the client `web`, whose scopes include the right to write clients.
      const bearer = await api.userToken()
      for (const id of ['zones', 'scim', '*']) {
        const mine = {
          client_id: id,
          authorized_grant_types: ['authorization_code'],
          redirect_uri: ['https://evil.example/cb'],
        }
        const answer = await api.send('POST', '/oauth/clients', { ...mine, scope: ['clients.write'] }, { bearer })
        assert.equal(answer.status, 201, answer.text)
        const promoted = {
          ...service(id),
          authorized_grant_types: ['password'],
          scope: ['clients.write'],
          client_secret: 's',
        }
        await api.send('DELETE', `/oauth/clients/${encodeURIComponent(id)}`)
        await api.send('POST', '/oauth/clients', promoted) // as a user could by an authorization code
        const form = { grant_type: 'password', username: 'marissa', password: 'koala' }
        const token = (await api.server.token(form, { basic: [id, 's'] })).json<{ access_token: string }>().access_token
        for (const scope of ['zones.z1.admin', 'scim.write', '*.write', '*.other']) {
          const wanted = { ...mine, client_id: 'bait', scope: [scope] }
          assertInvalid(await api.send('POST', '/oauth/clients', wanted, { bearer: token }), /is not an allowed scope/)
        }
        await api.send('DELETE', `/oauth/clients/${encodeURIComponent(id)}`)
      }
    })

    it('are rejected with too many email domains', async () => {
      const emailDomain = words(49_000)
      const answer = await api.send('POST', '/identity-providers', oidc('many', { emailDomain }))
      assert.equal(answer.status, 400)
      assert.ok(answer.text.length < 200, answer.text)
      assert.match(answer.text, /^Invalid provider configuration\./)
    })

    describe('for zones', () => {
      const zone = (id: string, more: object = {}) => ({ id, subdomain: 'money', name: 'Zone', ...more })

      it('authorize administrators of a zone whose id contains replacement patterns', async () => {
        for (const id of ['$&', '$$', "a$'", '$`']) {
          assert.equal((await api.send('POST', '/identity-zones', zone(id))).status, 201)
          const admin = service('admin-there', { authorities: [`zones.${id}.admin`] })
          assert.equal((await api.send('POST', '/oauth/clients', admin)).status, 201)
          const basic = ['admin-there', 'secret'] as const
          const token = (await api.server.token({ grant_type: 'client_credentials' }, { basic })).json<{
            access_token: string
          }>()
          const headers = { 'x-identity-zone-id': id }
          const answer = await api.send('GET', '/oauth/clients', undefined, { bearer: token.access_token, headers })
          assert.equal(answer.status, 200, `${id} ${answer.text}`)
          await api.send('DELETE', '/oauth/clients/admin-there')
          await api.send('DELETE', `/identity-zones/${encodeURIComponent(id)}`)
        }
      })

      for (const id of ['a,clients.admin', 'a,b', 'a+b', '+', ',']) {
        it(`reject an id that would be several scopes in a list: ${id}`, async () => {
          const answer = await api.send('POST', '/identity-zones', zone(id))
          assert.equal(answer.status, 422, answer.text)
        })
      }

      it('limit the length of a changed name', async () => {
        assert.equal((await api.send('POST', '/identity-zones', zone('money'))).status, 201)
        const long = await api.send('PUT', '/identity-zones/money', zone('money', { name: 'x'.repeat(256) }))
        assert.equal(long.status, 422, long.text)
        assert.match(long.text, /at most 255 characters/)
        const fitting = await api.send('PUT', '/identity-zones/money', zone('money', { name: 'x'.repeat(255) }))
        assert.equal(fitting.status, 200)
        await api.send('DELETE', '/identity-zones/money')
      })
    })
  })
}
