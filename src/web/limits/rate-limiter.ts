// Counts requests against the limits that operators configure by path and caller: fixed windows, bounded in number, counted
// per process. Knows requests only by path and caller; rate-limit.ts reads these.
import type { Clock } from '../../base/clock.ts'
import type { LimitKind, LimiterMapping, RateLimitSettings } from '../../model/zones/rate-limit.ts'
import { createLocalLimit } from './local-limit.ts'
import type { LocalLimit } from './local-limit.ts'

/** The limit that a request exceeded. */
export interface Excess {
  /** Name of the mapping. */
  readonly name: string
  readonly type: LimitType
  readonly retryAfterSeconds: number
}

/** What a limit counts by, as named in the answer. */
type LimitType = 'CredentialsID' | 'RemoteAddressID' | 'NoID' | 'Global'

/** The caller; read only if a limit needs it. */
export interface Caller {
  credential(): string | undefined
  address(): string
}

/** Counts requests against the configured limits. */
interface RateLimiter {
  /** Returns the first limit that is exhausted, and counts nothing; otherwise counts the request against all. */
  judge(path: string, caller: Caller): Excess | undefined
  /** The mapping that applies to a path, for the log. */
  describe(path: string): string
}

/** Callers per limit; beyond that number the oldest window is dropped. */
const MAX_CALLERS = 20_000

interface Limit {
  readonly name: string
  readonly type: LimitType
  readonly limiter: LocalLimit
}

/** A limit and the key of the caller's window in it. */
type Count = readonly [limit: Limit, key: string]

/** A mapping with its open limits. */
interface Mapping {
  readonly name: string
  readonly limits: Readonly<Partial<Record<LimitKind, Limit>>>
}

/** Compiles the mappings once; checking a request only looks things up. */
export function createRateLimiter({ mappings }: Pick<RateLimitSettings, 'mappings'>, clock: Clock): RateLimiter {
  const choose = createPathChoice(mappings.map(mapping => [mapping, openMapping(mapping, clock)] as const))
  return {
    judge(path, caller) {
      const chosen = choose(path)
      const counts = [...chosen.flatMap(mapping => callerCount(mapping, caller)), ...chosen.flatMap(globalCount)]
      for (const [{ name, type, limiter }, key] of counts) {
        const retryAfterSeconds = limiter.secondsUntilRoom(key)
        if (retryAfterSeconds > 0) return { name, type, retryAfterSeconds }
      }
      for (const [{ limiter }, key] of counts) limiter.count(key)
      return undefined
    },
    describe: path =>
      choose(path)
        .map(({ name, limits }) => `${name}: ${Object.keys(limits).join(' ')}`)
        .join(', ') || 'no limit',
  }
}

const TYPES: Readonly<Record<LimitKind, LimitType>> = {
  withCallerCredentialsID: 'CredentialsID',
  withCallerRemoteAddressID: 'RemoteAddressID',
  withoutCallerID: 'NoID',
  global: 'Global',
}

function openMapping({ name, limits }: LimiterMapping, clock: Clock): Mapping {
  const open = (kind: LimitKind): Limit | undefined => {
    const rate = limits[kind]
    const allowance = rate && { max: rate.requests, seconds: rate.seconds, keys: MAX_CALLERS }
    return allowance && { name, type: TYPES[kind], limiter: createLocalLimit(clock, allowance) }
  }
  const kinds = Object.keys(limits) as LimitKind[] // its keys are those of the record
  return { name, limits: Object.fromEntries(kinds.map(kind => [kind, open(kind)])) }
}

/** Counts by the most specific key available: credential, else address, else one window for all. */
function callerCount({ limits }: Mapping, caller: Caller): readonly Count[] {
  const { withCallerCredentialsID: byCredential, withCallerRemoteAddressID: byAddress, withoutCallerID } = limits
  const credential = byCredential && caller.credential()
  if (byCredential && credential !== undefined) return [[byCredential, credential]]
  if (byAddress) return [[byAddress, caller.address()]]
  return withoutCallerID ? [[withoutCallerID, '']] : []
}

const globalCount = ({ limits: { global } }: Mapping): readonly Count[] => (global ? [[global, '']] : [])

/** Finds the most specific mapping of a path; the one for all paths comes last. */
function createPathChoice(
  mappings: readonly (readonly [LimiterMapping, Mapping])[],
): (path: string) => readonly Mapping[] {
  const equal = new Map<string, Mapping>()
  const starting: [value: string, mapping: Mapping][] = []
  const containing: [value: string, mapping: Mapping][] = []
  let other: Mapping | undefined
  let all: Mapping | undefined
  for (const [{ selectors }, mapping] of mappings) {
    for (const selector of selectors) {
      switch (selector.kind) {
        case 'equals':
          equal.set(selector.text, mapping)
          break
        case 'startsWith':
          starting.push([selector.text, mapping])
          break
        case 'contains':
          containing.push([selector.text, mapping])
          break
        case 'other':
          other = mapping
          break
        case 'all':
          all = mapping
          break
      }
    }
  }
  for (const list of [starting, containing]) list.sort(([a], [b]) => b.length - a.length)
  return path => {
    const chosen =
      equal.get(path) ??
      starting.find(([text]) => path.startsWith(text))?.[1] ??
      containing.find(([text]) => path.includes(text))?.[1] ??
      other
    return [chosen, all === chosen ? undefined : all].filter(mapping => mapping !== undefined)
  }
}
