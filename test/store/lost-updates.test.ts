// Changes that meet in PostgreSQL, where each statement sees what others have committed meanwhile. SQLite has one writer.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { Client } from 'pg'
import { systemClock } from '../../src/base/clock.ts'
import { openStore } from '../../src/store/open.ts'
import type { Store } from '../../src/store/store.ts'
import { freshDatabase } from '../support/databases.ts'
import { inTime } from './cases.ts'
import { at, client, group, provider, session, signedIn, signIn, user } from './records.ts'

interface Meeting {
  readonly store: Store
  /** Another transaction, which has begun. */
  readonly other: Client
  /** Resolves when a statement of the store waits for the other transaction. */
  readonly isWaiting: () => Promise<void>
}

async function meet(work: (meeting: Meeting) => Promise<void>): Promise<void> {
  const database = await freshDatabase('postgres')
  const store = await openStore(database.url, { clock: systemClock })
  const [other, observer] = [1, 2].map(() => new Client({ connectionString: database.url })) as [Client, Client]
  await Promise.all([other.connect(), observer.connect()])
  try {
    await other.query('begin')
    const waiting = async (): Promise<unknown> =>
      (
        await observer.query(
          `select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
        )
      ).rowCount
    await work({ store, other, isWaiting: () => inTime(1, waiting) })
  } finally {
    await Promise.all([other.end(), observer.end()])
    await store.close()
    await database.drop()
  }
}

describe('Changes at once on PostgreSQL', () => {
  it('keep the keys of a client that were replaced while others are added', () =>
    meet(async ({ store, other, isWaiting }) => {
      await store.clients.insert('z1', client({ jwks: 'leaked ' }))
      await other.query(`update clients set jwks = 'new ', revision = revision + 1`)
      const added = store.clients.changeKeys('z1', 'app', ({ jwks = '' }) => ({ jwks: `${jwks}added` }))
      await isWaiting()
      await other.query('commit')
      assert.deepEqual(await added, { before: { jwks: 'new ' }, after: { jwks: 'new added' } })
      assert.equal((await store.clients.findForChange('z1', 'app'))?.client.jwks, 'new added')
    }))

  it('lock nested groups before their rows, so that a removal and another change of a group do not deadlock', () =>
    meet(async ({ store: { groups }, other, isWaiting }) => {
      for (const id of ['inner', 'outer']) await groups.insert('z1', group({ id, displayName: id }))
      const nested = { memberId: 'inner', memberType: 'GROUP', origin: 'svc' } as const
      await groups.insertMember('z1', { ...nested, groupId: 'outer' })
      await other.query(`select pg_advisory_xact_lock(hashtextextended('latchkey nested groups z1', 0))`)
      const removed = groups.removeMember('z1', 'outer', 'inner')
      await isWaiting()
      await other.query(`set local lock_timeout = '200ms'`)
      assert.equal((await other.query('delete from group_members')).rowCount, 1)
      await other.query('commit')
      assert.equal(await removed, undefined)
    }))

  for (const [name, write] of [
    ['a sign-in', store => store.sessions.replaceAtLogon('z1', 's1', signedIn({ idDigest: 's2' }))],
    ['the deletion of a provider', store => removeProvider(store)],
  ] as const satisfies readonly (readonly [name: string, write: (store: Store) => Promise<unknown>])[]) {
    it(`lock a user before the sessions, so that ${name} and the end of all access do not deadlock`, () =>
      meet(async ({ store, other, isWaiting }) => {
        await store.providers.insert('z1', PROVIDER)
        await store.users.insert('z1', user({ origin: PROVIDER.originKey }))
        await store.sessions.insert('z1', signedIn({ idDigest: 's1' }))
        await other.query(`update users set password_revision = 'other'`)
        const written = write(store)
        await isWaiting()
        await other.query(`set local lock_timeout = '200ms'`)
        assert.equal((await other.query('delete from sessions')).rowCount, 1)
        await other.query('commit')
        await written
      }))
  }

  for (const [name, end] of [
    ['a logout', store => store.sessions.delete('z1', 's1')],
    ['a sign-out elsewhere', store => store.sessions.deleteSomeOthers('z1', { userId: 'u1', kept: 's0' })],
    ['the end of all access', store => store.users.endAccess('z1', 'u1', 'p2')],
    ['the deletion of the user', store => store.users.delete('z1', 'u1', 0)],
    ['the deletion of the provider', store => removeProvider(store)],
    ['a provider that is disabled', store => store.providers.update('z1', { ...PROVIDER, active: false })],
  ] as const satisfies readonly (readonly [name: string, end: (store: Store) => Promise<unknown>])[]) {
    it(`notify a client that a session gets while it is ended by ${name}`, () =>
      meet(async ({ store, other, isWaiting }) => {
        await store.providers.insert('z1', PROVIDER)
        await store.users.insert('z1', user({ origin: PROVIDER.originKey }))
        await store.sessions.insert('z1', {
          ...session({ idDigest: 's1' }),
          signIn: { ...signIn, origin: PROVIDER.originKey },
        })
        await other.query(`update sessions set tells = 1, clients = '"late"\n'`)
        const ended = end(store)
        await isWaiting()
        await other.query('commit')
        await ended
        assert.equal(await store.sessions.find('z1', 's1'), undefined)
        assert.deepEqual((await store.endedSessions.claim(at(1), at(2)))?.clients, ['late'])
      }))
  }

  it('lock sessions before failed sign-ins, so that a new password and a sign-in do not deadlock', () =>
    meet(async ({ store, other, isWaiting }) => {
      const before = user()
      await store.users.insert('z1', before)
      await store.sessions.insert('z1', signedIn({ idDigest: 's1' }))
      await store.events.recordFailure('z1', 'u1', at(1))
      assert.equal((await other.query('delete from sessions')).rowCount, 1)
      const replaced = store.users.replace('z1', before, { ...before, passwordHash: 'new', passwordRevision: 'p2' })
      await isWaiting()
      await other.query(`set local lock_timeout = '200ms'`)
      assert.equal((await other.query('delete from sign_in_failures')).rowCount, 1)
      await other.query('commit')
      assert.equal((await replaced)?.passwordHash, 'new')
    }))
})

const PROVIDER = provider({ originKey: 'leaving' })

async function removeProvider({ providers }: Store): Promise<void> {
  const found = await providers.findForChange('z1', PROVIDER.id)
  assert.ok(found)
  await providers.apply('z1', { kind: 'delete', ...found })
}
