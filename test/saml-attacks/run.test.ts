import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { promisify } from 'node:util'
import { createTestClock } from '../support/clock.ts'
import { freePort } from '../support/free-port.ts'
import type { TestServer } from '../support/server.ts'
import { defaultBootstrap, startServer } from '../support/server.ts'

const PROGRAM = join(import.meta.dirname, 'run.ts')

describe('run.ts', () => {
  let folder: string
  let server: TestServer
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'saml-attacks-'))
    const port = await freePort()
    // Sequentially, because the first call creates the keys of both.
    const metadata = [await run('--metadata=idp'), await run('--metadata=rival')]
    const identity_providers = metadata.map(({ stdout }, index) => ({
      originKey: `provider-${index}`,
      type: 'saml',
      name: 'A provider of the collection',
      config: { metaDataLocation: stdout.trim(), allowIdpInitiated: true },
    }))
    server = await startServer({
      clock: createTestClock(Date.now()), // the command uses the system clock
      config: { base_url: `http://127.0.0.1:${port}`, bootstrap: { ...defaultBootstrap, identity_providers } },
    })
    await server.app.http.listen({ port, host: '127.0.0.1' })
  })
  after(async () => {
    await server.stop()
    await rm(folder, { recursive: true })
  })

  /** Runs the command, with any exit code. */
  const run = (...args: readonly string[]): Promise<{ readonly stdout: string; readonly code: number }> =>
    promisify(execFile)(process.execPath, [PROGRAM, ...args], { cwd: folder }).then(
      ({ stdout }) => ({ stdout, code: 0 }),
      (error: { readonly stdout: string; readonly code: number }) => error,
    )
  const send = (entityId: string) =>
    run('--class', 'wrong audience', '--entity-id', entityId, '--acs', `${server.baseUrl}/saml/SSO/alias/latchkey`)

  it('prints the result of every message', async () => {
    const { stdout, code } = await send('latchkey')
    assert.equal(code, 0, stdout)
    const rows = stdout.trim().split('\n')
    assert.equal(rows.pop(), '13 messages, 0 of them not as they must be')
    assert.ok(rows.slice(0, 2).every(row => row.endsWith('| taken |')))
    assert.ok(rows.slice(2).every(row => row.endsWith('| refused |')))
  })

  it('fails for a server that refuses every message', async () => {
    const { stdout, code } = await send('another-name')
    assert.equal(code, 1)
    assert.equal(stdout, '')
  })
})
