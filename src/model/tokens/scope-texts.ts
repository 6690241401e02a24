// Scopes that the approval page explains in the user's language, if the zone's group of that name has no description.
import type { Service } from '../service.ts'

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

/** The key of a scope's explanation in the texts of the pages. */
export type ScopeMeaning = (typeof MEANINGS)[keyof typeof MEANINGS] | 'user'

const KNOWN: ReadonlyMap<string, ScopeMeaning> = new Map(Object.entries(MEANINGS))

/** The explanation's key of a known scope. */
export function scopeMeaning(scope: string, service: Service): ScopeMeaning | undefined {
  if (scope === service.scope('user')) return 'user'
  if (scope === service.scope('offline_token')) return 'offline'
  return KNOWN.get(scope)
}
