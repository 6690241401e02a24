import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { APP_REQUEST, authorizeBootstrap, requestOf, responseOf } from '../support/authorize.ts'
import { hiddenFields } from '../support/forms.ts'
import { APP, MODES, SERVICE } from '../support/oauth.ts'
import { startServer } from '../support/server.ts'

for (const mode of MODES) {
  describe(`Audit events in ${mode}`, () => {
    // Covers audit trail: PrincipalAuthenticationSuccess
    // Covers audit line: remoteAddress
    it('have their zone and the client address given by a trusted proxy', async () => {
      const config = {
        bootstrap: authorizeBootstrap,
        listen: { trusted_proxies: ['127.0.0.1'] },
        zone_config: { tokenPolicy: { refreshTokenRotate: true } },
      }
      const server = await startServer({ mode, config })
      const headers = { 'x-forwarded-for': '203.0.113.7' }
      try {
        const browser = server.browser()
        const send = (path: string, request: object = {}) => browser.send(path, { headers, ...request })
        await send('/login')
        const user = { username: 'marissa', password: 'koala', 'X-Svc-Csrf': browser.csrf }
        await send('/login.do', { form: { ...user, password: 'wrong' } })
        await send('/login.do', { form: { ...user, username: 'nobody' } })
        await send('/login.do', { form: user })

        const query = { ...APP_REQUEST, scope: 'openid cloud.read' }
        const page = (await send('/oauth/authorize', { query })).text
        const fields = hiddenFields(page.slice(page.indexOf('application_authorization')))
        const decided = { 'scope.0': 'scope.openid', 'scope.1': 'scope.cloud.read', user_oauth_approval: 'true' }
        const done = await send('/oauth/authorize', { form: { ...fields, ...decided } })
        const { code = '' } = responseOf(done).query
        await send('/oauth/authorize', {
          query: { ...requestOf('hybrid'), response_type: 'token id_token', nonce: 'n' },
        })

        const exchange = { grant_type: 'authorization_code', code, redirect_uri: APP_REQUEST.redirect_uri }
        const token = (form: object, basic: readonly [string, string]) =>
          server.send('/oauth/token', { form: { ...form }, basic, headers })
        const { refresh_token } = (await token(exchange, APP)).json<{ refresh_token: string }>()
        await token(exchange, APP)
        await token({ grant_type: 'refresh_token', refresh_token }, APP)
        await token({ grant_type: 'refresh_token', refresh_token }, APP)
        await token({ grant_type: 'client_credentials' }, SERVICE)
        await token({ grant_type: 'client_credentials' }, ['service', 'wrong'])
        await token({ grant_type: 'password', username: 'marissa', password: 'koala' }, APP)

        const csrf = { 'X-Svc-Csrf': browser.csrf, clientId: 'app' }
        await send('/profile', { form: { ...csrf, update: 'update' } })
        await send('/profile', { form: { ...csrf, delete: 'delete' } })

        const types = new Set(server.events.map(({ type }) => type))
        for (const type of [
          'UserNotFound',
          'UserAuthenticationFailure',
          'UserAuthenticationSuccess',
          'ApprovalModifiedEvent',
          'TokenIssuedEvent',
          'ClientAuthenticationSuccess',
          'ClientAuthenticationFailure',
          ...(mode === 'standard' ? (['TokenRevocationEvent'] as const) : []),
        ] as const) {
          assert.ok(types.has(type), type)
        }
        const others = server.events.filter(event => event.remoteAddress !== '203.0.113.7' || event.zoneId !== 'svc')
        assert.deepEqual(others, [])
        const approvals = server.events.filter(({ type }) => type === 'ApprovalModifiedEvent')
        assert.equal(approvals.length, 3)
        assert.ok(!types.has('PrincipalAuthenticationSuccess' as never), 'never emitted, as in the reference system')
        assert.deepEqual(server.faults, [])
      } finally {
        await server.stop()
      }
    })
  })
}
