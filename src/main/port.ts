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

/** Replaces a system error of `listen` by a message for operators. */
export function listenFailure(error: unknown, { host, port }: Pick<Config['listen'], 'host' | 'port'>): unknown {
  const code = error instanceof Error && 'code' in error ? error.code : undefined
  switch (code) {
    case 'EADDRINUSE':
      return new StartFailure(
        `port ${port} of ${host} is in use (${code}); stop that program, or choose another port with --port or listen.port`,
        { cause: error },
      )
    case 'EADDRNOTAVAIL':
      return new StartFailure(`${host} is not an address of this machine (${code})`, { cause: error })
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return new StartFailure(`cannot listen on ${host}: unknown host (${code})`, { cause: error })
    case 'EACCES':
      return new StartFailure(`this user may not listen on port ${port} of ${host} (${code})`, { cause: error })
    default:
      return error
  }
}
