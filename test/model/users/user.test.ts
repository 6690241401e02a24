import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { fullName, preferredLanguage, userNameKey, withEmail, withPhoneNumber } from '../../../src/model/users/user.ts'
import type { User } from '../../../src/model/users/user.ts'

const EPOCH = new Date(0)

const user: User = {
  zoneId: 'svc',
  id: 'u1',
  userName: 'marissa',
  origin: 'svc',
  passwordRevision: '',
  email: 'marissa@example.org',
  active: true,
  verified: true,
  passwordChangedAt: EPOCH,
  passwordChangeRequired: false,
  version: 0,
  createdAt: EPOCH,
  updatedAt: EPOCH,
}

describe('fullName', () => {
  const cases: readonly { name: string; members: Partial<User>; want: string | undefined }[] = [
    { name: 'joins both names', members: { givenName: 'Marissa', familyName: 'Bloggs' }, want: 'Marissa Bloggs' },
    { name: 'is the given name alone', members: { givenName: 'Marissa' }, want: 'Marissa' },
    { name: 'is the family name alone', members: { familyName: 'Bloggs' }, want: 'Bloggs' },
    { name: 'skips an empty name', members: { givenName: '', familyName: 'Bloggs' }, want: 'Bloggs' },
    { name: 'is undefined if both are empty', members: { givenName: '', familyName: '' }, want: undefined },
    { name: 'is undefined if both are absent', members: {}, want: undefined },
  ]
  for (const { name, members, want } of cases) {
    it(name, () => assert.equal(fullName({ ...user, ...members }), want))
  }
})

describe('userNameKey', () => {
  const same = [
    ['Marissa', 'mARISSA'],
    ['\u00e9lodie', 'E\u0301lodie'],
    ['\uff4d\uff41x', 'max'],
    ['\ufb01nn', 'finn'],
    ['\u212bsa', '\u00e5sa'],
  ] as const
  for (const [a, b] of same) it(`is the same of ${a} and ${b}`, () => assert.equal(userNameKey(a), userNameKey(b)))
  it('differs for different letters', () => assert.notEqual(userNameKey('elodie'), userNameKey('\u00e9lodie')))
  for (const [a, b] of [
    ['stra\u00dfe', 'strasse'],
    ['\u0131lker', 'ilker'],
    ['\u03c3\u03b1\u03c2', '\u03c3\u03b1\u03c3'],
    ['p\u0430t', 'pat'],
  ] as const) {
    it(`differs for ${a} and ${b}, which differ in more than case`, () =>
      assert.notEqual(userNameKey(a), userNameKey(b)))
  }
})

describe('withEmail and withPhoneNumber', () => {
  const emails = [
    { value: 'home@x', type: 'home' },
    { value: user.email, type: 'work', primary: true },
  ] as const

  it('leave an absent list of the profile absent', () => {
    assert.deepEqual(withEmail(user, 'new@x'), { ...user, email: 'new@x' })
    assert.deepEqual(withPhoneNumber(user, '1'), { ...user, phoneNumber: '1' })
    assert.deepEqual(withPhoneNumber({ ...user, phoneNumber: '1' }, undefined), user)
  })
  it('replace the primary entry, keep its type and put it first', () => {
    const changed = withEmail({ ...user, profile: { title: 'Dr.', emails } }, 'new@x')
    assert.equal(changed.email, 'new@x')
    assert.deepEqual(changed.profile, {
      title: 'Dr.',
      emails: [{ value: 'new@x', type: 'work', primary: true }, emails[0]],
    })
  })
  it('remove a duplicate of the new entry', () => {
    assert.deepEqual(withEmail({ ...user, profile: { emails } }, 'home@x').profile?.emails, [
      { value: 'home@x', type: 'work', primary: true },
    ])
  })
  it('replace the primary one of two entries with the former value, and leave no other primary', () => {
    const twice = [
      { value: user.email, type: 'home' },
      { value: user.email, type: 'work', primary: true },
    ]
    assert.deepEqual(withEmail({ ...user, profile: { emails: twice } }, 'new@x').profile?.emails, [
      { value: 'new@x', type: 'work', primary: true },
      twice[0],
    ])
    const phoneNumbers = [
      { value: '1', type: 'fax' },
      { value: '2', primary: true },
    ]
    const changed = withPhoneNumber({ ...user, phoneNumber: '1', profile: { phoneNumbers } }, '3')
    assert.deepEqual(changed.profile?.phoneNumbers, [{ value: '3', type: 'fax' }, { value: '2' }])
  })
  it('remove the whole list if there is no new number', () => {
    const phoneNumbers = [{ value: '1' }, { value: '2', type: 'fax' }]
    assert.deepEqual(withPhoneNumber({ ...user, phoneNumber: '1', profile: { phoneNumbers } }, undefined), user)
    const profile = { title: 'Dr.', phoneNumbers }
    const titled = { ...user, profile: { title: 'Dr.' } }
    assert.deepEqual(withPhoneNumber({ ...user, phoneNumber: '1', profile }, undefined), titled)
  })
  it('keep no list that only repeats the number', () => {
    const profile = { title: 'Dr.', phoneNumbers: [{ value: '1' }, { value: '2' }] }
    const changed = withPhoneNumber({ ...user, phoneNumber: '1', profile }, '2')
    assert.deepEqual(changed, { ...user, phoneNumber: '2', profile: { title: 'Dr.' } })
  })
})

describe('preferredLanguage', () => {
  const of = (profile: NonNullable<User['profile']>) => preferredLanguage({ ...user, profile })
  it('is the preferred language, otherwise the locale as a language tag', () => {
    assert.equal(of({ preferredLanguage: 'de, en;q=0.5', locale: 'fr-CH' }), 'de, en;q=0.5')
    assert.equal(of({ preferredLanguage: '', locale: 'fr_CH' }), 'fr-CH')
    assert.equal(of({}), undefined)
    assert.equal(preferredLanguage(user), undefined)
    assert.equal(preferredLanguage(undefined), undefined)
  })
})
