// Log lines about proxies that change paths.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { MODES } from '../support/oauth.ts'
import { startServer } from '../support/server.ts'

for (const mode of MODES) {
  describe(`Path outside base_url in ${mode}`, () => {
    it('is logged once if it exists below base_url', async () => {
      const server = await startServer({ mode, config: { base_url: 'http://localhost:8080/auth' } })
      await server.send('/auth/nowhere')
      await server.send('/nowhere')
      assert.deepEqual(linesOf(server), [])
      await server.send('/Codes/secret')
      await server.send('/login')
      const [line = '', ...others] = linesOf(server)
      assert.match(
        line,
        /^\/Codes\/:code was requested, and this server has \/auth\/Codes\/:code: .* base_url\. .* pass the path on/,
      )
      assert.deepEqual(others, [])
      await server.stop()
    })

    it('is not logged if base_url has no path', async () => {
      const server = await startServer({ mode, config: { base_url: 'http://localhost:8080' } })
      await server.send('/auth/login')
      assert.deepEqual(linesOf(server), [])
      await server.stop()
    })
  })
}

const linesOf = ({ lines }: { readonly lines: readonly string[] }): readonly string[] =>
  lines.filter(line => line.includes('was requested'))
