import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { CORES, parseSignRate } from '../../bench/limits.ts'
import type { Limits } from '../../bench/limits.ts'
import { formatReport, judge, median } from '../../bench/report.ts'
import type { Cell, Results } from '../../bench/report.ts'
import { NPM_START } from '../../bench/startup.ts'

const LIMITS: Limits = {
  opensslRsa2048: 1000,
  opensslEcdsaP256: 30_000,
  nodeRsa2048: 1000,
  nodeEcdsaP256: 20_000,
  argon2id: 80,
}

function cell(workload: string, server: Cell['server'], rates: readonly number[], failure?: string): Cell {
  const samples = rates.map(rate => ({ rate, p50: 1, p99: 2, refused: 0, broken: 0 }))
  return { workload, server, samples, ...(failure !== undefined && { failure }) }
}

function results(changes: Partial<Results>): Results {
  const nothing = { machine: [], tool: 'wrk', rounds: 3, seconds: 1, limits: [LIMITS, LIMITS, LIMITS], cells: [] }
  return { ...nothing, startups: undefined, growth: undefined, ...changes }
}

function verdict(run: Results, name: RegExp): [string, boolean | undefined] {
  const bar = judge(run).find(candidate => name.test(candidate.name))
  assert.ok(bar)
  return [bar.value, bar.pass]
}

describe('the sign rate of openssl speed', () => {
  const cases = [
    {
      name: 'is read from the four columns of OpenSSL 3.0',
      output:
        '                  sign    verify    sign/s verify/s\nrsa 2048 bits 0.000257s 0.000017s   3886.8  57370.9\n',
      want: 3886.8,
    },
    {
      name: 'is read from the eight columns of OpenSSL 3.2',
      output:
        '                   sign    verify    encrypt   decrypt   sign/s verify/s  encr./s  decr./s\n' +
        'rsa  2048 bits 0.000571s 0.000017s 0.000018s 0.000590s   1752.4  60000.0  56000.0   1695.0\n',
      want: 1752.4,
    },
    {
      name: 'is read from a label with brackets',
      output:
        '                              sign    verify    sign/s verify/s\n' +
        ' 256 bits ecdsa (nistp256)   0.0000s   0.0001s  29129.3   7382.0\n',
      want: 29_129.3,
    },
    { name: 'is unknown when there is no table', output: 'speed: Unknown algorithm rsa2048\n', want: undefined },
  ]
  for (const { name, output, want } of cases) test(name, () => assert.equal(parseSignRate(output), want))
})

describe('the report', () => {
  test('takes the middle value, or the mean of the two in the middle', () => {
    assert.equal(median([9, 1, 5]), 5)
    assert.equal(median([4, 1, 2, 9]), 3)
    assert.equal(median([]), undefined)
  })

  test('takes a ratio within each round, so that one slow round of the machine changes nothing', () => {
    const cells = [
      cell('client_credentials ES256', 'hello', [40_000, 20_000, 10_000]),
      cell('client_credentials ES256', 'latchkey', [10_000, 5000, 2500]),
    ]
    assert.deepEqual(verdict(results({ cells }), /ES256, of hello/), ['0.25', true])
  })

  test('sets RS256 against the signatures of all cores', () => {
    const rate = 600 * CORES
    const cells = [cell('client_credentials RS256', 'latchkey', [rate, rate, rate])]
    assert.deepEqual(verdict(results({ cells }), /openssl rsa2048/), ['0.60', false])
  })

  test('does not judge a cell that failed, and says why it failed', () => {
    const cells = [
      cell('client_credentials RS256', 'latchkey', [2000, 2000]),
      cell('client_credentials RS256', 'oidc-provider', [1000], '3 answers refused'),
    ]
    const run = results({ cells })
    assert.deepEqual(verdict(run, /RS256, of oidc-provider/), ['–', undefined])
    assert.match(formatReport(run), /\| oidc-provider +\| FAILED: 3 answers refused \|/)
  })

  test('judges later starts only, not the first one', () => {
    const startups = [{ how: NPM_START, first: 5000, later: [900, 800, 1500], idleBytes: 111e6 }]
    assert.deepEqual(verdict(results({ startups }), /npm start/), ['900', true])
    assert.deepEqual(verdict(results({ startups }), /idle/), ['111', false])
  })

  test('names each table that grew and fails the bar', () => {
    const grown = [{ table: 'tokens', before: 0, after: 100_000 }]
    const growth = { tokens: 100_000, afterFirst: 100e6, afterAll: 131e6, tables: 20, grown }
    const run = results({ growth })
    assert.deepEqual(verdict(run, /more than after the first/), ['31', false])
    assert.deepEqual(verdict(run, /tables grown/), ['1', false])
    assert.match(formatReport(run), /table tokens: 0 rows before, 100000 after/)
  })
})
