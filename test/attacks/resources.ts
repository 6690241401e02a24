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

/** Runs the attack in both modes in a zone with resource indicators; `shop` may request two APIs, `rival` one of them. */
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

/** Attacks on audience-restricted tokens. */
export const resourceAttacks: readonly Attack[] = [
  {
    attack: 'assigns, with clients.write alone, an API to their client that only administrators may assign',
    outcome: 'is refused on creation and update; assignments by administrators are kept',
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
    attack: 'as an API, uses a received token at APIs of this server, userinfo and revocation',
    outcome: 'refused at every endpoint',
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
    attack: 'requests an API that the client may not use, in another spelling, as a prefix or among others',
    outcome: 'invalid_target in authorization and token requests',
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
    attack: 'requests a further API, or none, with the code or refresh token of a grant',
    outcome: 'invalid_target; without a resource the granted ones are kept',
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
    attack: 'uses up a user’s code with a token request for an API that the client may not use',
    outcome: 'refused before the code is redeemed; the code stays valid',
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
    attack: 'as an API, introspects or exchanges a token as if it were for another API',
    outcome: 'introspection shows the real audience; exchange requires a rule',
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
