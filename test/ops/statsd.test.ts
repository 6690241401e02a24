import assert from 'node:assert/strict'
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { after, before, describe, it } from 'node:test'
import { measure } from '../../src/ops/measuring.ts'
import { createStatsd } from '../../src/ops/statsd.ts'

const fail = (cause: unknown): never => assert.fail(String(cause))
const receiver = createSocket('udp4')
const packets: string[] = []
let port = 0
before(async () => {
  receiver.on('message', packet => void packets.push(packet.toString()))
  receiver.bind(0, '127.0.0.1')
  await once(receiver, 'listening')
  const address: AddressInfo = receiver.address()
  port = address.port
})
after(() => receiver.close())

async function received(count: number): Promise<readonly string[]> {
  while (packets.length < count) await once(receiver, 'message')
  return packets.splice(0)
}

describe('StatsD packets', () => {
  it('have one measurement per line, with the prefix', async () => {
    const statsd = createStatsd({ host: '127.0.0.1', port, prefix: 'svc', onFailure: fail })
    statsd.add({ name: 'a.count', kind: 'count', value: 3 })
    statsd.add({ name: 'b', kind: 'gauge', value: 0 })
    statsd.add({ name: 'c.latency', kind: 'timer', value: 17 })
    await statsd.flush()
    assert.deepEqual(await received(1), ['svc.a.count:3|c\nsvc.b:0|g\nsvc.c.latency:17|ms'])
    await statsd.flush()
    statsd.add({ name: 'd', kind: 'gauge', value: 1 })
    await statsd.flush()
    assert.deepEqual(await received(1), ['svc.d:1|g'])
    statsd.close()
  })

  it('fit a network packet in whole lines', async () => {
    const statsd = createStatsd({ host: 'localhost', port, prefix: 'svc', onFailure: fail })
    const lines = Array.from({ length: 200 }, (_, index) => `svc.number.${index}:${index}|g`)
    for (const [value] of lines.entries()) statsd.add({ name: `number.${value}`, kind: 'gauge', value })
    await statsd.flush()
    const got = await received(3)
    assert.ok(got.every(packet => packet.length <= 1400))
    assert.deepEqual(got.flatMap(packet => packet.split('\n')).toSorted(), lines.toSorted())
    statsd.close()
  })

  it('are dropped with one warning if the host is unknown', async () => {
    let failures = 0
    const statsd = createStatsd({ host: 'no.such.host.invalid', port, prefix: 'svc', onFailure: () => (failures += 1) })
    for (const value of [1, 2, 3]) {
      statsd.add({ name: 'a', kind: 'gauge', value })
      await statsd.flush()
    }
    assert.equal(failures, 1)
    statsd.close()
    statsd.add({ name: 'a', kind: 'gauge', value: 4 })
    await statsd.flush()
    assert.equal(failures, 1)
  })
})

describe('StatsD reporting', () => {
  const config = { baseUrl: 'http://localhost:8080/uaa', service: 'svc' }

  it('is off unless configured', () => {
    assert.equal(
      measure({ ...config, operations: {} }, () => {}),
      undefined,
    )
  })

  it('sends a report every five seconds until stopped', async t => {
    t.mock.timers.enable({ apis: ['setInterval'] })
    const statsd = { host: '127.0.0.1', port, perRequest: false }
    const measuring = measure({ ...config, operations: { statsd } }, fail)
    const end = measuring?.begin()
    measuring?.metrics.countQuery(7)
    t.mock.timers.tick(4999)
    t.mock.timers.tick(1)
    const text = (await received(1)).join('\n')
    assert.match(text, /^svc\.database\.global\.completed\.count:1\|c$/m)
    assert.match(text, /^svc\.database\.global\.completed\.time:7\|g$/m)
    assert.match(text, /^svc\.requests\.global\.completed\.count:0\|c$/m)
    end?.()
  })
})
