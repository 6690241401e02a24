// Scopes that administer a zone or all accounts. `/oauth/clients/restricted` refuses them, and every new zone has a
// group for each of them.
import type { JsonRecord } from '../../base/json.ts'
import { wordsOf } from '../../records/kinds.ts'
import { scopeMatches } from './scopes.ts'
import type { Service } from '../service.ts'

const RIGHTS_IN_ZONES = [
  'admin',
  'read',
  'clients.admin',
  'clients.read',
  'clients.write',
  'scim.create',
  'scim.read',
  'scim.write',
  'idps.read',
  'idps.write',
  'sps.write',
  'sps.read',
]

/** Every restricted scope in the order of the API; `*` matches any characters. */
export const restrictedScopes = (service: Service): readonly string[] => [
  'zones.read',
  'zones.write',
  ...RIGHTS_IN_ZONES.map(right => `zones.*.${right}`),
  'sps.write',
  'sps.read',
  'idps.read',
  'idps.write',
  'clients.admin',
  'clients.write',
  'clients.read',
  'clients.secret',
  'scim.write',
  'scim.read',
  'scim.create',
  'scim.userids',
  'scim.zones',
  'groups.update',
  'password.write',
  'oauth.login',
  service.scope('admin'),
]

/** The API's message for the first restricted scope or authority of a client record; undefined if there is none. */
export function restrictionProblem(json: JsonRecord, service: Service): string | undefined {
  const scope = wordsOf(json['scope']).find(each => isRestricted(each, service))
  if (scope !== undefined) return `${scope} is a restricted scope.`
  const authority = wordsOf(json['authorities']).find(each => isRestricted(each, service))
  return authority === undefined ? undefined : `${authority} is a restricted authority.`
}

/**
 * Restricted as well, but no part of UAA's list. An invitation creates an account, as `scim.create` does; the others reach tokens,
 * keys and locks of others.
 */
const restrictedHere = (service: Service): readonly string[] => [
  'audit.read',
  'zones.*.audit.read',
  'scim.invite',
  'zones.*.scim.invite',
  'tokens.list',
  'tokens.revoke',
  'clients.trust',
  `${service.name}.account_status.write`,
]

/** Whether the scope is restricted, or has wildcards that could match a restricted one. */
export const isRestricted = (scope: string, service: Service): boolean =>
  [...restrictedScopes(service), ...restrictedHere(service)].some(restricted => couldBe(scope, restricted))

function couldBe(scope: string, restricted: string): boolean {
  const [head = '', tail] = restricted.split('.*.')
  if (tail === undefined) return scopeMatches(scope, restricted)
  const words = scope.split('.')
  const tailLength = tail.split('.').length
  const hasMiddle = words.length > 1 + tailLength
  return hasMiddle && scopeMatches(words[0] ?? '', head) && scopeMatches(words.slice(-tailLength).join('.'), tail)
}

/**
 * Whether a group of this name gives its members rights over a zone or over others' accounts. Ignores case, and checks
 * every word, because responses separate scopes by spaces.
 */
export const isAdministrative = (groupName: string, service: Service): boolean =>
  wordsOf(groupName.toLowerCase()).some(word => word.startsWith('zones.') || isRestricted(word, service))
