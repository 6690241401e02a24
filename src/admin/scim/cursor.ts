// Cursors (RFC 9865): the position of the next page, encrypted and authenticated, and valid only for the same list of the same
// zone. They do not expire, because they need no stored state.
import type { Vault } from '../../base/secrets.ts'
import { memberOf, parseJson } from '../../base/json.ts'
import type { Position } from '../../store/store.ts'
import { ScimError } from './error.ts'
import type { ListRequest } from './requests/query.ts'

/** A place in a list; `backwards` for the pages before it. */
interface CursorPosition {
  readonly at: Position
  readonly backwards: boolean
}

/** The list that a cursor belongs to. */
export interface CursorScope {
  readonly zoneId: string
  readonly type: string
  readonly request: Pick<ListRequest, 'filterText' | 'sortBy' | 'descending'>
}

/** A sealed position is some hundred characters long, and a name some more. */
const MAX_CURSOR_LENGTH = 4096

const contextOf = ({ zoneId, type, request: { filterText, sortBy, descending } }: CursorScope): string =>
  `scim cursor ${JSON.stringify([zoneId, type, filterText, sortBy.toLowerCase(), descending])}`

/** Creates a cursor of unreserved characters (RFC 9865 §2). */
export const sealCursor = (vault: Vault, { at, backwards }: CursorPosition, scope: CursorScope): string =>
  vault.seal(JSON.stringify([at.value, at.key, backwards]), contextOf(scope))

/** The position of a cursor; undefined for an empty one, which requests the first page. Throws `invalidCursor`. */
export function openCursor(vault: Vault, cursor: string, scope: CursorScope): CursorPosition | undefined {
  if (cursor === '') return undefined
  const opened = cursor.length > MAX_CURSOR_LENGTH ? undefined : openOrNothing(vault, cursor, contextOf(scope))
  const [value, key, backwards] = [memberOf(opened, '0'), memberOf(opened, '1'), memberOf(opened, '2')]
  const isValue = value === null || typeof value === 'string' || typeof value === 'number'
  if (!isValue || typeof key !== 'string' || typeof backwards !== 'boolean') {
    throw new ScimError('invalidCursor', 'The cursor does not belong to this list')
  }
  return { at: { value, key }, backwards }
}

function openOrNothing(vault: Vault, cursor: string, context: string): unknown {
  try {
    return parseJson(vault.open(cursor, context))
  } catch {
    return undefined // not one of ours, or of another list
  }
}
