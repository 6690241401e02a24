// A disk that is really full: a small file system in memory, filled to the last byte. Nothing is acknowledged that is not
// kept, /healthz says so, and all of it works again as soon as there is room.
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { appendFileSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { isHealthy, serve } from '../support/process.ts'
import type { ServerProcess } from '../support/process.ts'

const config = {
  uaa: { health: { db: { rate: 200 } } },
  bootstrap: {
    clients: [
      {
        client_id: 'service',
        client_secret: 'secret',
        authorized_grant_types: ['client_credentials'],
        authorities: ['svc.resource', 'jobs.run'],
      },
    ],
  },
}
const AUTHORIZATION = `Basic ${btoa('service:secret')}`

describe('a full disk', () => {
  let folder: string
  let filler: string
  let isMounted = false
  let server: ServerProcess | undefined

  before(async () => {
    folder = mkdtempSync(join(tmpdir(), 'latchkey-full-'))
    filler = join(folder, 'filler')
    isMounted = spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=4m', 'tmpfs', folder]).status === 0
    if (!isMounted) return
    server = await serve({ config, args: ['--database', `sqlite:${join(folder, 'latchkey.db')}`] })
  })
  after(async () => {
    await server?.stop()
    if (isMounted) spawnSync('umount', ['-l', folder])
    rmSync(folder, { recursive: true, force: true })
  })

  async function post(
    path: string,
    fields: Readonly<Record<string, string>>,
  ): Promise<{ status: number; text: string }> {
    const answer = await fetch(`${server?.baseUrl}${path}`, {
      method: 'POST',
      headers: { authorization: AUTHORIZATION },
      body: new URLSearchParams(fields),
    })
    return { status: answer.status, text: await answer.text() }
  }

  const opaque = () => post('/oauth/token', { grant_type: 'client_credentials', token_format: 'opaque' })

  async function isActive(token: string): Promise<unknown> {
    return JSON.parse((await post('/introspect', { token })).text).active
  }

  async function healthBecomes(wanted: boolean): Promise<void> {
    const begin = performance.now()
    while ((await isHealthy(server?.port ?? 0)) !== wanted) {
      assert.ok(performance.now() - begin < 10_000, `/healthz is not ${wanted ? 'well' : 'ill'} after ten seconds`)
    }
  }

  function fill(): void {
    for (const size of [65_536, 4096, 512, 1]) {
      try {
        for (;;) appendFileSync(filler, Buffer.alloc(size))
      } catch (error) {
        assert.match(String(error), /ENOSPC/)
      }
    }
  }

  it('is told by /healthz and by whatever needs a write, loses nothing, and is recovered from', async t => {
    if (!isMounted) return t.skip('only root may mount a file system to fill')
    const kept: string[] = []
    const before = await opaque()
    assert.equal(before.status, 200)
    kept.push(JSON.parse(before.text).access_token)
    fill()
    let answer = before
    // What is left of the log's last pages may still be used.
    for (let attempt = 0; attempt < 1000 && answer.status === 200; attempt += 1) {
      answer = await opaque()
      if (answer.status === 200) kept.push(JSON.parse(answer.text).access_token)
    }
    assert.equal(answer.status, 503)
    assert.deepEqual(JSON.parse(answer.text), {
      error: 'temporarily_unavailable',
      error_description: 'Database unavailable. Retry later.',
    })
    await healthBecomes(false)
    // A JWT needs no write.
    assert.equal((await post('/oauth/token', { grant_type: 'client_credentials' })).status, 200)
    for (const token of kept) assert.equal(await isActive(token), true)

    rmSync(filler)
    await healthBecomes(true)
    const again = await opaque()
    assert.equal(again.status, 200)
    kept.push(JSON.parse(again.text).access_token)
    for (const token of kept) assert.equal(await isActive(token), true)
  })
})
