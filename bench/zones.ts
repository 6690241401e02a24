// Measures the effect of ten thousand zones on start, idle memory, tokens and management, compared with a server with
// few zones or with another zone of the same server.
import { setTimeout as delay } from 'node:timers/promises'
import { freshDatabase } from '../test/support/databases.ts'
import type { DatabaseKind } from '../test/support/databases.ts'
import type { Accounts } from './accounts.ts'
import type { LoadTool } from './load.ts'
import { clientName, fillWithZones, zoneName } from './many-zones.ts'
import { residentBytes } from './processes.ts'
import type { Processes } from './processes.ts'
import { progress } from './progress.ts'
import { discover, expectFreshJwts, form, refuseWrongSecret, tokenOf } from './requests.ts'
import type { HttpRequest } from './requests.ts'
import { medianRatio } from './results.ts'
import { createHome, startLatchkey } from './servers.ts'
import type { LatchkeyHome, Server } from './servers.ts'
import { measureZoneManagement } from './zone-management.ts'
import type { ZoneLists, ZoneRequests, ZoneRow, ZoneServer } from './zone-management.ts'

const IDLE_SECONDS = 5
/** The difference is smaller than the machine's fluctuations, so use more and shorter rounds. */
const TURNS = 3
const GRANT = { grant_type: 'client_credentials' }

/** The name of this measurement for `--only`. */
export const ZONES = 'zones'

/** Starts of one server: milliseconds until ready, and resident bytes some seconds later. */
export interface ZoneStarts {
  readonly ready: readonly number[]
  /** Empty without /proc. */
  readonly idle: readonly number[]
}

/** All measurements; `failures` says what could not be measured, and why. */
export interface ManyZones {
  /** The largest number of zones. */
  readonly zones: number
  /** Starts of both servers, interleaved. */
  readonly starts?: { readonly empty: ZoneStarts; readonly full: ZoneStarts }
  /** client_credentials per second, round by round. */
  readonly rates?: { readonly first: readonly number[]; readonly last: readonly number[] }
  readonly rows: readonly ZoneRow[]
  readonly lists: readonly ZoneLists[]
  readonly failures: readonly string[]
}

/** The extent of the measurement. */
export interface ZoneSettings extends ZoneRequests {
  /** Numbers of zones, ascending, each ten or a hundred times the previous one. */
  readonly sizes: readonly number[]
  readonly starts: number
  readonly rounds: number
  readonly seconds: number
}

/** Ratio of the time until a full server is ready to that of an empty one. */
export const readyOfEmpty = ({ starts }: ManyZones): number | undefined =>
  starts && medianRatio(starts.full.ready, starts.empty.ready)

/** Ratio of the resident memory of a server with all zones, before any request, to that of an empty one. */
export const idleOfEmpty = ({ starts }: ManyZones): number | undefined =>
  starts && medianRatio(starts.full.idle, starts.empty.idle)

/** Ratio of the rate in the last zone to that in the first. */
export const lastOfFirst = ({ rates }: ManyZones): number | undefined => rates && medianRatio(rates.last, rates.first)

/** Fills databases with zones of ten clients and one key each, and measures servers on them. */
export async function measureManyZones(
  processes: Processes,
  accounts: Accounts,
  { tool, settings }: { tool: LoadTool; settings: ZoneSettings },
): Promise<ManyZones> {
  const { sizes } = settings
  const zones = Math.max(...sizes)
  const failures: string[] = []
  async function attempt<T>(what: string, work: () => Promise<T>): Promise<T | undefined> {
    try {
      return await work()
    } catch (error) {
      failures.push(`${what}: ${error instanceof Error ? error.message : String(error)}`)
      progress(`FAILED  ${failures.at(-1)}`)
      return undefined
    }
  }

  const homes = await filledHomes('sqlite')
  const full = homes.find(home => home.zones === zones) ?? raise('no home has all zones')
  const starts = await attempt('starts', () => measureStarts(full.home))
  const server = await startLatchkey(processes, accounts, full.home)
  const rates = await attempt('tokens', () => measureRates(server))
  await server.running.stop()
  const found = [await attempt('SQLite', () => manage(homes))]
  found.push(await attempt('PostgreSQL', manageOnPostgres))
  return {
    zones,
    ...(starts && { starts }),
    ...(rates && { rates }),
    rows: found.flatMap(each => each?.rows ?? []),
    lists: found.flatMap(each => each?.lists ?? []),
    failures,
  }

  async function filledHomes(kind: DatabaseKind, databaseUrls: readonly string[] = []): Promise<FilledHome[]> {
    const filled: FilledHome[] = []
    for (const [index, size] of sizes.entries()) {
      const home = createHome(processes, `zones-${kind}-${size}`, 'ES256')
      const databaseUrl = databaseUrls[index]
      const own: LatchkeyHome = databaseUrl === undefined ? home : { ...home, databaseUrl }
      const start = performance.now()
      await fillWithZones(processes, accounts, { home: own, zones: size })
      progress(`filled  ${NAMES[kind]} with ${size} zones in ${((performance.now() - start) / 1000).toFixed(0)} s`)
      filled.push({ home: own, database: NAMES[kind], zones: size })
    }
    return filled
  }

  async function measureStarts(home: LatchkeyHome): Promise<{ empty: ZoneStarts; full: ZoneStarts }> {
    const empty = { home: createHome(processes, 'zones-empty', 'ES256'), ready: [] as number[], idle: [] as number[] }
    const filled = { home, ready: [] as number[], idle: [] as number[] }
    for (let round = -1; round < settings.starts * TURNS; round += 1) {
      for (const one of round % 2 === 0 ? [empty, filled] : [filled, empty]) {
        const { running, port, readyMilliseconds } = await startLatchkey(processes, accounts, one.home)
        if (round >= 0) one.ready.push(readyMilliseconds)
        if (round >= 0 && round % TURNS === 0) {
          await delay(IDLE_SECONDS * 1000)
          const bytes = residentBytes(running.pid, port)
          if (bytes !== undefined) one.idle.push(bytes)
        }
        await running.stop()
      }
    }
    return { empty, full: filled }
  }

  async function measureRates(server: Server): Promise<{ first: number[]; last: number[] }> {
    const first = { request: tokenByHost(server, 1), rates: [] as number[] }
    const last = { request: tokenByHost(server, zones), rates: [] as number[] }
    await prove(server, 1)
    await prove(server, zones)
    const seconds = Math.ceil(settings.seconds / TURNS)
    for (let round = -1; round < settings.rounds * TURNS; round += 1) {
      for (const { request, rates } of round % 2 === 0 ? [first, last] : [last, first]) {
        const sample = await tool.run(request, seconds)
        if (sample.refused + sample.broken > 0) {
          throw new Error(`${sample.refused} answers refused, ${sample.broken} requests broken`)
        }
        if (round >= 0) rates.push(sample.rate)
      }
      progress(
        `round ${round + 1}  first zone ${first.rates.at(-1)?.toFixed(0)}/s, last ${last.rates.at(-1)?.toFixed(0)}/s`,
      )
    }
    return { first: first.rates, last: last.rates }
  }

  /** A token request to a zone by its host name. */
  function tokenByHost({ baseUrl, port }: Server, number: number): HttpRequest {
    const request = form(`${baseUrl}/oauth/token`, GRANT, { ...accounts.service.ES256, id: clientName(1) })
    return { ...request, headers: { ...request.headers, Host: `${zoneName(number)}.localhost:${port}` } }
  }

  /** Verifies that the zone, by host and by path, issues JWTs with its own key. */
  async function prove(server: Server, number: number): Promise<void> {
    const endpoints = await discover(`${server.baseUrl}/z/${zoneName(number)}`)
    const byPath = form(endpoints.token, GRANT, { ...accounts.service.ES256, id: clientName(1) })
    for (const request of [tokenByHost(server, number), byPath]) {
      const payloads = await expectFreshJwts(() => tokenOf(request), endpoints, 'ES256')
      if (payloads.some(({ zid }) => zid !== zoneName(number))) throw new Error('the tokens are of another zone')
      await refuseWrongSecret(request)
    }
  }

  async function manage(filled: readonly FilledHome[]): Promise<{ rows: ZoneRow[]; lists: ZoneLists[] }> {
    const servers: ZoneServer[] = []
    for (const { home, ...rest } of filled) {
      servers.push({ ...rest, server: await startLatchkey(processes, accounts, home) })
    }
    try {
      return await measureZoneManagement(servers, accounts, settings)
    } finally {
      for (const { server: each } of servers) await each.running.stop()
    }
  }

  async function manageOnPostgres(): Promise<{ rows: ZoneRow[]; lists: ZoneLists[] }> {
    const databases = await Promise.all(sizes.map(() => freshDatabase('postgres')))
    try {
      return await manage(
        await filledHomes(
          'postgres',
          databases.map(({ url }) => url),
        ),
      )
    } finally {
      for (const database of databases) await database.drop()
    }
  }
}

interface FilledHome {
  readonly home: LatchkeyHome
  readonly database: string
  readonly zones: number
}

const NAMES: Readonly<Record<DatabaseKind, string>> = { sqlite: 'SQLite', postgres: 'PostgreSQL' }

function raise(message: string): never {
  throw new Error(message)
}
