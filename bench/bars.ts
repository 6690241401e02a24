// The requirements ("bars") of decision 0010, and whether a run meets them.
import { inMegabytes, number } from './markdown.ts'
import { slowestOf } from './management.ts'
import { rateWithMetrics } from './metrics.ts'
import { gainOf } from './nodes.ts'
import { delayOf } from './purge.ts'
import { findCell, median, processorOf, ratioOf, shareOfLimit, tailOf } from './results.ts'
import type { Results } from './results.ts'
import type { ServerName } from './servers.ts'
import { NPM_START } from './startup.ts'
import {
  CODE_FLOWS,
  DPOP_CODE_FLOW,
  INTROSPECTION_ROWS,
  OPAQUE_AMONG_MANY,
  PUSHED_CODE_FLOW,
  PUSHED_DPOP_CODE_FLOW,
  SIGN_IN_FLOWS,
} from './workloads.ts'
import { importRate } from './import.ts'
import { slowestOfUsers } from './users.ts'
import { growthOfLists, growthOfRequests, longestStallOf } from './zone-management.ts'
import { idleOfEmpty, lastOfFirst, readyOfEmpty } from './zones.ts'

/** A requirement with the measured value; `pass` is undefined if it was not measured. */
export interface Bar {
  readonly name: string
  readonly value: string
  readonly bar: string
  readonly pass: boolean | undefined
}

/** Every bar of decision 0010, in the report's order. */
export function judge(results: Results): Bar[] {
  const ratio = (workload: string, to: ServerName): number | undefined =>
    ratioOf(findCell(results, workload, 'latchkey'), findCell(results, workload, to))
  const rs256 = 'client_credentials RS256'
  const es256 = 'client_credentials ES256'
  const opaque = 'client_credentials opaque'
  const [many, few] = INTROSPECTION_ROWS
  const start = results.startups?.find(({ how }) => how === NPM_START)
  const { growth, purge, management, manyZones, manyUsers, imported, nodes, metrics } = results
  const among = `${manyZones?.zones ?? 'many'} zones`
  const [gain, possible] = nodes ? [gainOf(nodes, 'latchkey'), gainOf(nodes, 'oidc-provider')] : []
  const growthBytes = growth && difference(growth.afterAll, growth.afterFirst)

  return [
    atLeast(`${es256}, of hello`, ratio(es256, 'hello'), 0.22),
    atLeast(`${rs256}, of cores x openssl rsa2048`, shareOfLimit(results, rs256, 'latchkey'), 0.65),
    atLeast(`${rs256}, of oidc-provider`, ratio(rs256, 'oidc-provider'), 1.7),
    atLeast(`${es256}, of oidc-provider`, ratio(es256, 'oidc-provider'), 2.5),
    atLeast(`${opaque} (SQLite), of oidc-provider (memory)`, ratio(opaque, 'oidc-provider'), 1.4),
    atMost(`${OPAQUE_AMONG_MANY} (SQLite), p99 of p50`, tailOf(findCell(results, OPAQUE_AMONG_MANY, 'latchkey')), 5, 1),
    ...CODE_FLOWS.map(flow => atLeast(`${flow}, of oidc-provider (memory)`, ratio(flow, 'oidc-provider'), 1.5)),
    ...[DPOP_CODE_FLOW, PUSHED_CODE_FLOW, PUSHED_DPOP_CODE_FLOW].map(flow =>
      atLeast(
        `${flow}, of ${CODE_FLOWS[1]}`,
        ratioOf(findCell(results, flow, 'latchkey'), findCell(results, CODE_FLOWS[1], 'latchkey')),
        0.7,
      ),
    ),
    ...[...CODE_FLOWS, ...SIGN_IN_FLOWS].map(flow =>
      atMost(`${flow}, ms of processor time`, processorOf(findCell(results, flow, 'latchkey')), 5, 2),
    ),
    atMost('ready after npm start, second and later, ms', start && median(start.later), 1000),
    atMost('resident memory idle, MB', inMegabytes(start?.idleBytes), 110),
    atMost(
      `memory after ${growth?.tokens ?? 'many'} JWTs, more than after the first 1000, MB`,
      inMegabytes(growthBytes),
      30,
    ),
    atMost('tables grown by those JWTs', growth?.grown.length, 0),
    atLeast(
      `${many}, of ${few}`,
      ratioOf(findCell(results, many, 'latchkey'), findCell(results, few, 'latchkey')),
      0.9,
    ),
    atMost(
      `p99 while ${purge?.expired ?? 'many'} expired tokens are purged, above that of other times, ms`,
      purge && delayOf(purge),
      50,
    ),
    atMost(
      `p99 of pages and reads among ${management?.clients ?? 'many'} clients, on the slower database, ms`,
      management && slowestOf(management),
      20,
    ),
    atMost(
      `p99 of finding, listing and signing in one of ${manyUsers?.users ?? 'many'} users, on the slower database, ms`,
      manyUsers && slowestOfUsers(manyUsers),
      20,
    ),
    atLeast('users a second by /scim/v2/Bulk with hashes (SQLite)', imported && importRate(imported), 2000),
    atMost(`ready with ${among}, of an empty server`, manyZones && readyOfEmpty(manyZones), 1.1, 2),
    atMost(`resident memory idle with ${among}, of an empty server`, manyZones && idleOfEmpty(manyZones), 1.1, 2),
    atLeast(`client_credentials in the last of ${among}, of the first`, manyZones && lastOfFirst(manyZones), 0.9),
    atMost(
      `reading, making and deleting a zone among ${among}, of the same among few`,
      manyZones && growthOfRequests(manyZones.rows),
      1.25,
      2,
    ),
    atMost(
      `a list of ${among}, for each of them, of one of a tenth of them`,
      manyZones && growthOfLists(manyZones.lists),
      1.25,
      2,
    ),
    atLeast(
      'two nodes on one PostgreSQL, of one, of what the machine allows',
      gain && possible && gain / possible,
      0.9,
    ),
    atLeast('client_credentials ES256 with metrics, of that without', metrics && rateWithMetrics(metrics), 0.97),
    atMost(
      `the longest wait of others while ${among} are listed, ms`,
      manyZones && longestStallOf(manyZones.lists),
      50,
    ),
  ]
}

function atLeast(name: string, value: number | undefined, bar: number): Bar {
  return { name, value: number(value, 2), bar: `>= ${bar}`, pass: value === undefined ? undefined : value >= bar }
}

function atMost(name: string, value: number | undefined, bar: number, digits = 0): Bar {
  return { name, value: number(value, digits), bar: `<= ${bar}`, pass: value === undefined ? undefined : value <= bar }
}

function difference(one: number | undefined, other: number | undefined): number | undefined {
  return one === undefined || other === undefined ? undefined : one - other
}
