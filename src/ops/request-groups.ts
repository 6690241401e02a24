import type { Audience } from '../web/route.ts'

/** Requests that are measured together; one that takes longer than the limit counts as unhealthy. */
export interface RequestGroup {
  readonly name: string
  readonly limitMilliseconds: number
}

const LIMITS = {
  'static-content': 1000,
  system: 1000,
  unknown: 1000,
  'token-api': 3000,
  'oauth-oidc': 5000,
  ui: 5000,
  api: 5000,
  clients: 5000,
  groups: 10_000,
  users: 10_000,
} as const

type GroupName = keyof typeof LIMITS

/** The first pattern that matches a route determines its group. */
const PATTERNS: readonly (readonly [RegExp, GroupName])[] = [
  [/^\/(?:resources|vendor)\/|^\/(?:zone\.css|(?:square|product|banner)-logo\.png|favicon\.ico)$/, 'static-content'],
  [/^\/(?:healthz|livez|readyz|info|RateLimitingStatus)$/, 'system'],
  [/^\/oauth\/clients(?:\/|$)/, 'clients'],
  [/^\/oauth\/token|^\/(?:check_token|introspect|token_keys?)$/, 'token-api'],
  [/^\/oauth\/|^\/\.well-known\/|^\/userinfo$/, 'oauth-oidc'],
  [/^\/Groups(?:\/|$)/, 'groups'],
  [/^\/(?:ids\/)?Users(?:\/|$)|^\/approvals(?:\/|$)/, 'users'],
]

/** Finds the group of a route by its path, else by its audience; caches it per route. */
export function createGroupFinder(
  basePath: string,
): (route: string | undefined, audience: Audience | undefined) => RequestGroup {
  const cache = new Map<string, RequestGroup>()
  const groups = Object.fromEntries(
    Object.entries(LIMITS).map(([name, limitMilliseconds]) => [name, { name, limitMilliseconds }]),
  ) as Record<GroupName, RequestGroup> // has the keys of LIMITS

  function nameOf(route: string, audience: Audience | undefined): GroupName {
    const path = route.startsWith(basePath) ? route.slice(basePath.length) : route
    const [, name] = PATTERNS.find(([pattern]) => pattern.test(path)) ?? []
    return name ?? (audience === 'page' ? 'ui' : audience === 'api' ? 'api' : 'system')
  }

  return (route, audience) => {
    if (route === undefined) return groups.unknown
    const group = cache.get(route) ?? groups[nameOf(route, audience)]
    cache.set(route, group)
    return group
  }
}
