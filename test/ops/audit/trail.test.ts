import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import type { AuditEvent } from '../../../src/model/audit/event.ts'
import { createAuditRecorder } from '../../../src/ops/audit/recorder.ts'
import { StoreUnavailable } from '../../../src/store/store.ts'
import type { AuditStore } from '../../../src/store/store.ts'
import { auditConfig, eventsOf, testHashes, verified } from '../../support/audit.ts'
import { SERVICE } from '../../support/oauth.ts'
import type { TestServer } from '../../support/server.ts'
import { startServer } from '../../support/server.ts'
import type { Tables } from '../../support/tables.ts'
import { openTables } from '../../support/tables.ts'

const DAY = 86_400

/** A server on a file, and its tables, as a writer to the database sees them. */
async function withTrail(
  work: (server: TestServer, tables: Tables) => Promise<void>,
  audit: object = {},
): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'latchkey-audit-'))
  const database = `sqlite:${join(folder, 'a.db')}`
  const server = await startServer({ database, config: auditConfig(audit) })
  const tables = await openTables(database)
  try {
    await work(server, tables)
  } finally {
    await tables.close()
    await server.stop()
    await rm(folder, { recursive: true })
  }
}

/** Causes two events. */
async function act(server: TestServer, times = 1): Promise<void> {
  for (let i = 0; i < times; i += 1) await server.token({ grant_type: 'client_credentials' }, { basic: SERVICE })
  await server.app.trail?.flush()
}

describe('Verification of the audit trail', () => {
  it('succeeds for any number of events, up to the head', async () => {
    await withTrail(async server => {
      assert.deepEqual(await verified(server), { problems: [] })
      await act(server, 120)
      const report = await verified(server)
      assert.deepEqual(report.problems, [])
      assert.equal(report.first, 1)
      assert.equal(report.head?.number, 240)
      await act(server)
      assert.deepEqual((await verified(server, { expected: report.head })).problems, [])
    })
  })

  const alterations: { name: string; sql: readonly string[]; want: RegExp }[] = [
    {
      name: 'a changed entry',
      sql: [`update audit_entries set principal = 'somebody' where number = 3`],
      want: /^entry 3 was changed$/,
    },
    {
      name: 'a changed actor',
      sql: [`update audit_entries set actor = 'somebody' where number = 5`],
      want: /^entry 5 was changed$/,
    },
    {
      name: 'a changed fact',
      sql: [`update audit_entries set facts = '{}' where number = 4`],
      want: /^entry 4 was changed$/,
    },
    {
      name: 'a deleted entry',
      sql: [`delete from audit_entries where number = 3`],
      want: /^entry 3 is missing$/,
    },
    {
      name: 'deleted first entries',
      sql: [`delete from audit_entries where number < 3`],
      want: /^entries 1 to 2 are missing$/,
    },
    {
      name: 'deleted last entries',
      sql: [`delete from audit_entries where number > 4`],
      want: /^entries 5 to 6 are missing$/,
    },
    {
      name: 'deleted last entries with a matching head',
      sql: [
        `delete from audit_entries where number > 4`,
        `update audit_chains set head_number = 4, head_hash = (select hash from audit_entries where number = 4)`,
      ],
      want: /^the head was changed$/,
    },
    {
      name: 'two exchanged entries',
      sql: [
        `update audit_entries set number = 99 where number = 2`,
        `update audit_entries set number = 2 where number = 3`,
        `update audit_entries set number = 3 where number = 99`,
      ],
      want: /^entry 2 was changed$/,
    },
    {
      name: 'an entry added after the head',
      sql: [
        `insert into audit_entries select zone_id, 7, happened_at, type, principal, client_id, remote_address, facts, hash, actor
         from audit_entries where number = 6`,
      ],
      want: /^entry 7 is after the head$/,
    },
    ...[0, -1].map(number => ({
      name: `an entry ${number} added before the first one`,
      sql: [
        `insert into audit_entries select zone_id, ${number}, happened_at, type, principal, client_id, remote_address, facts, hash, actor
         from audit_entries where number = 6`,
      ],
      want: new RegExp(`^entry ${number} is left from before the chain begins$`),
    })),
    ...['9007199254740993', '-9007199254740993'].map(number => ({
      name: `an entry ${number}, beyond safe integers`,
      sql: [
        `insert into audit_entries select zone_id, ${number}, happened_at, type, principal, client_id, remote_address, facts, hash, actor
         from audit_entries where number = 6`,
      ],
      want: new RegExp(`^entry ${number} was inserted$`),
    })),
    {
      name: 'a time beyond the range of dates',
      sql: [`update audit_entries set happened_at = 9223372036854775807 where number = 6`],
      want: /^entry 6 was changed$/,
    },
    {
      name: 'a head beyond safe integers',
      sql: [`update audit_chains set head_number = 9223372036854775807`],
      want: /^the head was changed$/,
    },
    {
      name: 'a moved start',
      sql: [`delete from audit_entries where number < 3`, `update audit_chains set base_number = 2, base_hash = 'x'`],
      want: /^the head was changed$/,
    },
    { name: 'a missing head', sql: [`delete from audit_chains`], want: /^the head is missing$/ },
  ]
  for (const { name, sql, want } of alterations) {
    it(`reports ${name}, also after further events`, async () => {
      await withTrail(async (server, tables) => {
        await act(server, 3)
        for (const statement of sql) await tables.run(statement)
        const [first = ''] = (await verified(server)).problems
        assert.match(first, want)
        await act(server, 2)
        assert.notDeepEqual((await verified(server)).problems, [])
      })
    })
  }

  it('reports a changed head in the trail and the log', async () => {
    await withTrail(async (server, tables) => {
      await act(server, 3)
      await tables.run(`delete from audit_entries where number > 4`)
      await act(server)
      const [altered] = await eventsOf(server, { type: 'AuditTrailAlteredEvent' })
      assert.equal(altered?.number, 7)
      assert.equal(altered.outcome, 'failure')
      assert.equal(altered.data, 'the last entry is 4, not 6')
      assert.ok(server.lines.some(line => line.includes('the audit trail of zone svc was altered')))
      const reported = server.events.filter(({ type }) => type === 'AuditTrailAlteredEvent')
      assert.deepEqual(
        reported.map(({ zoneId, data }) => ({ zoneId, data })),
        [{ zoneId: 'svc', data: altered.data }],
      )
    })
  })

  it('does not block delivery for other zones if a counter is beyond safe integers', async () => {
    await withTrail(async (server, tables) => {
      await act(server)
      for (const counter of ['number', 'attempts'])
        for (const value of ['9007199254740993', '-9007199254740993']) {
          await tables.run(
            `insert into audit_deliveries (zone_id, webhook, number, next_attempt_at, attempts)
             select zone_id, '${counter}${value}', 0, 0, 0 from audit_chains`,
          )
          await tables.run(`update audit_deliveries set ${counter} = ${value} where webhook = '${counter}${value}'`)
          const now = server.clock.now()
          const webhook = { name: `${counter}${value}` }
          const claimed = await server.store.audit.claimDelivery(webhook, now, new Date(now.getTime() + 1))
          assert.equal(claimed?.zoneId, counter === 'attempts' ? 'svc' : undefined, `${counter} ${value}`)
        }
    })
  })

  it('continues after an entry beyond safe integers, and reports it once', async () => {
    await withTrail(async (server, tables) => {
      await act(server, 3)
      await tables.run(
        `insert into audit_entries select zone_id, 9007199254740993, happened_at, type, principal, client_id, remote_address, facts, hash, actor
         from audit_entries where number = 6`,
      )
      await act(server)
      await act(server)
      assert.equal((await verified(server)).head?.number, 11)
      const altered = await eventsOf(server, { type: 'AuditTrailAlteredEvent' })
      assert.deepEqual(
        altered.map(({ number, data }) => [number, data]),
        [[7, 'entry 9007199254740993 was inserted']],
      )
      assert.ok(server.lines.some(line => line.includes('entry 9007199254740993 was inserted')))
      assert.deepEqual(server.faults, [])
    })
  })

  it('reports a trail replaced by an older one, given an earlier head', async () => {
    await withTrail(async (server, tables) => {
      await act(server, 2)
      const kept = await tables.run('select * from audit_chains')
      await act(server, 2)
      const expected = (await verified(server)).head
      const [row] = kept
      await tables.run('delete from audit_entries where number > 4')
      await tables.run(
        'update audit_chains set head_number = ?1, head_hash = ?2, seal = ?3',
        Number(row?.['head_number']),
        String(row?.['head_hash']),
        String(row?.['seal']),
      )
      assert.deepEqual((await verified(server)).problems, [])
      assert.deepEqual((await verified(server, { expected })).problems, ['entry 8 is missing'])
    })
  })
})

describe('Retention of the audit trail', () => {
  // Covers audit: days
  it('deletes older entries and keeps the rest valid', async () => {
    await withTrail(
      async server => {
        await act(server, 300)
        server.clock.advance(2 * DAY)
        const kept = await server.store.audit.read('svc', { after: 598, count: 2 })
        await act(server, 2)
        assert.equal(await server.app.trail?.deleteExpired(), 0)
        server.clock.advance(9 * DAY)
        assert.equal(await server.app.trail?.deleteExpired(), 500)
        assert.deepEqual((await verified(server)).problems, [])
        assert.equal(await server.app.trail?.deleteExpired(), 100)
        assert.equal(await server.app.trail?.deleteExpired(), 0)
        const report = await verified(server)
        assert.deepEqual(report.problems, [])
        assert.equal(report.first, 601)
        // The last deleted one is still known by its hash; those before are not.
        const [gone, last] = kept
        assert.ok(gone && last)
        assert.deepEqual(await verified(server, { expected: last }), report)
        const other = await verified(server, { expected: { ...last, hash: gone.hash } })
        assert.deepEqual(other.problems, ['entry 600 differs from the expected one'])
        assert.deepEqual(await verified(server, { expected: gone }), { ...report, isExpectedGone: true })
        await act(server)
        assert.deepEqual((await verified(server)).problems, [])
      },
      { days: 10 },
    )
  })

  it('stops at an entry with a changed time', async () => {
    await withTrail(async (server, tables) => {
      await act(server, 3)
      await tables.run('update audit_entries set happened_at = 1 where number <= 4')
      assert.equal(await server.app.trail?.deleteExpired(), 0)
      assert.match((await verified(server)).problems[0] ?? '', /entry 1 was changed/)
    })
  })

  it('deletes everything of a deleted zone, and records no more', async () => {
    await withTrail(async (server, tables) => {
      const basic = ['service', 'service-secret'] as const
      await server.token({ grant_type: 'client_credentials' }, { basic, host: 'z1.localhost:8080' })
      await server.app.trail?.flush()
      assert.equal((await tables.count('z1'))['audit_entries'], 2)
      await server.token({ grant_type: 'client_credentials' }, { basic, host: 'z1.localhost:8080' })
      await server.store.zones.delete('z1', 'svc')
      await server.app.trail?.flush()
      assert.deepEqual(await tables.count('z1'), { bootstrap_records: 1 })
    })
  })
})

describe('Recording the audit trail', () => {
  let server: TestServer
  before(async () => {
    server = await startServer({ config: auditConfig() })
  })
  after(() => server.stop())

  const event = (data: string, type: AuditEvent['type'] = 'UserModifiedEvent', zoneId = 'svc'): AuditEvent => ({
    type,
    zoneId,
    principal: 'u1',
    data,
  })

  /** A recorder on the store of the server, whose `append` can be made to fail. */
  function recorderOn(append: (call: () => Promise<void>) => Promise<void> = call => call(), excluded: string[] = []) {
    const warnings: string[] = []
    const { audit } = server.store
    const store: AuditStore = { ...audit, append: (zoneId, link) => append(() => audit.append(zoneId, link)) }
    const recorder = createAuditRecorder({
      store: { audit: store },
      hashes: testHashes,
      clock: server.clock,
      excluded: new Set(excluded as AuditEvent['type'][]),
      log: { warn: line => void warnings.push(line), fault: line => void warnings.push(line) },
    })
    const logged: AuditEvent[] = []
    return { ...recorder, record: recorder.recorded(each => void logged.push(each)), warnings, logged }
  }
  const stored = async (data: string) =>
    (await eventsOf(server, { principal: 'u1', count: '500' })).filter(each => each.data?.startsWith(data))

  it('stores the request of each event, and facts that the log omits', async () => {
    let request: string | undefined = 'edge-1'
    const { audit } = server.store
    const recorder = createAuditRecorder({
      store: { audit },
      hashes: testHashes,
      clock: server.clock,
      excluded: new Set(),
      requestId: () => request,
      log: { warn: () => {}, fault: () => {} },
    })
    recorder.record(event('with a request'))
    request = undefined
    recorder.record(event('without'))
    await recorder.stop()
    const [without] = await stored('without')
    const [with1] = await stored('with a request')
    assert.deepEqual([with1?.requestId, without?.requestId], ['edge-1', undefined])
    assert.deepEqual((await verified(server)).problems, [])
  })

  it('keeps the order of events, and passes each to the log', async () => {
    const recorder = recorderOn()
    for (let i = 0; i < 450; i += 1) recorder.record(event(`order ${i}`))
    assert.equal(recorder.logged.length, 450)
    await recorder.stop()
    assert.deepEqual(
      (await stored('order')).map(({ data }) => data),
      Array.from({ length: 450 }, (_, i) => `order ${449 - i}`),
    )
  })

  it('writes pending events before it stops, and none afterwards', async () => {
    const recorder = recorderOn()
    recorder.record(event('stop 1'))
    await recorder.stop()
    recorder.record(event('stop 2'))
    await recorder.flush()
    assert.deepEqual(
      (await stored('stop')).map(({ data }) => data),
      ['stop 1'],
    )
  })

  it('stores each event once after an outage', async () => {
    let isUnreachable = true
    const recorder = recorderOn(async call => {
      if (isUnreachable) throw new StoreUnavailable('away')
      await call()
    })
    recorder.record(event('away 1'))
    await recorder.flush()
    recorder.record(event('away 2'))
    await recorder.flush()
    assert.equal((await stored('away')).length, 0)
    isUnreachable = false
    await recorder.stop()
    assert.deepEqual(
      (await stored('away')).map(({ data }) => data),
      ['away 2', 'away 1'],
    )
  })

  it('stores a batch once if its commit succeeded but the response was lost', async () => {
    let isFirst = true
    const recorder = recorderOn(async call => {
      await call()
      if (isFirst) {
        isFirst = false
        throw new StoreUnavailable('the answer was lost')
      }
    })
    recorder.record(event('answer 1'))
    await recorder.flush()
    recorder.record(event('answer 2'))
    await recorder.stop()
    assert.deepEqual(
      (await stored('answer')).map(({ data }) => data),
      ['answer 2', 'answer 1'],
    )
  })

  it('collects events during a write into the next one', async () => {
    let calls = 0
    const recorder = recorderOn(async call => {
      calls += 1
      if (calls < 4) recorder.record(event(`load ${calls + 1}`))
      await call()
    })
    recorder.record(event('load 1'))
    await recorder.flush()
    assert.equal(calls, 1)
    await recorder.flush()
    assert.equal(calls, 2)
    await recorder.stop()
    assert.deepEqual(
      (await stored('load')).map(({ data }) => data),
      ['load 4', 'load 3', 'load 2', 'load 1'],
    )
  })

  it('logs the number of unstored events when it stops', async () => {
    const recorder = recorderOn(() => Promise.reject(new StoreUnavailable('away')))
    for (let i = 0; i < 300; i += 1) recorder.record(event('never'))
    await recorder.stop()
    assert.ok(recorder.warnings.some(line => line.startsWith('300 events of the audit trail could not be stored')))
  })

  it('drops events of anonymous callers first when its queue is full, and records their number', async () => {
    let isUnreachable = true
    const recorder = recorderOn(async call => {
      if (isUnreachable) throw new StoreUnavailable('away')
      await call()
    })
    for (let i = 0; i < 6000; i += 1) recorder.record(event('flood', 'ClientAuthenticationFailure'))
    recorder.record(event('flooded, but stored'))
    recorder.record(event('of another zone', 'UserModifiedEvent', 'z1'))
    await recorder.flush()
    isUnreachable = false
    await recorder.stop()
    assert.equal((await stored('flooded')).length, 1)
    const [lost] = await eventsOf(server, { type: 'AuditEventsLostEvent' })
    assert.equal(lost?.data, '1000')
    assert.equal((await eventsOf(server, { principal: 'u1' }, { host: 'z1.localhost:8080' })).length, 1)
    assert.deepEqual((await verified(server)).problems, [])
  })

  it('reserves space for events of administrators, however many zones have failed sign-ins', async () => {
    let isUnreachable = true
    const recorder = recorderOn(async call => {
      if (isUnreachable) throw new StoreUnavailable('away')
      await call()
    })
    for (let zone = 0; zone < 12; zone += 1) {
      for (let i = 0; i < 5000; i += 1) recorder.record(event('flood', 'ClientAuthenticationFailure', `zone-${zone}`))
    }
    recorder.record(event('by hand, while strangers fail', 'UserModifiedEvent', 'z1'))
    isUnreachable = false
    await recorder.stop()
    const found = await eventsOf(server, { type: 'UserModifiedEvent' }, { host: 'z1.localhost:8080' })
    assert.ok(found.some(({ data }) => data?.startsWith('by hand')))
  })

  // Covers audit: exclude
  it('does not store excluded types', async () => {
    const recorder = recorderOn(undefined, ['TokenIssuedEvent'])
    recorder.record(event('excluded', 'TokenIssuedEvent'))
    recorder.record(event('excluded not'))
    await recorder.stop()
    assert.deepEqual(
      (await stored('excluded')).map(({ data }) => data),
      ['excluded not'],
    )
  })

  it('replaces characters that cannot be stored, and truncates', async () => {
    const recorder = recorderOn()
    recorder.record({ ...event(`odd \0 \uD800 ${'x'.repeat(10_000)}`), clientId: `c\0${'y'.repeat(1000)}` })
    await recorder.stop()
    const [odd] = await stored('odd')
    assert.match(odd?.data ?? '', /^odd \uFFFD \uFFFD x{3992}$/)
    assert.equal(odd?.clientId?.length, 255)
    assert.deepEqual((await verified(server)).problems, [])
  })

  it('finds a revocation by the user of the tokens', async () => {
    const recorder = recorderOn()
    const revocation = { type: 'TokenRevocationEvent', zoneId: 'svc', clientId: 'app' } as const
    recorder.record({ ...revocation, principal: 'clientId:app,userId:u77' })
    recorder.record({ ...revocation, principal: 'clientId:app77' })
    await recorder.stop()
    assert.equal((await eventsOf(server, { principal: 'u77' })).length, 1)
    assert.equal((await eventsOf(server, { principal: 'app77' })).length, 1)
  })
})
