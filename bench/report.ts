// Formats the results: medians, ratios, limits and bars.
import { judge } from './bars.ts'
import type { Bar } from './bars.ts'
import { LANES } from './browser.ts'
import type { Growth } from './growth.ts'
import { CORES } from './limits.ts'
import type { Limits } from './limits.ts'
import type { Sample } from './load.ts'
import { DASH, digitsOf, inMegabytes, number, oneLine, range, table } from './markdown.ts'
import type { Management } from './management.ts'
import { rateWithMetrics } from './metrics.ts'
import type { MetricsCost } from './metrics.ts'
import { gainOf } from './nodes.ts'
import type { Nodes } from './nodes.ts'
import type { Purge } from './purge.ts'
import type { Latencies } from './steady.ts'
import { CONNECTIONS } from './requests.ts'
import { findCell, median, ratioOf, shareOfLimit } from './results.ts'
import type { Cell, Filled, Results } from './results.ts'
import type { ServerName } from './servers.ts'
import type { Startup } from './startup.ts'
import type { Import } from './import.ts'
import type { ManyUsers } from './users.ts'
import { CLIENTS_OF_ZONE } from './many-zones.ts'
import { WORKLOADS } from './workloads.ts'
import type { Workload } from './workload.ts'
import type { ManyZones } from './zones.ts'

/** The whole report. */
export function formatReport(results: Results): string {
  const { machine, tool, rounds, seconds } = results
  const parts = [
    '# Latchkey benchmark',
    machine.map(([name, value]) => `- ${name}: ${value}`).join('\n'),
    `Load: ${tool}; flows by bench/flows.ts with ${LANES} lanes, revocations and assertions with ${CONNECTIONS}. ${rounds} rounds of ${seconds} s, interleaved ` +
      `(hello, latchkey, oidc-provider, hello, …), ${CONNECTIONS} connections. Figures are medians of the rounds; a ` +
      'ratio is the median of the ratios within each round. Only the ratios should be quoted: the load tool shares ' +
      'the cores with the servers.',
    '## Limits of this machine',
    limitsTable(results.limits),
    '## Requests and flows per second',
    rateTable(results),
    ...(results.filled.length > 0 ? [filledText(results.filled)] : []),
    ...(results.startups ? ['## Time to ready and idle memory', startupTable(results.startups)] : []),
    ...(results.growth ? ['## After many JWTs', growthText(results.growth)] : []),
    ...(results.purge ? ['## While expired tokens are purged', purgeText(results.purge)] : []),
    ...(results.management ? ['## Among many clients', managementText(results.management)] : []),
    ...(results.manyUsers ? ['## Among many users', usersText(results.manyUsers)] : []),
    ...(results.imported ? ['## Import of users', importText(results.imported)] : []),
    ...(results.manyZones ? ['## With many zones', zonesText(results.manyZones)] : []),
    ...(results.nodes ? ['## A second node', nodesText(results.nodes)] : []),
    ...(results.metrics ? ['## With metrics', metricsText(results.metrics)] : []),
    '## Bars',
    barTable(judge(results)),
  ]
  return `${parts.join('\n\n')}\n`
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
      'of peer on disk',
      'p50 ms',
      'p99 ms',
      'cpu ms',
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
    server === 'latchkey' ? against('oidc-provider on SQLite') : DASH,
    number(
      middle(({ p50 }) => p50),
      1,
    ),
    number(
      middle(({ p99 }) => p99),
      1,
    ),
    number(median(samples.flatMap(({ processor }) => processor ?? [])), 2),
    ...(server === 'hello' ? [DASH, DASH] : limitOf(results, workload, cell)),
    String(samples.reduce((sum, { refused, broken }) => sum + refused + broken, 0)),
  ]
}

/** The limit that the rate is compared with, and its share of it. */
function limitOf(results: Results, { name, limit, beside, work }: Workload, cell: Cell): [string, string] {
  if (limit) return [limit.title, number(shareOfLimit(results, name, cell.server), 2)]
  if (beside) return [beside, number(ratioOf(cell, findCell(results, beside, cell.server)), 2)]
  return [work.kind === 'flow' ? DASH : 'hello', DASH]
}

function filledText(filled: readonly Filled[]): string {
  const lines = filled.map(
    ({ workload, rows, bytes, seconds }) =>
      `- ${workload}: ${rows} rows, a file of ${number(inMegabytes(bytes), 1)} MB, filled in ${number(seconds, 1)} s`,
  )
  return lines.join('\n')
}

function startupTable(startups: readonly Startup[]): string {
  return table(
    ['server', 'first start ms', 'later starts ms', 'starts', 'idle MB'],
    startups.map(({ how, first, later, idleBytes }) => [
      how,
      number(first, 0),
      number(median(later), 0),
      range(later),
      number(inMegabytes(idleBytes), 1),
    ]),
  )
}

function growthText({ tokens, afterFirst, afterAll, grown, tables }: Growth): string {
  const rows = grown.map(({ table, before, after }) => `- table ${table}: ${before} rows before, ${after} after`)
  return [
    `- resident after the first 1000: ${number(inMegabytes(afterFirst), 1)} MB`,
    `- resident after ${tokens}: ${number(inMegabytes(afterAll), 1)} MB`,
    `- tables counted: ${tables}, grown: ${grown.length}`,
    ...rows,
  ].join('\n')
}

function purgeText({ expired, perSecond, purgeSeconds, streams }: Purge): string {
  return [
    table(
      ['request', 'when', 'requests', 'p50 ms', 'p99 ms', 'longest ms'],
      streams.flatMap(({ name, otherwise, during }) => [
        [name, 'otherwise', ...latencyColumns(otherwise)],
        [name, 'while purging', ...latencyColumns(during)],
      ]),
    ),
    `- ${expired} expired tokens, purged in ${number(purgeSeconds, 1)} s; ${perSecond} requests per second throughout`,
  ].join('\n\n')
}

function managementText({ clients, rows, failures }: Management): string {
  return [
    table(
      ['database', 'request', 'requests', 'p50 ms', 'p99 ms', 'longest ms'],
      rows.map(row => [row.database, row.request, ...latencyColumns(row)]),
    ),
    [
      `- ${clients} clients in one zone; one request at a time`,
      ...failures.map(failure => `- FAILED: ${oneLine(failure)}`),
    ].join('\n'),
  ].join('\n\n')
}

function usersText({ users, rows, failures }: ManyUsers): string {
  return [
    table(
      ['database', 'request', 'requests', 'p50 ms', 'p99 ms', 'longest ms'],
      rows.map(row => [row.database, row.request, ...latencyColumns(row)]),
    ),
    [
      `- ${users} users in one zone; the store alone, one request at a time`,
      ...failures.map(failure => `- FAILED: ${oneLine(failure)}`),
    ].join('\n'),
  ].join('\n\n')
}

function importText({ users, batchSize, rates }: Import): string {
  return [
    table(['users per s', 'batches'], [[number(median(rates), 0), range(rates)]]),
    `- ${users} users with hashes, by /scim/v2/Bulk in batches of ${batchSize}, into SQLite on disk`,
  ].join('\n\n')
}

function zonesText({ zones, starts, rates, rows, lists, failures }: ManyZones): string {
  const middle = (values: readonly number[], digits: number): string => number(median(values), digits)
  const started = Object.entries(starts ?? {}).map(([name, { ready, idle }]) => {
    const bytes = idle.map(value => inMegabytes(value) ?? Number.NaN)
    return [
      name === 'full' ? `${zones} zones` : 'empty',
      middle(ready, 0),
      range(ready),
      middle(bytes, 1),
      range(bytes),
    ]
  })
  const issued = Object.entries(rates ?? {}).map(([name, values]) => [name, middle(values, 0), range(values)])
  return [
    ...(starts ? [table(['server', 'ready ms', 'starts', 'idle MB', 'starts'], started)] : []),
    ...(rates ? [table(['client_credentials in the zone', 'per s', 'rounds'], issued)] : []),
    table(
      ['database', 'zones', 'request', 'requests', 'p50 ms', 'p99 ms', 'longest ms'],
      rows.map(row => [row.database, String(row.zones), row.request, ...latencyColumns(row)]),
    ),
    table(
      ['database', 'zones', 'list ms', 'lists', 'MB', 'longest token meanwhile ms', 'otherwise ms'],
      lists.map(list => [
        list.database,
        String(list.zones),
        middle(list.times, 0),
        range(list.times),
        number(inMegabytes(list.bytes), 1),
        middle(list.stalls, 1),
        middle(list.otherwise, 1),
      ]),
    ),
    [
      `- ${CLIENTS_OF_ZONE} clients and one ES256 key in each zone; one request at a time, and beside a list one token after another`,
      ...failures.map(failure => `- FAILED: ${oneLine(failure)}`),
    ].join('\n'),
  ].join('\n\n')
}

function nodesText(nodes: Nodes): string {
  const rows = nodes.pairs.flatMap(({ server, one, two }) =>
    Object.entries({ one, two }).map(([count, samples]) => {
      const rates = samples.map(({ rate }) => rate)
      const processor = median(samples.flatMap(each => each.processor ?? []))
      const gain = count === 'two' ? number(gainOf(nodes, server), 2) : DASH
      return [server, count, number(median(rates), 0), range(rates), gain, number(processor, 2)]
    }),
  )
  return [
    table(['server', 'servers', 'per s', 'rounds', 'of one', 'cpu ms'], rows),
    [
      `- ${nodes.flow}; two drivers at one server or at one each`,
      '- both Latchkeys on one PostgreSQL; the oidc-providers, each with a store in memory, share nothing but the machine',
    ].join('\n'),
  ].join('\n\n')
}

function metricsText(cost: MetricsCost): string {
  return table(
    ['metrics', 'per s', 'rounds', 'of without', 'p99 ms', 'cpu ms'],
    (['without', 'with'] as const).map(name => {
      const rates = cost[name].map(({ rate }) => rate)
      const tails = cost[name].map(({ p99 }) => p99)
      const processor = median(cost[name].flatMap(sample => sample.processor ?? []))
      const ratio = name === 'with' ? number(rateWithMetrics(cost), 2) : DASH
      return [name, number(median(rates), 0), range(rates), ratio, number(median(tails), 1), number(processor, 3)]
    }),
  )
}

function latencyColumns({ requests, p50, p99, longest }: Latencies): string[] {
  return [String(requests), number(p50, 1), number(p99, 1), number(longest, 1)]
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
