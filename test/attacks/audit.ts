import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { auditConfig, eventsOf, machineToken, verified } from '../support/audit.ts'
import { APP, SERVICE } from '../support/oauth.ts'
import type { TestServer } from '../support/server.ts'
import { startServer } from '../support/server.ts'
import type { Tables } from '../support/tables.ts'
import { openTables } from '../support/tables.ts'
import type { Attack } from './attack.ts'

const Z1 = 'z1.localhost:8080'

async function withTrail(work: (server: TestServer) => Promise<void>): Promise<void> {
  const server = await startServer({ config: auditConfig() })
  try {
    await work(server)
  } finally {
    await server.stop()
  }
}

/** Runs an attack with write access to the database, but without the master key. */
async function withDatabase(work: (server: TestServer, tables: Tables) => Promise<void>): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'latchkey-audit-'))
  const database = `sqlite:${join(folder, 'a.db')}`
  const server = await startServer({ database, config: auditConfig() })
  const tables = await openTables(database)
  try {
    for (let i = 0; i < 3; i += 1) await server.token({ grant_type: 'client_credentials' }, { basic: SERVICE })
    await server.app.trail?.flush()
    await work(server, tables)
  } finally {
    await tables.close()
    await server.stop()
    await rm(folder, { recursive: true })
  }
}

/** Attacks on the integrity and confidentiality of the audit trail. */
export const auditAttacks: readonly Attack[] = [
  {
    attack: 'deletes entries from the database, and lets the server append more',
    outcome: 'the check names the missing entries',
    attempt: () =>
      withDatabase(async (server, tables) => {
        await tables.run('delete from audit_entries where number in (3, 4)')
        await server.token({ grant_type: 'client_credentials' }, { basic: SERVICE })
        assert.deepEqual((await verified(server)).problems, ['entries 3 to 4 are missing'])
      }),
  },
  {
    attack: 'truncates the trail, including its head, and lets the server seal the rest again',
    outcome: 'the server records the alteration instead, and the check reports it',
    attempt: () =>
      withDatabase(async (server, tables) => {
        await tables.run('delete from audit_entries where number > 2')
        await tables.run(
          'update audit_chains set head_number = 2, head_hash = (select hash from audit_entries where number = 2)',
        )
        await server.token({ grant_type: 'client_credentials' }, { basic: SERVICE })
        const { problems } = await verified(server)
        assert.ok(problems.some(problem => problem.includes('reports an alteration')))
        assert.equal((await eventsOf(server, { type: 'AuditTrailAlteredEvent' })).length, 1)
      }),
  },
  {
    attack: 'backdates an entry in the database, so that retention deletes it',
    outcome: 'retention stops before the entry',
    attempt: () =>
      withDatabase(async (server, tables) => {
        await tables.run('update audit_entries set happened_at = 1')
        assert.equal(await server.app.trail?.deleteExpired(), 0)
      }),
  },
  {
    attack: 'reads the trail of another zone by a zone header, a token of the own zone, or as auditor of the own zone',
    outcome: '403 or 401 without entries',
    attempt: () =>
      withTrail(async server => {
        const service = ['service', 'service-secret'] as const
        await server.token({ grant_type: 'client_credentials' }, { basic: service, host: Z1 })
        const own = await machineToken(server, 'auditor', Z1)
        const other = await machineToken(server, 'z2-auditor')
        const toZ1 = { 'x-identity-zone-id': 'z1' }
        for (const answer of [
          await server.send('/audit/events', { bearer: own }),
          await server.send('/audit/events', { bearer: own, headers: { 'x-identity-zone-id': 'svc' }, host: Z1 }),
          await server.send('/audit/events', { bearer: own, host: 'z2.localhost:8080' }),
          await server.send('/audit/events', { bearer: other, headers: toZ1 }),
          await server.send('/audit/events', { bearer: await machineToken(server, 'auditor'), headers: toZ1 }),
        ]) {
          assert.ok([401, 403].includes(answer.status), String(answer.status))
          assert.ok(!answer.text.includes('TokenIssuedEvent'))
        }
      }),
  },
  {
    attack: 'floods the trail of a zone with failures, to displace events of another zone',
    outcome: 'events of other zones are stored',
    attempt: () =>
      withTrail(async server => {
        const wrong = { grant_type: 'client_credentials' }
        await Promise.all(Array.from({ length: 300 }, () => server.token(wrong, { basic: ['nobody', 'x'], host: Z1 })))
        await server.token({ grant_type: 'client_credentials' }, { basic: SERVICE })
        assert.equal((await eventsOf(server, { principal: 'service' })).length, 2)
      }),
  },
  {
    attack: 'puts a NUL, a lone surrogate or a megabyte into a name, so that the batch with it cannot be stored',
    outcome: 'all events are stored',
    attempt: () =>
      withTrail(async server => {
        const form = { grant_type: 'password', password: 'x' }
        for (const username of ['\uD800', `x${'y'.repeat(100_000)}`])
          await server.token({ ...form, username }, { basic: APP })
        await server.token({ ...form, username: 'a\0b' }, { basic: APP })
        await server.token({ grant_type: 'client_credentials' }, { basic: SERVICE })
        assert.equal((await eventsOf(server, { principal: 'service' })).length, 2)
        assert.deepEqual((await verified(server)).problems, [])
        assert.deepEqual(server.faults, [])
      }),
  },
]
