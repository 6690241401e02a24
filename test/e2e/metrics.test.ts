// The metrics that a real process sends to a StatsD server.
import assert from 'node:assert/strict'
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { describe, it } from 'node:test'
import { serve } from '../support/process.ts'
import { send } from '../support/visitor.ts'

describe('statsd.enabled', () => {
  // Covers metrics: statsd.enabled
  it('reports requests, database, sign-ins and memory, and does not keep the process alive', async () => {
    const receiver = createSocket('udp4')
    const numbers = new Map<string, string>()
    receiver.on('message', packet => {
      for (const line of packet.toString().split('\n')) {
        const [name = '', value = ''] = line.split(':')
        if (value !== '0|c') numbers.set(name, value)
      }
    })
    receiver.bind(0, '127.0.0.1')
    await once(receiver, 'listening')
    const bootstrap = {
      clients: [{ client_id: 'app', client_secret: 's', authorized_grant_types: ['client_credentials'] }],
    }
    const statsd = { enabled: true, host: '127.0.0.1', port: receiver.address().port }
    const server = await serve({ config: { bootstrap, statsd, service: 'uaa', metrics: { perRequestMetrics: true } } })
    try {
      const form = { grant_type: 'client_credentials' }
      assert.equal((await send(`${server.baseUrl}/oauth/token`, { form, basic: ['app', 's'] })).status, 200)
      while (!numbers.has('uaa.requests.token-api.latency')) await once(receiver, 'message')
      while (!numbers.has('uaa.vitals.jvm.heap.used')) await once(receiver, 'message')
      assert.equal(numbers.get('uaa.audit_service.client_authentication_count'), '1|g')
      assert.equal(numbers.get('uaa.requests.token-api.completed.count'), '1|g')
      assert.match(numbers.get('uaa.requests.token-api.latency') ?? '', /^\d+\|ms$/)
      for (const name of [
        'requests.global.completed.count',
        'requests.global.status_2xx.count',
        'database.global.completed.count',
      ]) {
        assert.match(numbers.get(`uaa.${name}`) ?? '', /^[1-9]\d*\|c$/, name)
      }
    } finally {
      assert.equal((await server.stop()).status, 0)
      receiver.close()
    }
  })
})
