// Where a scenario takes place: nodes, their database, the lines between them, the load, and what must hold at the end.
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { onThisMachine } from '../support/busy-machine.ts'
import { freshDatabase, freshDatabaseOn } from '../support/databases.ts'
import { isHealthy } from '../support/process.ts'
import { startPostgres } from '../support/postgres.ts'
import type { OwnPostgres } from '../support/postgres.ts'
import { createRoundRobin } from './client.ts'
import type { RoundRobin } from './client.ts'
import { compare } from './comparison.ts'
import { startNodes, stopNodes } from './deployment.ts'
import type { Node } from './deployment.ts'
import { createLedger, sizesOf } from './ledger.ts'
import type { Ledger } from './ledger.ts'
import { openLine } from './line.ts'
import type { Line } from './line.ts'
import { drive } from './load.ts'
import type { Load } from './load.ts'
import { createOperations } from './operations.ts'

/** The requirements of a scenario. */
export interface Place {
  /**
   * `own`: a PostgreSQL that may be killed. `shared`: one that others use. `full`: one on a small disk. `sqlite`: a file, and one
   * node.
   */
  readonly database: 'sqlite' | 'sqlite on a small disk' | 'shared' | 'own' | 'own on a small disk'
  readonly nodes: 1 | 2
  /** Whether nodes load clock.ts. */
  readonly clocks?: boolean
}

/** A deployment under load. */
export interface Scene {
  readonly nodes: readonly Node[]
  /** The line of each node, with PostgreSQL. */
  readonly lines: readonly Line[]
  readonly postgres: OwnPostgres | undefined
  /** The folder of the database, for small disks and SQLite. */
  readonly folder: string
  readonly client: RoundRobin
  readonly ledger: Ledger
  readonly load: Load
  /** Ends the load, and returns all violations. */
  finish(): Promise<{ readonly wrong: readonly string[]; readonly compared: string }>
  close(): Promise<void>
}

/** Operations a second. */
export const RATE = 30

/** Sets up a deployment; undefined if this machine does not permit it. */
export async function openScene(
  { database, nodes: count, clocks = false }: Place,
  rate = RATE,
): Promise<Scene | undefined> {
  const folder = mkdtempSync(join(tmpdir(), 'latchkey-chaos-'))
  // Large enough for the writes of a slow machine during the fault.
  const size = { 'sqlite on a small disk': '48m', 'own on a small disk': '96m' }[database as string]
  const isMounted =
    size !== undefined && spawnSync('mount', ['-t', 'tmpfs', '-o', `size=${size}`, 'tmpfs', folder]).status === 0
  const leave = (): void => {
    if (isMounted) spawnSync('umount', ['-l', folder])
    rmSync(folder, { recursive: true, force: true })
  }
  if (size !== undefined && !isMounted) {
    leave()
    return undefined
  }
  const postgres = database.startsWith('own') ? await startPostgres(isMounted ? folder : undefined) : undefined
  const made = postgres
    ? await freshDatabaseOn(postgres.url)
    : database === 'shared'
      ? await freshDatabase('postgres')
      : undefined
  const lines: Line[] = []
  if (made) for (let index = 0; index < count; index += 1) lines.push(await openLine(made.url))
  const databases = made ? lines.map(({ url }) => url) : [`sqlite:${join(folder, 'latchkey.db')}`]
  const env = clocks ? { NODE_OPTIONS: `--import=${new URL('clock.ts', import.meta.url).href}` } : {}
  const nodes = await startNodes({ databases, env })
  const client = createRoundRobin(nodes)
  const ledger = createLedger()
  const load = drive(createOperations(client, ledger, nodes[0]?.baseUrl ?? ''), rate)
  return {
    nodes,
    lines,
    postgres,
    folder,
    client,
    ledger,
    load,
    async finish() {
      await load.stop()
      const wrong = [...load.violations, ...(await compare(client, ledger))]
      for (const { name, server } of nodes) {
        // Whatever was written on standard error was not a line of the log.
        if (server.stderr !== '' && !/ExperimentalWarning|^\(Use/m.test(server.stderr))
          wrong.push(`${name}: ${server.stderr}`)
      }
      return { wrong, compared: sizesOf(ledger) }
    },
    async close() {
      await load.stop()
      client.close()
      await stopNodes(nodes)
      await Promise.all(lines.map(line => line.close()))
      if (postgres) await postgres.kill()
      else await made?.drop()
      leave()
    },
  }
}

/** The documented guarantees. */
const RECOVERY_MS = 5000
/** How long there must be no failure for the scene to count as recovered. */
const CALM_MS = 700

/** Injects a fault and ends it; may return a check to run after recovery. */
export type Trouble = (scene: Scene) => Promise<void | (() => Promise<void>)>

/** The effects of a fault. */
export interface Endured {
  readonly done: number
  readonly refused: number
  readonly broken: number
  /** From the end of the fault to the start of the last failed operation. */
  readonly recoveryMs: number
}

/** Waits until the scene is healthy, and enough operations were done for a comparison. */
export async function settle(scene: Scene, operations = RATE): Promise<void> {
  const begin = performance.now()
  while (scene.load.tried.length < operations && performance.now() - begin < 2 * onThisMachine(RECOVERY_MS))
    await pause(20)
  await untilRecovered(scene, performance.now())
}

/** Injects the fault in a healthy scene, and waits for recovery; throws if that takes too long. */
export async function runWithTrouble(scene: Scene, trouble: Trouble): Promise<Endured> {
  scene.load.tried.length = 0
  const check = await trouble(scene)
  const end = performance.now()
  const recoveryMs = await untilRecovered(scene, end)
  await check?.()
  const count = (outcome: string): number => scene.load.tried.filter(each => each.outcome === outcome).length
  return { done: count('done'), refused: count('refused'), broken: count('broken'), recoveryMs }
}

const allHealthy = async (nodes: readonly Node[]): Promise<boolean> =>
  (await Promise.all(nodes.map(({ port }) => isHealthy(port)))).every(Boolean)

/** Returns the time from `since` to the start of the last failed operation. */
async function untilRecovered({ load, nodes }: Scene, since: number): Promise<number> {
  for (;;) {
    await pause(20)
    const now = performance.now()
    const after = load.tried.filter(({ begun }) => begun >= since)
    const failed = after.filter(({ outcome }) => outcome !== 'done')
    const last = Math.max(since, ...failed.map(({ begun }) => begun))
    const done = after.filter(({ outcome, begun }) => outcome === 'done' && begun > last).length
    if (now - last > CALM_MS && done > RATE / 3 && (await allHealthy(nodes))) return last - since
    const limit = onThisMachine(RECOVERY_MS)
    if (last - since > limit || now - since > 2 * limit) {
      throw new Error(
        `not well ${((now - since) / 1000).toFixed(1)} s later: ${failed.at(-1)?.reason ?? 'nothing is done'}`,
      )
    }
  }
}
