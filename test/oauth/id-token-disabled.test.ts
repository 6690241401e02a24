import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { authorize, authorizeBootstrap, requestOf, responseOf, signedIn } from '../support/authorize.ts'
import { MODES } from '../support/oauth.ts'
import type { Browser, TestServer } from '../support/server.ts'
import { startServer } from '../support/server.ts'

for (const mode of MODES) {
  describe(`oauth.id_token.disable in ${mode}`, () => {
    let server: TestServer
    let browser: Browser
    before(async () => {
      const config = { bootstrap: authorizeBootstrap, oauth: { id_token: { disable: true } } }
      server = await startServer({ mode, config })
      browser = await signedIn(server)
    })
    after(() => server.stop())
    const ask = async (type: string) =>
      responseOf(await authorize(browser, { ...requestOf('hybrid'), response_type: type }))

    // Covers configuration file: oauth.id_token.disable
    // Covers GET /oauth/authorize: rule: oauth.id_token.disable
    it('omits the ID token from hybrid responses', async () => {
      const { fragment } = await ask('token id_token')
      assert.deepEqual([fragment['id_token'], typeof fragment['access_token']], [undefined, 'string'])
      assert.ok((await ask('code id_token')).query['code'], 'the code remains')
    })

    it('refuses response_type=id_token', async () => {
      assert.equal((await ask('id_token')).query['error'], 'unsupported_response_type')
    })
  })
}
