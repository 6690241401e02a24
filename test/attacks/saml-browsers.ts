// Attacks on SAML sign-in in a victim's browser.
import assert from 'node:assert/strict'
import { AUTO_REQUEST, authorize, signedIn } from '../support/authorize.ts'
import { createTestClock } from '../support/clock.ts'
import {
  answerForm,
  BASE,
  comeBack,
  CONSUMER,
  idpOf,
  requestIn,
  samlBootstrap,
  signInAt,
} from '../support/saml/saml-sign-in.ts'
import type { TestServer } from '../support/server.ts'
import { startServer } from '../support/server.ts'
import type { Attack } from './attack.ts'

async function against(attempt: (server: TestServer) => Promise<void>): Promise<void> {
  const clock = createTestClock()
  const server = await startServer({ clock, config: { bootstrap: samlBootstrap(clock) } })
  try {
    await attempt(server)
    assert.deepEqual(server.faults, [])
  } finally {
    await server.stop()
  }
}

const responseOf = (server: TestServer, origin: string, parts = {}): Promise<string> =>
  idpOf(server.clock, origin).response({ nameId: 'mallory', ...parts })

/** Attacks on SAML sign-in in a victim's browser. */
export const samlBrowserAttacks: readonly Attack[] = [
  {
    attack: 'posts a response about their own account from a victim’s browser (login CSRF)',
    outcome: 'refused, because neither the record nor the zone allows IdP-initiated sign-in',
    attempt: () =>
      against(async server => {
        const answer = await server.send(CONSUMER, { form: answerForm(await responseOf(server, 'corp')) })
        assert.deepEqual([answer.status, answer.cookies], [400, {}])
      }),
  },
  {
    attack: 'posts their own response and RelayState from a browser with a pending sign-in',
    outcome: 'refused without the cookie of that sign-in; the pending one still works',
    attempt: () =>
      against(async server => {
        const victim = server.browser()
        await authorize(victim, AUTO_REQUEST)
        const waiting = requestIn(await victim.send('/login/external/corp'))
        const own = requestIn(await server.browser().send('/login/external/corp'))
        const forged = await responseOf(server, 'corp', { inResponseTo: own.id })
        for (const relayState of [own.relayState, waiting.relayState.slice(1)]) {
          const answer = await comeBack(server, victim, answerForm(forged, relayState))
          assert.equal(answer.status, 400)
        }
        const genuine = await responseOf(server, 'corp', { inResponseTo: waiting.id, nameId: 'alice' })
        const answer = await comeBack(server, victim, answerForm(genuine, waiting.relayState))
        assert.equal(answer.location().pathname, '/oauth/authorize')
      }),
  },
  {
    attack: 'sends an IdP-initiated response from a browser with a session or a pending sign-in',
    outcome: 'a separate session, which neither ends another one nor completes a pending request',
    attempt: () =>
      against(async server => {
        const victim = await signedIn(server)
        const cookies = new Map(victim.cookies)
        await authorize(victim, { ...AUTO_REQUEST, prompt: 'login' })
        const answer = await victim.send(CONSUMER, { form: answerForm(await responseOf(server, 'begins')) })
        assert.equal(answer.headers['location'], `${BASE}/`)
        const before = await server.send('/home', { cookies: Object.fromEntries(cookies) })
        assert.match(before.text, /marissa/)
      }),
  },
  {
    attack: 'sets RelayState to another host, or injects text into the error page',
    outcome: 'redirects to the home page; the error page shows only sealed text',
    attempt: () =>
      against(async server => {
        for (const relayState of ['https://evil.example/', `${BASE}@evil.example/`, '//evil.example']) {
          const form = answerForm(await responseOf(server, 'begins'), relayState)
          assert.equal((await server.send(CONSUMER, { form })).headers['location'], `${BASE}/`)
        }
        const page = await server.send('/saml_error', { cookies: { 'Saml-Failure': 'Call%200800' } })
        assert.doesNotMatch(page.text, /0800/)
      }),
  },
  {
    attack: 'has the error for a user without an account sent to an unregistered URL',
    outcome: 'the error is shown on a page',
    attempt: () =>
      against(async server => {
        const request = new URLSearchParams({ ...AUTO_REQUEST, redirect_uri: 'https://evil.example/cb' }).toString()
        const target = new URLSearchParams({ form_redirect_uri: `${BASE}/oauth/authorize?${request}` }).toString()
        const start = `/login/external/closed?${target}`
        const answer = await signInAt(server, server.browser(), { origin: 'closed', start })
        assert.deepEqual([answer.status, answer.headers['location']], [403, undefined])
      }),
  },
]
