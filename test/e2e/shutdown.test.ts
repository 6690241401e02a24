// The end of the process as a load balancer sees it.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { serve } from '../support/process.ts'
import { send } from '../support/visitor.ts'

describe('uaa.shutdown.sleep', () => {
  for (const workers of ['1', '2']) {
    it(`keeps the server accepting, while it says that it stops, with workers: ${workers}`, async () => {
      const config = { uaa: { shutdown: { sleep: 2000 } }, database: 'sqlite:./latchkey.db' }
      const server = await serve({ config, args: ['--workers', workers] })
      const ended = server.stop()
      // Until the signal has arrived, in whichever process answers.
      let answer = await send(`${server.baseUrl}/healthz`)
      while (answer.status === 200) answer = await send(`${server.baseUrl}/healthz`)
      assert.deepEqual({ status: answer.status, text: answer.text }, { status: 503, text: 'stopping\n' })
      assert.equal((await send(`${server.baseUrl}/info`)).status, 200)
      assert.equal((await ended).status, 0)
    })
  }
})
