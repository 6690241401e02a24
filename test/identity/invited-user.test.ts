import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { invitedUser } from '../../src/identity/invited-user.ts'
import type { ExternalUser } from '../../src/identity/source.ts'
import type { User } from '../../src/model/users/user.ts'

const invited: User = {
  id: 'u1',
  zoneId: 'svc',
  origin: 'corp',
  userName: 'Ann@corp.example',
  email: 'ann@corp.example',
  active: true,
  verified: false,
  passwordRevision: 'x',
  passwordChangeRequired: false,
  passwordChangedAt: new Date(0),
  version: 0,
  createdAt: new Date(0),
  updatedAt: new Date(0),
}
const ann: ExternalUser = { userName: 'ann', externalId: 'ann', amr: ['ext'] }

describe('what a provider says of an invited user', () => {
  const cases: readonly {
    name: string
    type?: string
    account?: Partial<ExternalUser>
    user?: Partial<User>
    want: readonly [userName: string, email: string | undefined, emailVerified: boolean | undefined]
  }[] = [
    { name: 'is completed with the address of the invitation', want: ['ann', 'ann@corp.example', true] },
    {
      name: 'has the address that the provider names',
      account: { email: 'other@corp.example' },
      want: ['ann', 'other@corp.example', true],
    },
    {
      name: 'has the name where that is an address',
      account: { userName: 'other@corp.example' },
      want: ['other@corp.example', 'other@corp.example', true],
    },
    {
      name: 'stays unverified where the provider says so',
      account: { email: 'ann@corp.example', emailVerified: false },
      want: ['ann', 'ann@corp.example', false],
    },
    {
      name: 'keeps the name of the account unless that is the address',
      user: { userName: 'ann.smith' },
      want: ['ann.smith', 'ann@corp.example', true],
    },
    { name: 'is left alone for OpenID Connect', type: 'oidc1.0', want: ['ann', undefined, undefined] },
    { name: 'is left alone for a directory', type: 'ldap', want: ['ann', undefined, undefined] },
  ]
  for (const { name, type = 'saml', account, user, want } of cases) {
    it(name, () => {
      const { userName, email, emailVerified, externalId } = invitedUser(
        { type },
        { ...ann, ...account },
        { ...invited, ...user },
      )
      assert.deepEqual([userName, email, emailVerified], want)
      assert.equal(externalId, 'ann')
    })
  }
})
