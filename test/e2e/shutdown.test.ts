// The end of the process as a load balancer sees it.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { Agent, get } from 'node:http'
import { describe, it } from 'node:test'
import { serve } from '../support/process.ts'
import { send } from '../support/visitor.ts'

/** What the answer says of its connection, on one that the caller would keep. */
async function connectionOf(url: string): Promise<string | undefined> {
  const agent = new Agent({ keepAlive: true })
  const request = get(url, { agent })
  const [response] = await once(request, 'response')
  response.resume()
  await once(response, 'end')
  agent.destroy()
  return response.headers.connection
}

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
      // A proxy that kept the connection might send its next request while the server closes it.
      if (workers === '1') assert.equal(await connectionOf(`${server.baseUrl}/info`), 'close')
      assert.equal((await ended).status, 0)
    })
  }
})
