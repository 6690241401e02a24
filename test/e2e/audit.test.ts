// The audit trail of real processes: several workers write it, and one process sends it.
import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, before, describe, it } from 'node:test'
import type { ShownEvent } from '../support/audit.ts'
import { auditBootstrap } from '../support/audit.ts'
import { temporaryFolder } from '../support/config.ts'
import { serve } from '../support/process.ts'

describe('The audit trail with workers', () => {
  const folder = temporaryFolder()
  const numbers: number[] = []
  let expected = Promise.withResolvers<undefined>()
  let most = 0
  const receiver = createServer((request, response) => {
    let text = ''
    request.setEncoding('utf8').on('data', (chunk: string) => {
      text += chunk
    })
    request.on('end', () => {
      const { events } = JSON.parse(text) as { events: readonly ShownEvent[] }
      numbers.push(...events.map(({ number }) => number))
      response.writeHead(204).end()
      if (numbers.length >= most) expected.resolve(undefined)
    })
  })
  before(() => new Promise<void>(resolve => receiver.listen(0, '127.0.0.1', resolve)))
  after(() => receiver.close())

  const ask = async (baseUrl: string, count: number): Promise<void> => {
    expected = Promise.withResolvers()
    most += 2 * count
    const one = async () => {
      const answer = await fetch(`${baseUrl}/oauth/token`, {
        method: 'POST',
        headers: { authorization: `Basic ${btoa('service:service-secret')}`, connection: 'close' },
        body: new URLSearchParams({ grant_type: 'client_credentials' }),
      })
      assert.equal(answer.status, 200)
    }
    await Promise.all(Array.from({ length: count }, one))
  }

  it('is delivered to a webhook within seconds, complete and in order, including entries from before a stop', async () => {
    const { port } = receiver.address() as AddressInfo // no pipe
    const secret = `whsec_${Buffer.alloc(32, 1).toString('base64')}`
    const webhooks = [{ name: 'siem', url: `http://127.0.0.1:${port}/`, secret }]
    const config = { bootstrap: auditBootstrap, workers: 2, audit: { enabled: true, webhooks } }
    const first = await serve({ folder, config })
    await ask(first.baseUrl, 20)
    await expected.promise
    await ask(first.baseUrl, 5)
    assert.equal((await first.stop()).status, 0)
    const second = await serve({ folder, config })
    await expected.promise
    assert.equal((await second.stop()).status, 0)
    assert.deepEqual(
      numbers,
      Array.from({ length: 50 }, (_, index) => index + 1),
    )
  })
})
