import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { fullName, type User } from '../../src/model/user.ts'

const EPOCH = new Date(0)

describe('fullName', () => {
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
  const cases: readonly { name: string; members: Partial<User>; want: string | undefined }[] = [
    { name: 'joins both names', members: { givenName: 'Marissa', familyName: 'Bloggs' }, want: 'Marissa Bloggs' },
    { name: 'is the given name alone', members: { givenName: 'Marissa' }, want: 'Marissa' },
    { name: 'is the family name alone', members: { familyName: 'Bloggs' }, want: 'Bloggs' },
    { name: 'skips an empty name', members: { givenName: '', familyName: 'Bloggs' }, want: 'Bloggs' },
    { name: 'is absent when both are empty', members: { givenName: '', familyName: '' }, want: undefined },
    { name: 'is absent when none is known', members: {}, want: undefined },
  ]
  for (const { name, members, want } of cases) {
    it(name, () => assert.equal(fullName({ ...user, ...members }), want))
  }
})
