// Test cases of every database for filters, orders and pages of users.
import assert from 'node:assert/strict'
import { before, describe, it } from 'node:test'
import { hasPrimaryEmail } from '../../src/model/users/user.ts'
import type { Profile, User } from '../../src/model/users/user.ts'
import { InvalidFilter, parseFilter } from '../../src/model/filters/filter.ts'
import type { ListQuery } from '../../src/store/store.ts'
import { at, fullUser, user } from './records.ts'
import type { Lent } from './token-cases.ts'

const query: ListQuery = {
  filter: parseFilter('id pr'),
  sortBy: 'created',
  descending: false,
  startIndex: 1,
  count: 100,
}

/** The cases of lists of users, inside the suite of a database. */
export function userListCases({ store, newZone }: Lent): void {
  describe('The list of users with UAA attribute names', () => {
    let mine = ''
    before(async () => {
      mine = newZone()
      const theirs = newZone()
      const accounts: readonly Partial<User>[] = [
        { id: 'u1', userName: 'Marissa', email: 'M@list.example', createdAt: at(4), version: 2 },
        {
          ...fullUser,
          id: 'u2',
          userName: 'élodie',
          email: 'e_%@list.example',
          givenName: 'L',
          familyName: 'F2',
          phoneNumber: '+1 2',
          createdAt: at(3),
          profile: {},
        },
        {
          id: 'u3',
          userName: 'u-ldap',
          origin: 'ldap',
          email: 'x@y',
          externalId: 'X1',
          createdAt: at(2),
          updatedAt: at(9),
        },
        { id: 'u4', userName: `o'"\\%_`, email: '', givenName: '', familyName: 'F1', createdAt: at(2), active: false },
      ]
      for (const each of accounts) await store().users.insert(mine, user({ zoneId: mine, ...each }))
      await store().users.insert(theirs, user({ zoneId: theirs, id: 'u1', createdAt: at(1) }))
    })

    const list = async (asked: Partial<ListQuery>): Promise<readonly string[]> => {
      const { records, totalResults } = await store().users.list(mine, { ...query, ...asked })
      if (asked.count === undefined) assert.equal(totalResults, records.length)
      return records.map(({ id }) => id)
    }

    it('reads only the primary e-mail address of profiles unless more is requested', async () => {
      const z = newZone()
      const value = 'a@list.example'
      const lists: readonly (readonly [id: string, emails: Profile['emails'], isPrimary: boolean])[] = [
        ['1', [{ value: 'b@list.example', primary: true }, { value }], false],
        ['2', [{ value: 'b@list.example' }, { value, primary: true }], true],
        [
          '3',
          [
            { value, primary: false },
            { value, primary: true },
          ],
          false,
        ],
        ['4', [{ value: 'A@list.example', primary: true }], false],
        ['5', [], false],
        ['6', undefined, false],
      ]
      for (const [id, emails, isPrimary] of lists) {
        const profile = { title: 'x'.repeat(1000), ...(emails && { emails }) }
        const each = user({ zoneId: z, id, userName: id, email: value, profile })
        assert.equal(hasPrimaryEmail(each), isPrimary, id)
        await store().users.insert(z, each)
      }
      await store().users.insert(z, user({ zoneId: z, id: '7', userName: '7', email: value }))
      const brief = { ...query, sortBy: 'id', profiles: 'primary email' } as const
      const { records, totalResults } = await store().users.list(z, brief)
      assert.equal(totalResults, 7)
      assert.deepEqual(
        records.map(each => [each.id, hasPrimaryEmail(each)]),
        [...lists.map(([id, , isPrimary]) => [id, isPrimary]), ['7', false]],
      )
      for (const { profile, ...read } of records) {
        assert.ok(JSON.stringify(profile ?? {}).length < 100)
        const { profile: _, ...stored } = (await store().users.find(z, read.id)) ?? {}
        assert.deepEqual(read, stored)
      }
    })

    it('returns the stored records of the zone, oldest first', async () => {
      const { records, totalResults } = await store().users.list(mine, query)
      assert.equal(totalResults, 4)
      assert.deepEqual(records, await Promise.all(['u3', 'u4', 'u2', 'u1'].map(id => store().users.find(mine, id))))
      assert.deepEqual(await store().users.list(newZone(), query), { records: [], totalResults: 0 })
    })

    const found: readonly { filter: string; want: readonly string[] }[] = [
      { filter: 'id pr', want: ['u3', 'u4', 'u2', 'u1'] },
      { filter: 'id eq "u2"', want: ['u2'] },
      { filter: 'userName eq "MARISSA"', want: ['u1'] },
      { filter: 'USERNAME sw "mAr"', want: ['u1'] },
      { filter: 'userName eq "E\\u0301LODIE"', want: ['u2'] },
      { filter: 'userName sw "É"', want: ['u2'] },
      { filter: 'userName co "%_"', want: ['u4'] },
      { filter: 'userName sw "_"', want: [] },
      { filter: 'userName eq "%"', want: [] },
      { filter: `userName sw "O'\\"\\\\"`, want: ['u4'] },
      { filter: 'userName gt "N"', want: ['u3', 'u4', 'u2'] },
      { filter: 'email eq "m@LIST.example"', want: ['u1'] },
      { filter: 'emails.value co "@list"', want: ['u2', 'u1'] },
      { filter: 'emails.value sw "e_%"', want: ['u2'] },
      { filter: 'phoneNumber eq "+1 2"', want: ['u2'] },
      { filter: 'phoneNumbers.value pr', want: ['u2'] },
      { filter: 'givenName eq "l"', want: ['u2'] },
      { filter: 'familyName pr', want: ['u4', 'u2'] },
      { filter: 'active eq false', want: ['u4', 'u2'] },
      { filter: 'verified eq true', want: ['u2'] },
      { filter: 'origin eq "LDAP"', want: ['u3'] },
      { filter: 'external_id eq "x1"', want: ['u3'] },
      { filter: 'external_id pr', want: ['u3', 'u2'] },
      { filter: `created ge "${at(3).toISOString()}"`, want: ['u2', 'u1'] },
      { filter: `meta.created lt "${at(3).toISOString()}"`, want: ['u3', 'u4'] },
      { filter: `lastModified gt "${at(0).toISOString()}"`, want: ['u3'] },
      { filter: `meta.lastModified le "${at(0).toISOString()}" and version gt 2`, want: ['u2'] },
      { filter: 'meta.version eq 2', want: ['u1'] },
      { filter: 'identity_zone_id pr', want: ['u3', 'u4', 'u2', 'u1'] },
      { filter: 'identity_zone_id eq "x"', want: [] },
      { filter: 'passwd_lastmodified pr', want: ['u3', 'u4', 'u2', 'u1'] },
      { filter: 'passwd_change_required eq true', want: ['u2'] },
      { filter: 'last_logon_success_time pr and previous_logon_success_time pr', want: ['u2'] },
      { filter: 'password pr', want: ['u3', 'u4', 'u2', 'u1'] },
      { filter: 'password eq "$argon2id$x"', want: [] },
      { filter: '(userName eq "marissa" or userName eq "u-ldap") and verified eq false', want: ['u3', 'u1'] },
    ]
    for (const { filter, want } of found) {
      it(`supports the filter ${filter.replaceAll(/[\d:.TZ-]{24}/g, 'date')}`, async () => {
        assert.deepEqual(await list({ filter: parseFilter(filter) }), want)
      })
    }

    const refused = [
      'externalId pr',
      'externalid eq "x1"',
      'emails eq "x@y"',
      'emails pr',
      'phoneNumbers eq "1"',
      'name.familyName eq "F1"',
      'name.givenName eq "L"',
      'zoneId pr',
      'zone_id pr',
      'displayName pr',
      'nickName pr',
      'profile pr',
      'groups eq "x"',
      'salt pr',
      'alias_id pr',
      'passwordLastModified pr',
      'password_hash pr',
      'password_revision pr',
      'lastLogonTime pr',
      'previousLogonTime pr',
      'legacy_verification_behavior eq true',
      'created eq "yesterday"',
      'active eq "false"',
      'constructor pr',
    ]
    for (const filter of refused) {
      it(`rejects the filter ${filter}`, () =>
        assert.rejects(() => list({ filter: parseFilter(filter) }), InvalidFilter))
    }

    const sorted: readonly { sortBy: string; want: readonly string[] }[] = [
      { sortBy: 'created', want: ['u3', 'u4', 'u2', 'u1'] },
      { sortBy: 'meta.created', want: ['u3', 'u4', 'u2', 'u1'] },
      { sortBy: 'id', want: ['u1', 'u2', 'u3', 'u4'] },
      { sortBy: 'userName', want: ['u1', 'u4', 'u3', 'u2'] },
      { sortBy: 'lastModified', want: ['u1', 'u2', 'u4', 'u3'] },
      { sortBy: 'version', want: ['u3', 'u4', 'u1', 'u2'] },
      { sortBy: 'origin', want: ['u3', 'u1', 'u2', 'u4'] },
      { sortBy: 'active', want: ['u2', 'u4', 'u1', 'u3'] },
      { sortBy: 'identity_zone_id', want: ['u1', 'u2', 'u3', 'u4'] },
      { sortBy: 'alias_id', want: ['u1', 'u2', 'u3', 'u4'] },
    ]
    for (const { sortBy, want } of sorted) {
      it(`is sorted by ${sortBy}, in pages and in both directions`, async () => {
        assert.deepEqual(await list({ sortBy }), want)
        assert.deepEqual(await list({ sortBy, descending: true }), want.toReversed())
        assert.deepEqual(await list({ sortBy, startIndex: 2, count: 2 }), want.slice(1, 3))
      })
    }

    for (const sortBy of [
      'nonsense',
      'userName;--',
      'salt',
      'password',
      'profile',
      'zone_id',
      'created desc',
      '__proto__',
    ]) {
      it(`rejects sorting by ${sortBy}`, () => assert.rejects(() => list({ sortBy }), InvalidFilter))
    }
  })
}
