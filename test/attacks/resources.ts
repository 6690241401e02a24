import assert from 'node:assert/strict'
import { decodeJwt } from 'jose'
import { signedIn } from '../support/authorize.ts'
import { assertInvalid, startClientServer } from '../support/clients.ts'
import { exchange, MODES, refresh, RESOURCE, tokensOf } from '../support/oauth.ts'
import type { Browser, TestServer } from '../support/server.ts'
import { defaultBootstrap, startServer } from '../support/server.ts'
import type { Attack } from './attack.ts'

const ORDERS = 'https://orders.example/'
const STOCK = 'https://stock.example/api'
const SHOP = ['shop', 'secret'] as const
const REDIRECT = 'https://shop.example/cb'

const client = (id: string, resources: readonly string[]) => ({
  client_id: id,
  client_secret: 'secret',
  authorized_grant_types: ['authorization_code', 'refresh_token', 'client_credentials'],
  scope: ['openid', 'cloud.read', 'svc.user', 'scim.userids'],
  authorities: ['clients.read'],
  redirect_uri: [`https://${id}.example/cb`],
  autoapprove: true,
  resources,
})

/** Tries it in both modes, in a zone that speaks resource indicators; `shop` may name two APIs, `rival` one of them. */
async function trying(attempt: (server: TestServer, browser: Browser) => Promise<void>): Promise<void> {
  const bootstrap = {
    ...defaultBootstrap,
    clients: [...defaultBootstrap.clients, client('shop', [ORDERS, STOCK]), client('rival', [ORDERS])],
  }
  const zone_config = { protocols: { resourceIndicators: true, tokenExchange: true } }
  for (const mode of MODES) {
    const server = await startServer({ mode, config: { bootstrap, zone_config } })
    try {
      await attempt(server, await signedIn(server))
      assert.deepEqual(server.faults, [])
    } finally {
      await server.stop()
    }
  }
}

const ask = async (browser: Browser, resources: readonly string[], id = 'shop'): Promise<URLSearchParams> => {
  const query = new URLSearchParams({ response_type: 'code', client_id: id, redirect_uri: `https://${id}.example/cb` })
  for (const resource of resources) query.append('resource', resource)
  return (await browser.send(`/oauth/authorize?${query}`)).location().searchParams
}

/** A code for these APIs. */
async function codeFor(browser: Browser, ...resources: readonly string[]): Promise<string> {
  const code = (await ask(browser, resources)).get('code')
  assert.ok(code)
  return code
}

const redeem = (server: TestServer, code: string, form: Readonly<Record<string, string>> = {}) =>
  exchange(server, code, { redirect_uri: REDIRECT, ...form }, SHOP)

/** Attacks on tokens that are for one API. */
export const resourceAttacks: readonly Attack[] = [
  {
    attack: 'gives a client of its own, with clients.write alone, an API that only administrators may name',
    outcome: 'is refused, when the client is made and when it is changed; what an administrator gave it stays',
    async attempt() {
      const api = await startClientServer('standard')
      const record = { client_id: 'mine', client_secret: 'secret', authorized_grant_types: ['client_credentials'] }
      const resources = ['https://billing.example/']
      const write = (method: string, path: string, more: object, by: 'writer' | 'root' = 'writer') =>
        api.send(method, `/oauth/clients${path}`, { ...record, ...more }, { by })
      assertInvalid(await write('POST', '', { resources }), /not an allowed resource/)
      assert.equal((await write('POST', '', {})).status, 201)
      assertInvalid(await write('PUT', '/mine', { resources }), /not an allowed resource/)
      assert.equal((await write('PUT', '/mine', { resources }, 'root')).status, 200)
      assert.equal((await write('PUT', '/mine', { name: 'Mine' })).status, 200)
      assert.deepEqual((await api.read('mine'))?.['resources'], resources)
      await api.stop()
    },
  },
  {
    attack: 'as an API, shows the token that it was given to this server: its own APIs, userinfo, revocation of others',
    outcome: 'refused everywhere; the API can learn nothing and change nothing by it',
    attempt: () =>
      trying(async (server, browser) => {
        const { access_token: bearer } = tokensOf(await redeem(server, await codeFor(browser, ORDERS)))
        const own = { grant_type: 'client_credentials', resource: ORDERS }
        const { access_token: program } = tokensOf(await server.token(own, { basic: SHOP }))
        for (const path of ['/userinfo', '/Users', '/oauth/clients', '/approvals', '/ids/Users?filter=id+eq+"x"']) {
          for (const token of [bearer, program]) {
            assert.equal((await server.send(path, { bearer: token })).status, 401, path)
          }
        }
        const form = { client_id: 'shop', grant_type: 'user_token' }
        assert.notEqual((await server.token(form, { bearer })).status, 200)
      }),
  },
  {
    attack: 'asks for an API that the client may not name, in another spelling, as a prefix, or between others',
    outcome: 'invalid_target, in authorization and token requests; no code and no token',
    attempt: () =>
      trying(async (server, browser) => {
        for (const wrong of [
          'https://ORDERS.example/',
          'https://orders.example:443/',
          'https://orders.example//',
          'https://orders.example/?x',
          'https://orders.example/#x',
          'https://orders.example/%20',
          'https://user@orders.example/',
          `${ORDERS} ${STOCK}`,
          `${ORDERS},${STOCK}`,
          'http://localhost:8080',
          'svc.admin',
          '*',
        ]) {
          for (const resources of [[wrong], [ORDERS, wrong]]) {
            const answer = await ask(browser, resources)
            assert.equal(answer.get('error'), 'invalid_target', wrong)
            assert.equal(answer.get('code'), null)
          }
          const form = { grant_type: 'client_credentials', resource: wrong }
          const answer = await server.token(form, { basic: SHOP })
          assert.deepEqual([answer.status, answer.json()['error']], [400, 'invalid_target'], wrong)
        }
        assert.equal((await ask(browser, [STOCK], 'rival')).get('error'), 'invalid_target')
        const many = Array.from({ length: 11 }, (_, index) => `${ORDERS}${index}`)
        assert.equal((await ask(browser, many)).get('error'), 'invalid_target')
      }),
  },
  {
    attack: 'widens what a user granted: another API with the code, with a refresh, or with none named at all',
    outcome: 'invalid_target; what is not named stays what was granted, never the usual audience',
    attempt: () =>
      trying(async (server, browser) => {
        const refused = await redeem(server, await codeFor(browser, ORDERS), { resource: STOCK })
        assert.equal(refused.json()['error'], 'invalid_target')
        const tokens = tokensOf(await redeem(server, await codeFor(browser, ORDERS), { resource: '' }))
        assert.deepEqual([decodeJwt(tokens.access_token).aud].flat(), [ORDERS])
        const wider = await refresh(server, tokens.refresh_token, { resource: STOCK }, SHOP)
        assert.equal(wider.json()['error'], 'invalid_target')
        const same = tokensOf(await refresh(server, tokens.refresh_token, {}, SHOP))
        assert.deepEqual([decodeJwt(same.access_token).aud].flat(), [ORDERS])
      }),
  },
  {
    attack: 'uses up the code of a user by naming, in its token request, an API that the client may not name',
    outcome: 'refused before the code is looked at; the code is still good',
    attempt: () =>
      trying(async (server, browser) => {
        const code = await codeFor(browser, ORDERS)
        for (const resource of ['https://elsewhere.example/', 'nothing']) {
          assert.equal((await redeem(server, code, { resource })).json()['error'], 'invalid_target')
        }
        tokensOf(await redeem(server, code))
      }),
  },
  {
    attack: 'as the API of one token, has it introspected or exchanged as if it were for another one',
    outcome: 'introspection shows the audience as it is; an exchange without a rule is refused',
    attempt: () =>
      trying(async (server, browser) => {
        const { access_token: token } = tokensOf(await redeem(server, await codeFor(browser, ORDERS)))
        const reported = await server.send('/introspect', { form: { token, resource: STOCK }, basic: RESOURCE })
        assert.deepEqual([reported.json()['aud']].flat(), [ORDERS])
        const form = {
          grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange',
          subject_token: token,
          subject_token_type: 'urn:ietf:params:oauth:token-type:access_token',
          resource: STOCK,
        }
        assert.notEqual((await server.token(form, { basic: SHOP })).status, 200)
      }),
  },
]
