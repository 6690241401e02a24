// Latencies of the zone API with few and many zones, and the effect of listing all zones, which has no pages, on other
// requests. The servers alternate request by request.
import { Agent, request as httpRequest } from 'node:http'
import type { Accounts } from './accounts.ts'
import { administratorToken, zoneBody, zoneName } from './many-zones.ts'
import { progress } from './progress.ts'
import { discover, form } from './requests.ts'
import { median } from './results.ts'
import type { Server } from './servers.ts'
import { latenciesOf } from './steady.ts'
import type { Latencies } from './steady.ts'

const WARM_UP_ROUNDS = 20

/** A server and its number of zones. */
export interface ZoneServer {
  readonly server: Server
  readonly database: string
  readonly zones: number
}

/** The latencies of one kind of request with this number of zones. */
export interface ZoneRow extends Latencies {
  readonly database: string
  readonly zones: number
  readonly request: string
}

/** Lists of all zones: milliseconds and bytes of the whole response. */
export interface ZoneLists {
  readonly database: string
  readonly zones: number
  readonly bytes: number
  readonly times: readonly number[]
  /** The slowest token request during each list, and during an equal time without one. */
  readonly stalls: readonly number[]
  readonly otherwise: readonly number[]
}

/** The number of rounds of single requests, and of lists per server. */
export interface ZoneRequests {
  readonly requests: number
  readonly lists: number
}

/** Sends the same requests to every server. Throws at the first wrong response. */
export async function measureZoneManagement(
  servers: readonly ZoneServer[],
  accounts: Accounts,
  { requests, lists }: ZoneRequests,
): Promise<{ rows: ZoneRow[]; lists: ZoneLists[] }> {
  const agent = new Agent({ keepAlive: true })
  const opened = await Promise.all(servers.map(server => open(server, accounts, agent)))
  try {
    for (let round = -WARM_UP_ROUNDS; round < requests; round += 1) {
      const [first = '', ...others] = Object.keys(opened[0]?.kinds ?? {})
      for (const kind of [first, ...others]) {
        for (const { kinds, times } of opened) {
          const milliseconds = (await kinds[kind]?.(round + WARM_UP_ROUNDS)) ?? Number.NaN
          if (round >= 0) times.set(kind, [...(times.get(kind) ?? []), milliseconds])
        }
      }
    }
    for (let round = -1; round < lists; round += 1) {
      for (const server of opened) await server.list(round >= 0)
    }
    return {
      rows: opened.flatMap(({ database, zones, times }) =>
        Array.from(times, ([request, values]) => ({ database, zones, request, ...latenciesOf(values) })),
      ),
      lists: opened.map(({ found }) => found()),
    }
  } finally {
    agent.destroy()
  }
}

interface OpenServer {
  readonly database: string
  readonly zones: number
  /** Sends a request of each kind, with its sequence number, and returns the milliseconds. */
  readonly kinds: Readonly<Record<string, (number: number) => Promise<number>>>
  readonly times: Map<string, number[]>
  readonly list: (counts: boolean) => Promise<void>
  readonly found: () => ZoneLists
}

async function open({ server, database, zones }: ZoneServer, accounts: Accounts, agent: Agent): Promise<OpenServer> {
  const { baseUrl } = server
  const headers = {
    authorization: `Bearer ${await administratorToken(baseUrl, accounts)}`,
    accept: 'application/json',
    'content-type': 'application/json',
  }
  const all = `${baseUrl}/identity-zones`
  const one = (name: string): string => `${all}/${name}`
  const fresh = (number: number): string => `new-${number}`
  const anyone = (): string => zoneName(1 + Math.floor(Math.random() * zones))
  const token = form((await discover(baseUrl)).token, { grant_type: 'client_credentials' }, accounts.service.ES256)
  const ask = (call: Call, expected: number): Promise<Answer> => exchange(agent, call, expected)
  const askForToken = async (): Promise<number> => (await ask(token, 200)).milliseconds

  const times: number[] = []
  const stalls: number[] = []
  const otherwise: number[] = []
  let bytes = 0

  /** Requests tokens one after another until `isOver`; returns the longest time. */
  async function slowestToken(isOver: () => boolean): Promise<number> {
    let longest = 0
    while (!isOver()) longest = Math.max(longest, await askForToken())
    return longest
  }

  return {
    database,
    zones,
    kinds: {
      'a token, for comparison': askForToken,
      'one zone': async () => (await ask({ method: 'GET', url: one(anyone()), headers }, 200)).milliseconds,
      'a new zone': async number => {
        const body = JSON.stringify(zoneBody(fresh(number)))
        return (await ask({ method: 'POST', url: all, headers, body }, 201)).milliseconds
      },
      'its deletion': async number =>
        (await ask({ method: 'DELETE', url: one(fresh(number)), headers }, 200)).milliseconds,
    },
    times: new Map(),
    async list(counts) {
      let answered = false
      const [stall, { chunks, milliseconds }] = await Promise.all([
        slowestToken(() => answered),
        ask({ method: 'GET', url: all, headers }, 200).finally(() => {
          answered = true
        }),
      ])
      const body = Buffer.concat(chunks)
      const listed: unknown = JSON.parse(body.toString())
      if (!Array.isArray(listed) || listed.length !== zones + 1) {
        throw new Error(`${all} lists ${Array.isArray(listed) ? listed.length : 'no'} zones instead of ${zones + 1}`)
      }
      const end = performance.now() + milliseconds
      const without = await slowestToken(() => performance.now() > end)
      if (!counts) return
      bytes = body.length
      times.push(milliseconds)
      stalls.push(stall)
      otherwise.push(without)
      progress(
        `list  ${zones} zones  ${milliseconds.toFixed(0)} ms  longest token ${stall.toFixed(0)} ms, otherwise ${without.toFixed(0)} ms`,
      )
    },
    found: () => ({ database, zones, bytes, times, stalls, otherwise }),
  }
}

interface Call {
  readonly method: string
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string
}

interface Answer {
  readonly chunks: readonly Buffer[]
  /** Until the last byte. */
  readonly milliseconds: number
}

function exchange(agent: Agent, { method, url, headers, body }: Call, expected: number): Promise<Answer> {
  const start = performance.now()
  return new Promise((resolve, reject) => {
    const outgoing = httpRequest(url, { agent, method, headers, timeout: 60_000 }, response => {
      const chunks: Buffer[] = []
      response.on('data', (chunk: Buffer) => chunks.push(chunk))
      response.once('error', reject)
      response.once('end', () => {
        // As chunks: joining those of a long list would block this process.
        if (response.statusCode === expected) return resolve({ chunks, milliseconds: performance.now() - start })
        const text = Buffer.concat(chunks).toString().slice(0, 500)
        reject(new Error(`${method} ${url} answers ${response.statusCode}: ${text}`))
      })
    })
    outgoing.once('timeout', () => outgoing.destroy(new Error(`${url} does not answer`)))
    outgoing.once('error', reject)
    outgoing.end(body)
  })
}

/**
 * The ratio of the median latency with the most zones to that with the fewest, for the kind of request that grows most.
 */
export function growthOfRequests(rows: readonly ZoneRow[]): number | undefined {
  const growths = rows.flatMap(row => {
    const [fewest, ...more] = rows
      .filter(({ database, request }) => database === row.database && request === row.request)
      .toSorted((one, other) => one.zones - other.zones)
    const most = more.at(-1)
    return fewest && most ? [most.p50 / fewest.p50] : []
  })
  return growths.length === 0 ? undefined : Math.max(...growths)
}

/** The ratio of the list's time per zone with the most zones to that with a tenth of them. */
export function growthOfLists(lists: readonly ZoneLists[]): number | undefined {
  const perZone = ({ times, zones }: ZoneLists): number => (median(times) ?? Number.NaN) / zones
  const growths = lists.flatMap(list => {
    const fewer = lists.find(({ database, zones }) => database === list.database && zones * 10 === list.zones)
    return fewer && list.zones === maxZones(lists) ? [perZone(list) / perZone(fewer)] : []
  })
  return growths.length === 0 ? undefined : Math.max(...growths)
}

/** Milliseconds of the slowest other request while the most zones are listed; the median of the lists. */
export function longestStallOf(lists: readonly ZoneLists[]): number | undefined {
  const stalls = lists.filter(({ zones }) => zones === maxZones(lists)).map(({ stalls: each }) => median(each) ?? 0)
  return stalls.length === 0 ? undefined : Math.max(...stalls)
}

const maxZones = (lists: readonly ZoneLists[]): number => Math.max(...lists.map(({ zones }) => zones))
