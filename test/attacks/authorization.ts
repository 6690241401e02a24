import assert from 'node:assert/strict'
import { AUTO_REQUEST, authorize, authorizeBootstrap, responseOf, signedIn } from '../support/authorize.ts'
import { AUTO, exchange, passwordTokens, tokensOf } from '../support/oauth.ts'
import type { TestServer } from '../support/server.ts'
import { startServer } from '../support/server.ts'
import type { Attack } from './attack.ts'

/** Runs the attempt against a server with the clients of the authorization tests. */
const against = (attempt: (server: TestServer) => Promise<void>) => async (): Promise<void> => {
  const server = await startServer({ config: { bootstrap: authorizeBootstrap } })
  try {
    await attempt(server)
  } finally {
    await server.stop()
  }
}

/** Attacks on authorization requests. */
export const authorizationAttacks: readonly Attack[] = [
  {
    attack: 'exchanges a narrow access token of a user for a code of a wider client',
    outcome: 'the code has only the scopes of the token',
    attempt: against(async server => {
      const portal = ['portal', 'portal-secret'] as const
      const { access_token: bearer } = await passwordTokens(server, { scope: 'svc.user cloud.read' }, portal)
      const { query } = responseOf(await authorize(server, AUTO_REQUEST, { bearer }))
      const named = { redirect_uri: AUTO_REQUEST.redirect_uri }
      assert.equal(tokensOf(await exchange(server, query['code'] ?? '', named, AUTO)).scope, 'cloud.read')
    }),
  },
  {
    attack: "asks for a user's code with a client's own token",
    outcome: '403 insufficient_scope',
    attempt: against(async server => {
      const own = await server.token({ grant_type: 'client_credentials' }, { basic: ['service', 'service-secret'] })
      const answer = await authorize(server, AUTO_REQUEST, { bearer: tokensOf(own).access_token })
      assert.equal(`${answer.status} ${String(answer.json()['error'])}`, '403 insufficient_scope')
    }),
  },
  {
    attack: 'guesses passwords with the client id of an application without the password grant',
    outcome: 'refused before the password is checked',
    attempt: against(async server => {
      const request = { response_type: 'token', client_id: 'implicit', redirect_uri: 'https://implicit.example/cb' }
      const form = { ...request, source: 'credentials', username: 'marissa', password: 'koala' }
      const answer = await server.send('/oauth/authorize', { form, headers: { accept: 'application/json' } })
      assert.equal(responseOf(answer).fragment['error'], 'unauthorized_client')
    }),
  },
  {
    attack: 'signs a user out by a cross-site link with a redirect',
    outcome: 'confirmation is required, and the session is kept',
    attempt: against(async server => {
      const browser = await signedIn(server)
      const headers = { 'sec-fetch-site': 'cross-site' }
      const answer = await browser.send('/logout.do', { query: { redirect: 'http://localhost:8080/login' }, headers })
      assert.match(answer.text, /id="logout_confirmation"/)
      assert.equal((await browser.send('/home')).status, 200)
    }),
  },
]
