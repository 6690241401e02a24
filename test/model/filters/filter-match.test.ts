import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { matches } from '../../../src/model/filters/filter-match.ts'
import { parseFilter } from '../../../src/model/filters/filter.ts'

const ENTERPRISE = 'urn:ietf:params:scim:schemas:extension:enterprise:2.0:User'

const resource = {
  userName: 'Marissa',
  title: null,
  nickName: '',
  active: true,
  count: 2,
  name: { familyName: 'Bloggs' },
  emails: [
    { value: 'M@work.example', type: 'work', primary: true },
    { value: 'm@home.example', type: 'home' },
    { value: 'nobody@example' },
  ],
  phoneNumbers: [],
  tags: ['red', 'blue'],
  meta: { created: '2030-01-01T01:00:00+01:00' },
  [ENTERPRISE]: { department: 'Sales', manager: { value: 'u9' } },
}

const cases: readonly { filter: string; want: boolean }[] = [
  { filter: 'userName eq "mARISSA"', want: true },
  { filter: 'USERNAME sw "mar" and username ew "SSA" and userName co "aris"', want: true },
  { filter: 'userName ne "marissa"', want: false },
  { filter: 'userName ne "mary"', want: true },
  { filter: 'userName gt "marisa" and userName le "marissa"', want: true },
  { filter: 'userName eq 1', want: false },
  { filter: 'userName eq null', want: false },
  { filter: 'userName ne null', want: true },
  { filter: 'title pr', want: false },
  { filter: 'title eq null', want: true },
  { filter: 'title ne null', want: false },
  { filter: 'title ne "x"', want: true },
  { filter: 'not (title eq "x")', want: true },
  { filter: 'title lt "x" or title ge "x"', want: false },
  { filter: 'nickName pr', want: false },
  { filter: 'nickName eq null', want: true },
  { filter: 'nickName eq "" and nickName lt "a"', want: true },
  { filter: 'active eq true', want: true },
  { filter: 'active ne true', want: false },
  { filter: 'active gt false', want: false },
  { filter: 'active eq "true"', want: false },
  { filter: 'count ge 2 and count lt 3', want: true },
  { filter: 'count co 2', want: false },
  { filter: 'name.familyName eq "bloggs"', want: true },
  { filter: 'name pr', want: true },
  { filter: 'name.givenName pr', want: false },
  { filter: 'name.familyName.value pr', want: false },
  { filter: 'emails eq "m@WORK.example"', want: true },
  { filter: 'emails.value eq "m@work.example"', want: true },
  { filter: 'emails.type eq "other"', want: false },
  { filter: 'emails.type ne "work"', want: false },
  { filter: 'emails[type eq "work" and value co "home"]', want: false },
  { filter: 'emails[type eq "home" and value co "home"]', want: true },
  { filter: 'emails[type ne "work" and type ne "home"].value eq "nobody@example"', want: true },
  { filter: 'emails[type eq "work"].value ew "home.example"', want: false },
  { filter: 'emails[not (type pr)]', want: true },
  { filter: 'emails[primary eq true]', want: true },
  { filter: 'emails[primary eq true and type eq "home"]', want: false },
  { filter: 'phoneNumbers pr', want: false },
  { filter: 'phoneNumbers.value ne "1"', want: true },
  { filter: 'phoneNumbers[value pr]', want: false },
  { filter: 'tags eq "RED"', want: true },
  { filter: 'tags[value eq "blue"]', want: true },
  { filter: 'meta.created eq "2030-01-01T00:00:00Z"', want: true },
  { filter: 'meta.created gt "2029-12-31T23:59:59.999Z"', want: true },
  { filter: 'meta.created lt "2030-02-30T00:00:00Z"', want: true }, // no date, so a string like any other
  { filter: `${ENTERPRISE}:department eq "sales"`, want: true },
  { filter: `${ENTERPRISE.toUpperCase()}:MANAGER.value eq "u9"`, want: true },
  { filter: 'urn:ietf:params:scim:schemas:core:2.0:User:userName eq "marissa"', want: true },
  { filter: 'department pr', want: false },
  { filter: '$proto pr or constructor pr or toString pr or constructor.name pr', want: false },
]

describe('matches', () => {
  for (const { filter, want } of cases) {
    it(`${want ? 'accepts' : 'rejects'}: ${filter}`, () =>
      assert.equal(matches(parseFilter(filter, 'scim'), resource), want))
  }

  it('compares case-sensitively for attributes that require it', () => {
    const exact = (path: string) => (text: string) => (path === 'username' ? text : text.toLowerCase())
    assert.equal(matches(parseFilter('userName eq "marissa"', 'scim'), resource, exact), false)
    assert.equal(matches(parseFilter('userName eq "Marissa" and tags eq "RED"', 'scim'), resource, exact), true)
  })
})
