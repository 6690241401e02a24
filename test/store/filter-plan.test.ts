import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { parseFilter } from '../../src/model/filters/filter.ts'
import { isQuick, isSeekable } from '../../src/store/listing/filter-plan.ts'
import { userAttributes } from '../../src/store/users/user-attributes.ts'

const { attributes } = userAttributes({ jsonText: column => column }).scim
const users = { attributes, key: 'id', indexed: new Set(['created_at', 'updated_at', 'user_name_lower']) }

const cases: readonly { filter: string; plan: 'quick' | 'by an index' | 'every row' }[] = [
  { filter: 'id eq "a"', plan: 'quick' },
  { filter: 'userName eq "a"', plan: 'quick' },
  { filter: 'userName sw "a"', plan: 'quick' },
  { filter: 'meta.created gt "2030-01-01T00:00:00Z"', plan: 'quick' },
  { filter: 'emails eq "a"', plan: 'quick' },
  { filter: 'emails[value eq "a" and type eq "work"]', plan: 'quick' },
  { filter: 'userName eq "a" and nickName co "b"', plan: 'quick' },
  { filter: 'userName eq "a" or emails eq "b"', plan: 'quick' },
  { filter: '(userName eq "a" or id eq "b") and active eq true', plan: 'quick' },
  // Every row would be read without a match.
  { filter: 'userName sw "a" and nickName co "b"', plan: 'by an index' },
  { filter: 'userName gt "0" and title eq "none"', plan: 'by an index' },
  { filter: 'userName gt "0" or id eq "a"', plan: 'by an index' },
  { filter: 'emails sw "a"', plan: 'by an index' },
  { filter: 'emails[value sw "a" and type eq "work"]', plan: 'by an index' },
  { filter: 'groups.display eq "a"', plan: 'by an index' },
  { filter: 'groups[display eq "a"]', plan: 'by an index' },
  { filter: 'userName eq "a" and groups.display eq "b"', plan: 'by an index' },
  { filter: 'userName eq "a" and not (emails pr)', plan: 'by an index' },
  { filter: 'userName eq "a" and emails.type eq "work"', plan: 'by an index' },
  { filter: 'userName co "a"', plan: 'every row' },
  { filter: 'userName ne "a"', plan: 'every row' },
  { filter: 'userName sw ""', plan: 'every row' },
  { filter: 'externalId eq null', plan: 'every row' },
  { filter: 'not (userName eq "a")', plan: 'every row' },
  { filter: 'userName eq "a" or nickName eq "b"', plan: 'every row' },
  { filter: 'emails pr', plan: 'every row' },
  { filter: 'emails[type eq "work"]', plan: 'every row' },
  { filter: 'nothing eq "a"', plan: 'every row' },
]

describe('Query plans of filters', () => {
  for (const { filter, plan } of cases) {
    it(`${filter}: ${plan}`, () => {
      const parsed = parseFilter(filter, 'scim')
      assert.equal(isSeekable(parsed, users), plan !== 'every row')
      assert.equal(isQuick(parsed, users), plan === 'quick')
    })
  }
})
