import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import { startServer } from '../../support/server.ts'

describe('Proxy outside listen.trusted_proxies', () => {
  async function linesWith(proxies: readonly string[], headers: Readonly<Record<string, string>>) {
    const server = await startServer({ config: { listen: { trusted_proxies: proxies } } })
    after(() => server.stop())
    const before = server.lines.length
    for (let count = 0; count < 2; count += 1) await server.send('/info', { headers })
    return server.lines.slice(before)
  }
  const forwarded = { 'x-forwarded-for': '203.0.113.7' }

  it('is logged once', async () => {
    const [line = '', ...others] = await linesWith(['10.0.0.5'], forwarded)
    assert.match(line, /^X-Forwarded-For of 127\.0\.0\.1 is not read, .* listen\.trusted_proxies; .* Not logged again$/)
    assert.deepEqual(others, [])
  })

  it('is not logged if trusted, or without X-Forwarded-For', async () => {
    assert.deepEqual(await linesWith(['127.0.0.1'], forwarded), [])
    assert.deepEqual(await linesWith(['10.0.0.5'], {}), [])
  })
})
