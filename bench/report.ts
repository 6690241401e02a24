// Results in, Markdown out: medians, ratios, limits and bars. Pure, so that a saved run can be
// printed again.
import type { Growth } from './growth.ts'
import { CORES } from './limits.ts'
import type { Limits } from './limits.ts'
import { CONNECTIONS } from './load.ts'
import type { Sample } from './load.ts'
import { LANES } from './flows.ts'
import type { ServerName } from './servers.ts'
import { NPM_START } from './startup.ts'
import type { Startup } from './startup.ts'
import { WORKLOADS } from './workloads.ts'
import type { Workload } from './workloads.ts'

/** One workload on one server, a sample for each round; `failure` is why there are no more. */
export interface Cell {
  readonly workload: string
  readonly server: ServerName
  readonly samples: readonly Sample[]
  readonly failure?: string
}

/** All that a run has measured. */
export interface Results {
  /** What it ran on, as pairs of a name and a value. */
  readonly machine: readonly (readonly [string, string])[]
  readonly tool: string
  readonly rounds: number
  readonly seconds: number
  /** One for each round. */
  readonly limits: readonly Limits[]
  readonly cells: readonly Cell[]
  /** Undefined when left out by --only. */
  readonly startups: readonly Startup[] | undefined
  readonly growth: Growth | undefined
}

/** A requirement beside what was measured; `pass` is undefined when it was not measured. */
export interface Bar {
  readonly name: string
  readonly value: string
  readonly bar: string
  readonly pass: boolean | undefined
}

const MEGABYTE = 1e6
const DASH = '–'

/** The whole report. */
export function formatReport(results: Results): string {
  const { machine, tool, rounds, seconds } = results
  const parts = [
    '# Latchkey benchmark',
    machine.map(([name, value]) => `- ${name}: ${value}`).join('\n'),
    `Load: ${tool}; flows by bench/flows.ts with ${LANES} lanes. ${rounds} rounds of ${seconds} s, interleaved ` +
      `(hello, latchkey, oidc-provider, hello, …), ${CONNECTIONS} connections. Figures are medians of the rounds; a ` +
      'ratio is the median of the ratios within each round. Only the ratios should be quoted: the load tool shares ' +
      'the cores with the servers.',
    '## Limits of this machine',
    limitsTable(results.limits),
    '## Requests and flows per second',
    rateTable(results),
    ...(results.startups ? ['## Time to ready and idle memory', startupTable(results.startups)] : []),
    ...(results.growth ? ['## After many JWTs', growthText(results.growth)] : []),
    '## Bars',
    barTable(judge(results)),
  ]
  return `${parts.join('\n\n')}\n`
}

/** Every bar of decision 0010, in the report's order. */
export function judge(results: Results): Bar[] {
  const ratio = (workload: string, to: ServerName): number | undefined =>
    ratioOf(findCell(results, workload, 'latchkey'), findCell(results, workload, to))
  const rs256 = 'client_credentials RS256'
  const es256 = 'client_credentials ES256'
  const opaque = 'client_credentials opaque'
  const start = results.startups?.find(({ how }) => how === NPM_START)
  const { growth } = results
  const growthBytes = growth && difference(growth.afterAll, growth.afterFirst)

  return [
    atLeast(`${es256}, of hello`, ratio(es256, 'hello'), 0.22),
    atLeast(`${rs256}, of cores x openssl rsa2048`, shareOfLimit(results, rs256, 'latchkey'), 0.65),
    atLeast(`${rs256}, of oidc-provider`, ratio(rs256, 'oidc-provider'), 1.7),
    atLeast(`${es256}, of oidc-provider`, ratio(es256, 'oidc-provider'), 2.5),
    atLeast(`${opaque} (SQLite), of oidc-provider (memory)`, ratio(opaque, 'oidc-provider'), 1.4),
    atMost('ready after npm start, second and later, ms', start && median(start.later), 1000),
    atMost('resident memory idle, MB', megabytes(start?.idleBytes), 110),
    atMost(
      `memory after ${growth?.tokens ?? 'many'} JWTs, more than after the first 1000, MB`,
      megabytes(growthBytes),
      30,
    ),
    atMost('tables grown by those JWTs', growth?.grown.length, 0),
  ]
}

/** The middle value, or the mean of the two in the middle. Undefined for none. */
export function median(values: readonly number[]): number | undefined {
  const sorted = [...values].sort((a, b) => a - b)
  const upper = sorted[Math.floor(sorted.length / 2)]
  const lower = sorted[Math.ceil(sorted.length / 2) - 1]
  return upper === undefined || lower === undefined ? undefined : (upper + lower) / 2
}

function atLeast(name: string, value: number | undefined, bar: number): Bar {
  return { name, value: number(value, 2), bar: `>= ${bar}`, pass: value === undefined ? undefined : value >= bar }
}

function atMost(name: string, value: number | undefined, bar: number): Bar {
  return { name, value: number(value, 0), bar: `<= ${bar}`, pass: value === undefined ? undefined : value <= bar }
}

function findCell(results: Results, workload: string, server: ServerName): Cell | undefined {
  const found = results.cells.find(cell => cell.workload === workload && cell.server === server)
  return found?.failure === undefined ? found : undefined
}

/** Round by round, so that a slow moment of the machine is in both figures. */
function ratioOf(one: Cell | undefined, other: Cell | undefined): number | undefined {
  if (!one || !other) return undefined
  return medianRatio(
    one.samples.map(({ rate }) => rate),
    other.samples.map(({ rate }) => rate),
  )
}

function shareOfLimit(results: Results, workload: string, server: ServerName): number | undefined {
  const cell = findCell(results, workload, server)
  const limit = WORKLOADS.find(({ name }) => name === workload)?.limit
  if (!cell || !limit) return undefined
  return medianRatio(
    cell.samples.map(({ rate }) => rate),
    results.limits.map(limits => limit.rate(limits)),
  )
}

function medianRatio(values: readonly number[], bases: readonly (number | undefined)[]): number | undefined {
  const ratios = values.map((value, round) => value / (bases[round] ?? Number.NaN))
  return median(ratios.filter(Number.isFinite))
}

function limitsTable(limits: readonly Limits[]): string {
  const row = (name: string, rate: (limits: Limits) => number | undefined, cores: number): string[] => {
    const perRound = limits.map(rate).filter(value => value !== undefined)
    const middle = median(perRound)
    return [name, number(middle, 0), number(middle === undefined ? undefined : middle * cores, 0), range(perRound)]
  }
  return table(
    ['per second', 'measured', `${CORES} cores`, 'rounds'],
    [
      row('openssl speed rsa2048, sign', ({ opensslRsa2048 }) => opensslRsa2048, CORES),
      row('openssl speed ecdsap256, sign', ({ opensslEcdsaP256 }) => opensslEcdsaP256, CORES),
      row('node crypto.sign RSA 2048, one core', ({ nodeRsa2048 }) => nodeRsa2048, CORES),
      row('node crypto.sign P-256, one core', ({ nodeEcdsaP256 }) => nodeEcdsaP256, CORES),
      row('argon2id 19 MiB t=2, all cores', ({ argon2id }) => argon2id, 1),
    ],
  )
}

function rateTable(results: Results): string {
  const rows = WORKLOADS.flatMap(workload =>
    results.cells.filter(cell => cell.workload === workload.name).map(cell => rateRow(results, workload, cell)),
  )
  return table(
    [
      'workload',
      'server',
      'per s',
      'rounds',
      'of hello',
      'of peer',
      'p50 ms',
      'p99 ms',
      'limit',
      'of limit',
      'non-2xx',
    ],
    rows.length > 0 ? rows : [['nothing measured']],
  )
}

function rateRow(results: Results, workload: Workload, cell: Cell): string[] {
  const { server, samples, failure } = cell
  const start = [workload.name, server]
  if (failure !== undefined) return [...start, `FAILED: ${oneLine(failure)}`]
  const against = (other: ServerName): string =>
    server === other ? DASH : number(ratioOf(cell, findCell(results, workload.name, other)), 2)
  const middle = (value: (sample: Sample) => number): number | undefined => median(samples.map(value))
  const rates = samples.map(({ rate }) => rate)
  return [
    ...start,
    number(median(rates), digitsOf(median(rates))),
    range(rates),
    against('hello'),
    server === 'latchkey' ? against('oidc-provider') : DASH,
    number(
      middle(({ p50 }) => p50),
      1,
    ),
    number(
      middle(({ p99 }) => p99),
      1,
    ),
    server === 'hello' ? DASH : (workload.limit?.title ?? 'hello'),
    server === 'hello' ? DASH : number(shareOfLimit(results, workload.name, server), 2),
    String(samples.reduce((sum, { refused, broken }) => sum + refused + broken, 0)),
  ]
}

function startupTable(startups: readonly Startup[]): string {
  return table(
    ['server', 'first start ms', 'later starts ms', 'starts', 'idle MB'],
    startups.map(({ how, first, later, idleBytes }) => [
      how,
      number(first, 0),
      number(median(later), 0),
      range(later),
      number(megabytes(idleBytes), 1),
    ]),
  )
}

function growthText({ tokens, afterFirst, afterAll, grown, tables }: Growth): string {
  const rows = grown.map(({ table, before, after }) => `- table ${table}: ${before} rows before, ${after} after`)
  return [
    `- resident after the first 1000: ${number(megabytes(afterFirst), 1)} MB`,
    `- resident after ${tokens}: ${number(megabytes(afterAll), 1)} MB`,
    `- tables counted: ${tables}, grown: ${grown.length}`,
    ...rows,
  ].join('\n')
}

function barTable(bars: readonly Bar[]): string {
  return table(
    ['bar', 'value', 'required', 'verdict'],
    bars.map(({ name, value, bar, pass }) => [name, value, bar, verdict(pass)]),
  )
}

function verdict(pass: boolean | undefined): string {
  if (pass === undefined) return 'not measured'
  return pass ? 'pass' : 'FAIL'
}

/** A Markdown table whose columns also line up as plain text; numbers stand to the right. A failed row ends early. */
function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const whole = rows.filter(row => row.length === head.length)
  const columns = head.map((title, index) => {
    const texts = whole.map(row => row[index] ?? '')
    const width = Math.max(title.length, ...texts.map(text => text.length))
    return { width, isNumeric: texts.every(text => /^[\d –.]*$/.test(text)) }
  })
  const pad = (text: string, index: number): string => {
    const { width, isNumeric } = columns[index] ?? { width: 0, isNumeric: false }
    return isNumeric ? text.padStart(width) : text.padEnd(width)
  }
  const line = (row: readonly string[]): string => `| ${row.map(pad).join(' | ')} |`
  const rule = columns.map(({ width, isNumeric }) => (isNumeric ? `${'-'.repeat(width - 1)}:` : '-'.repeat(width)))
  return [line(head), line(rule), ...rows.map(line)].join('\n')
}

function number(value: number | undefined, digits: number): string {
  return value === undefined || !Number.isFinite(value) ? DASH : value.toFixed(digits)
}

function digitsOf(value: number | undefined): number {
  return value !== undefined && value < 100 ? 1 : 0
}

function range(values: readonly number[]): string {
  if (values.length === 0) return DASH
  const ends = [Math.min(...values), Math.max(...values)]
  return ends.map(value => number(value, digitsOf(value))).join(' – ')
}

function difference(one: number | undefined, other: number | undefined): number | undefined {
  return one === undefined || other === undefined ? undefined : one - other
}

function megabytes(bytes: number | undefined): number | undefined {
  return bytes === undefined ? undefined : bytes / MEGABYTE
}

function oneLine(text: string): string {
  return text.replace(/\s+/g, ' ').replaceAll('|', '/').slice(0, 200)
}
