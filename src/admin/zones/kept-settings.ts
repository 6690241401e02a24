// Settings that UAA does not have, in a change of a zone.
import { memberOf } from '../../base/json.ts'
import type { JsonRecord } from '../../base/json.ts'
import type { ZoneConfig } from '../../model/zones/zone.ts'

/** Beside `secondFactor`, which has rules of its own. */
const KEPT = [
  'protocols',
  'requireDpopNonce',
  'profile',
  'registration',
  'requirePushedRequests',
  'require_nonce',
] as const satisfies readonly (keyof ZoneConfig)[]

/**
 * The stored values of settings that the request omits: programs for UAA would otherwise reset them with any change.
 * Null in a request removes one.
 */
export function keptSettings(sent: JsonRecord, before: ZoneConfig | undefined): Partial<ZoneConfig> {
  const names = before ? KEPT.filter(name => memberOf(sent, name) === undefined && before[name] !== undefined) : []
  return Object.fromEntries(names.map(name => [name, before?.[name]]))
}

type TokenPolicy = NonNullable<ZoneConfig['tokenPolicy']>

/** The same for the one member of `tokenPolicy` that UAA does not have. */
export function keptTokenPolicy(sent: JsonRecord, { accessTokenType }: TokenPolicy = {}): TokenPolicy {
  const isNamed = memberOf(memberOf(sent, 'tokenPolicy'), 'accessTokenType') !== undefined
  return isNamed || accessTokenType === undefined ? {} : { accessTokenType }
}
