// Absolute URLs as the target of a request (RFC 9112 §3.2.2): proxies send them, and servers must accept them.
import assert from 'node:assert/strict'
import type { AddressInfo } from 'node:net'
import { after, before, describe, it } from 'node:test'
import { MODES } from '../../support/oauth.ts'
import type { TestServer } from '../../support/server.ts'
import { startServer } from '../../support/server.ts'
import { HTML, sendRaw } from '../../support/zone-path.ts'

for (const mode of MODES) {
  for (const base of ['http://id.example:8080', 'http://id.example:8080/uaa']) {
    describe(`An absolute URL below ${base} in ${mode}`, () => {
      let server: TestServer
      let port: number
      before(async () => {
        const allowed = { uris: [`${new URL(base).pathname.replace(/\/$/, '')}/info`] }
        server = await startServer({ mode, config: { base_url: base, cors: { default: { allowed } } } })
        await server.app.http.listen({ host: '127.0.0.1', port: 0 })
        port = (server.app.http.server.address() as AddressInfo).port
      })
      after(async () => {
        assert.deepEqual(server.faults, [])
        await server.stop()
      })
      const { host } = new URL(base)
      const send = (url: string, headers: Readonly<Record<string, string>> = {}) =>
        sendRaw(port, url, { host, accept: 'application/json', ...headers })

      it('leads to the same answer as its path', async () => {
        assert.equal((await send(`${base}/info`)).status, 200)
        assert.equal(
          (await send(`HTTP://${host.toUpperCase()}${new URL(base).pathname}/nowhere`)).status,
          mode === 'uaa' ? 302 : 404,
        )
        assert.equal((await send(`http://${host}?a=1`)).status, (await send('/?a=1')).status)
      })

      it('is allowed to pages of other origins where its path is', async () => {
        const answer = await send(`${base}/info`, { origin: 'https://app.example' })
        assert.equal(answer.status, 200)
        assert.equal(answer.headers['access-control-allow-origin'], '*')
      })

      it('is where a user returns to after sign-in, below the base URL', async () => {
        const answer = await send(`${base}/profile?a=1`, HTML)
        assert.equal(answer.headers['location'], `${base}/login`)
        const saved = String(answer.headers['set-cookie']).match(/svc-request=([\w-]+)/)?.[1] ?? ''
        const [, , text] = JSON.parse(Buffer.from(saved, 'base64url').toString()) as string[]
        assert.equal(text, '/profile?a=1')
      })

      if (mode === 'uaa') {
        it('has its trailing slash removed', async () => {
          assert.equal((await send(`${base}/info/`)).status, 200)
        })
      }
    })
  }
}
