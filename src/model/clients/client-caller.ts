// What callers who are not administrators may write into a client, and which clients they may change: neither may
// exceed the caller's own rights.
import type { Client } from './client.ts'
import { isRestricted } from '../tokens/restricted-scopes.ts'
import type { Service } from '../service.ts'

/** A caller who may write clients but is not an administrator. */
export interface LimitedCaller {
  readonly clientId: string
  /**
   * Scopes that it may grant: those of the calling client; absent for a client of another zone, which has none here.
   */
  readonly scope?: readonly string[]
}

/** A limited caller with the scopes of its token. */
export interface LimitedBearer extends LimitedCaller {
  readonly rights: readonly string[]
}

/** The parts of a record that are limited by its sender. */
type LimitedFields = Partial<
  Pick<Client, 'clientId' | 'authorizedGrantTypes' | 'scope' | 'authorities' | 'tokenExchange'>
>

/** The values that the caller may not set, with the messages of the API. */
export function callerProblems(
  caller: LimitedCaller,
  { clientId = '', authorizedGrantTypes: grantTypes = [], scope = [], authorities = [], tokenExchange }: LimitedFields,
  service: Service,
): readonly (readonly [key: string, message: string])[] {
  const problems: [string, string][] = []
  const none = service.scope('none')
  if (grantTypes.includes('password')) {
    problems.push(['authorized_grant_types', 'password is not an allowed grant type for non-admin caller.'])
  }
  if (grantTypes.includes('implicit') && grantTypes.includes('authorization_code')) {
    const message = 'Not allowed: implicit grant type is not allowed together with authorization_code'
    problems.push(['authorized_grant_types', message])
  }
  const prefix = `${caller.clientId}.`
  const isOwn = scopesToGive(caller, service)
  const ownScopes = (caller.scope ?? []).join(', ')
  for (const name of scope.filter(each => !isOwn(each))) {
    const message =
      caller.scope === undefined
        ? `No scopes alllowed for null caller and client_id=${clientId}.`
        : `${name} is not an allowed scope for caller=${caller.clientId}. Must have prefix in [${prefix}] or be one of: [${ownScopes}]`
    problems.push(['scope', message])
  }
  const allowed = grantTypes.includes('client_credentials') ? [none, service.scope('resource')] : [none]
  for (const name of authorities.filter(each => !allowed.includes(each))) {
    const message = `${name} is not an allowed authority for caller=${caller.clientId}. Must be one of: [${allowed.join(', ')}]`
    problems.push(['authorities', message])
  }
  if (tokenExchange !== undefined) {
    problems.push(['tokenExchange', 'tokenExchange is not allowed for non-admin caller.'])
  }
  return problems
}

/**
 * The scopes and authorities of a client that the caller neither has nor may grant. If there are any, the caller may
 * not change, describe or delete the client: replacing an administrator's client would make the caller an administrator.
 */
export function rightsBeyond(
  caller: LimitedBearer,
  { scope, authorities }: Pick<Client, 'scope' | 'authorities'>,
  service: Service,
): readonly string[] {
  const isOwn = scopesToGive(caller, service)
  const held = new Set(caller.rights)
  const harmless = new Set([service.scope('none'), service.scope('resource')])
  const isBeyond = (name: string): boolean => !held.has(name) && !harmless.has(name)
  // Scopes of the calling client are rights of its users, not of the client.
  return [...new Set([...scope.filter(name => !isOwn(name)), ...authorities])].filter(isBeyond)
}

/** Whether the caller may grant a scope: those of its client, and those that begin with its id. */
function scopesToGive({ clientId, scope: own }: LimitedCaller, service: Service): (name: string) => boolean {
  const none = service.scope('none') // the value of an empty list, which grants nothing
  const prefix = `${clientId}.`
  // Client ids can be chosen freely, even `zones` or `*`, so a prefix must not cover restricted scopes.
  const isBelow = (name: string): boolean =>
    name.startsWith(prefix) && !prefix.includes('*') && !isRestricted(name, service)
  const owned = new Set(own)
  return name => name === none || (own !== undefined && (owned.has(name) || isBelow(name)))
}
