// One or two nodes with a database, as real processes, and the mixed load against them.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort } from '../support/free-port.ts'
import { serve } from '../support/process.ts'
import type { ServerProcess } from '../support/process.ts'
import { configOf } from './accounts.ts'
import type { Target } from './client.ts'

const KEY = { LATCHKEY_MASTER_KEY: 'cd'.repeat(32) }

/** A node that can be killed and started again, at the same port. */
export interface Node extends Target {
  readonly name: string
  readonly port: number
  readonly managementPort: number
  readonly folder: string
  readonly env: Readonly<Record<string, string>>
  /** The process that runs, or that ran last. */
  readonly server: ServerProcess
  /** Starts it again, after it was stopped or killed. */
  start(): Promise<void>
  /** Ends it, by default with SIGTERM; the load balancer notices at once. */
  stop(signal?: NodeJS.Signals): Promise<void>
  /** Removes it from the load balancer, or adds it again. */
  hide(isHidden: boolean): void
}

/** How nodes are started. */
export interface NodeOptions {
  /** A database URL for each node; as many nodes are started. */
  readonly databases: readonly string[]
  readonly env?: Readonly<Record<string, string>>
  readonly config?: object
}

/** Nodes with the same base URL. */
export async function startNodes({ databases, env = {}, config = {} }: NodeOptions): Promise<readonly Node[]> {
  const ports: number[] = []
  for (const _ of databases) ports.push(await freePort())
  const nodes: Node[] = []
  for (const [index, database] of databases.entries()) {
    const port = ports[index] ?? 0
    const managementPort = await freePort()
    const folder = mkdtempSync(join(tmpdir(), 'latchkey-node-'))
    const file = configOf({
      base_url: `http://localhost:${ports[0]}`,
      database,
      listen: { management: { port: managementPort }, trusted_proxies: ['127.0.0.1'] },
      ...config,
    })
    const ownEnv = { ...KEY, ...env }
    const begin = () => serve({ config: file, folder, port, env: ownEnv })
    let server = await begin()
    let isServing = true
    nodes.push({
      name: `node ${index + 1}`,
      baseUrl: `http://localhost:${port}`,
      port,
      managementPort,
      folder,
      env: ownEnv,
      isServing: () => isServing,
      get server() {
        return server
      },
      async start() {
        server = await begin()
        isServing = true
      },
      async stop(signal = 'SIGTERM') {
        isServing = false
        await server.stop(signal)
      },
      hide(isHidden) {
        isServing = !isHidden
      },
    })
  }
  return nodes
}

/** Kills the nodes and removes their folders. */
export async function stopNodes(nodes: readonly Node[]): Promise<void> {
  await Promise.all(nodes.map(node => node.stop('SIGKILL')))
  for (const { folder } of nodes) rmSync(folder, { recursive: true, force: true })
}
