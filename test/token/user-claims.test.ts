import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Profile, User } from '../../src/model/users/user.ts'
import { userClaims } from '../../src/token/user-claims.ts'
import { user } from '../store/records.ts'

const claimsOf = (profile: Profile, given: Partial<User> = {}, scopes = ['profile', 'address']) => {
  const claims = userClaims(user({ ...given, profile }), scope => scopes.includes(scope))
  return Object.fromEntries(Object.entries(claims).filter(([, value]) => value !== undefined))
}

describe('userClaims', () => {
  const { preferred_username: _, updated_at: _updated, ...nothing } = claimsOf({})

  it('omits missing values', () => {
    assert.deepEqual(nothing, {})
  })

  const cases: readonly { name: string; profile: Profile; given?: Partial<User>; want: object }[] = [
    { name: 'a formatted name', profile: { name: { formatted: 'Dr. Ann Lee' } }, want: { name: 'Dr. Ann Lee' } },
    {
      name: 'given and family name instead of an outdated formatted name',
      profile: { name: { formatted: 'Dr. Ann Lee' } },
      given: { givenName: 'Ann', familyName: 'Lind' },
      want: { name: 'Ann Lind', given_name: 'Ann', family_name: 'Lind' },
    },
    {
      name: 'given and family name instead of a formatted name that contains them by chance',
      profile: { name: { formatted: 'Anna Lee' } },
      given: { givenName: 'Ann', familyName: 'Lee' },
      want: { name: 'Ann Lee', given_name: 'Ann', family_name: 'Lee' },
    },
    {
      name: 'a formatted name without blanks',
      profile: { name: { formatted: '山田太郎' } },
      given: { givenName: '太郎', familyName: '山田' },
      want: { name: '山田太郎', given_name: '太郎', family_name: '山田' },
    },
    { name: 'the display name if there is no other', profile: { displayName: 'Ann' }, want: { name: 'Ann' } },
    { name: 'a middle name', profile: { name: { middleName: 'B' } }, want: { middle_name: 'B' } },
    { name: 'a nickname', profile: { nickName: 'Annie' }, want: { nickname: 'Annie' } },
    {
      name: 'web URLs',
      profile: { profileUrl: 'https://a.example/ann', website: 'http://ann.example', photos: [{ value: 'https://p' }] },
      want: { profile: 'https://a.example/ann', website: 'http://ann.example', picture: 'https://p' },
    },
    {
      name: 'no URLs of other schemes',
      profile: {
        profileUrl: 'javascript:alert(1)',
        website: 'ann.example',
        photos: [{ value: 'data:image/png;base64,AA==' }],
      },
      want: {},
    },
    { name: 'no URL that is too long', profile: { website: `https://${'x'.repeat(2048)}` }, want: {} },
    {
      name: 'the primary picture',
      profile: { photos: [{ value: 'https://a' }, { value: 'https://b', primary: true }] },
      want: { picture: 'https://b' },
    },
    {
      name: 'a photo instead of a thumbnail',
      profile: {
        photos: [
          { value: 'https://a', type: 'thumbnail' },
          { value: 'https://b', type: 'photo' },
        ],
      },
      want: { picture: 'https://b' },
    },
    { name: 'gender', profile: { gender: 'female' }, want: { gender: 'female' } },
    { name: 'a birthdate', profile: { birthdate: '1990-02-28' }, want: { birthdate: '1990-02-28' } },
    { name: 'a birthdate without a year', profile: { birthdate: '0000-02-28' }, want: { birthdate: '0000-02-28' } },
    { name: 'a year of birth', profile: { birthdate: '1990' }, want: { birthdate: '1990' } },
    { name: 'no malformed birthdate', profile: { birthdate: '28.2.1990' }, want: {} },
    { name: 'no invalid month', profile: { birthdate: '1990-13-01' }, want: {} },
    {
      name: 'time zone and locale',
      profile: { timezone: 'Europe/Zurich', locale: 'de-CH' },
      want: {
        zoneinfo: 'Europe/Zurich',
        locale: 'de-CH',
      },
    },
    { name: 'no malformed time zone and locale', profile: { timezone: 'Central Europe!', locale: 'German' }, want: {} },
    { name: 'no blank values', profile: { nickName: ' ', gender: '', name: { formatted: ' ' } }, want: {} },
    {
      name: 'the primary postal address',
      profile: {
        addresses: [
          { locality: 'Elsewhere' },
          {
            primary: true,
            type: 'work',
            formatted: 'Way 1\nBern',
            streetAddress: 'Way 1',
            locality: 'Bern',
            region: 'BE',
            postalCode: '3000',
            country: 'CH',
          },
        ],
      },
      want: {
        address: {
          formatted: 'Way 1\nBern',
          street_address: 'Way 1',
          locality: 'Bern',
          region: 'BE',
          postal_code: '3000',
          country: 'CH',
        },
      },
    },
    {
      name: 'no blank part of an address',
      profile: { addresses: [{ locality: 'Bern', region: '' }] },
      want: {
        address: { locality: 'Bern' },
      },
    },
    { name: 'no empty address', profile: { addresses: [{ type: 'home', country: ' ' }] }, want: {} },
  ]
  for (const { name, profile, given, want } of cases) {
    it(`includes ${name}`, () => {
      const { preferred_username: _, updated_at: _updated, ...reported } = claimsOf(profile, given)
      assert.deepEqual(reported, want)
    })
  }

  it('includes claims only with their scopes', () => {
    const all = { phoneNumber: '1', email: 'a@b', verified: false }
    const profile = { addresses: [{ country: 'CH' }], nickName: 'Annie' }
    const names = (scope: string) => Object.keys(claimsOf(profile, all, [scope]))
    assert.deepEqual(names('email'), ['email', 'email_verified'])
    assert.deepEqual(names('phone'), ['phone_number', 'phone_number_verified'])
    assert.deepEqual(names('address'), ['address'])
    assert.deepEqual(names('profile'), ['nickname', 'preferred_username', 'updated_at'])
    assert.deepEqual(names('openid'), [])
    const { phoneNumber: _, ...rest } = user()
    assert.deepEqual(
      userClaims({ ...rest, email: ' ' }, scope => ['email', 'phone'].includes(scope)),
      {},
    )
  })
})
