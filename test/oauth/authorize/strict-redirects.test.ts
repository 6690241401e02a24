import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { AUTO_REQUEST, authorize, authorizeBootstrap, signedIn } from '../../support/authorize.ts'
import { startServer } from '../../support/server.ts'

const LENIENT = 'https://auto.example/cb/deeper'
const QUERY = `${AUTO_REQUEST.redirect_uri}?tenant=1`

const cases = [
  { name: 'are matched leniently in uaa by default', uaa: undefined, follows: [LENIENT, QUERY] },
  { name: 'are matched leniently in uaa if it is true', uaa: true, follows: [LENIENT, QUERY] },
  // Covers redirect URI matching: strict matching of `uaa.oauth.redirect_uri.allow_unsafe_matching=false`
  { name: 'are matched exactly except for the query in uaa if it is false', uaa: false, follows: [QUERY] },
]

describe('Redirect URIs with uaa.oauth.redirect_uri.allow_unsafe_matching', () => {
  for (const { name, uaa, follows } of cases) {
    it(name, async () => {
      const matching = uaa === undefined ? {} : { uaa: { oauth: { redirect_uri: { allow_unsafe_matching: uaa } } } }
      const server = await startServer({ mode: 'uaa', config: { bootstrap: authorizeBootstrap, ...matching } })
      try {
        const browser = await signedIn(server)
        for (const redirect_uri of [LENIENT, QUERY]) {
          const answer = await authorize(browser, { ...AUTO_REQUEST, redirect_uri })
          if (follows.includes(redirect_uri)) {
            assert.ok(answer.location().href.startsWith(redirect_uri), answer.location().href)
          } else {
            assert.equal(answer.status, 400, redirect_uri)
            assert.equal(answer.headers['location'], undefined)
          }
        }
        assert.deepEqual(server.faults, [])
      } finally {
        await server.stop()
      }
    })
  }
})
