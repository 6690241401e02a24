import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { decodeProtectedHeader } from 'jose'
import { certificateOf } from '../support/certificate.ts'
import { createTestClock } from '../support/clock.ts'
import { privatePem } from '../support/config.ts'
import type { TestDatabase } from '../support/databases.ts'
import { freshDatabase } from '../support/databases.ts'
import { SERVICE, tokensOf } from '../support/oauth.ts'
import type { TestServer } from '../support/server.ts'
import { startServer } from '../support/server.ts'

const pem = (): string => privatePem('ed25519')
const a = { alg: 'EdDSA', pem: pem() }
const b = { alg: 'ES256', pem: privatePem('ec', 'P-256') }
const mac = { alg: 'HS256', secret: 'a secret of thirty-two bytes, or so' }
const file = (active: string, keys: object) => ({ signing_keys: { active, keys } })

describe('Configured signing keys', () => {
  let database: TestDatabase
  before(async () => {
    database = await freshDatabase('sqlite')
  })
  after(() => database.drop())

  const clock = createTestClock()
  /** One start with this configuration; answers the keys afterwards, the one that signs with a star. */
  async function start(config: object, meanwhile?: (server: TestServer) => Promise<unknown>): Promise<string> {
    const server = await startServer({ database: database.url, config: { ...config }, clock })
    try {
      await meanwhile?.(server)
      const { access_token } = tokensOf(await server.token({ grant_type: 'client_credentials' }, { basic: SERVICE }))
      const { kid } = decodeProtectedHeader(access_token)
      assert.deepEqual(server.faults, [])
      const keys = (await server.store.keys.list('svc')).map(({ keyId, active, expiresAt }) => {
        assert.equal(active, keyId === kid)
        return `${keyId}${active ? '*' : ''}${expiresAt ? ' retired' : ''}`
      })
      return keys.toSorted().join(', ')
    } finally {
      await server.stop()
    }
  }
  const later = (): Date => new Date(clock.now().getTime() + 3_600_000)

  const steps: readonly {
    readonly name: string
    readonly config: object
    readonly meanwhile?: (server: TestServer) => Promise<unknown>
    readonly want: string
  }[] = [
    { name: 'are created at the first start', config: file('a', { a, b, mac }), want: 'a*, b, mac' },
    {
      name: 'are not restored when others were activated or retired at run time',
      config: file('a', { a, b, mac }),
      async meanwhile({ store }) {
        await store.keys.activate('svc', 'b', clock.now())
        await store.keys.retire('svc', 'a', later())
      },
      want: 'a retired, b*, mac',
    },
    // Covers latchkey keys: rule: the configuration wins only where it changed
    {
      name: 'are not restored at the next start',
      config: file('a', { a, b, mac }),
      want: 'a retired, b*, mac',
    },
    {
      name: 'stay retired when the file activates the active key',
      config: file('b', { a, b, mac }),
      want: 'a retired, b*, mac',
    },
    {
      name: 'stay retired when the file activates a third one, a shared secret',
      config: file('mac', { a, b, mac }),
      want: 'a retired, b, mac*',
    },
    {
      name: 'are not created again once purged',
      config: file('mac', { a, b, mac }),
      async meanwhile({ store }) {
        await store.keys.retire('svc', 'a', clock.now())
        assert.ok((await store.purge(later())) > 0)
      },
      want: 'b, mac*',
    },
    { name: 'stay purged', config: file('b', { a, b, mac }), want: 'b*, mac' },
    {
      name: 'are created again when the file activates them',
      config: file('a', { a, b, mac }),
      want: 'a*, b, mac',
    },
    {
      name: 'stay retired when the file is unchanged',
      config: file('a', { a, b, mac }),
      meanwhile: ({ store }) => store.keys.retire('svc', 'b', later()),
      want: 'a*, b retired, mac',
    },
    {
      name: 'stay retired when the file only adds a certificate',
      config: file('a', { a, b: { ...b, cert: certificateOf(b.pem) }, mac }),
      want: 'a*, b retired, mac',
    },
    {
      name: 'are replaced, and no longer retired, when the file has another key with the id',
      config: file('a', { a, b: { alg: 'EdDSA', pem: pem() }, mac }),
      want: 'a*, b, mac',
    },
    { name: 'are kept when removed from the file', config: file('a', { a }), want: 'a*, b, mac' },
  ]
  for (const { name, config, meanwhile, want } of steps) {
    it(name, async () => assert.equal(await start(config, meanwhile), want))
  }
})
