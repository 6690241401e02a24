// The results of a run and their ratios. Pure, so that saved results can be evaluated again.
import type { Growth } from './growth.ts'
import type { Import } from './import.ts'
import type { Limits } from './limits.ts'
import type { Sample } from './load.ts'
import type { Management } from './management.ts'
import type { MetricsCost } from './metrics.ts'
import type { Nodes } from './nodes.ts'
import type { Purge } from './purge.ts'
import type { ServerName } from './servers.ts'
import type { Startup } from './startup.ts'
import type { ManyUsers } from './users.ts'
import { WORKLOADS } from './workloads.ts'
import type { ManyZones } from './zones.ts'

/** One workload on one server, with a sample per round; `failure` says why later rounds are missing. */
export interface Cell {
  readonly workload: string
  readonly server: ServerName
  readonly samples: readonly Sample[]
  readonly failure?: string
}

/** The database of a row that starts with stored tokens. */
export interface Filled {
  readonly workload: string
  readonly rows: number
  readonly bytes: number
  /** The time it took to fill it. */
  readonly seconds: number
}

/** All that a run has measured. */
export interface Results {
  /** Properties of the machine, as pairs of name and value. */
  readonly machine: readonly (readonly [string, string])[]
  readonly tool: string
  readonly rounds: number
  readonly seconds: number
  /** One for each round. */
  readonly limits: readonly Limits[]
  readonly cells: readonly Cell[]
  /** The databases that were filled before the first round. */
  readonly filled: readonly Filled[]
  /** Undefined when left out by --only. */
  readonly startups: readonly Startup[] | undefined
  readonly growth: Growth | undefined
  readonly purge: Purge | undefined
  readonly management: Management | undefined
  readonly manyZones: ManyZones | undefined
  readonly manyUsers: ManyUsers | undefined
  readonly imported: Import | undefined
  readonly nodes: Nodes | undefined
  readonly metrics: MetricsCost | undefined
}

/** The median; undefined for no values. */
export function median(values: readonly number[]): number | undefined {
  const sorted = [...values].sort((a, b) => a - b)
  const upper = sorted[Math.floor(sorted.length / 2)]
  const lower = sorted[Math.ceil(sorted.length / 2) - 1]
  return upper === undefined || lower === undefined ? undefined : (upper + lower) / 2
}

/** The cell, unless it failed. */
export function findCell(results: Results, workload: string, server: ServerName): Cell | undefined {
  const found = results.cells.find(cell => cell.workload === workload && cell.server === server)
  return found?.failure === undefined ? found : undefined
}

/** The median of the ratios per round, so that a slow period of the machine affects both values. */
export function ratioOf(one: Cell | undefined, other: Cell | undefined): number | undefined {
  if (!one || !other) return undefined
  return medianRatio(
    one.samples.map(({ rate }) => rate),
    other.samples.map(({ rate }) => rate),
  )
}

/** The rate as a share of the workload's limit, also per round. */
export function shareOfLimit(results: Results, workload: string, server: ServerName): number | undefined {
  const cell = findCell(results, workload, server)
  const limit = WORKLOADS.find(({ name }) => name === workload)?.limit
  if (!cell || !limit) return undefined
  return medianRatio(
    cell.samples.map(({ rate }) => rate),
    results.limits.map(limits => limit.rate(limits)),
  )
}

/** Milliseconds of CPU time per request or flow. */
export const processorOf = (cell: Cell | undefined): number | undefined =>
  median(cell?.samples.flatMap(({ processor }) => processor ?? []) ?? [])

/** The ratio of the 99th percentile to the median. */
export const tailOf = (cell: Cell | undefined): number | undefined =>
  cell &&
  medianRatio(
    cell.samples.map(({ p99 }) => p99),
    cell.samples.map(({ p50 }) => p50),
  )

/** The median of the ratios of corresponding values. */
export function medianRatio(values: readonly number[], bases: readonly (number | undefined)[]): number | undefined {
  const ratios = values.map((value, round) => value / (bases[round] ?? Number.NaN))
  return median(ratios.filter(Number.isFinite))
}
