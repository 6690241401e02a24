import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { judge } from '../../bench/bars.ts'
import { CORES, parseRate } from '../../bench/limits.ts'
import type { Limits } from '../../bench/limits.ts'
import type { Nodes } from '../../bench/nodes.ts'
import { formatReport } from '../../bench/report.ts'
import { median } from '../../bench/results.ts'
import type { Cell, Results } from '../../bench/results.ts'
import { NPM_START } from '../../bench/startup.ts'
import type { Latencies } from '../../bench/steady.ts'
import { INTROSPECTION_ROWS, OPAQUE_AMONG_MANY, WORKLOADS } from '../../bench/workloads.ts'
import type { ZoneLists, ZoneRow } from '../../bench/zone-management.ts'
import type { ManyZones } from '../../bench/zones.ts'

const LIMITS: Limits = {
  opensslRsa2048: 1000,
  opensslEcdsaP256: 30_000,
  opensslEcdsaP256Verify: 10_000,
  nodeRsa2048: 1000,
  nodeEcdsaP256: 20_000,
  argon2id: 80,
}

function cell(workload: string, server: Cell['server'], rates: readonly number[], failure?: string): Cell {
  const samples = rates.map(rate => ({ rate, p50: 1, p99: 2, refused: 0, broken: 0 }))
  return { workload, server, samples, ...(failure !== undefined && { failure }) }
}

function results(changes: Partial<Results>): Results {
  const nothing = { machine: [], tool: 'wrk', rounds: 3, seconds: 1, limits: [LIMITS, LIMITS, LIMITS] }
  return {
    ...nothing,
    cells: [],
    filled: [],
    startups: undefined,
    growth: undefined,
    purge: undefined,
    management: undefined,
    manyZones: undefined,
    manyUsers: undefined,
    imported: undefined,
    nodes: undefined,
    metrics: undefined,
    ...changes,
  }
}

function verdict(run: Results, name: RegExp): [string, boolean | undefined] {
  const bar = judge(run).find(candidate => name.test(candidate.name))
  assert.ok(bar)
  return [bar.value, bar.pass]
}

describe('parseRate', () => {
  const cases = [
    {
      name: 'reads the four columns of OpenSSL 3.0',
      output:
        '                  sign    verify    sign/s verify/s\nrsa 2048 bits 0.000257s 0.000017s   3886.8  57370.9\n',
      want: { sign: 3886.8, verify: 57_370.9 },
    },
    {
      name: 'reads the eight columns of OpenSSL 3.2',
      output:
        '                   sign    verify    encrypt   decrypt   sign/s verify/s  encr./s  decr./s\n' +
        'rsa  2048 bits 0.000571s 0.000017s 0.000018s 0.000590s   1752.4  60000.0  56000.0   1695.0\n',
      want: { sign: 1752.4, verify: 60_000 },
    },
    {
      name: 'reads a label with brackets',
      output:
        '                              sign    verify    sign/s verify/s\n' +
        ' 256 bits ecdsa (nistp256)   0.0000s   0.0001s  29129.3   7382.0\n',
      want: { sign: 29_129.3, verify: 7382 },
    },
    {
      name: 'returns undefined without a table',
      output: 'speed: Unknown algorithm rsa2048\n',
      want: { sign: undefined, verify: undefined },
    },
    { name: 'returns undefined without OpenSSL', output: '', want: { sign: undefined, verify: undefined } },
  ]
  for (const { name, output, want } of cases) {
    test(name, () =>
      assert.deepEqual({ sign: parseRate(output, 'sign/s'), verify: parseRate(output, 'verify/s') }, want),
    )
  }
})

describe('The benchmark report', () => {
  test('uses the median, or the mean of the two middle values', () => {
    assert.equal(median([9, 1, 5]), 5)
    assert.equal(median([4, 1, 2, 9]), 3)
    assert.equal(median([]), undefined)
  })

  test('compares within rounds, so that a slow round does not matter', () => {
    const cells = [
      cell('client_credentials ES256', 'hello', [40_000, 20_000, 10_000]),
      cell('client_credentials ES256', 'latchkey', [10_000, 5000, 2500]),
    ]
    assert.deepEqual(verdict(results({ cells }), /ES256, of hello/), ['0.25', true])
  })

  test('compares RS256 with the signatures of all cores', () => {
    const rate = 600 * CORES
    const cells = [cell('client_credentials RS256', 'latchkey', [rate, rate, rate])]
    assert.deepEqual(verdict(results({ cells }), /openssl rsa2048/), ['0.60', false])
  })

  test('compares a row without a peer with the row that it names', () => {
    const cells = [
      cell('client_credentials opaque', 'latchkey', [4000, 2000, 1000]),
      cell('user_token grant', 'latchkey', [1000, 500, 250]),
    ]
    assert.match(formatReport(results({ cells })), /\| user_token grant .*\| client_credentials opaque +\| +0\.25 \|/)
  })

  test('gives no ratio if the other row was not measured', () => {
    const cells = [cell('user_token grant', 'latchkey', [1000])]
    assert.match(formatReport(results({ cells })), /\| user_token grant .*\| client_credentials opaque +\| +– \|/)
  })

  test('adds the time of a signature and a verification', () => {
    const rate = (CORES * 7500) / 2 // 30,000 signatures or 10,000 verifications are 7500 of both
    const cells = [cell('client_credentials private_key_jwt', 'latchkey', [rate, rate, rate])]
    assert.match(formatReport(results({ cells })), /\| P-256 verification \+ signature +\| +0\.50 \|/)
  })

  test('allows a cost of 3% for metrics', () => {
    const samples = (...rates: readonly number[]) =>
      rates.map(rate => ({ rate, p50: 1, p99: 2, refused: 0, broken: 0 }))
    const metrics = (rate: number) => ({ without: samples(1000, 2000), with: samples(rate, 2 * rate) })
    assert.deepEqual(verdict(results({ metrics: metrics(970) }), /with metrics/), ['0.97', true])
    assert.deepEqual(verdict(results({ metrics: metrics(960) }), /with metrics/), ['0.96', false])
    assert.match(formatReport(results({ metrics: metrics(970) })), /\| with +\| +1455 \| +970 – 1940 +\| +0\.97 \|/)
  })

  test('compares two nodes with two servers that share nothing', () => {
    const samples = (...rates: readonly number[]) => rates.map(rate => ({ rate, processor: 1 }))
    const nodes = (two: number): Nodes => ({
      flow: 'code flow',
      pairs: [
        { server: 'latchkey', one: samples(1000, 500), two: samples(two, two / 2) },
        { server: 'oidc-provider', one: samples(900, 900), two: samples(1350, 1350) },
      ],
    })
    assert.deepEqual(verdict(results({ nodes: nodes(1350) }), /two nodes/), ['0.90', true])
    assert.deepEqual(verdict(results({ nodes: nodes(1300) }), /two nodes/), ['0.87', false])
    assert.match(
      formatReport(results({ nodes: nodes(1350) })),
      /\| latchkey +\| two +\| +1013 \| +675 – 1350 +\| +1\.35 \|/,
    )
  })

  test('requires 90% of the introspection rate with a full table, and reports its size', () => {
    const [many, few] = INTROSPECTION_ROWS
    const rates = (much: number): Cell[] => [
      cell(few, 'latchkey', [1000, 2000, 4000]),
      cell(many, 'latchkey', [much, 2 * much, 4 * much]),
    ]
    assert.deepEqual(verdict(results({ cells: rates(900) }), /introspection with .* stored tokens/), ['0.90', true])
    assert.deepEqual(verdict(results({ cells: rates(899) }), /introspection with .* stored tokens/), ['0.90', false])
    assert.deepEqual(verdict(results({ cells: rates(900).slice(1) }), /introspection with .* stored tokens/), [
      '–',
      undefined,
    ])
    const filled = [{ workload: many, rows: 1_000_000, bytes: 562e6, seconds: 21 }]
    assert.match(formatReport(results({ filled })), /1000000 rows, a file of 562\.0 MB, filled in 21\.0 s/)
  })

  test('limits p99 of opaque tokens among many to five times the median', () => {
    const cells = (p99: number): Cell[] => [
      {
        workload: OPAQUE_AMONG_MANY,
        server: 'latchkey',
        samples: [4, 5, 6].map(p50 => ({ rate: 1, p50, p99: p50 * p99, refused: 0, broken: 0 })),
      },
    ]
    assert.deepEqual(verdict(results({ cells: cells(5) }), /p99 of p50/), ['5.0', true])
    assert.deepEqual(verdict(results({ cells: cells(5.1) }), /p99 of p50/), ['5.1', false])
    assert.deepEqual(verdict(results({}), /p99 of p50/), ['–', undefined])
  })

  test('judges the purge by the most delayed stream', () => {
    const latencies = (p99: number): Latencies => ({ requests: 100, p50: 1, p99, longest: 2 * p99 })
    const purge = (read: number, write: number): Partial<Results> => ({
      purge: {
        expired: 100_000,
        perSecond: 400,
        purgeSeconds: 3,
        streams: [
          { name: 'a read', during: latencies(read), otherwise: latencies(5) },
          { name: 'a write', during: latencies(write), otherwise: latencies(10) },
        ],
      },
    })
    assert.deepEqual(verdict(results(purge(6, 60)), /purged/), ['50', true])
    assert.deepEqual(verdict(results(purge(66, 12)), /purged/), ['61', false])
    const text = formatReport(results(purge(6, 60)))
    assert.match(text, /\| a write +\| while purging +\| +100 \| +1\.0 \| +60\.0 \| +120\.0 \|/)
    assert.match(text, /100000 expired tokens, purged in 3\.0 s/)
    assert.deepEqual(verdict(results({}), /purged/), ['–', undefined])
  })

  test('judges users by the slower database, except requests for many rows', () => {
    const row = (database: string, p99: number, judged = true) => ({
      database,
      request: 'one by id',
      judged,
      requests: 9,
      p50: 1,
      p99,
      longest: p99,
    })
    const users = (p99: number): Partial<Results> => ({
      manyUsers: {
        users: 1_000_000,
        rows: [row('SQLite', 3), row('PostgreSQL', p99), row('SQLite', 900, false)],
        failures: ['PostgreSQL: no\nroom'],
      },
    })
    assert.deepEqual(verdict(results(users(20)), /1000000 users/), ['20', true])
    assert.deepEqual(verdict(results(users(21)), /1000000 users/), ['21', false])
    assert.match(formatReport(results(users(20))), /FAILED: PostgreSQL: no room/)
  })

  test('judges the import by its median batch', () => {
    const imported = (rate: number): Partial<Results> => ({
      imported: { users: 3000, batchSize: 1000, rates: [500, rate, 9000] },
    })
    assert.deepEqual(verdict(results(imported(2000)), /Bulk/), ['2000.00', true])
    assert.deepEqual(verdict(results(imported(1999)), /Bulk/), ['1999.00', false])
    assert.match(formatReport(results(imported(2000))), /3000 users with hashes/)
  })

  test('judges the client API by its slowest request, and reports databases that could not be measured', () => {
    const row = (request: string, p99: number) => ({
      database: 'SQLite',
      request,
      requests: 100,
      p50: 1,
      p99,
      longest: 90,
    })
    const management = (slowest: number): Partial<Results> => ({
      management: {
        clients: 100_000,
        rows: [row('a first page', 3), row('a last page', slowest)],
        failures: ['PostgreSQL: not installed'],
      },
    })
    assert.deepEqual(verdict(results(management(20)), /among 100000 clients/), ['20', true])
    assert.deepEqual(verdict(results(management(21)), /among 100000 clients/), ['21', false])
    const text = formatReport(results(management(20)))
    assert.match(text, /\| SQLite +\| a last page +\| +100 \| +1\.0 \| +20\.0 \| +90\.0 \|/)
    assert.match(text, /FAILED: PostgreSQL: not installed/)
    assert.deepEqual(verdict(results({}), /many clients/), ['–', undefined])
  })

  describe('of many zones', () => {
    const zones = 10_000
    const run = (changes: Partial<ManyZones>): Partial<Results> => ({
      manyZones: { zones, rows: [], lists: [], failures: [], ...changes },
    })
    const row = (database: string, among: number, p50: number): ZoneRow => ({
      database,
      zones: among,
      request: 'a new zone',
      requests: 100,
      p50,
      p99: 9 * p50,
      longest: 50,
    })
    const list = (among: number, milliseconds: number, stall = 3): ZoneLists => ({
      database: 'SQLite',
      zones: among,
      bytes: among * 1900,
      times: [milliseconds, milliseconds, 9000],
      stalls: [stall, stall, 900],
      otherwise: [2, 2, 2],
    })

    const cases = [
      {
        name: 'compares the start with that of an empty server in the same round',
        changes: { starts: { empty: { ready: [400, 800], idle: [] }, full: { ready: [440, 880], idle: [] } } },
        bar: /ready with/,
        want: ['1.10', true],
      },
      {
        name: 'does not judge memory without a measurement',
        changes: { starts: { empty: { ready: [400], idle: [] }, full: { ready: [400], idle: [] } } },
        bar: /memory idle with/,
        want: ['–', undefined],
      },
      {
        name: 'fails a full server that takes more memory',
        changes: { starts: { empty: { ready: [400], idle: [100e6] }, full: { ready: [400], idle: [111e6] } } },
        bar: /memory idle with/,
        want: ['1.11', false],
      },
      {
        name: 'compares the last zone with the first in the same round',
        changes: { rates: { first: [1000, 2000, 4000], last: [890, 1780, 3560] } },
        bar: /in the last of 10000 zones/,
        want: ['0.89', false],
      },
      {
        name: 'judges single requests by the database with the most growth',
        changes: { rows: [row('SQLite', 10, 2), row('SQLite', 10_000, 2), row('X', 10_000, 6), row('X', 10, 4)] },
        bar: /reading, making and deleting/,
        want: ['1.50', false],
      },
      {
        name: 'judges the list by its time per zone',
        changes: { lists: [list(10, 3), list(1000, 100), list(10_000, 1200)] },
        bar: /for each of them/,
        want: ['1.20', true],
      },
      {
        name: 'gives no growth of the list without a comparable list',
        changes: { lists: [list(10, 3), list(10_000, 1200)] },
        bar: /for each of them/,
        want: ['–', undefined],
      },
      {
        name: 'judges the delay of other requests by the median of the largest list',
        changes: { lists: [list(1000, 100, 70), list(10_000, 1000, 51)] },
        bar: /longest wait of others/,
        want: ['51', false],
      },
    ] as const
    for (const { name, changes, bar, want } of cases) {
      test(name, () => assert.deepEqual(verdict(results(run(changes)), bar), want))
    }

    test('has every measurement, and those that failed', () => {
      const text = formatReport(
        results(
          run({
            starts: { empty: { ready: [400], idle: [100e6] }, full: { ready: [420], idle: [101e6] } },
            rates: { first: [1000], last: [950] },
            rows: [row('SQLite', 10_000, 2)],
            lists: [list(10_000, 300, 12)],
            failures: ['PostgreSQL: not installed'],
          }),
        ),
      )
      assert.match(text, /\| 10000 zones \| +420 \| .* \| +101\.0 \|/)
      assert.match(text, /\| last +\| +950 \|/)
      assert.match(text, /\| SQLite +\| 10000 \| a new zone +\| +100 \| +2\.0 \| +18\.0 \| +50\.0 \|/)
      assert.match(text, /\| SQLite +\| 10000 \| +300 \| 300 – 9000 \| 19\.0 \| +12\.0 \| +2\.0 \|/)
      assert.match(text, /FAILED: PostgreSQL: not installed/)
    })
  })

  test('does not judge a failed cell, and reports the failure', () => {
    const cells = [
      cell('client_credentials RS256', 'latchkey', [2000, 2000]),
      cell('client_credentials RS256', 'oidc-provider', [1000], '3 answers refused'),
    ]
    const run = results({ cells })
    assert.deepEqual(verdict(run, /RS256, of oidc-provider/), ['–', undefined])
    assert.match(formatReport(run), /\| oidc-provider +\| FAILED: 3 answers refused \|/)
  })

  test('judges later starts, not the first', () => {
    const startups = [{ how: NPM_START, first: 5000, later: [900, 800, 1500], idleBytes: 111e6 }]
    assert.deepEqual(verdict(results({ startups }), /npm start/), ['900', true])
    assert.deepEqual(verdict(results({ startups }), /idle/), ['111', false])
  })

  test('fails with the names of tables that grew', () => {
    const grown = [{ table: 'tokens', before: 0, after: 100_000 }]
    const growth = { tokens: 100_000, afterFirst: 100e6, afterAll: 131e6, tables: 20, grown }
    const run = results({ growth })
    assert.deepEqual(verdict(run, /more than after the first/), ['31', false])
    assert.deepEqual(verdict(run, /tables grown/), ['1', false])
    assert.match(formatReport(run), /table tokens: 0 rows before, 100000 after/)
  })
})

describe('Benchmark workloads', () => {
  test('have unique names, and refer to existing ones', () => {
    const names = WORKLOADS.map(({ name }) => name)
    assert.equal(new Set(names).size, names.length)
    for (const { beside } of WORKLOADS) assert.ok(beside === undefined || names.includes(beside), beside)
    for (const name of INTROSPECTION_ROWS) assert.ok(names.includes(name), name)
  })
})
