// The shutdown of the process as seen by a load balancer.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { Agent, get } from 'node:http'
import { connect } from 'node:net'
import { describe, it } from 'node:test'
import { launch, serve } from '../support/process.ts'
import { send } from '../support/visitor.ts'

/** The Connection header of the response, on a connection that the caller would keep. */
async function connectionOf(url: string): Promise<string | undefined> {
  const agent = new Agent({ keepAlive: true })
  const request = get(url, { agent })
  const [response] = await once(request, 'response')
  response.resume()
  await once(response, 'end')
  agent.destroy()
  return response.headers.connection
}

/** The log; throws if a line is not JSON, which log collectors require. */
const linesOf = (stdout: string): readonly { readonly msg: string }[] =>
  stdout
    .trimEnd()
    .split('\n')
    .map(line => JSON.parse(line) as { msg: string })

describe('uaa.shutdown.sleep', () => {
  for (const workers of ['1', '2']) {
    // Covers configuration file: uaa.shutdown.sleep
    // Covers GET /healthz: 503 stopping
    it(`keeps the server listening while it reports that it is stopping, with workers: ${workers}`, async () => {
      const config = { uaa: { shutdown: { sleep: 2000 } }, database: 'sqlite:./latchkey.db' }
      const server = await serve({ config, args: ['--workers', workers] })
      const ended = server.stop()
      // Until the signal has arrived in the responding process.
      let answer = await send(`${server.baseUrl}/healthz`)
      while (answer.status === 200) answer = await send(`${server.baseUrl}/healthz`)
      assert.deepEqual({ status: answer.status, text: answer.text }, { status: 503, text: 'stopping\n' })
      assert.equal((await send(`${server.baseUrl}/info`)).status, 200)
      // A proxy that kept the connection might send its next request while the server closes it.
      if (workers === '1') assert.equal(await connectionOf(`${server.baseUrl}/info`), 'close')
      const { status, stdout } = await ended
      assert.equal(status, 0)
      const messages = linesOf(stdout).map(({ msg }) => msg)
      assert.match(messages[0] ?? '', /^schema brought up to date: \d+ migrations, the last one \d{4}-[a-z-]+$/)
      assert.match(messages.at(-3) ?? '', new RegExp(`^Latchkey \\S+ is ready at ${server.baseUrl}, listening on `))
      assert.deepEqual(messages.slice(-2), ['stopping, by SIGTERM', 'stopped'])
    })
  }
})

it('answers requests on connections that it has not accepted yet', async () => {
  const server = await serve({ config: { database: 'sqlite::memory:' } })
  server.signal('SIGSTOP')
  const sockets = Array.from({ length: 30 }, () => connect({ host: '127.0.0.1', port: server.port }))
  await Promise.all(sockets.map(socket => once(socket, 'connect')))
  for (const socket of sockets) socket.write('GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n')
  const answers = sockets.map(async socket => {
    let answer = ''
    for await (const part of socket.setEncoding('latin1')) answer += part
    return answer.slice(0, 12)
  })
  server.signal('SIGTERM')
  server.signal('SIGCONT')
  assert.deepEqual(new Set(await Promise.all(answers)), new Set(['HTTP/1.1 200']))
  assert.equal((await server.ended).status, 0)
})

it('stops with status 0 while creating configured records', async () => {
  // Each password takes a second.
  const users = Array.from({ length: 64 }, (_, index) => {
    const userName = `user-${index}`
    return { userName, password: 'koala', emails: [{ value: `${userName}@example.org` }] }
  })
  const config = { passwords: { passes: 100 }, bootstrap: { users } }
  const started = launch(['serve', '--config', 'latchkey.json'], { files: { 'latchkey.json': JSON.stringify(config) } })
  await started.printed(/schema brought up to date/)
  started.signal('SIGTERM')
  const { status, signal, stdout } = await started.ended
  assert.deepEqual({ status, signal }, { status: 0, signal: null })
  assert.match(linesOf(stdout).at(-1)?.msg ?? '', /^(?:stopping, by SIGTERM, before the start was complete|stopped)$/)
})
