// What a scope means to the person who is asked for it, where the zone's group of that name has no description.
import type { Service } from './service.ts'

const TEXTS: Readonly<Record<string, string>> = {
  openid: 'Know who you are',
  profile: 'See your name',
  email: 'See your email address',
  phone: 'See your phone number',
  roles: 'See your roles',
  user_attributes: 'See the attributes of your account',
  offline_access: 'Stay connected while you are away',
  'password.write': 'Change your password',
  'approvals.me': 'See what you have allowed',
  'oauth.approvals': 'See and change what you have allowed',
  'scim.me': 'See your account',
}

/** A plain sentence for a scope that is known everywhere; the scope itself for any other. */
export function scopeText(scope: string, service: Service): string {
  if (scope === service.scope('user')) return 'Act as you on this server'
  if (scope === service.scope('offline_token')) return 'Stay connected while you are away'
  return Object.hasOwn(TEXTS, scope) ? (TEXTS[scope] ?? scope) : scope
}
