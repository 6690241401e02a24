// The permanent identifier that a directory assigns to an entry, independent of its name and location.
import type { Entry } from 'ldapts'
import { OBJECT_GUID } from '../../providers/directory-settings.ts'

/** The identifier of an entry; undefined without one, or if there are several. */
export function uniqueIdOf(entry: Entry, attributes: ReadonlyMap<string, readonly string[]>): string | undefined {
  const guid = entry[OBJECT_GUID]
  const [id, second] = attributes.get('entryuuid') ?? [guidText(guid) ?? attributes.get('nsuniqueid')].flat()
  return id !== undefined && second === undefined && /^[0-9A-Fa-f-]{32,36}$/.test(id) ? id.toLowerCase() : undefined
}

/** Active Directory writes the first three parts with the least significant byte first. */
function guidText(value: unknown): string | undefined {
  if (!Buffer.isBuffer(value) || value.length !== 16) return undefined
  const parts = [
    value.subarray(0, 4).toReversed(),
    value.subarray(4, 6).toReversed(),
    value.subarray(6, 8).toReversed(),
  ]
  const rest = [value.subarray(8, 10), value.subarray(10)]
  return [...parts, ...rest].map(part => Buffer.from(part).toString('hex')).join('-')
}
