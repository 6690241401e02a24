import { memberOf } from '../../base/json.ts'
import type { JsonRecord } from '../../base/json.ts'
import { isKeepable } from '../../records/kinds.ts'
import { refuseResource } from '../../users/refusal.ts'

/** The string member; undefined if absent or null. Throws the refusal for any other type, and for text that cannot be stored. */
export function stringIn(
  body: JsonRecord,
  name: string,
  refuse = (): Error => refuseResource('scim', `The value of ${name} must be a string`),
): string | undefined {
  const value = memberOf(body, name) ?? undefined
  if (value === undefined || (typeof value === 'string' && isKeepable(value))) return value
  throw refuse()
}
