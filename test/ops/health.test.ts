import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { MODES } from '../support/oauth.ts'
import { startServer } from '../support/server.ts'

describe('GET /healthz', () => {
  for (const mode of MODES) {
    it(`says ok in plain text, to anybody at any host, and is not cached, in ${mode}`, async () => {
      const server = await startServer({ mode, config: { base_url: 'https://id.example' } })
      try {
        for (const host of ['id.example', '10.0.0.7:8080', 'nowhere.id.example', 'other.example']) {
          const answer = await server.send('/healthz', { host, headers: { accept: 'application/json' } })
          assert.equal(answer.status, 200, host)
          assert.equal(answer.text, 'ok', host)
          assert.match(String(answer.headers['content-type']), /^text\/plain/)
          assert.equal(answer.headers['cache-control'], 'no-store')
          assert.equal(answer.headers['x-content-type-options'], 'nosniff')
          assert.equal(answer.headers['set-cookie'], undefined)
        }
      } finally {
        await server.stop()
      }
    })
  }

  it('is below the base path', async () => {
    const server = await startServer({ config: { base_url: 'http://localhost:8080/uaa' } })
    try {
      assert.equal((await server.send('/uaa/healthz')).text, 'ok')
      assert.equal((await server.send('/healthz')).status, 404)
    } finally {
      await server.stop()
    }
  })
})
