// Why each scope is granted or not: records the results of the rules while they decide, and adds where the user's groups come from.
import type { Client } from '../../model/clients/client.ts'
import type { ScopeTrace, Rule } from '../../model/rules.ts'
import { scopeMatches } from '../../model/tokens/scopes.ts'
import type { User } from '../../model/users/user.ts'
import type { Zone } from '../../model/zones/zone.ts'
import { defaultGroupsOf } from '../../users/groups/default-groups.ts'
import type { ExplainDeps } from './deps.ts'
import type { ExplainedScope, Reason } from './explanation.ts'

/** The result of the rules for each scope; the first rule that removes one counts. */
interface ScopeNotes {
  readonly because: ScopeTrace
  readonly removedBy: ReadonlyMap<string, Rule | undefined>
}

/** Collects the results while the rules run. */
export function createScopeNotes(): ScopeNotes {
  const removedBy = new Map<string, Rule | undefined>()
  return {
    removedBy,
    because(scope, rule) {
      if (removedBy.get(scope) === undefined) removedBy.set(scope, rule)
    },
  }
}

/** How a scope came to be approved. */
export type ApprovalRule = Extract<Rule, 'auto-approve' | 'approval-given' | 'approval-missing' | 'approval-denied'>

/** A request for scopes that was decided, and the results of the rules. */
export interface DecidedScopes {
  readonly client: Client
  readonly requested: readonly string[]
  /** Further scopes to explain. */
  readonly about: readonly string[]
  readonly removedBy: ScopeNotes['removedBy']
  /** The token whose scopes are the limit; absent where the user's groups are. */
  readonly within?: 'refresh-token' | 'subject-token' | undefined
  /** Whether the rules stopped before checking every scope. */
  readonly isIncomplete?: boolean
  /** For grants that require approval: the state of each scope. */
  readonly approvals?: ReadonlyMap<string, ApprovalRule> | undefined
  /** Why nothing is granted after all. */
  readonly refusal?: Reason | undefined
}

/** The first entries of a list, joined for a sentence. */
export function shortList(names: readonly string[]): string {
  const maxNames = 8
  if (names.length === 0) return 'nothing'
  const shown = names.slice(0, maxNames).join(', ')
  return names.length > maxNames ? `${shown} and ${names.length - maxNames} more` : shown
}

/** The scopes of a client that acts for itself. */
export function explainClientScopes({
  client,
  requested,
  about,
  removedBy,
  refusal,
}: DecidedScopes): readonly ExplainedScope[] {
  const { authorities } = client
  const own = (scope: string): Reason => ({
    rule: 'client-authorities',
    detail: authorities.includes(scope)
      ? `${scope} is an authority of ${client.clientId}.`
      : `${scope} is no authority of ${client.clientId}, which has ${shortList(authorities)}.`,
  })
  return [...new Set([...requested, ...authorities, ...about])].map(scope => {
    if (removedBy.get(scope) !== undefined || !authorities.includes(scope)) {
      return { scope, outcome: 'removed', because: [own(scope)] }
    }
    if (requested.length > 0 && !requested.includes(scope)) {
      return { scope, outcome: 'not_requested', because: [notRequested(requested)] }
    }
    if (refusal) return { scope, outcome: 'removed', because: [own(scope), refusal] }
    return { scope, outcome: 'granted', because: [own(scope), ...asked(scope, requested)] }
  })
}

/** The scopes of a user. */
export async function explainUserScopes(
  { zone, user, decided }: { readonly zone: Zone; readonly user: User; readonly decided: DecidedScopes },
  deps: ExplainDeps,
): Promise<readonly ExplainedScope[]> {
  const { client, requested, about, removedBy } = decided
  const literal = decided.within ? [] : client.scope.filter(scope => !scope.includes('*'))
  const scopes = [
    ...new Set(decided.isIncomplete ? removedBy.keys() : [...requested, ...removedBy.keys(), ...literal, ...about]),
  ]
  const sources = await groupSources({ zone, user, scopes }, deps)
  return scopes.map(scope => explainUserScope(scope, { zone, decided, sources }))
}

interface SourcesOfScopes {
  readonly zone: Zone
  readonly decided: DecidedScopes
  readonly sources: (scope: string) => Reason
}

function explainUserScope(scope: string, { zone, decided, sources }: SourcesOfScopes): ExplainedScope {
  const { client, requested, removedBy, approvals, refusal, within } = decided
  // The rules begin with the user's groups or with a token, so they say nothing of other scopes.
  const rule = removedBy.has(scope) ? removedBy.get(scope) : (within ?? 'user-group')
  const source = sources(scope)
  const removed = (...because: readonly Reason[]): ExplainedScope => ({ scope, outcome: 'removed', because })
  switch (rule) {
    case undefined:
      break
    case 'requested-scope':
      return { scope, outcome: 'not_requested', because: [source, notRequested(requested)] }
    case 'user-group':
      return removed(source)
    default:
      return removed(barrier(rule, { scope, client, zone }))
  }
  const held = [source, fits(client, scope), ...asked(scope, requested)]
  const approval = approvals?.get(scope)
  if (refusal) return removed(...held, refusal)
  if (approval === undefined) return { scope, outcome: 'granted', because: held }
  const because = [...held, { rule: approval, detail: APPROVALS[approval] }]
  if (approval === 'approval-denied') return { scope, outcome: 'removed', because }
  return { scope, outcome: approval === 'approval-missing' ? 'undecided' : 'granted', because }
}

const APPROVALS: Readonly<Record<ApprovalRule, string>> = {
  'auto-approve': 'The client approves the scope itself (autoapprove).',
  'approval-given': 'The user has approved the scope for this client.',
  'approval-missing': 'The user has not decided about the scope for this client, or the decision has expired.',
  'approval-denied': 'The user has denied the scope to this client.',
}

const asked = (scope: string, requested: readonly string[]): readonly Reason[] =>
  requested.includes(scope) ? [{ rule: 'requested-scope', detail: 'The request names it.' }] : []

const notRequested = (requested: readonly string[]): Reason => ({
  rule: 'requested-scope',
  detail: `The request names others only: ${shortList(requested)}.`,
})

const fits = ({ scope: patterns, clientId }: Client, scope: string): Reason => {
  const pattern = patterns.find(each => scopeMatches(each, scope))
  const what = pattern === scope || pattern === undefined ? 'it' : pattern
  return { rule: 'client-scope', detail: `The scope of ${clientId} has ${what}.` }
}

/** The reason for a scope that a rule removed although the user has its group. */
function barrier(
  rule: Rule,
  { scope, client, zone }: { readonly scope: string; readonly client: Client; readonly zone: Zone },
): Reason {
  switch (rule) {
    case 'client-scope':
      return {
        rule,
        detail: `The scope of ${client.clientId} does not have ${scope}. It has ${shortList(client.scope)}.`,
      }
    case 'zone-allowed-groups':
      return { rule, detail: `userConfig.allowedGroups of the zone ${zone.id} does not have ${scope}.` }
    case 'token-exchange-rule':
      return { rule, detail: `The rule of ${client.clientId} for this exchange does not have ${scope}.` }
    default:
      return { rule, detail: `The token that is presented does not have ${scope}.` }
  }
}

/** Mappings that are read to name those of a group. */
const MAX_MAPPINGS = 500

/** Why the user has the group of each scope, or that they do not. */
async function groupSources(
  { zone, user, scopes }: { readonly zone: Zone; readonly user: User; readonly scopes: readonly string[] },
  deps: ExplainDeps,
): Promise<(scope: string) => Reason> {
  const { store, service } = deps
  const [listed, direct, existing] = await Promise.all([
    store.users.listGroups(zone.id, [user.id]),
    store.groups.listDirect(zone.id, user.id),
    store.groups.findByNames(zone.id, scopes),
  ])
  const groups = listed.get(user.id) ?? []
  const nested = groups.some(group => !group.direct)
  const directIds = direct.map(({ groupId }) => groupId)
  const outer = nested ? await store.groups.listOuterNames(zone.id, directIds) : []
  const origins = [...new Set(direct.map(({ origin }) => origin))].filter(origin => origin !== service.name)
  const mappings = await Promise.all(
    origins.map(origin => store.groups.listExternal(zone.id, { origin, startIndex: 1, count: MAX_MAPPINGS })),
  )
  const mapped = mappings.flatMap(({ records }) => records)
  const defaults = new Set(defaultGroupsOf(zone, deps))
  const nameOf = new Map(groups.map(group => [group.id, group.displayName]))

  return scope => {
    const own = groups.find(({ displayName }) => displayName === scope)
    if (own?.direct) {
      const origin = direct.find(({ groupId }) => groupId === own.id)?.origin ?? service.name
      if (origin === service.name) return { rule: 'user-group', detail: `The user is in the group ${scope}.` }
      const from = mapped.filter(each => each.groupId === own.id && each.origin === origin)
      const names = from.map(({ externalGroup }) => externalGroup)
      const by = names.length > 0 ? `its mapping of ${shortList(names)}` : 'what it says of the user'
      return { rule: 'external-group', detail: `The provider ${origin} made the user a member of ${scope}, by ${by}.` }
    }
    if (own) {
      const through = outer.filter(each => each.displayName === scope).map(({ inner }) => nameOf.get(inner) ?? inner)
      return { rule: 'nested-group', detail: `The user is in ${shortList(through)}, which is in the group ${scope}.` }
    }
    if (defaults.has(scope)) {
      return { rule: 'default-group', detail: `${scope} is a default group of the zone ${zone.id}.` }
    }
    const isThere = existing.some(({ displayName }) => displayName === scope)
    const detail = isThere ? `The user is not in the group ${scope}.` : `There is no group ${scope}.`
    return { rule: 'user-group', detail }
  }
}
