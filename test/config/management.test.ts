import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { loadText, problemsOf, temporaryFolder } from '../support/config.ts'

const folder = temporaryFolder()
const load = (listen: unknown) => loadText(folder, JSON.stringify({ listen }))

describe('listen.management', () => {
  it('is off without a port', async () => {
    assert.equal((await load({ port: 9000 })).listen.management, undefined)
  })

  it('listens on loopback by default', async () => {
    assert.deepEqual((await load({ management: { port: 9100 } })).listen.management, { host: '127.0.0.1', port: 9100 })
    assert.deepEqual((await load({ management: { port: 9100, host: '10.0.0.1' } })).listen.management, {
      host: '10.0.0.1',
      port: 9100,
    })
  })

  const refused = [
    { name: 'no port', management: {}, want: ['listen.management.port: is missing'] },
    { name: 'port 0', management: { port: 0 }, want: ['listen.management.port: must be at least 1'] },
    {
      name: 'the port of the server',
      management: { port: 8080 },
      want: ['listen.management.port: must not be the port of the server'],
    },
    {
      name: 'an unknown key',
      management: { port: 1, path: '/' },
      want: ['listen.management.path: is not a known key'],
    },
  ]
  for (const { name, management, want } of refused) {
    it(`rejects ${name}`, async () => {
      assert.deepEqual(await problemsOf(load({ management })), want)
    })
  }
})
