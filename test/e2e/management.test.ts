// The management port of a real process.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:net'
import { describe, it } from 'node:test'
import { freePort } from '../support/free-port.ts'
import { runToEnd, serve } from '../support/process.ts'
import { send } from '../support/visitor.ts'

const bootstrap = {
  clients: [{ client_id: 'app', client_secret: 's', authorized_grant_types: ['client_credentials'] }],
}
const form = { grant_type: 'client_credentials' }

describe('listen.management', () => {
  for (const workers of [1, 2]) {
    it(`reports the requests of all processes, with ${workers} ${workers === 1 ? 'process' : 'worker processes'}`, async () => {
      const port = await freePort()
      const smtp = { host: '127.0.0.1', port: await freePort(), from: 'id@example.org' }
      const siem = {
        name: 'siem',
        url: 'https://127.0.0.1:1/',
        secret: `whsec_${Buffer.alloc(32, 3).toString('base64')}`,
      }
      const audit = { enabled: true, webhooks: [siem] }
      const server = await serve({ config: { bootstrap, workers, smtp, audit, listen: { management: { port } } } })
      try {
        for (let i = 0; i < 4; i += 1) {
          assert.equal((await send(`${server.baseUrl}/oauth/token`, { form, basic: ['app', 's'] })).status, 200)
        }
        const { status, headers, text } = await send(`http://127.0.0.1:${port}/metrics`)
        assert.equal(status, 200)
        assert.match(String(headers['content-type']), /^text\/plain; version=0\.0\.4/)
        for (const line of [
          'latchkey_token_request_duration_seconds_count{grant_type="client_credentials",status="2xx"} 4',
          'latchkey_database_up 1',
          'latchkey_mails_total{outcome="sent"} 0',
          'latchkey_mails_waiting 0',
          'latchkey_logouts_total{outcome="delivered"} 0',
          'latchkey_logouts_waiting 0',
          'latchkey_audit_webhook_total{webhook="siem",outcome="accepted"} 0',
          'latchkey_signature_duration_seconds_count{algorithm="RS256",place="pool",outcome="made"} 4',
        ]) {
          assert.ok(text.split('\n').includes(line), line)
        }
        assert.equal(text.match(/^# TYPE process_cpu_seconds_total /gm)?.length, 1, 'each metric once')
        assert.match(text, /^latchkey_build_info\{version="[^"]+"\} 1$/m)
        assert.equal((await send(`${server.baseUrl}/metrics`)).text.includes('latchkey_'), false)
        assert.equal((await send(`http://127.0.0.1:${port}/healthz`)).status, 404)
        assert.equal((await send(`http://127.0.0.1:${port}/metrics`, { method: 'POST' })).status, 405)
      } finally {
        assert.equal((await server.stop()).status, 0)
      }
    })
  }

  it('prevents the start if its port is in use', async () => {
    const other = createServer().listen(0, '127.0.0.1')
    await once(other, 'listening')
    const { port } = other.address() as { port: number }
    const files = { 'l.json': JSON.stringify({ bootstrap, listen: { management: { port } } }) }
    const args = ['serve', '--config', 'l.json', '--port', String(await freePort())]
    const { status, stderr } = await runToEnd(args, { files })
    other.close()
    assert.equal(status, 1)
    assert.match(stderr, new RegExp(`port ${port} of 127\\.0\\.0\\.1 is in use`))
  })
})
