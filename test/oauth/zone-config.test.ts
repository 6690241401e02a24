// Zone settings, and `allowedproviders` of clients, in effect where no other test covers them.
import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import { describe, it } from 'node:test'
import { decodeJwt, decodeProtectedHeader } from 'jose'
import { AUTO_REQUEST } from '../support/authorize.ts'
import {
  AUTO,
  MODES,
  changeClient,
  exchange,
  insertCode,
  passwordTokens,
  refresh,
  refused,
  tokensOf,
} from '../support/oauth.ts'
import { withServer } from '../support/server.ts'

const pem = (): string =>
  generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()

describe('Zone configuration', () => {
  // Covers Zone config in effect: tokenPolicy.activeKeyId; tokenPolicy.keys.<id>.signingAlg
  it('determines the signing key by activeKeyId, and publishes the others', () => {
    const keys = {
      old: { signingKey: pem(), signingAlg: 'ES256' },
      now: { signingKey: pem(), signingAlg: 'ES256' },
      next: { signingKey: pem(), signingAlg: 'ES256' },
    }
    return withServer({ config: { zone_config: { tokenPolicy: { activeKeyId: 'now', keys } } } }, async server => {
      const { kid, alg } = decodeProtectedHeader((await passwordTokens(server)).access_token)
      assert.deepEqual([kid, alg], ['now', 'ES256'])
      const published = (await server.send('/token_keys')).json<{ keys: readonly { kid: string }[] }>().keys
      assert.deepEqual(published.map(key => key.kid).toSorted(), ['next', 'now', 'old'])
    })
  })

  for (const mode of MODES) {
    // Covers Zone config in effect: issuer
    it(`determines the issuer of tokens and responses in ${mode}`, () =>
      withServer({ mode, config: { zone_config: { issuer: 'https://login.example/tenant' } } }, async server => {
        const issuer = mode === 'standard' ? 'https://login.example/tenant' : 'https://login.example/tenant/oauth/token'
        const tokens = await passwordTokens(server)
        for (const token of [tokens.access_token, tokens.id_token]) assert.equal(decodeJwt(token).iss, issuer)
        assert.equal((await server.send('/userinfo', { bearer: tokens.access_token })).status, 200)
        const browser = server.browser()
        await browser.signIn('marissa', 'koala')
        const answer = (await browser.send('/oauth/authorize', { query: AUTO_REQUEST })).location()
        assert.equal(answer.searchParams.get('iss'), mode === 'standard' ? issuer : null)
      }))

    // Covers Zone config in effect: links.logout.disableRedirectParameter
    it(`ignores links.logout.disableRedirectParameter like UAA in ${mode}`, () => {
      const logout = { disableRedirectParameter: true, whitelist: ['https://listed.example/bye'] }
      return withServer({ mode, config: { zone_config: { links: { logout } } } }, async server => {
        const answer = await server.send('/logout.do', { query: { redirect: 'https://listed.example/bye' } })
        assert.equal(answer.headers['location'], 'https://listed.example/bye')
      })
    })

    // Covers provider check after login: token request
    it(`enforces allowedproviders at code exchange and refresh in ${mode}`, () =>
      withServer({ mode }, async server => {
        const code = await insertCode(server)
        const { refresh_token: token } = tokensOf(await exchange(server, await insertCode(server)))
        await changeClient(server, 'auto', { allowedProviders: ['ldap'] })
        const want = { want: { standard: '400 unauthorized_client', uaa: '401 unauthorized_client' } } as const
        await refused(server, mode, () => exchange(server, code), want)
        await refused(server, mode, () => refresh(server, token, {}, AUTO), want)
      }))
  }

  // Covers Zone config in effect: branding.squareLogo
  it('shows branding.squareLogo on pages', () => {
    const squareLogo = Buffer.from('a picture').toString('base64')
    return withServer({ config: { zone_config: { branding: { squareLogo } } } }, async server => {
      const { text } = await server.send('/login')
      assert.match(text, /<link rel="icon" type="image\/png" href="[^"]*\/square-logo\.png[^"]*">/)
    })
  })
})
