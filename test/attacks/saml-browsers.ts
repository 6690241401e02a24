// Attacks through the browsers of users who sign in, or do not, at SAML providers.
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

/** Attacks that use somebody's browser. */
export const samlBrowserAttacks: readonly Attack[] = [
  {
    attack: 'has another user’s browser post an answer about themselves, so that others work in their account',
    outcome: 'Refused: there was no request, and neither the record nor the zone allows that.',
    attempt: () =>
      against(async server => {
        const answer = await server.send(CONSUMER, { form: answerForm(await responseOf(server, 'corp')) })
        assert.deepEqual([answer.status, answer.cookies], [400, {}])
      }),
  },
  {
    attack: 'posts their own answer with the state of their own sign-in into a browser that waits for its own',
    outcome: 'Refused: the cookie of that sign-in is in another browser, and the one that waits still works.',
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
    attack: 'lets a sign-in begin at the provider in a browser where a user is signed in, or is about to be',
    outcome: 'Where that is allowed, it is a session of its own: it ends none, and follows no request that waits.',
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
    attack: 'names another host in RelayState, or puts words of their own on the page of a failure',
    outcome: 'Leads to the start page; the page has no words that the server did not seal.',
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
    attack: 'has the refusal of a user without an account sent to a URL that the client did not register',
    outcome: 'It is shown here instead.',
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
