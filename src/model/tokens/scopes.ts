// The only place that can make `GrantedScopes`, so that no grant skips the scope rules.
import type { Client } from '../clients/client.ts'
import type { Behaviour, Refusal } from '../compatibility.ts'
import { OAuthError } from '../oauth-error.ts'
import type { ScopeTrace, Rule } from '../rules.ts'

declare const granted: unique symbol

/** Scopes that passed the rules of this file. */
export type GrantedScopes = readonly string[] & { readonly [granted]: true }

const grant = (scopes: readonly string[]): GrantedScopes => scopes as GrantedScopes // the one place of the brand

/** As many as a client can have. Each is compared with every scope of the client and every group of the user. */
const MAX_REQUESTED = 1000

/** Words of a `scope` parameter: separated by white space, `+` or commas; repetitions count once. Throws for too many. */
export function parseScope(value: string | undefined): readonly string[] {
  if (value === undefined) return []
  const words = new Set(value.split(/[\s+,]+/).filter(word => word !== ''))
  if (words.size <= MAX_REQUESTED) return [...words]
  throw new OAuthError('invalid_scope', `A request must not have more than ${MAX_REQUESTED} scopes`)
}

/**
 * Whether `scope` fits `pattern`, where `*` stands for one or more characters other than a dot and white space: in a token, the
 * group `cloud.x billing` reads as two scopes, one of which no pattern may allow.
 */
export const scopeMatches = (pattern: string, scope: string): boolean => matcherOf([pattern])(scope)

/** For each dot-free part of a pattern, the texts between its stars. */
type WildPattern = readonly (readonly string[])[]

type Matcher = (scope: string) => boolean

/** Whether a scope fits one of the patterns, which are read only once. */
function matcherOf(patterns: readonly string[]): Matcher {
  const isWild = (pattern: string): boolean => pattern.includes('*')
  const exact = new Set(patterns.filter(pattern => !isWild(pattern)))
  const wild = patterns.filter(isWild).map((pattern): WildPattern => pattern.split('.').map(part => part.split('*')))
  return scope => {
    if (exact.has(scope)) return true
    if (wild.length === 0 || /\s/.test(scope)) return false
    const words = scope.split('.')
    return wild.some(
      parts => parts.length === words.length && parts.every((pieces, index) => wordMatches(pieces, words[index] ?? '')),
    )
  }
}

/** The pieces must follow one another, each star between them covering at least one character. */
function wordMatches(pieces: readonly string[], word: string): boolean {
  const [head = ''] = pieces
  if (pieces.length === 1) return head === word
  if (!word.startsWith(head)) return false
  let position = head.length
  for (let index = 1; index < pieces.length; index += 1) {
    const piece = pieces[index] ?? ''
    const last = index === pieces.length - 1
    const found = last ? word.length - piece.length : word.indexOf(piece, position + 1)
    if (found < position + 1 || !word.startsWith(piece, found)) return false
    position = found + piece.length
  }
  return true
}

/** By list: those of a client are the same for each request. */
const matchers = new WeakMap<readonly string[], Matcher>()

function matcherFor(patterns: readonly string[]): Matcher {
  const known = matchers.get(patterns)
  if (known) return known
  const matcher = matcherOf(patterns)
  matchers.set(patterns, matcher)
  return matcher
}

/**
 * The scopes that no rule removes. `removerOf` returns the rule, so that a decision and its explanation use the same code.
 */
function filterScopes(
  scopes: Iterable<string>,
  removerOf: (scope: string) => Rule | undefined,
  because: ScopeTrace | undefined,
): readonly string[] {
  const kept: string[] = []
  for (const scope of scopes) {
    const rule = removerOf(scope)
    because?.(scope, rule)
    if (rule === undefined) kept.push(scope)
  }
  return kept
}

/** For a client acting for itself: all its authorities, or the requested ones, each of which it must hold. */
export function clientScopes(client: Client, requested: readonly string[], because?: ScopeTrace): GrantedScopes {
  const { authorities } = client
  if (authorities.length === 0) {
    const description = 'Empty scope (client has no registered scopes)'
    throw new OAuthError('invalid_scope', description, { rule: 'client-authorities' })
  }
  if (requested.length === 0) {
    if (because) for (const scope of authorities) because(scope, undefined)
    return grant(authorities)
  }
  for (const scope of requested) {
    const isHeld = authorities.includes(scope)
    because?.(scope, isHeld ? undefined : 'client-authorities')
    if (!isHeld) {
      throw new OAuthError('invalid_scope', `Invalid scope: ${scope}`, {
        extra: { scope: authorities.join(' ') },
        rule: 'client-authorities',
      })
    }
  }
  return grant(requested)
}

/** Scopes of OpenID Connect Core §5.4 for contact data; default groups of every zone in `standard` (row A7). */
export const CONTACT_SCOPES = ['email', 'phone', 'address'] as const

/** OpenID scopes that `standard` drops, rather than refuses, when a client lacks them (row A7). */
const OPENID_SCOPES: ReadonlySet<string> = new Set(['profile', ...CONTACT_SCOPES, 'offline_access'])

/** What a client asks for its users. `because` is called with the reason why a scope is not granted. */
interface ScopeRequest {
  readonly client: Client
  readonly requested: readonly string[]
  readonly because?: ScopeTrace | undefined
}

type OpenidScopeRule = Pick<Behaviour, 'dropForeignOpenidScopes'>

/** What a request may ask of a client's users: each word must fit one of the client's scopes. */
export function requestableScopes(
  { client, requested, because }: ScopeRequest,
  { dropForeignOpenidScopes }: OpenidScopeRule,
): readonly string[] {
  if (requested.length === 0) return client.scope
  const lenient = dropForeignOpenidScopes && requested.includes('openid')
  const isOfClient = matcherFor(client.scope)
  const kept: string[] = []
  for (const scope of requested) {
    if (isOfClient(scope)) {
      kept.push(scope)
      continue
    }
    because?.(scope, 'client-scope')
    if (lenient && OPENID_SCOPES.has(scope)) continue
    const description = `${scope} is invalid. Please use a valid scope name in the request`
    throw new OAuthError('invalid_scope', description, { rule: 'client-scope' })
  }
  return kept
}

/** The user's part of the scope rules. */
export interface UserGroups {
  /** Names of all groups, direct, inherited and default. */
  readonly groups: readonly string[]
  /** The zone's `allowedGroups` with its default groups, when that filter is set. */
  readonly allowed?: readonly string[]
}

/**
 * For a client acting for a user: (groups ∩ the zone's allowed groups) ∩ the client's scopes ∩ the request. Throws
 * `invalid_scope` when nothing is left of a client that has scopes, or when a required group is missing.
 */
export function userScopes(request: ScopeRequest, user: UserGroups, behaviour: OpenidScopeRule): GrantedScopes {
  const { client, because } = request
  if (client.scope.length === 0) {
    const description = 'Empty scope (client has no registered scopes)'
    throw new OAuthError('invalid_scope', description, { rule: 'client-without-scopes' })
  }
  const patterns = requestableScopes(request, behaviour)
  const barrier = barrierOf(client, user)
  const isRequested = matcherFor(patterns)
  const removerOf = (group: string): Rule | undefined =>
    barrier(group) ?? (isRequested(group) ? undefined : 'requested-scope')
  const scopes = filterScopes(new Set(user.groups), removerOf, because)
  if (scopes.length === 0) {
    throw new OAuthError(
      'invalid_scope',
      `[${patterns.join(', ')}] is invalid. This user is not allowed any of the requested scopes`,
      { rule: 'no-scope-left' },
    )
  }
  if (!hasRequiredGroups(client, user.groups)) throw lacksRequiredGroup('invalid_scope')
  return grant(scopes)
}

/** What keeps a group of the user from the tokens of the client. */
function barrierOf(client: Client, { allowed }: UserGroups): (group: string) => Rule | undefined {
  const names = allowed && new Set(allowed)
  const isOfClient = matcherFor(client.scope)
  return group => {
    if (names && !names.has(group)) return 'zone-allowed-groups'
    return isOfClient(group) ? undefined : 'client-scope'
  }
}

/** The scopes that the user's token also has; throws `invalid_scope` when there are none (row A18). */
export function withinToken(scopes: GrantedScopes, held: readonly string[]): GrantedScopes {
  const kept = scopes.filter(scope => held.includes(scope))
  if (kept.length > 0) return grant(kept)
  throw new OAuthError('invalid_scope', 'The access token has none of the requested scopes', { rule: 'no-scope-left' })
}

/** Whether the user is in every group that the client requires. */
export const hasRequiredGroups = (client: Client, groups: readonly string[]): boolean =>
  client.requiredUserGroups.every(group => groups.includes(group))

/** The refusal of a user who is not. */
export const lacksRequiredGroup = (to: Refusal | 'invalid_scope' | 'invalid_token'): OAuthError =>
  new OAuthError(to, "User does not meet the client's required group criteria.", { rule: 'required-group' })

/** The scopes that the user no longer has, the zone no longer allows, or the client may no longer be given. */
export function lostScopes(
  scopes: readonly string[],
  { client, because }: Omit<ScopeRequest, 'requested'>,
  user: UserGroups,
): readonly string[] {
  const barrier = barrierOf(client, user)
  const removerOf = (scope: string): Rule | undefined => (user.groups.includes(scope) ? barrier(scope) : 'user-group')
  const kept = filterScopes(scopes, removerOf, because)
  return kept.length === scopes.length ? [] : scopes.filter(scope => !kept.includes(scope))
}

/** Fewer scopes than were granted before; throws `invalid_scope` when one was not among them. */
export function narrow(before: readonly string[], requested: readonly string[], because?: ScopeTrace): GrantedScopes {
  if (requested.length === 0) return grant(before)
  if (requested.every(scope => before.includes(scope))) {
    for (const scope of because ? before : []) if (!requested.includes(scope)) because?.(scope, 'requested-scope')
    return grant(requested)
  }
  throw new OAuthError(
    'invalid_scope',
    `Unable to narrow the scope of the client authentication to [${requested.join(', ')}].`,
    { extra: { scope: before.join(' ') }, rule: 'requested-scope' },
  )
}

/**
 * What a refresh asks for, without the OpenID scopes that its authorization had to drop as well (row A7): many clients send
 * the scopes of their first request again.
 */
export function repeatedScopes(
  { client, requested }: ScopeRequest,
  user: UserGroups,
  { dropForeignOpenidScopes }: OpenidScopeRule,
): readonly string[] {
  if (!dropForeignOpenidScopes || !requested.includes('openid')) return requested
  const barrier = barrierOf(client, user)
  const isGrantable = (scope: string): boolean => user.groups.includes(scope) && barrier(scope) === undefined
  return requested.filter(scope => !OPENID_SCOPES.has(scope) || isGrantable(scope))
}

/** The scopes that the user, the client's autoapproval or an earlier decision approved. */
export const approvedScopes = (scopes: GrantedScopes, isApproved: (scope: string) => boolean): GrantedScopes =>
  grant(scopes.filter(isApproved))

/** Scopes that were granted by this file before and come back from the store. */
export const storedScopes = (scopes: readonly string[]): GrantedScopes => grant(scopes)

/** Whether the client may be given the scope for its users. */
export const isScopeOf = (client: Client, scope: string): boolean => matcherFor(client.scope)(scope)

/** Whether the client approves the scope without asking the user. */
export const isAutoApproved = (client: Client, scope: string): boolean =>
  client.autoapprove === true || matcherFor(client.autoapprove)(scope)
