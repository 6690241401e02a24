import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { AUTO_REQUEST, authorize, authorizeBootstrap, responseOf, signedIn } from '../../support/authorize.ts'
import { AUTO, MODES, changeClient } from '../../support/oauth.ts'
import { startServer } from '../../support/server.ts'

for (const mode of MODES) {
  describe(`/oauth/authorize with unusual settings in ${mode}`, () => {
    it('grants only groups that the zone allows', async () => {
      const users = authorizeBootstrap.users.map(user => ({ ...user, groups: ['cloud.read'] }))
      for (const [allowedGroups, want] of [
        [['cloud.read'], ['cloud.read', 'openid']],
        [['cloud.write'], ['openid']],
      ] as const) {
        const server = await startServer({
          mode,
          config: {
            bootstrap: { ...authorizeBootstrap, users },
            zone_config: { userConfig: { defaultGroups: ['openid'], allowedGroups } },
          },
        })
        try {
          const browser = await signedIn(server)
          const { code = '' } = responseOf(await authorize(browser, AUTO_REQUEST)).query
          const form = { grant_type: 'authorization_code', code, redirect_uri: AUTO_REQUEST.redirect_uri }
          const { scope } = (await server.token(form, { basic: AUTO })).json<{ scope: string }>()
          assert.deepEqual(scope.split(' ').toSorted(), want)
          assert.deepEqual(server.faults, [])
        } finally {
          await server.stop()
        }
      }
    })

    // Covers GET /oauth/authorize: error: no registered redirect URI
    it('answers with a page if the client has no redirect URI', async () => {
      const server = await startServer({ mode, config: { bootstrap: authorizeBootstrap } })
      try {
        await changeClient(server, 'auto', { redirectUris: [] })
        const browser = await signedIn(server)
        for (const redirect_uri of [AUTO_REQUEST.redirect_uri, undefined]) {
          const answer = await authorize(browser, { ...AUTO_REQUEST, redirect_uri })
          assert.equal(answer.status, 400)
          assert.equal(answer.headers['location'], undefined)
          assert.match(answer.text, /did not match one of the registered values/)
        }
        assert.deepEqual(server.faults, [])
      } finally {
        await server.stop()
      }
    })
  })
}
