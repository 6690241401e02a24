import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { OutboundBusy, OutboundError } from '../../src/base/outbound.ts'
import type { Outbound } from '../../src/base/outbound.ts'
import { createRandom } from '../../src/base/random.ts'
import { createVault } from '../../src/base/secrets.ts'
import { oauth2Source } from '../../src/identity/sources/oauth2.ts'
import { createVerifications } from '../../src/token/verifications.ts'
import { createTestClock } from '../support/clock.ts'

const zoneKeys = { active: () => Promise.reject(new Error('not asked for')) }

const clock = createTestClock()
const vault = createVault(Buffer.alloc(32, 7), createRandom())
const now = clock.now()
const times = { createdAt: now, updatedAt: now }
const zone = {
  id: 'svc',
  subdomain: '',
  name: 'svc',
  active: true,
  version: 0,
  config: {},
  address: 'host',
  ...times,
} as const
const attempt = { redirectUri: 'https://here.example/cb', nonce: 'n', codeVerifier: 'v' }
const config = {
  authUrl: 'https://git.example/authorize',
  tokenUrl: 'https://git.example/token',
  userInfoUrl: 'https://git.example/user',
  relyingPartyId: 'me',
}

/** The `redirect` of a provider whose requests are answered by `fetch`, according to their URL. */
function open(fetch: (address: string) => Promise<Response>) {
  const outbound: Outbound = { fetch, getJson: () => Promise.reject(new Error('not asked for')) }
  const provider = { zoneId: 'svc', id: 'p', originKey: 'git', type: 'oauth2.0', name: 'Git', active: true, version: 0 }
  const foreignKeys = { find: () => Promise.resolve(undefined), ...createVerifications() }
  const source = oauth2Source({ outbound, foreignKeys, clock, vault, random: createRandom(), zoneKeys })
  return source.open(zone, { ...provider, ...times, config }, {} as never).redirect // it uses no store
}

describe('oauth2Source redirect', () => {
  for (const path of ['/token', '/user']) {
    for (const failure of ['timeout', 'unreachable', 'paused', 'too-large', 'forbidden', 'redirect'] as const) {
      it(`finish() returns unavailable with a log detail if the request to ${path} fails: ${failure}`, async () => {
        const redirect = open(async address => {
          if (new URL(address).pathname === path) throw new OutboundError(failure, 'https://git.example: why')
          return Response.json({ access_token: 'a' })
        })
        assert.deepEqual(await redirect?.finish({ code: 'c' }, attempt, zone), {
          outcome: 'unavailable',
          detail: 'https://git.example: why',
        })
      })
    }

    it(`finish() throws OutboundBusy if no outbound slot is free for ${path}`, async () => {
      const redirect = open(async address => {
        if (new URL(address).pathname === path) throw new OutboundBusy('https://git.example')
        return Response.json({ access_token: 'a' })
      })
      await assert.rejects(async () => redirect?.finish({ code: 'c' }, attempt, zone), OutboundBusy)
    })

    it(`finish() rethrows unexpected errors of the request to ${path}`, async () => {
      const redirect = open(async address => {
        if (new URL(address).pathname === path) throw new TypeError('a bug')
        return Response.json({ access_token: 'a' })
      })
      await assert.rejects(async () => redirect?.finish({ code: 'c' }, attempt, zone), TypeError)
    })
  }
})
