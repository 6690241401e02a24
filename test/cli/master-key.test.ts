import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { createRandom } from '../../src/base/random.ts'
import { masterKeyId } from '../../src/base/secrets.ts'
import { temporaryFolder } from '../support/config.ts'
import type { ServerProcess } from '../support/process.ts'
import { runToEnd, serve } from '../support/process.ts'

const random = createRandom()
const keys = [random.bytes(32), random.bytes(32)] as const
const [first, second] = keys.map(key => key.toString('hex')) as [string, string]
const [firstId, secondId] = keys.map(masterKeyId) as [string, string]

describe('latchkey master-key with a running server of two workers', () => {
  const folder = temporaryFolder()
  let server: ServerProcess
  const run = (...args: readonly string[]) => runToEnd(['master-key', ...args, '--config', 'latchkey.json'], { folder })
  const write = (...lines: readonly string[]): void => writeFileSync(join(folder, 'keys'), `${lines.join('\n')}\n`)
  /** Each process logs that it has loaded the keys. */
  async function hangUp(active: string): Promise<void> {
    server.signal('SIGHUP')
    await server.printed(new RegExp(`(?:master key: ${active} encrypts from now on[^]*){3}`))
  }

  before(async () => {
    write(first)
    const client = { client_id: 'app', client_secret: 'app-secret', authorized_grant_types: ['client_credentials'] }
    const config = {
      master_key_command: ['cat', 'keys'],
      workers: 2,
      audit: { enabled: true },
      bootstrap: { clients: [{ ...client, authorities: ['jobs.run', 'audit.read'] }] },
    }
    server = await serve({ folder, config })
  })
  after(async () => {
    await server.stop()
  })

  it('re-encrypts every value while the server runs', async () => {
    write(first, second)
    await hangUp(firstId)
    write(second, first)
    await hangUp(secondId)
    const before = await run('check')
    assert.match(before.stdout, new RegExp(`^KEY +VALUES  STATE\n${secondId} +0  seals\n${firstId} +2  opens\n$`))
    assert.equal(before.status, 1)
    const done = await run('reseal')
    assert.match(
      done.stdout,
      new RegExp(`^Re-encrypted 2 records.\nKEY.*\n${secondId} +2  seals\n${firstId} +0  opens\n$`),
    )
    assert.equal(done.status, 0)
    write(second)
    const answer = await fetch(`${server.baseUrl}/oauth/token`, {
      method: 'POST',
      headers: { authorization: `Basic ${btoa('app:app-secret')}` },
      body: new URLSearchParams({ grant_type: 'client_credentials' }),
    })
    assert.equal(answer.status, 200)
    const { access_token: token } = (await answer.json()) as { access_token: string }
    const trail = await fetch(`${server.baseUrl}/audit/events?type=MasterKeyResealedEvent`, {
      headers: { authorization: `Bearer ${token}` },
    })
    const { events } = (await trail.json()) as { events: Record<string, string>[] }
    assert.deepEqual(
      events.map(({ principal, data }) => [principal, data]),
      [[secondId, '2 records']],
    )
  })

  it('rejects an unknown action', async () => {
    const ending = await run('rotate')
    assert.equal(ending.status, 2)
    assert.match(ending.stderr, /^latchkey: master-key requires one of check, reseal, not rotate/)
  })

  it('reports a problem of the command without its output', async () => {
    writeFileSync(join(folder, 'keys'), 'not a key of forty characters, but secret')
    const ending = await run('check')
    assert.equal(ending.status, 1)
    assert.match(
      ending.stderr,
      /^latchkey: the output of master_key_command: each key must be 32 bytes as 64 hexadecimal/,
    )
    assert.doesNotMatch(ending.stderr, /secret/)
  })
})
