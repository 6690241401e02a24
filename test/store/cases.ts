// The test cases of every database, written once and run for each.
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { after, before, describe, it } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { stopwatch, systemClock } from '../../src/base/clock.ts'
import { openStore } from '../../src/store/open.ts'
import { AlreadyExists, StoreUnavailable } from '../../src/store/store.ts'
import type { Store } from '../../src/store/store.ts'
import type { User } from '../../src/model/users/user.ts'
import { onThisMachine } from '../support/busy-machine.ts'
import { emptyDatabase, freshDatabase } from '../support/databases.ts'
import type { DatabaseKind, TestDatabase } from '../support/databases.ts'
import { filterCases } from './filter-cases.ts'
import { clientCases } from './client-cases.ts'
import { deviceCases } from './device-cases.ts'
import { registrationCases } from './registration-cases.ts'
import { groupCases } from './group-cases.ts'
import { onceCases } from './once-cases.ts'
import { propertyCases } from './properties.ts'
import { providerCases } from './provider-cases.ts'
import { accountEventCases } from './account-event-cases.ts'
import { auditCases } from './audit-cases.ts'
import { factorCases } from './factor-cases.ts'
import { endedSessionCases } from './ended-session-cases.ts'
import { ownSessionCases } from './session-cases.ts'
import {
  approval,
  at,
  client,
  code,
  fullClient,
  fullCode,
  fullToken,
  fullUser,
  fullZone,
  group,
  key,
  provider,
  session,
  signedIn,
  token,
  user,
  zone,
} from './records.ts'
import { joinedUserCases } from './joined-user-cases.ts'
import { tokenCases } from './token-cases.ts'
import { userChangeCases } from './user-change-cases.ts'
import { userListCases } from './user-list-cases.ts'
import { userPageCases } from './user-page-cases.ts'
import { zoneCases } from './zone-cases.ts'

const OTHER_PROCESS = fileURLToPath(new URL('other-process.ts', import.meta.url))

/** Runs a task of `other-process.ts` in another process, and returns its output. */
export async function inOtherProcess(url: string, task: string, argument = ''): Promise<unknown> {
  const { stdout } = await promisify(execFile)(process.execPath, [OTHER_PROCESS, url, task, argument])
  return JSON.parse(stdout)
}

/** Repeats the query until the result is as expected; fails if that takes too long. */
export async function inTime(expected: unknown, ask: () => Promise<unknown>): Promise<void> {
  const elapsed = stopwatch()
  for (;;) {
    const answer = await ask()
    const late = elapsed() > 2 * onThisMachine(1000)
    if (late || answer === expected) {
      assert.equal(answer, expected)
      return
    }
    await pause(20)
  }
}

/** A zone id that no other test uses, so that all can share one database. */
const newZone = (() => {
  let count = 0
  return () => `zone-${(count += 1)}`
})()

/** The whole suite for one database. */
export function storeCases(kind: DatabaseKind): void {
  let database: TestDatabase
  let store: Store
  const open = (): Promise<Store> => openStore(database.url, { clock: systemClock })

  before(async () => {
    database = await freshDatabase(kind)
    store = await open()
  })
  after(async () => {
    await store.close()
    await database.drop()
  })

  describe('Stored records', () => {
    const z = newZone()
    const cases: { name: string; want: object; keep: () => Promise<unknown>; find: () => Promise<unknown> }[] = [
      ...[zone({ id: 'za', subdomain: 'za' }), zone({ ...fullZone, id: 'zb', subdomain: 'zb' })].map(want => ({
        name: `zone ${want.id}`,
        want,
        keep: () => store.zones.insert(want),
        find: () => store.zones.find(want.id),
      })),
      ...[client({ zoneId: z }), client({ ...fullClient, zoneId: z, clientId: 'full' })].map(want => ({
        name: `client ${want.clientId}`,
        want,
        keep: () => store.clients.insert(z, want),
        find: () => store.clients.find(z, want.clientId),
      })),
      ...[user({ zoneId: z }), user({ ...fullUser, zoneId: z, id: 'u2', userName: 'full' })].map(want => ({
        name: `user ${want.id}`,
        want,
        keep: () => store.users.insert(z, want),
        find: () => store.users.find(z, want.id),
      })),
      ...[group({ zoneId: z }), group({ zoneId: z, id: 'g2', displayName: 'Full', description: '', version: 2 })].map(
        want => ({
          name: `group ${want.id}`,
          want,
          keep: () => store.groups.insert(z, want),
          find: () => store.groups.findByName(z, want.displayName),
        }),
      ),
      ...[provider({ zoneId: z }), provider({ zoneId: z, id: 'i2', originKey: 'off', active: false })].map(want => ({
        name: `identity provider ${want.originKey}`,
        want,
        keep: () => store.providers.insert(z, want),
        find: () => store.providers.findByOrigin(z, want.originKey),
      })),
      ...[
        key({ zoneId: z }),
        key({ zoneId: z, keyId: 'k2', sealedPrivateKey: 'v1.x', active: true, algorithm: 'EdDSA' }),
      ].map(want => ({
        name: `signing key ${want.keyId}`,
        want,
        keep: () => store.keys.save(z, want),
        find: async () => (await store.keys.list(z)).find(({ keyId }) => keyId === want.keyId),
      })),
      ...[approval({ zoneId: z }), approval({ zoneId: z, scope: 'roles', status: 'DENIED' })].map(want => ({
        name: `approval of ${want.scope}`,
        want,
        keep: () => store.approvals.save(z, [want]),
        find: async () => (await store.approvals.list(z, 'u1', 'app', at(0))).find(({ scope }) => scope === want.scope),
      })),
      ...[
        code({ zoneId: z }),
        code({ ...fullCode, zoneId: z, codeDigest: 'c2' }),
        code({ zoneId: z, codeDigest: 'c3', codeChallengeMethod: 'plain', amr: [], scopes: [], tokenFormat: 'jwt' }),
      ].map(want => ({
        name: `code ${want.codeDigest}`,
        want: { outcome: 'redeemed', code: want },
        keep: () => store.codes.insert(z, want),
        find: async () => {
          const { user: _, ...found } = { user: undefined, ...(await store.codes.redeem(z, want.codeDigest, at(1))) }
          return found
        },
      })),
      ...[token({ zoneId: z }), token({ ...fullToken, zoneId: z, idDigest: 't2' })].map(want => ({
        name: `token ${want.idDigest}`,
        want,
        keep: () => store.tokens.insert(z, want),
        find: () => store.tokens.find(z, want.idDigest),
      })),
      ...[
        session({ zoneId: z }),
        session({ zoneId: z, idDigest: 's2', savedRequest: '/oauth/authorize?x=1', pendingApproval: '' }),
        signedIn({ zoneId: z, idDigest: 's3', savedRequest: '' }),
      ].map(want => ({
        name: `session ${want.idDigest}`,
        want,
        keep: () => store.sessions.insert(z, want),
        find: () => store.sessions.find(z, want.idDigest),
      })),
    ]
    for (const { name, want, keep, find } of cases) {
      it(`are read unchanged: ${name}`, async () => {
        await keep()
        assert.deepEqual(await find(), want)
      })
    }

    it('are replaced as a whole by an update, including absent members', async () => {
      const z = newZone()
      await store.zones.insert(zone({ ...fullZone, id: z, subdomain: z }))
      await store.zones.update(zone({ id: z, subdomain: z }))
      assert.deepEqual(await store.zones.find(z), zone({ id: z, subdomain: z }))
      await store.clients.insert(z, client({ ...fullClient, zoneId: z }))
      await store.clients.update(z, client({ zoneId: z }))
      assert.deepEqual(await store.clients.find(z, 'app'), client({ zoneId: z }))
      await store.users.insert(z, user({ ...fullUser, zoneId: z }))
      await store.users.update(z, user({ zoneId: z }))
      assert.deepEqual(await store.users.find(z, 'u1'), user({ zoneId: z }))
      await store.groups.insert(z, group({ zoneId: z, description: 'x' }))
      await store.groups.update(z, group({ zoneId: z, displayName: 'renamed' }))
      assert.deepEqual(await store.groups.findByName(z, 'renamed'), group({ zoneId: z, displayName: 'renamed' }))
      assert.equal(await store.groups.findByName(z, 'cloud.read'), undefined)
      await store.providers.insert(z, provider({ zoneId: z }))
      await store.providers.update(z, provider({ zoneId: z, originKey: 'moved', config: {} }))
      assert.deepEqual(
        await store.providers.findByOrigin(z, 'moved'),
        provider({ zoneId: z, originKey: 'moved', config: {} }),
      )
      assert.equal(await store.providers.findByOrigin(z, 'ldap'), undefined)
    })

    propertyCases(() => store)
  })

  describe('A second record with the same natural key', () => {
    const z = newZone()
    const cases: { name: string; insert: () => Promise<void>; message: string }[] = [
      { name: 'zone id', insert: () => store.zones.insert(zone({ id: z, subdomain: `${z}-b` })), message: 'zone' },
      { name: 'subdomain', insert: () => store.zones.insert(zone({ id: `${z}-b`, subdomain: z })), message: 'zone' },
      { name: 'client id', insert: () => store.clients.insert(z, client({ name: 'x' })), message: 'client' },
      { name: 'user id', insert: () => store.users.insert(z, user({ userName: 'x' })), message: 'user' },
      {
        name: 'user name, ignoring case',
        insert: () => store.users.insert(z, user({ id: 'u9', userName: 'MARISSA' })),
        message: 'user',
      },
      { name: 'group id', insert: () => store.groups.insert(z, group({ displayName: 'x' })), message: 'group' },
      {
        name: 'group name, ignoring case',
        insert: () => store.groups.insert(z, group({ id: 'g9', displayName: 'Cloud.READ' })),
        message: 'group',
      },
      {
        name: 'origin key',
        insert: () => store.providers.insert(z, provider({ id: 'i9' })),
        message: 'identity provider',
      },
      {
        name: 'code',
        insert: () => store.codes.insert(z, code()),
        message: 'authorization code',
      },
      { name: 'token', insert: () => store.tokens.insert(z, token()), message: 'token' },
      { name: 'session', insert: () => store.sessions.insert(z, session()), message: 'session' },
    ]
    before(async () => {
      await store.zones.insert(zone({ id: z, subdomain: z }))
      await store.clients.insert(z, client())
      await store.users.insert(z, user())
      await store.groups.insert(z, group())
      await store.providers.insert(z, provider())
      await store.codes.insert(z, code())
      await store.tokens.insert(z, token())
      await store.sessions.insert(z, session())
    })
    for (const { name, insert, message } of cases) {
      it(`is rejected: ${name}`, async () => {
        await assert.rejects(insert(), (error: unknown) => {
          assert.ok(error instanceof AlreadyExists)
          assert.equal(error.message, `${message} already exists`)
          return true
        })
      })
    }

    it('is rejected on update', async () => {
      await store.users.insert(z, user({ id: 'u2', userName: 'other' }))
      await assert.rejects(store.users.update(z, user({ id: 'u2', userName: 'Marissa' })), AlreadyExists)
      assert.equal((await store.users.find(z, 'u2'))?.userName, 'other')
    })

    it('is accepted in another zone, and for users of another origin', async () => {
      const other = newZone()
      await store.users.insert(other, user())
      await store.users.insert(z, user({ id: 'u3', origin: 'ldap' }))
      assert.equal((await store.users.findByName(z, 'ldap', 'marissa'))?.id, 'u3')
    })
  })

  it('finds up to three users of an origin by e-mail address, ignoring case', async () => {
    const z = newZone()
    const insert = (id: string, email: string, origin = 'corp'): Promise<void> =>
      store.users.insert(z, user({ zoneId: z, id, userName: id, email, origin }))
    await insert('a', 'Pat@Example.org')
    await insert('b', 'other@example.org')
    await insert('c', 'pat@example.org', 'rival')
    const found = async (email: string): Promise<string[]> =>
      (await store.users.findByEmail(z, 'corp', email)).map(({ id }) => id)
    assert.deepEqual(await found('pat@EXAMPLE.org'), ['a'])
    assert.deepEqual(await found('pat@example.or_'), [])
    assert.deepEqual(await found('pat@example.org\0'), [])
    for (const id of ['d', 'e', 'f']) await insert(id, 'PAT@example.org')
    assert.equal((await found('pat@example.org')).length, 3)
  })

  it('finds verified users of an e-mail address first', async () => {
    const z = newZone()
    for (const id of ['a', 'b', 'c', 'd', 'e']) {
      await store.users.insert(z, user({ zoneId: z, id, userName: id, verified: id > 'c' }))
    }
    const found = await store.users.findByEmail(z, 'svc', user().email)
    assert.deepEqual(new Set(found.slice(0, 2).map(({ id }) => id)), new Set(['d', 'e']))
    assert.equal(found.length, 3)
  })

  describe('External ids', () => {
    const shadow = (z: string, given: Partial<User>): User => user({ zoneId: z, origin: 'corp', ...given })

    it('find the account of their origin by exact match, except accounts with a password', async () => {
      const z = newZone()
      const insert = (given: Partial<User>): Promise<void> =>
        store.users.insert(z, shadow(z, { userName: String(given.id), ...given }))
      await insert({ id: 'lower', externalId: 'straße' })
      await insert({ id: 'upper', externalId: 'Straße' })
      await insert({ id: 'long', externalId: 'strasse' })
      await insert({ id: 'rival', externalId: 'straße', origin: 'rival' })
      await insert({ id: 'local', externalId: 'of-a-directory', passwordHash: 'x' })
      await insert({ id: 'nameless', externalId: '' })
      const rows = [
        ['straße', 'lower'],
        ['Straße', 'upper'],
        ['strasse', 'long'],
        ['STRASSE', undefined],
        ['straße ', undefined],
        ['stra_e', undefined],
        ['of-a-directory', undefined],
        ['', undefined],
        ['straße\0', undefined],
      ] as const
      for (const [asked, want] of rows) {
        assert.equal((await store.users.findByExternalId(z, 'corp', asked))?.id, want, asked)
      }
      assert.equal(await store.users.findByExternalId('z1', 'corp', 'straße'), undefined)
    })

    it('are unique within their origin, also with concurrent inserts', async () => {
      const z = newZone()
      const made = await Promise.allSettled(
        ['a', 'b', 'c'].map(id => store.users.insert(z, shadow(z, { id, userName: id, externalId: 's' }))),
      )
      assert.equal(made.filter(({ status }) => status === 'fulfilled').length, 1)
      for (const each of made) assert.ok(each.status === 'fulfilled' || each.reason instanceof AlreadyExists)
      await store.users.insert(z, shadow(z, { id: 'd', userName: 'd' }))
      await assert.rejects(store.users.bind(z, shadow(z, { id: 'd', userName: 'd', externalId: 's' })), AlreadyExists)
      for (const id of ['x', 'y']) await store.users.insert(z, shadow(z, { ...fullUser, id, userName: id }))
    })

    it('are bound once, which ends earlier access', async () => {
      const z = newZone()
      const before = shadow(z, { id: 'u', userName: 'u', salt: 'kept' })
      await store.users.insert(z, before)
      const theirs = signedIn({ zoneId: z })
      await store.sessions.insert(z, { ...theirs, signIn: { ...theirs.signIn, userId: 'u' } })
      await store.tokens.insert(z, token({ zoneId: z, userId: 'u' }))
      await store.codes.insert(z, code({ zoneId: z, userId: 'u' }))
      const reported = {
        ...before,
        externalId: 's',
        passwordRevision: 'p2',
        passwordChangedAt: at(7),
        updatedAt: at(7),
      }
      assert.equal(await store.users.bind(z, reported), true)
      const bound = { ...reported, version: 1 } // counted by the database
      assert.deepEqual(await store.users.find(z, 'u'), bound)
      assert.equal(await store.sessions.find(z, theirs.idDigest), undefined)
      assert.equal(await store.tokens.find(z, token().idDigest), undefined)
      assert.equal((await store.codes.redeem(z, code().codeDigest, at(1))).outcome, 'unknown')
      assert.equal(await store.users.bind(z, { ...bound, externalId: 't' }), false)
      assert.equal((await store.users.find(z, 'u'))?.externalId, 's')
    })
  })

  describe('Names', () => {
    const names: { name: string; asked: string }[] = [
      { name: 'Marissa', asked: 'mARISSA' },
      { name: 'ÄÖÜ-Ñandú', asked: 'äöü-ñANDÚ' },
      { name: 'Дмитрий', asked: 'дМИТРИЙ' },
      { name: 'ΑΒΓ', asked: 'αβγ' },
    ]
    for (const { name, asked } of names) {
      it(`are compared ignoring case: ${name} and ${asked}`, async () => {
        const z = newZone()
        await store.users.insert(z, user({ zoneId: z, userName: name }))
        await store.groups.insert(z, group({ zoneId: z, displayName: name }))
        assert.equal((await store.users.findByName(z, 'svc', asked))?.userName, name)
        assert.equal((await store.groups.findByName(z, asked))?.displayName, name)
        assert.deepEqual(
          (await store.groups.findByNames(z, [asked])).map(({ displayName }) => displayName),
          [name],
        )
        await assert.rejects(store.users.insert(z, user({ id: 'u2', userName: asked })), AlreadyExists)
      })
    }
  })

  describe('Unusual text', () => {
    const texts = [
      `'; drop table users; --`,
      `" or 1=1`,
      '%_\\',
      ':zone_id $1 ? ?1 {}',
      '😀 e\u0301 \u202e \u0001 \ufffd',
      ' ',
      '',
    ]
    for (const text of texts) {
      it(`is stored and found: ${JSON.stringify(text)}`, async () => {
        const z = newZone()
        const want = user({ zoneId: z, userName: text, email: text, givenName: text, origin: text })
        await store.users.insert(z, want)
        assert.deepEqual(await store.users.findByName(z, text, text), want)
        await store.clients.insert(z, client({ zoneId: z, clientId: text, name: text }))
        assert.equal((await store.clients.find(z, text))?.name, text)
        assert.equal(await store.clients.find(z, `${text}x`), undefined)
      })
    }

    const impossible = ['a\0b', '\0', 'lone \ud800 surrogate']
    for (const text of impossible) {
      it(`finds no record: ${JSON.stringify(text)}`, async () => {
        assert.equal(await store.zones.find(text), undefined)
        assert.equal(await store.zones.findBySubdomain(text), undefined)
        assert.equal(await store.clients.find('z1', text), undefined)
        assert.equal(await store.clients.find(text, 'app'), undefined)
        assert.equal(await store.users.find('z1', text), undefined)
        assert.equal(await store.users.findByName('z1', 'svc', text), undefined)
        assert.equal(await store.groups.findByName('z1', text), undefined)
        assert.deepEqual(await store.groups.findByNames('z1', [text]), [])
        assert.deepEqual(await store.groups.namesOfUser('z1', text), [])
        assert.equal(await store.providers.findByOrigin('z1', text), undefined)
        assert.deepEqual(await store.providers.listActive(text), [])
        assert.deepEqual(await store.keys.list(text), [])
        assert.deepEqual(await store.codes.redeem('z1', text, at(0)), { outcome: 'unknown' })
        assert.equal(await store.tokens.find('z1', text), undefined)
        assert.equal(await store.tokens.use('z1', text, at(0)), false)
        assert.equal(await store.tokens.delete('z1', text), false)
        assert.equal(await store.tokens.isRevoked('z1', { grantId: text, tokenId: 'none' }), false)
        assert.equal(await store.sessions.find('z1', text), undefined)
        assert.deepEqual(await store.events.failures('z1', text, at(0)), [])
        assert.equal(await store.bootstrap.applied('z1', 'client', text), undefined)
      })

      it(`is rejected, not altered: ${JSON.stringify(text)}`, async () => {
        const z = newZone()
        await assert.rejects(store.users.insert(z, user({ givenName: text })), TypeError)
        assert.equal(await store.users.find(z, 'u1'), undefined)
      })
    }

    it('does not confuse zone and key when they contain the separator', async () => {
      await store.clients.insert('joined', client({ zoneId: 'joined', clientId: 'app' }))
      assert.notEqual(await store.clients.find('joined', 'app'), undefined)
      assert.equal(await store.clients.find('joined\0app', ''), undefined)
      assert.equal(await store.clients.find('', 'joined\0app'), undefined)
    })
  })

  describe('Zone isolation', () => {
    const mine = newZone()
    const theirs = newZone()
    before(async () => {
      await store.clients.insert(mine, client({ zoneId: mine, secrets: [{ hash: 'h', revision: 'r' }] }))
      await store.users.insert(mine, user({ zoneId: mine, passwordHash: 'h' }))
      await store.groups.insert(mine, group({ zoneId: mine }))
      await store.groups.addMember(mine, { groupId: 'g1', memberId: 'u1', memberType: 'USER', origin: 'svc' })
      await store.providers.insert(mine, provider({ zoneId: mine }))
      await store.keys.save(mine, key({ zoneId: mine, active: true }))
      await store.approvals.save(mine, [approval({ zoneId: mine })])
      await store.codes.insert(mine, code({ zoneId: mine }))
      await store.tokens.insert(mine, token({ ...fullToken, zoneId: mine, idDigest: 't1' }))
      await store.sessions.insert(mine, session({ zoneId: mine }))
      await store.events.recordFailure(mine, 'u1', at(5))
      await store.bootstrap.remember(mine, 'client', 'app', 'digest')
      const [applied] = await store.bootstrap.appliedInZone(mine)
      assert.deepEqual({ ...applied }, { kind: 'client', key: 'app', digest: 'digest' })
      assert.deepEqual(await store.bootstrap.appliedInZone(theirs), [])
      await store.tokens.revokeGrant(mine, 'revoked', at(100))
    })

    const reads: { name: string; read: () => Promise<unknown>; want: unknown }[] = [
      { name: 'a client', read: () => store.clients.find(theirs, 'app'), want: undefined },
      { name: 'a user’s record by id', read: () => store.users.find(theirs, 'u1'), want: undefined },
      {
        name: 'a user’s record by name',
        read: () => store.users.findByName(theirs, 'svc', 'marissa'),
        want: undefined,
      },
      { name: 'users by e-mail address', read: () => store.users.findByEmail(theirs, 'svc', user().email), want: [] },
      { name: 'a group', read: () => store.groups.findByName(theirs, 'cloud.read'), want: undefined },
      { name: 'groups', read: () => store.groups.findByNames(theirs, ['cloud.read']), want: [] },
      { name: 'memberships', read: () => store.groups.namesOfUser(theirs, 'u1'), want: [] },
      { name: 'a provider', read: () => store.providers.findByOrigin(theirs, 'ldap'), want: undefined },
      { name: 'providers', read: () => store.providers.listActive(theirs), want: [] },
      { name: 'keys', read: () => store.keys.list(theirs), want: [] },
      { name: 'approvals', read: () => store.approvals.list(theirs, 'u1', 'app', at(0)), want: [] },
      { name: 'a token', read: () => store.tokens.find(theirs, 't1'), want: undefined },
      {
        name: 'a revoked grant',
        read: () => store.tokens.isRevoked(theirs, { grantId: 'revoked', tokenId: 'none' }),
        want: false,
      },
      { name: 'a session', read: () => store.sessions.find(theirs, 's1'), want: undefined },
      { name: 'failures', read: () => store.events.failures(theirs, 'u1', at(0)), want: [] },
      {
        name: 'definitions applied by the bootstrap',
        read: () => store.bootstrap.applied(theirs, 'client', 'app'),
        want: undefined,
      },
      { name: 'a code', read: () => store.codes.redeem(theirs, 'c1', at(0)), want: { outcome: 'unknown' } },
      { name: 'using a token', read: () => store.tokens.use(theirs, 't1', at(0)), want: false },
      { name: 'deleting a token', read: () => store.tokens.delete(theirs, 't1'), want: false },
    ]
    for (const { name, read, want } of reads) {
      it(`returns nothing from another zone: ${name}`, async () => assert.deepEqual(await read(), want))
    }

    it('changes nothing in another zone', async () => {
      const everything = async (): Promise<unknown> => [
        await store.clients.find(mine, 'app'),
        await store.users.find(mine, 'u1'),
        await store.groups.findByName(mine, 'cloud.read'),
        await store.groups.namesOfUser(mine, 'u1'),
        await store.providers.listActive(mine),
        await store.keys.list(mine),
        await store.approvals.list(mine, 'u1', 'app', at(0)),
        await store.tokens.find(mine, 't1'),
        await store.sessions.find(mine, 's1'),
        await store.events.failures(mine, 'u1', at(0)),
        await store.bootstrap.applied(mine, 'client', 'app'),
      ]
      const had = await everything()
      await store.clients.update(theirs, client({ zoneId: mine, name: 'x' }))
      await store.clients.renewSecretHash(theirs, 'app', { hash: 'x', revision: 'r' })
      await store.users.update(theirs, user({ zoneId: mine, email: 'x' }))
      await store.users.renewPasswordHash(theirs, 'u1', 'p1', 'x')
      await store.users.recordLogon(theirs, 'u1', at(50))
      await store.groups.update(theirs, group({ zoneId: mine, description: 'x' }))
      const member = { memberId: 'u7', memberType: 'USER', origin: 'svc' } as const
      await assert.rejects(store.groups.addMember(theirs, { ...member, groupId: 'g1' }))
      await assert.rejects(store.groups.addExternal(theirs, { groupId: 'g1', externalGroup: 'x', origin: 'ldap' }))
      await store.providers.update(theirs, provider({ zoneId: mine, name: 'x' }))
      await store.keys.save(theirs, key({ zoneId: mine, active: true }))
      await store.approvals.save(theirs, [approval({ zoneId: mine, status: 'DENIED' })])
      await store.tokens.deleteRefreshTokens(theirs, { clientId: 'app', userId: 'u1', kept: 'another', others: 0 })
      await store.tokens.revokeGrant(theirs, 'grant', at(100))
      await store.sessions.update(theirs, 's1', { savedRequest: 'x', lastSeenAt: at(99) })
      await store.sessions.replace(theirs, 's1', signedIn({ zoneId: mine, idDigest: 's9' }))
      await store.sessions.delete(theirs, 's1')
      await store.events.clearFailures(theirs, 'u1')
      await store.bootstrap.remember(theirs, 'client', 'app', 'x')
      assert.deepEqual(await everything(), had)
      assert.equal(await store.sessions.find(mine, 's9'), undefined)
      assert.equal(await store.tokens.isRevoked(mine, { grantId: 'grant', tokenId: 'none' }), false)
      assert.equal((await store.codes.redeem(mine, 'c1', at(0))).outcome, 'redeemed')
    })
  })

  describe('Zones', () => {
    it('are found by their current subdomain, including inactive zones', async () => {
      const [a, b] = [newZone(), newZone()]
      await store.zones.insert(zone({ id: a, subdomain: a, active: false }))
      await store.zones.insert(zone({ id: b, subdomain: b }))
      assert.equal((await store.zones.findBySubdomain(a))?.id, a)
      await store.zones.update(zone({ id: a, subdomain: `${a}-new` }))
      assert.equal(await store.zones.findBySubdomain(a), undefined)
      assert.equal((await store.zones.findBySubdomain(`${a}-new`))?.id, a)
      await store.zones.update(zone({ id: b, subdomain: a }))
      assert.equal((await store.zones.findBySubdomain(a))?.id, b)
    })

    it('include the default zone, with an empty subdomain', async () => {
      await store.zones.insert(zone({ id: 'default', subdomain: '' }))
      assert.equal((await store.zones.findBySubdomain(''))?.id, 'default')
    })
  })

  describe('Changing the keys of a client', () => {
    const one = { jwks: '{"keys":[{"kid":"one"}]}' }
    const published = { jwksUri: 'https://a.example/keys' }

    it('replaces the stored keys only', async () => {
      const z = newZone()
      await store.clients.insert(z, client({ ...fullClient, zoneId: z, ...one }))
      const { jwks: _, jwksUri: __, ...others } = client({ ...fullClient, zoneId: z })
      await store.clients.find(z, 'app')
      const before = { ...one, jwksUri: 'https://example.org/jwks' }
      assert.deepEqual(await store.clients.changeKeys(z, 'app', () => published), { before, after: published })
      assert.deepEqual(await store.clients.find(z, 'app'), { ...others, ...published })
      assert.deepEqual(await store.clients.changeKeys(z, 'app', () => ({})), { before: published, after: {} })
      assert.deepEqual(await store.clients.find(z, 'app'), others)
    })

    it('keeps the keys if the change fails, and does nothing for unknown clients', async () => {
      const z = newZone()
      await store.clients.insert(z, client({ zoneId: z, ...one }))
      const fails = store.clients.changeKeys(z, 'app', () => {
        throw new RangeError('too many')
      })
      await assert.rejects(fails, RangeError)
      for (const [zoneId, clientId] of [
        [z, 'nobody'],
        [newZone(), 'app'],
        [z, 'app\0'],
      ] as const) {
        const change = (): never => assert.fail('changed an unknown client')
        assert.equal(await store.clients.changeKeys(zoneId, clientId, change), undefined)
      }
      assert.deepEqual(await store.clients.find(z, 'app'), client({ zoneId: z, ...one }))
    })

    it('keeps every change of concurrent requests', async () => {
      const z = newZone()
      await store.clients.insert(z, client({ zoneId: z }))
      const add = (kid: number) => store.clients.changeKeys(z, 'app', ({ jwks = '' }) => ({ jwks: `${jwks}${kid} ` }))
      await Promise.all(Array.from({ length: 20 }, (_, kid) => add(kid)))
      const kept = (await store.clients.find(z, 'app'))?.jwks?.trim().split(' ') ?? []
      assert.deepEqual(
        kept.map(Number).toSorted((a, b) => a - b),
        Array.from({ length: 20 }, (_, kid) => kid),
      )
    })
  })

  describe('Targeted updates', () => {
    it('renew the hash of a secret only with the same revision', async () => {
      const z = newZone()
      const secrets = [
        { hash: 'old', revision: 'r1' },
        { hash: 'kept', revision: 'r2' },
      ]
      await store.clients.insert(z, client({ zoneId: z, secrets }))
      await store.clients.find(z, 'app')
      await store.clients.renewSecretHash(z, 'app', { hash: 'new', revision: 'r1' })
      await store.clients.renewSecretHash(z, 'app', { hash: 'late', revision: 'gone' })
      await store.clients.renewSecretHash(z, 'nobody', { hash: 'late', revision: 'r1' })
      assert.deepEqual((await store.clients.find(z, 'app'))?.secrets, [
        { hash: 'new', revision: 'r1' },
        { hash: 'kept', revision: 'r2' },
      ])
    })

    it('write the profile of an account without the external id, which an administrator may have changed', async () => {
      const z = newZone()
      const read = user({ zoneId: z, externalId: 'former', externalIdFormat: 'persistent' })
      await store.users.insert(z, read)
      const { externalIdFormat: _, ...relinked } = read
      assert.ok(await store.users.replace(z, read, { ...relinked, externalId: 'present' }))
      await store.users.updateProfile(z, { ...read, userName: 'Anna' })
      const { userName, externalId, externalIdFormat } = (await store.users.find(z, read.id)) ?? {}
      assert.deepEqual([userName, externalId, externalIdFormat], ['Anna', 'present', undefined])
      await store.users.updateProfile(z, { ...relinked, externalId: 'present', externalIdFormat: 'other' })
      assert.equal((await store.users.find(z, read.id))?.externalIdFormat, 'other')
    })

    it('write the profile without reverting concurrent changes', async () => {
      const z = newZone()
      await store.users.insert(z, user({ zoneId: z, salt: 'old' }))
      const read = user({ zoneId: z, salt: 'old' })
      await store.users.setSalt(z, 'u1', 'new')
      await store.users.updateProfile(z, { ...read, userName: 'Anna', email: 'a@b.c', verified: true })
      const found = await store.users.findByName(z, read.origin, 'anna')
      assert.deepEqual(found, { ...read, userName: 'Anna', email: 'a@b.c', verified: true, version: 1, salt: 'new' })
    })

    it('set a password once, clear failures, and clear the required change only if requested', async () => {
      const z = newZone()
      const change = { passwordHash: 'new', passwordRevision: 'p2', passwordChangedAt: at(7), meetsDemand: true }
      const written = { passwordHash: 'new', passwordRevision: 'p2', passwordChangedAt: at(7), updatedAt: at(7) }
      for (const meetsDemand of [true, false]) {
        const id = `u-${meetsDemand}`
        const before = user({
          zoneId: z,
          id,
          userName: id,
          passwordHash: 'old',
          passwordChangeRequired: true,
          salt: 's',
        })
        await store.users.insert(z, before)
        await store.events.recordFailure(z, id, at(1))
        assert.equal(await store.users.setPassword(z, id, 'another', { ...change, meetsDemand }), false)
        assert.deepEqual(await store.users.find(z, id), before)
        assert.equal((await store.events.failures(z, id, at(0))).length, 1)
        assert.equal(await store.users.setPassword(newZone(), id, 'p1', { ...change, meetsDemand }), false)
        const outcomes = await Promise.all(
          ['new', 'late'].map(passwordHash =>
            store.users.setPassword(z, id, 'p1', { ...change, meetsDemand, passwordHash }),
          ),
        )
        assert.deepEqual(new Set(outcomes), new Set([false, true]))
        const passwordHash = outcomes[0] ? 'new' : 'late'
        assert.deepEqual(await store.users.find(z, id), {
          ...before,
          ...written,
          passwordHash,
          passwordChangeRequired: !meetsDemand,
        })
        assert.deepEqual(await store.events.failures(z, id, at(0)), [])
      }
      assert.equal(await store.users.setPassword(z, 'nobody', 'p1', change), false)
    })

    it('do not renew the hash of a password that has changed', async () => {
      const z = newZone()
      await store.users.insert(z, user({ zoneId: z, passwordHash: 'old' }))
      await store.users.renewPasswordHash(z, 'u1', 'another', 'late')
      assert.equal((await store.users.find(z, 'u1'))?.passwordHash, 'old')
      await store.users.renewPasswordHash(z, 'u1', 'p1', 'new')
      assert.deepEqual(await store.users.find(z, 'u1'), user({ zoneId: z, passwordHash: 'new' }))
    })
  })

  describe('Sign-ins', () => {
    it('move the last logon to the previous one and clear failures', async () => {
      const z = newZone()
      await store.users.insert(z, user({ zoneId: z }))
      await store.events.recordFailure(z, 'u1', at(1))
      await store.events.recordFailure(z, 'u2', at(1))
      for (let second = 0; second < 70; second += 1) await store.events.recordNothing(at(second))
      await store.users.recordLogon(z, 'u1', at(2))
      assert.deepEqual(await store.users.find(z, 'u1'), user({ zoneId: z, lastLogonAt: at(2) }))
      await store.users.recordLogon(z, 'u1', at(3))
      assert.deepEqual(await store.users.find(z, 'u1'), user({ zoneId: z, lastLogonAt: at(3), previousLogonAt: at(2) }))
      assert.deepEqual(await store.events.failures(z, 'u1', at(0)), [])
      assert.deepEqual(await store.events.failures(z, 'u2', at(0)), [at(1)])
    })

    it('record every failure, also simultaneous ones, and list those after a time in order', async () => {
      const z = newZone()
      for (const seconds of [3, 1, 2, 2]) await store.events.recordFailure(z, 'u1', at(seconds))
      assert.deepEqual(await store.events.failures(z, 'u1', at(1)), [at(2), at(2), at(3)])
      const id = await store.events.recordFailure(z, 'u1', at(2))
      await store.events.forgetFailure(newZone(), id)
      assert.equal((await store.events.failures(z, 'u1', at(1))).length, 4, 'of another zone')
      await store.events.forgetFailure(z, id)
      assert.deepEqual(await store.events.failures(z, 'u1', at(1)), [at(2), at(2), at(3)])
      await store.events.clearFailures(z, 'u1')
      assert.deepEqual(await store.events.failures(z, 'u1', at(0)), [])
    })
  })

  describe('Groups of a user', () => {
    it('include nested groups, also with cycles', async () => {
      const z = newZone()
      for (const id of ['a', 'b', 'c', 'd', 'away'])
        await store.groups.insert(z, group({ zoneId: z, id, displayName: id }))
      const put = (memberId: string, memberType: 'USER' | 'GROUP', groupId: string): Promise<void> =>
        store.groups.addMember(z, { groupId, memberId, memberType, origin: 'svc' })
      await put('u1', 'USER', 'a')
      await put('u1', 'USER', 'd')
      await put('a', 'GROUP', 'b')
      await put('b', 'GROUP', 'c')
      await put('c', 'GROUP', 'a')
      await put('u2', 'USER', 'away')
      await put('u1', 'USER', 'a') // once more: nothing happens
      assert.deepEqual(await store.groups.namesOfUser(z, 'u1'), ['a', 'b', 'c', 'd'])
      assert.deepEqual(await store.groups.namesOfUser(z, 'a'), [], 'a group is no user')
      assert.deepEqual(await store.groups.namesOfUser(z, 'nobody'), [])
    })

    it('are found by many names, each once, skipping unknown ones', async () => {
      const z = newZone()
      const names = Array.from({ length: 70 }, (_, number) => `scope.${String(number).padStart(2, '0')}`)
      await Promise.all(names.map(name => store.groups.insert(z, group({ zoneId: z, id: name, displayName: name }))))
      const found = await store.groups.findByNames(z, [...names, 'Scope.00', 'unknown'])
      assert.deepEqual(
        found.map(({ displayName }) => displayName),
        names,
      )
      assert.deepEqual(await store.groups.findByNames(z, []), [])
    })

    it('keep a repeated mapping once', async () => {
      const z = newZone()
      await store.groups.insert(z, group({ zoneId: z }))
      const mapping = { groupId: 'g1', externalGroup: 'cn=readers', origin: 'ldap' }
      await store.groups.addExternal(z, mapping)
      await store.groups.addExternal(z, mapping)
      const mapped = await store.groups.findMapped(z, 'ldap', ['cn=readers'])
      assert.deepEqual(
        mapped.map(({ id }) => id),
        ['g1'],
      )
    })
  })

  describe('Identity providers', () => {
    it('are listed by origin key, active ones only, and updated after each change', async () => {
      const z = newZone()
      const listed = async (): Promise<string[]> =>
        (await store.providers.listActive(z)).map(({ originKey }) => originKey)
      assert.deepEqual(await listed(), [])
      for (const originKey of ['saml', 'Zeta', 'ldap']) {
        await store.providers.insert(z, provider({ zoneId: z, id: originKey, originKey }))
      }
      assert.deepEqual(await listed(), ['Zeta', 'ldap', 'saml'])
      await store.providers.update(z, provider({ zoneId: z, id: 'ldap', originKey: 'ldap', active: false }))
      assert.deepEqual(await listed(), ['Zeta', 'saml'])
      assert.equal((await store.providers.findByOrigin(z, 'ldap'))?.active, false)
      const known = (await store.providers.listKnown(z)).map(({ originKey, active }) => [originKey, active])
      assert.deepEqual(known, [
        ['Zeta', true],
        ['ldap', false],
        ['saml', true],
      ])
    })
  })

  describe('Signing keys', () => {
    it('have at most one active key, and are listed oldest first', async () => {
      const z = newZone()
      const listed = async (): Promise<unknown> =>
        (await store.keys.list(z)).map(({ keyId, active }) => `${keyId}${active ? '*' : ''}`)
      await store.keys.save(z, key({ zoneId: z, keyId: 'b', active: true, createdAt: at(2) }))
      await store.keys.save(z, key({ zoneId: z, keyId: 'a', active: true, createdAt: at(1) }))
      assert.deepEqual(await listed(), ['a*', 'b'])
      await store.keys.save(z, key({ zoneId: z, keyId: 'b', active: true, createdAt: at(2) }))
      assert.deepEqual(await listed(), ['a', 'b*'])
      await store.keys.save(z, key({ zoneId: z, keyId: 'b', active: false, createdAt: at(2) }))
      assert.deepEqual(await listed(), ['a', 'b'])
      assert.equal((await store.keys.saveFirst(z, key({ zoneId: z, keyId: 'c', createdAt: at(3) }))).length, 3)
      assert.deepEqual(await listed(), ['a', 'b', 'c*'])
      await assert.rejects(async () => {
        await store.keys.save(z, key({ zoneId: z, keyId: 'c', createdAt: at(3) }))
        await store.keys.saveFirst(z, key({ zoneId: z, keyId: 'a' }))
      }, AlreadyExists)
    })

    it('have one active key after concurrent saves', async () => {
      const z = newZone()
      const ids = Array.from({ length: 8 }, (_, number) => `k${number}`)
      await Promise.all(ids.map(keyId => store.keys.save(z, key({ zoneId: z, keyId, active: true }))))
      assert.equal((await store.keys.list(z)).filter(({ active }) => active).length, 1)
    })
  })

  describe('Approvals', () => {
    it('replace earlier ones, and are omitted once expired', async () => {
      const z = newZone()
      await store.approvals.save(z, [
        approval({ zoneId: z }),
        approval({ zoneId: z, scope: 'roles', expiresAt: at(10) }),
      ])
      await store.approvals.save(z, [approval({ zoneId: z, status: 'DENIED', expiresAt: at(200) })])
      const listed = await store.approvals.list(z, 'u1', 'app', at(10))
      assert.deepEqual(listed, [approval({ zoneId: z, status: 'DENIED', expiresAt: at(200) })])
    })

    it('are stored together or not at all', async () => {
      const z = newZone()
      await assert.rejects(store.approvals.save(z, [approval({ zoneId: z }), approval({ zoneId: z, scope: '\0' })]))
      assert.deepEqual(await store.approvals.list(z, 'u1', 'app', at(0)), [])
    })
  })

  const lent = {
    store: () => store,
    open,
    newZone,
    elsewhere: (task: string, argument: string) => inOtherProcess(database.url, task, argument),
  }
  clientCases(lent)
  registrationCases(lent)
  deviceCases(lent)
  tokenCases(lent)
  joinedUserCases(lent)
  onceCases(lent)
  filterCases({ ...lent, url: () => database.url, kind, inTime })
  endedSessionCases(lent.store)
  ownSessionCases(lent)
  factorCases(lent)
  accountEventCases(lent)
  auditCases(lent)
  providerCases(lent)
  userListCases(lent)
  userChangeCases(lent)
  userPageCases(lent)
  groupCases(lent)
  zoneCases({ ...lent, url: () => database.url, inTime })

  describe('Sessions', () => {
    it('update only the given members, and clear those set to undefined', async () => {
      const z = newZone()
      const begun = session({ zoneId: z, savedRequest: '/a', pendingApproval: 'b' })
      await store.sessions.insert(z, begun)
      await store.sessions.update(z, 's1', {})
      assert.deepEqual(await store.sessions.find(z, 's1'), begun)
      await store.sessions.update(z, 's1', { lastSeenAt: at(9) })
      assert.deepEqual(await store.sessions.find(z, 's1'), { ...begun, lastSeenAt: at(9) })
      await store.sessions.update(z, 's1', { savedRequest: undefined, pendingApproval: 'c' })
      assert.deepEqual(
        await store.sessions.find(z, 's1'),
        session({ zoneId: z, pendingApproval: 'c', lastSeenAt: at(9) }),
      )
      assert.equal(await store.sessions.takePendingApproval(z, 's1', 'b'), false)
      const takes = ['c', 'c'].map(pending => store.sessions.takePendingApproval(z, 's1', pending))
      assert.equal((await Promise.all(takes)).filter(taken => taken).length, 1)
      await store.sessions.update(z, 'gone', { lastSeenAt: at(9) })
      await store.sessions.delete(z, 's1')
      assert.equal(await store.sessions.find(z, 's1'), undefined)
    })

    it('are replaced atomically', async () => {
      const z = newZone()
      await store.sessions.insert(z, session({ zoneId: z }))
      await store.sessions.insert(z, session({ zoneId: z, idDigest: 'taken' }))
      await assert.rejects(store.sessions.replace(z, 's1', signedIn({ zoneId: z, idDigest: 'taken' })), AlreadyExists)
      assert.notEqual(await store.sessions.find(z, 's1'), undefined)
      await store.sessions.replace(z, 's1', signedIn({ zoneId: z, idDigest: 'new' }))
      assert.equal(await store.sessions.find(z, 's1'), undefined)
      assert.deepEqual(await store.sessions.find(z, 'new'), signedIn({ zoneId: z, idDigest: 'new' }))
      await store.sessions.replace(z, undefined, signedIn({ zoneId: z, idDigest: 'first' }))
      assert.notEqual(await store.sessions.find(z, 'first'), undefined)
    })
  })

  describe('The bootstrap', () => {
    it('stores the last definition of each record', async () => {
      const z = newZone()
      await store.bootstrap.remember(z, 'client', 'app', 'one')
      await store.bootstrap.remember(z, 'client', 'app', 'two')
      await store.bootstrap.remember(z, 'user', 'app', 'three')
      assert.equal(await store.bootstrap.applied(z, 'client', 'app'), 'two')
      assert.equal(await store.bootstrap.applied(z, 'user', 'app'), 'three')
      assert.equal(await store.bootstrap.applied(z, 'group', 'app'), undefined)
    })
  })

  describe('Batched writes', () => {
    it('fail individually', async () => {
      const z = newZone()
      await store.tokens.insert(z, token({ zoneId: z, idDigest: 'taken' }))
      await store.sessions.insert(z, session({ zoneId: z, idDigest: 'taken' }))
      const results = await Promise.allSettled([
        store.tokens.insert(z, token({ zoneId: z, idDigest: 'a' })),
        store.tokens.insert(z, token({ zoneId: z, idDigest: 'taken' })),
        store.approvals.save(z, [approval({ zoneId: z }), approval({ zoneId: z, scope: '\0' })]),
        store.sessions.replace(z, undefined, signedIn({ zoneId: z, idDigest: 'taken' })),
        store.sessions.replace(z, undefined, signedIn({ zoneId: z, idDigest: 'b' })),
        store.groups.addMember(z, { groupId: 'none', memberId: 'u', memberType: 'USER', origin: 'svc' }),
        store.events.recordFailure(z, 'u1', at(1)),
      ])
      assert.deepEqual(
        results.map(({ status }) => status),
        ['fulfilled', 'rejected', 'rejected', 'rejected', 'fulfilled', 'rejected', 'fulfilled'],
      )
      assert.notEqual(await store.tokens.find(z, 'a'), undefined)
      assert.deepEqual(await store.approvals.list(z, 'u1', 'app', at(0)), [])
      assert.notEqual(await store.sessions.find(z, 'b'), undefined)
      assert.equal((await store.sessions.find(z, 'taken'))?.signIn, undefined)
      assert.deepEqual(await store.events.failures(z, 'u1', at(0)), [at(1)])
    })

    it('are visible to later reads', async () => {
      const z = newZone()
      const digests = Array.from({ length: 500 }, (_, number) => `t${number}`)
      const found = await Promise.all(
        digests.map(async idDigest => {
          await store.tokens.insert(z, token({ zoneId: z, idDigest }))
          return store.tokens.find(z, idDigest)
        }),
      )
      assert.deepEqual(
        found.map(row => row?.idDigest),
        digests,
      )
    })
  })

  describe('Concurrency', () => {
    it('processes that initialize a zone agree on one key', async () => {
      const lists = await Promise.all([
        ...['a', 'b', 'c'].map(async keyId => {
          const keys = await store.keys.saveFirst('z1', key({ keyId, active: true }))
          return keys.map(({ keyId }) => keyId)
        }),
        inOtherProcess(database.url, 'save-first', 'd'),
        inOtherProcess(database.url, 'save-first', 'e'),
      ])
      assert.equal(new Set(lists.map(keys => JSON.stringify(keys))).size, 1)
      assert.equal((await store.keys.list('z1')).length, 1)
    })

    it('replacing a session concurrently leaves one', async () => {
      const z = newZone()
      await store.sessions.insert(z, session({ zoneId: z }))
      const next = signedIn({ zoneId: z, idDigest: 'next' })
      const results = await Promise.allSettled([1, 2, 3].map(() => store.sessions.replace(z, 's1', next)))
      assert.equal(results.filter(({ status }) => status === 'fulfilled').length, 1)
      assert.equal(await store.sessions.find(z, 's1'), undefined)
    })

    it('processes that write at the same time lose no record', async () => {
      await Promise.all(['p', 'q'].map(name => inOtherProcess(database.url, 'insert-tokens', name)))
      for (const digest of ['p-0-0', 'p-9-19', 'q-0-0', 'q-9-19']) {
        assert.notEqual(await store.tokens.find('z1', digest), undefined)
      }
    })

    it('an empty database is migrated by one process', async () => {
      const fresh = await emptyDatabase(kind)
      const stores = await Promise.all(Array.from({ length: 4 }, () => openStore(fresh.url, { clock: systemClock })))
      await stores[0]?.zones.insert(zone())
      assert.deepEqual(await stores[3]?.zones.find('z1'), zone())
      for (const one of stores) await one.close()
      await fresh.drop()
    })
  })

  describe('Cached records', () => {
    let other: Store
    before(async () => {
      other = await open()
    })
    after(() => other.close())

    it('are the same object until changed, then reloaded at once', async () => {
      const z = newZone()
      await store.clients.insert(z, client({ zoneId: z }))
      // While a busy machine keeps the news of changes waiting, nothing is answered from memory.
      await inTime(true, async () => {
        const first = await store.clients.find(z, 'app')
        return (await store.clients.find(z, 'app')) === first
      })
      await store.clients.update(z, client({ zoneId: z, name: 'new' }))
      assert.equal((await store.clients.find(z, 'app'))?.name, 'new')
    })

    it('are never older than a completed write, even with loads in progress', async () => {
      const z = newZone()
      await store.clients.insert(z, client({ zoneId: z }))
      for (let round = 0; round < 30; round += 1) {
        const name = `round ${round}`
        const loads = Array.from({ length: 5 }, () => store.clients.find(z, 'app'))
        await store.clients.update(z, client({ zoneId: z, name }))
        assert.equal((await store.clients.find(z, 'app'))?.name, name)
        await Promise.all(loads)
        assert.equal((await store.clients.find(z, 'app'))?.name, name)
      }
    })

    const z = newZone()
    const cases: {
      name: string
      prepare: () => Promise<void>
      change: () => Promise<void>
      ask: () => Promise<unknown>
    }[] = [
      {
        name: 'a zone',
        prepare: () => store.zones.insert(zone({ id: z, subdomain: z, name: 'old' })),
        change: () => store.zones.update(zone({ id: z, subdomain: z, name: 'new' })),
        ask: async () => (await other.zones.findBySubdomain(z))?.name,
      },
      {
        name: 'a client',
        prepare: () => store.clients.insert(z, client({ zoneId: z, name: 'old' })),
        change: () => store.clients.update(z, client({ zoneId: z, name: 'new' })),
        ask: async () => (await other.clients.find(z, 'app'))?.name,
      },
      {
        name: 'a client with a long id',
        prepare: () => store.clients.insert(z, client({ zoneId: z, clientId: 'x'.repeat(2000), name: 'old' })),
        change: () => store.clients.update(z, client({ zoneId: z, clientId: 'x'.repeat(2000), name: 'new' })),
        ask: async () => (await other.clients.find(z, 'x'.repeat(2000)))?.name,
      },
      {
        name: 'the providers of a zone',
        prepare: () => store.providers.insert(z, provider({ zoneId: z, name: 'old' })),
        change: () => store.providers.update(z, provider({ zoneId: z, name: 'new' })),
        ask: async () => (await other.providers.listActive(z))[0]?.name,
      },
      {
        name: 'the keys of a zone',
        prepare: () => store.keys.save(z, key({ zoneId: z, publicKey: 'old' })),
        change: () => store.keys.save(z, key({ zoneId: z, publicKey: 'new' })),
        ask: async () => (await other.keys.list(z))[0]?.publicKey,
      },
    ]
    for (const { name, prepare, change, ask } of cases) {
      it(`are evicted within a second when another process changes ${name}`, async () => {
        await prepare()
        await inTime('old', ask)
        await change()
        await inTime('new', ask)
      })
    }

    it('are evicted within a second when another program changes a client', async () => {
      await store.clients.insert('z1', client({ clientId: 'app', name: 'old' }))
      assert.equal((await store.clients.find('z1', 'app'))?.name, 'old')
      await inOtherProcess(database.url, 'rename-client', 'new')
      await inTime('new', async () => (await store.clients.find('z1', 'app'))?.name)
    })
  })

  describe('Purging', () => {
    const hours = (count: number): Date => at(count * 3600)
    let fresh: TestDatabase
    let purged: Store
    before(async () => {
      fresh = await freshDatabase(kind)
      purged = await openStore(fresh.url, { clock: { now: () => at(0) } })
    })
    after(async () => {
      await purged.close()
      await fresh.drop()
    })

    it('deletes only expired records', async () => {
      for (const expiresAt of [hours(1), hours(48)]) {
        const id = `${expiresAt.getTime()}`
        await purged.tokens.insert('z1', token({ idDigest: id, expiresAt }))
        await purged.sessions.insert('z1', session({ idDigest: id, expiresAt }))
        await purged.tokens.revokeGrant('z1', id, expiresAt)
        await purged.approvals.save('z1', [approval({ scope: id, expiresAt })])
      }
      await purged.events.recordFailure('z1', 'u1', hours(1))
      await purged.events.recordFailure('z1', 'u1', hours(2))
      assert.equal(await purged.purge(hours(25)), 2, 'token and session; expired approvals are kept for a month')
      assert.equal(await purged.tokens.isRevoked('z1', { grantId: `${hours(1).getTime()}`, tokenId: 'none' }), true)
      assert.equal(await purged.purge(hours(26)), 1, 'a revocation, a day later')
      assert.equal(await purged.purge(hours(26)), 0)
      assert.equal(await purged.tokens.find('z1', `${hours(1).getTime()}`), undefined)
      assert.notEqual(await purged.tokens.find('z1', `${hours(48).getTime()}`), undefined)
      assert.notEqual(await purged.sessions.find('z1', `${hours(48).getTime()}`), undefined)
      assert.equal(await purged.tokens.isRevoked('z1', { grantId: `${hours(48).getTime()}`, tokenId: 'none' }), true)
      assert.equal(await purged.tokens.isRevoked('z1', { grantId: `${hours(1).getTime()}`, tokenId: 'none' }), false)
      assert.equal((await purged.approvals.list('z1', 'u1', 'app', at(0))).length, 2)
      assert.deepEqual(await purged.events.failures('z1', 'u1', at(0)), [hours(1), hours(2)])
      await purged.purge(hours(31 * 24 + 2))
      assert.equal((await purged.approvals.list('z1', 'u1', 'app', at(0))).length, 1)
      assert.deepEqual(await purged.events.failures('z1', 'u1', at(0)), [hours(2)])
    })

    it('keeps used codes for a day and unused codes for ten minutes after they expire', async () => {
      for (const codeDigest of ['used', 'unused']) {
        await purged.codes.insert('z2', code({ codeDigest, expiresAt: at(0), keptUntil: hours(12) }))
      }
      await purged.codes.redeem('z2', 'used', at(0))
      assert.equal(await purged.purge(at(600)), 0)
      assert.equal(await purged.purge(at(601)), 1)
      assert.equal((await purged.codes.redeem('z2', 'unused', at(601))).outcome, 'unknown')
      assert.equal(await purged.purge(hours(36)), 0)
      assert.equal((await purged.codes.redeem('z2', 'used', hours(12))).outcome, 'used')
      assert.ok((await purged.purge(new Date(hours(36).getTime() + 1))) > 0)
      assert.equal((await purged.codes.redeem('z2', 'used', hours(12))).outcome, 'unknown')
    })

    it('deletes at most 200 rows per table at a time', async () => {
      await Promise.all(
        Array.from({ length: 500 }, (_, number) =>
          purged.tokens.insert('z3', token({ zoneId: 'z3', idDigest: `t${number}`, expiresAt: at(1) })),
        ),
      )
      const gone = [await purged.purge(at(2)), await purged.purge(at(2)), await purged.purge(at(2))]
      assert.deepEqual(gone, [200, 200, 100])
    })
  })

  describe('A store', () => {
    it('checks that it can write, keeping one row', async () => {
      const probed = await open()
      await Promise.all([at(1), at(2), at(3)].map(now => probed.probeWriting(now)))
      await probed.close()
      await assert.rejects(probed.probeWriting(at(4)), StoreUnavailable)
    })

    it('responds to a ping, and rejects everything once closed', async () => {
      const closed = await open()
      await closed.ping()
      const last = closed.tokens.insert('z1', token({ idDigest: 'last' }))
      await closed.close()
      await closed.close()
      await last
      assert.notEqual(await store.tokens.find('z1', 'last'), undefined)
      await assert.rejects(closed.ping(), StoreUnavailable)
      await assert.rejects(closed.tokens.insert('z1', token({ idDigest: 'later' })), StoreUnavailable)
      await assert.rejects(closed.approvals.save('z1', []), StoreUnavailable)
    })
  })
}
