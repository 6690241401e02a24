// The port that the server listens on: chosen or checked before the server is built, and why it cannot be used.
import { createServer } from 'node:net'
import { StartFailure } from '../cli/command.ts'
import type { Config } from '../config.ts'

/**
 * With port 0 the system chooses one, which has to be known before the base URL is. Several workers would each
 * report that a port is in use, so the primary process checks it first.
 */
export async function withUsablePort(config: Config): Promise<Config> {
  const { host, port } = config.listen
  if (port !== 0 && config.workers === 1) return config
  const usable = await new Promise<number>((resolve, reject) => {
    const probe = createServer()
    probe.once('error', error => reject(listenFailure(error, config.listen)))
    probe.listen(port, host, () => {
      const address = probe.address()
      probe.close(() => resolve(typeof address === 'object' && address !== null ? address.port : 0))
    })
  })
  return { ...config, listen: { ...config.listen, port: usable }, baseUrl: config.baseUrl.replace(/:0$/, `:${usable}`) }
}

/** What an operator changes when the server cannot listen. */
interface Settings {
  readonly host: string
  readonly port: string
}

const SETTINGS: Settings = { host: '--host or listen.host', port: '--port or listen.port' }
/** The settings of the management port. */
export const MANAGEMENT_SETTINGS: Settings = { host: 'listen.management.host', port: 'listen.management.port' }

/** Replaces a system error of `listen` by a message for operators. */
export function listenFailure(
  error: unknown,
  { host, port }: Pick<Config['listen'], 'host' | 'port'>,
  settings = SETTINGS,
): unknown {
  const code = error instanceof Error && 'code' in error ? error.code : undefined
  const problem = problemOf(code, { host, port }, settings)
  return problem === undefined ? error : new StartFailure(problem, { cause: error })
}

function problemOf(
  code: unknown,
  { host, port }: Pick<Config['listen'], 'host' | 'port'>,
  settings: Settings,
): string | undefined {
  switch (code) {
    case 'EADDRINUSE':
      return `port ${port} of ${host} is in use (${code}); stop that program, or choose another port with ${settings.port}`
    case 'EADDRNOTAVAIL':
      return `${host} is not an address of this machine (${code}); change ${settings.host}`
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return `cannot listen on ${host}: unknown host (${code}); change ${settings.host}`
    case 'EACCES':
      return `this user may not listen on port ${port} of ${host} (${code}); choose a port above 1023 with ${settings.port}, or give the process CAP_NET_BIND_SERVICE`
    default:
      return undefined
  }
}
