import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { decodeJwt } from 'jose'
import { authorize, signedIn } from '../support/authorize.ts'
import { changeClient, exchange, isAlive, MODES, refresh, RESOURCE, tokensOf } from '../support/oauth.ts'
import type { Browser, TestAnswer, TestServer } from '../support/server.ts'
import { defaultBootstrap, startServer } from '../support/server.ts'
import { caller, sendJson, tokenOf } from '../support/zones.ts'

const ORDERS = 'https://orders.example/'
const STOCK = 'https://stock.example/api'
const BARE = 'https://bare.example'
const SHOP = ['shop', 'secret'] as const
const bootstrap = {
  ...defaultBootstrap,
  clients: [
    ...defaultBootstrap.clients,
    {
      client_id: 'shop',
      client_secret: 'secret',
      authorized_grant_types: ['authorization_code', 'refresh_token', 'client_credentials'],
      scope: ['openid', 'cloud.read'],
      authorities: ['jobs.run'],
      redirect_uri: ['https://shop.example/cb'],
      autoapprove: true,
      resources: [ORDERS, STOCK, BARE],
    },
  ],
}

for (const mode of MODES) {
  describe(`Resource indicators in ${mode}`, () => {
    let server: TestServer
    let browser: Browser
    before(async () => {
      const zone_config = { protocols: { resourceIndicators: true }, tokenPolicy: { refreshTokenRotate: true } }
      server = await startServer({ mode, config: { bootstrap, zone_config } })
      browser = await signedIn(server)
    })
    after(async () => {
      assert.deepEqual(server.faults, [])
      await server.stop()
    })

    const REDIRECT = 'https://shop.example/cb'
    const ask = (resources: readonly string[]): Promise<TestAnswer> => {
      const query = new URLSearchParams({
        response_type: 'code',
        client_id: 'shop',
        redirect_uri: REDIRECT,
        state: 's',
      })
      for (const resource of resources) query.append('resource', resource)
      return browser.send(`/oauth/authorize?${query}`)
    }
    async function codeFor(...resources: readonly string[]): Promise<string> {
      return (await ask(resources)).location().searchParams.get('code') ?? ''
    }
    const redeem = (code: string, form: Readonly<Record<string, string>> = {}): Promise<TestAnswer> =>
      exchange(server, code, { redirect_uri: REDIRECT, ...form }, SHOP)
    const audienceOf = (token: string): unknown => decodeJwt(token).aud

    // Covers later standards: resource indicators
    it('are the audience of the access token, all or those in the token request', async () => {
      const all = tokensOf(await redeem(await codeFor(ORDERS, STOCK)))
      assert.deepEqual(audienceOf(all.access_token), [ORDERS, STOCK])
      assert.deepEqual(audienceOf(all.id_token), ['shop'])
      const one = tokensOf(await redeem(await codeFor(ORDERS, STOCK), { resource: STOCK }))
      assert.deepEqual(audienceOf(one.access_token), [STOCK])
      const other = tokensOf(await refresh(server, one.refresh_token, { resource: ORDERS }, SHOP))
      assert.deepEqual(audienceOf(other.access_token), [ORDERS])
      const both = tokensOf(await refresh(server, other.refresh_token, {}, SHOP))
      assert.deepEqual(audienceOf(both.access_token), [ORDERS, STOCK])
    })

    it('are accepted for client_credentials, and in the token request of a code', async () => {
      const own = await server.token({ grant_type: 'client_credentials', resource: STOCK }, { basic: SHOP })
      assert.deepEqual(audienceOf(tokensOf(own).access_token), [STOCK])
      const late = tokensOf(await redeem(await codeFor(), { resource: ORDERS }))
      assert.deepEqual(audienceOf(late.access_token), [ORDERS])
      const again = await refresh(server, late.refresh_token, { resource: STOCK }, SHOP)
      assert.equal(again.json()['error'], 'invalid_target')
    })

    it('are compared regardless of a trailing slash after the host, and returned as registered', async () => {
      const asked = [ORDERS.slice(0, -1), `${BARE}/`]
      const issued = tokensOf(await redeem(await codeFor(...asked)))
      assert.deepEqual(audienceOf(issued.access_token), [ORDERS, BARE])
      const one = tokensOf(await redeem(await codeFor(...asked, ORDERS), { resource: `${BARE}/` }))
      assert.deepEqual(audienceOf(one.access_token), [BARE])
      const other = await refresh(server, one.refresh_token, { resource: ORDERS.slice(0, -1) }, SHOP)
      assert.deepEqual(audienceOf(tokensOf(other).access_token), [ORDERS])
    })

    it('restrict the token to the resource, which excludes this server', async () => {
      const issued = tokensOf(await redeem(await codeFor(ORDERS)))
      assert.equal((await server.send('/userinfo', { bearer: issued.access_token })).status, 401)
      assert.equal(await isAlive(server, issued.access_token), true)
    })

    for (const wrong of [
      'https://elsewhere.example/',
      `${STOCK}/`,
      `${BARE}//`,
      `${BARE}/?`,
      `${BARE}:443`,
      'stock',
      `${STOCK}#part`,
      'https://[',
      `https://${'x'.repeat(2000)}/`,
    ]) {
      it(`are refused: ${wrong.slice(0, 40)}`, async () => {
        const answer = await ask([ORDERS, wrong])
        assert.equal(answer.location().searchParams.get('error'), 'invalid_target')
        const form = { grant_type: 'client_credentials', resource: wrong }
        const token = await server.token(form, { basic: SHOP })
        assert.deepEqual([token.status, token.json()['error']], [400, 'invalid_target'])
      })
    }

    it('restrict access tokens with only openid, which UAA treats as ID tokens', async () => {
      const answer = await redeem(await codeFor(ORDERS))
      const { refresh_token: token } = tokensOf(answer)
      const { access_token: openid } = tokensOf(await refresh(server, token, { scope: 'openid' }, SHOP))
      const introspection = await server.send('/introspect', { form: { token: openid }, basic: RESOURCE })
      assert.equal(introspection.json()['active'], true, introspection.text)
      const revocation = await server.send('/oauth/revoke', { form: { token: openid }, basic: SHOP })
      assert.equal(revocation.status, 200, revocation.text)
    })

    it('are refused outside those of the code, without consuming the refresh token', async () => {
      assert.equal((await redeem(await codeFor(ORDERS), { resource: STOCK })).json()['error'], 'invalid_target')
      const issued = tokensOf(await redeem(await codeFor(ORDERS)))
      const refused = await refresh(server, issued.refresh_token, { resource: STOCK }, SHOP)
      assert.equal(refused.json()['error'], 'invalid_target')
      assert.equal((await refresh(server, issued.refresh_token, {}, SHOP)).status, 200)
    })

    it('are removed from tokens if the client loses them', async () => {
      const { clients } = server.store
      const keep = async (resources: readonly string[]): Promise<void> => {
        const client = await clients.find('svc', 'shop')
        assert.ok(client)
        await clients.update('svc', { ...client, resources })
      }
      const code = await codeFor(ORDERS)
      const issued = tokensOf(await redeem(await codeFor(ORDERS, STOCK)))
      await keep([STOCK])
      try {
        const left = tokensOf(await refresh(server, issued.refresh_token, {}, SHOP))
        assert.deepEqual(audienceOf(left.access_token), [STOCK])
        assert.equal((await redeem(code)).json()['error'], 'invalid_target')
        await keep([])
        const none = await refresh(server, left.refresh_token, {}, SHOP)
        assert.equal(none.json()['error'], 'invalid_target')
      } finally {
        await keep([ORDERS, STOCK])
      }
    })

    it('are removed from tokens if the client loses them and the protocol is disabled', async () => {
      const code = await codeFor(ORDERS, STOCK)
      const issued = tokensOf(await redeem(await codeFor(ORDERS, STOCK)))
      await changeClient(server, 'shop', { resources: [STOCK] })
      await setProtocol(server, false)
      try {
        const refreshed = tokensOf(await refresh(server, issued.refresh_token, { resource: ORDERS }, SHOP))
        assert.deepEqual(audienceOf(refreshed.access_token), [STOCK])
        const redeemed = tokensOf(await redeem(code, { resource: ORDERS }))
        assert.deepEqual(audienceOf(redeemed.access_token), [STOCK])
      } finally {
        await changeClient(server, 'shop', { resources: [ORDERS, STOCK, BARE] })
        await setProtocol(server, true)
      }
    })

    it('are refused for a client without resources', async () => {
      const answer = await authorize(browser, {
        response_type: 'code',
        client_id: 'auto',
        redirect_uri: 'https://auto.example/cb',
        resource: ORDERS,
      })
      assert.equal(answer.location().searchParams.get('error'), 'invalid_target')
    })
  })
}

describe('Resources of a client record', () => {
  it('must be absolute URIs without a fragment (RFC 8707 §2)', async () => {
    const clients = [caller('admin', 'clients.admin')]
    const server = await startServer({ config: { bootstrap: { ...bootstrap, clients } } })
    try {
      const bearer = await tokenOf(server, 'admin')
      for (const wrong of ['stock', '/api', 'https://stock.example/#part']) {
        const client = {
          client_id: 'late',
          client_secret: 'secret',
          authorized_grant_types: ['client_credentials'],
          resources: [STOCK, wrong],
        }
        const answer = await sendJson(server, 'POST', '/oauth/clients', client, { bearer })
        assert.equal(answer.status, 400, wrong)
        assert.match(answer.text, /resources\[1\] must be an absolute URI without a fragment/)
      }
    } finally {
      await server.stop()
    }
  })
})

describe('Resource indicators disabled in the zone', () => {
  it('are ignored', async () => {
    const server = await startServer({
      config: { bootstrap, zone_config: { protocols: { resourceIndicators: false } } },
    })
    const answer = await server.token({ grant_type: 'client_credentials', resource: 'x' }, { basic: SHOP })
    assert.ok([decodeJwt(tokensOf(answer).access_token).aud].flat().includes('shop'))
    await server.stop()
  })
})

async function setProtocol(server: TestServer, resourceIndicators: boolean): Promise<void> {
  const zone = await server.store.zones.find('svc')
  assert.ok(zone)
  await server.store.zones.update({ ...zone, config: { ...zone.config, protocols: { resourceIndicators } } })
}
