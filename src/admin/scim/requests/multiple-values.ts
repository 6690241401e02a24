// The values of a multi-valued attribute: which of them are the same, and which is the preferred one (RFC 7643 §2.4).
import { isJsonRecord } from '../../../base/json.ts'
import type { JsonRecord } from '../../../base/json.ts'
import type { Attribute } from '../schemas/attribute.ts'
import { named } from '../schemas/attribute.ts'

/** Whether the value is marked as the preferred one. */
export const isPrimary = (value: unknown): value is JsonRecord => isJsonRecord(value) && value['primary'] === true

/** Whether one member identifies a value, like the id of a member of a group. */
export const hasOwnId = ({ subAttributes = [] }: Attribute): boolean =>
  subAttributes.some(({ name, mutability }) => name === 'value' && mutability === 'immutable')

/**
 * The list with the values that it does not have yet; those that it has are completed. A primary value replaces the old one as
 * primary (§3.5.2).
 */
export function joined(attribute: Attribute, list: readonly unknown[], values: readonly unknown[]): readonly unknown[] {
  const keyOf = keyFor(attribute)
  const isCompleted = !hasOwnId(attribute)
  const all = [...list]
  const places = new Map<unknown, number>()
  for (const [place, entry] of list.entries()) if (!places.has(keyOf(entry))) places.set(keyOf(entry), place)
  let primaryAt: number | undefined
  for (const value of values) {
    const key = keyOf(value)
    const place = places.get(key) ?? all.length
    const known = all[place]
    all[place] = isCompleted && isJsonRecord(known) && isJsonRecord(value) ? { ...known, ...value } : (known ?? value)
    places.set(key, place)
    if (isPrimary(value)) primaryAt = place
  }
  return onlyPrimary(all, primaryAt === undefined ? undefined : all[primaryAt])
}

/** What distinguishes values: an id, or type and value together (RFC 7643 §2.4), or all members where there are not both. */
function keyFor(attribute: Attribute): (entry: unknown) => unknown {
  if (hasOwnId(attribute)) return idOf
  const { subAttributes = [] } = attribute
  if (!named(subAttributes, 'value') || !named(subAttributes, 'type')) return textOf
  return entry => (isJsonRecord(entry) ? JSON.stringify([entry['value'], entry['type']]) : entry)
}

/** The same text for equal values, independent of the order of their members. */
const textOf = (entry: unknown): string =>
  JSON.stringify(isJsonRecord(entry) ? Object.entries(entry).toSorted(([a], [b]) => (a < b ? -1 : 1)) : entry)

/** What identifies an entry of a list with ids, of which an address ends with it; a value that is no object stands for itself. */
export function idOf(entry: unknown): unknown {
  if (!isJsonRecord(entry)) return entry
  const { value, $ref: address } = entry
  return value ?? (typeof address === 'string' ? address.split('/').at(-1) : undefined)
}

/** Clears `primary` of all values except the preferred one, if there is one. */
export const onlyPrimary = (list: readonly unknown[], preferred: unknown): readonly unknown[] =>
  preferred === undefined
    ? list
    : list.map(entry => (entry !== preferred && isPrimary(entry) ? { ...entry, primary: false } : entry))
