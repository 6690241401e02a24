import { loadConfig } from '../config.ts'
import type { Command } from './command.ts'
import { readOptions } from './command.ts'

const KINDS = {
  config: 'string',
  host: 'string',
  port: 'string',
  'base-url': 'string',
  database: 'string',
  workers: 'string',
} as const

/** `latchkey serve`: reads the configuration and runs the server until a signal stops it. */
export const serve: Command = {
  name: 'serve',
  summary: 'Run the server (the default).',
  options: `    --config FILE      Configuration, YAML or JSON           (LATCHKEY_CONFIG)
    --host H           Address to listen on, 127.0.0.1       (LATCHKEY_HOST)
    --port N           Port to listen on, 8080               (LATCHKEY_PORT)
    --base-url URL     Where clients reach the server        (LATCHKEY_BASE_URL)
    --database URL     sqlite:<path> or postgres://...       (LATCHKEY_DATABASE)
    --workers N        Processes that share the socket, 1    (LATCHKEY_WORKERS)
`,
  async run(args) {
    const { 'base-url': baseUrl, ...options } = readOptions(args, KINDS)
    const config = await loadConfig({ options: baseUrl === undefined ? options : { ...options, baseUrl } })
    const { start } = await import('../main.ts') // loads the whole server, so only for a valid command line
    await start(config)
    return undefined
  },
}
