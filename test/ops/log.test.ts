import assert from 'node:assert/strict'
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, it, mock } from 'node:test'
import type { Log } from '../../src/ops/log.ts'
import { createLog } from '../../src/ops/log.ts'

/** The lines written while `use` runs. */
function linesOf(use: (log: Log) => void): readonly Record<string, unknown>[] {
  const folder = mkdtempSync(join(tmpdir(), 'latchkey-log-'))
  const file = join(folder, 'log')
  const fd = openSync(file, 'w')
  mock.timers.enable({ apis: ['setInterval'] }) // else it would write to the closed file later
  try {
    const log = createLog({ fd })
    use(log)
    log.flush()
    return readFileSync(file, 'utf8')
      .split('\n')
      .filter(line => line !== '')
      .map(line => JSON.parse(line))
  } finally {
    mock.timers.reset()
    closeSync(fd)
    rmSync(folder, { recursive: true })
  }
}

describe('The log', () => {
  it('writes one line of JSON per event, with time and level', () => {
    const lines = linesOf(log => {
      log.info('one\ntwo "three"')
      log.warn('careful')
      log.refusal('locked')
    })
    assert.deepEqual(
      lines.map(({ level, msg }) => ({ level, msg })),
      [
        { level: 30, msg: 'one\ntwo "three"' },
        { level: 40, msg: 'careful' },
        { level: 30, msg: 'locked' },
      ],
    )
    for (const { time } of lines) assert.match(String(time), /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
  })

  it('has the stack of a fault and its causes', () => {
    const [line] = linesOf(log => log.fault('GET /home', new TypeError('outer', { cause: new Error('inner') })))
    assert.equal(line?.['level'], 50)
    assert.equal(line['msg'], 'GET /home')
    assert.match(JSON.stringify(line['err']), /TypeError.*outer.*inner/)
  })

  it('has only known members of a fault', () => {
    const cause = Object.assign(new Error('terminating connection'), {
      code: '57P01',
      severity: 'FATAL',
      detail: 'Failing row contains (ann, $argon2id$…)',
      client: { secretKey: 1866296517, ssl: { ca: '-----BEGIN CERTIFICATE-----' } },
    })
    const refused = Object.assign(new Error('connect ECONNREFUSED ::1:5432'), { code: 'ECONNREFUSED' })
    const [first, second] = linesOf(log => {
      log.fault('database', cause)
      log.fault('both', Object.assign(new AggregateError([refused], ''), { code: 'ECONNREFUSED' }))
    }).map(({ err }) => err as Readonly<Record<string, unknown>>)
    assert.deepEqual(Object.keys(first ?? {}), ['type', 'message', 'stack', 'code', 'severity'])
    assert.equal(first?.['code'], '57P01')
    assert.deepEqual(second?.['errors'], ['Error: connect ECONNREFUSED ::1:5432'])
  })

  // Covers audit line: type; principal
  it('marks audit events, so that they can be filtered', () => {
    const [line] = linesOf(log =>
      log.audit({ type: 'UserAuthenticationSuccess', zoneId: 'svc', principal: 'u-1', origin: 'svc' }),
    )
    assert.equal(line?.['log'], 'audit')
    assert.equal(line['msg'], 'UserAuthenticationSuccess')
    assert.equal(line['principal'], 'u-1')
    assert.equal(line['zoneId'], 'svc')
  })
})
