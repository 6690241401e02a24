import assert from 'node:assert/strict'
import { createTestClock } from '../support/clock.ts'
import { MODES } from '../support/oauth.ts'
import { defaultBootstrap, startServer } from '../support/server.ts'
import { startUpstream } from '../support/upstream.ts'
import type { Attack } from './attack.ts'
import { inBothModes, providerAt } from './identity.ts'

const GROUPS = { attributeMappings: { external_groups: 'groups' } }
const MALLORY = { sub: 'mallory', email: 'mallory@corp.example', email_verified: true }

/** What whoever runs a provider, or a person known there, can try with its answers. */
export const upstreamAttacks: readonly Attack[] = [
  {
    attack: 'names administrative groups in the group claim of a provider whose groups are scopes',
    outcome: 'becomes a member of the other groups only',
    attempt: inBothModes(
      async ({ server, signIn, userOf }) => {
        const groups = ['svc.admin', 'SVC.Admin', 'SCIM.write', 'zones.z1.admin', 'clients.admin', 'app.read', 'a b']
        const { browser } = await signIn({ ...MALLORY, groups })
        const userId = await userOf(browser)
        assert.ok(userId !== undefined)
        const all = await server.store.groups.namesOfUser('svc', userId)
        assert.deepEqual(
          all.filter(name => /admin|scim|zones|app|a b/i.test(name)),
          ['app.read'],
        )
      },
      { ...GROUPS, groupMappingMode: 'AS_SCOPES' },
    ),
  },
  {
    attack: 'brings 10,000 groups',
    outcome: 'is refused, and no account is made',
    attempt: inBothModes(
      async ({ server, signIn, userOf }) => {
        const groups = Array.from({ length: 10_000 }, (_, index) => `${index}`)
        const { browser, answer } = await signIn({ ...MALLORY, groups })
        assert.notEqual(answer.headers['location'], 'http://localhost:8080/')
        assert.equal(await userOf(browser), undefined)
        assert.equal(await server.store.users.findByExternalId('svc', 'corp', 'mallory'), undefined)
      },
      { ...GROUPS, groupMappingMode: 'AS_SCOPES' },
    ),
  },
  {
    attack: 'has markup in every claim upstream',
    outcome: 'is signed in, and no page has it unescaped',
    attempt: inBothModes(
      async ({ server, signIn, userOf }) => {
        const markup = '<img src=x onerror=alert(1)>'
        const { browser } = await signIn({
          sub: markup,
          email: `${markup}@corp.example`,
          given_name: markup,
          family_name: markup,
          groups: [markup],
          amr: [markup],
          acr: markup,
        })
        assert.ok((await userOf(browser)) !== undefined)
        for (const path of ['/home', '/profile', '/']) {
          assert.doesNotMatch((await browser.send(path)).text, /<img src=x/, path)
        }
        assert.deepEqual(server.faults, [])
      },
      { ...GROUPS, groupMappingMode: 'AS_SCOPES' },
    ),
  },
  {
    attack: 'has a provider of their zone told who this server is, by the key that other zones sign with',
    outcome: 'nothing is signed: the zone needs a key of its own',
    attempt: async () => {
      for (const mode of MODES) {
        const clock = createTestClock()
        const upstream = await startUpstream(clock)
        const config = { relyingPartySecret: undefined, jwtClientAuthentication: true, passwordGrantEnabled: true }
        const identity_providers = [providerAt(upstream, config)]
        const zone = { id: 'z1', subdomain: 'z1', name: 'One', bootstrap: { identity_providers } }
        const bootstrap = { ...defaultBootstrap, identity_zones: [zone] }
        const server = await startServer({ mode, clock, config: { bootstrap } })
        try {
          const browser = server.browser('z1.localhost:8080')
          const { searchParams } = (await browser.send('/login/external/corp')).location()
          const query = { code: 'c', state: searchParams.get('state') ?? '' }
          await browser.send('/login/callback/corp', { query })
          assert.equal(upstream.requests.length, 0)
          assert.deepEqual(server.faults, [])
        } finally {
          await server.stop()
          await upstream.stop()
        }
      }
    },
  },
]
