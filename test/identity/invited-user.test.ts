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

describe('invitedUser', () => {
  const cases: readonly {
    name: string
    type?: string
    account?: Partial<ExternalUser>
    user?: Partial<User>
    want: readonly [userName: string, email: string | undefined, emailVerified: boolean | undefined]
  }[] = [
    { name: 'fills in the email address of the invitation', want: ['ann', 'ann@corp.example', true] },
    {
      name: 'prefers the email address of the provider',
      account: { email: 'other@corp.example' },
      want: ['ann', 'other@corp.example', true],
    },
    {
      name: 'uses a user name that is an email address',
      account: { userName: 'other@corp.example' },
      want: ['other@corp.example', 'other@corp.example', true],
    },
    {
      name: 'keeps emailVerified: false of the provider',
      account: { email: 'ann@corp.example', emailVerified: false },
      want: ['ann', 'ann@corp.example', false],
    },
    {
      name: 'keeps the user name of the account unless it is the email address',
      user: { userName: 'ann.smith' },
      want: ['ann.smith', 'ann@corp.example', true],
    },
    { name: 'changes nothing for OpenID Connect', type: 'oidc1.0', want: ['ann', undefined, undefined] },
    { name: 'changes nothing for LDAP', type: 'ldap', want: ['ann', undefined, undefined] },
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
