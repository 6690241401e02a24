import { get } from 'node:http'
import { connect } from 'node:net'
import { connect as connectSecurely } from 'node:tls'
import type { Config } from '../config.ts'
import { loadSettings } from '../config.ts'
import type { Command } from './command.ts'
import { CommandFailure, readOptions } from './command.ts'

const TIMEOUT_MS = 4000

const KINDS = { config: 'string', host: 'string', port: 'string', 'base-url': 'string', ready: 'boolean' } as const

/** `latchkey health`: asks the server on this machine for its health, for a supervisor without an HTTP client. */
export const health: Command = {
  name: 'health',
  summary: 'Print `ok` if the server on this machine responds; otherwise exit with status 1.',
  options: `    --config, --host, --port, --base-url                     As for serve
    --ready            Ask whether it can work, and not only whether it answers
`,
  async run(args) {
    const { ready = false, 'base-url': baseUrl, ...options } = readOptions(args, KINDS)
    const given = baseUrl === undefined ? options : { ...options, baseUrl }
    const config = await loadSettings(['baseUrl', 'listen'], given)
    const { status, text } = await ask(config, ready ? '/readyz' : '/livez')
    if (status !== 200) throw new CommandFailure(`the server responded with status ${status}: ${text}`)
    process.stdout.write('ok\n')
    return 0
  },
}

interface Answer {
  readonly status: number
  readonly text: string
}

/** For the addresses that stand for every interface. */
const LOOPBACK_OF: ReadonlyMap<string, string> = new Map([
  ['0.0.0.0', '127.0.0.1'],
  ['::', '::1'],
])

/** Uses a new connection. Throws `CommandFailure` if there is no response. */
function ask({ listen, baseUrl }: Pick<Config, 'baseUrl' | 'listen'>, path: string): Promise<Answer> {
  const host = LOOPBACK_OF.get(listen.host) ?? listen.host
  const target = { host, port: listen.port }
  // The certificate is for the host of `base_url`, so it is not verified: the only request is for health, on this machine.
  const createConnection = () =>
    listen.tls ? connectSecurely({ ...target, rejectUnauthorized: false }) : connect(target)
  return new Promise((resolve, reject) => {
    const fail = (reason: string): void =>
      reject(new CommandFailure(`no response from ${host} port ${listen.port}: ${reason}`))
    const request = get(
      { ...target, path: new URL(baseUrl).pathname.replace(/\/$/, '') + path, createConnection },
      response => {
        let text = ''
        response
          .setEncoding('utf8')
          .on('data', (part: string) => (text = (text + part).slice(0, 200)))
          .on('end', () => resolve({ status: response.statusCode ?? 0, text: text.trim() }))
          .on('error', error => fail(error.message))
      },
    )
    request.on('error', error => fail(error.message))
    const giveUp = setTimeout(() => request.destroy(new Error(`none within ${TIMEOUT_MS / 1000} seconds`)), TIMEOUT_MS)
    request.on('close', () => clearTimeout(giveUp))
  })
}
