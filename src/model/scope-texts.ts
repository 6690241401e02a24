// Which scopes mean something to the person who is asked for them wherever they occur. What they mean is said by the pages,
// in the person's language, where the zone's group of that name has no description.
import type { Service } from './service.ts'

const MEANINGS = {
  openid: 'openid',
  profile: 'profile',
  email: 'email',
  phone: 'phone',
  address: 'address',
  roles: 'roles',
  user_attributes: 'attributes',
  offline_access: 'offline',
  'password.write': 'password',
  'approvals.me': 'seeApprovals',
  'oauth.approvals': 'changeApprovals',
  'scim.me': 'account',
} as const

/** What one or several scopes allow, by a name for the catalogues of the pages. */
export type ScopeMeaning = (typeof MEANINGS)[keyof typeof MEANINGS] | 'user'

const KNOWN: ReadonlyMap<string, ScopeMeaning> = new Map(Object.entries(MEANINGS))

/** What a scope that is known everywhere allows; undefined for any other. */
export function scopeMeaning(scope: string, service: Service): ScopeMeaning | undefined {
  if (scope === service.scope('user')) return 'user'
  if (scope === service.scope('offline_token')) return 'offline'
  return KNOWN.get(scope)
}
