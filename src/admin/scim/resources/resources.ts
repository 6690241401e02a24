// The operations on a type of resource: users and groups implement them, and the endpoints, `/Bulk` and `/Me` call them. They
// return the resource as it is after the change, and know neither requests nor replies.
import type { Zone } from '../../../model/zones/zone.ts'
import type { CursorPage, CursorQuery, ListQuery, Page } from '../../../store/store.ts'
import type { GroupCaller } from '../../../users/groups/group-rights.ts'
import type { Json, Names } from '../schemas/attribute.ts'
import type { Condition } from '../meta.ts'
import type { Selection } from '../requests/selection.ts'

/** The zone, its base URL and the caller. */
export interface Context {
  readonly zone: Zone
  /** The URL of `/scim/v2` as the request addressed the zone. */
  readonly base: string
  readonly by: GroupCaller
}

/** A resource with the data of its headers. */
export interface Resource {
  readonly id: string
  readonly version: number
  readonly json: Json
  /** Whether it changes only with its version: it has no attribute that changes independently, such as groups of a user. */
  readonly isOfVersion: boolean
  /** One more member, which is read while it is sent, a page at a time. */
  readonly list?: { readonly name: string; readonly pages: AsyncIterable<readonly unknown[]> }
}

/** Filter, order and page by number, with SCIM's names of attributes. */
type Listed = Omit<ListQuery, 'dialect'>

/** The same from a position on. */
type Paged = Omit<CursorQuery, 'dialect'>

/** A type of resource. Everything throws `ScimError`, or `OAuthError` with the codes of UAA's API. */
export interface Resources {
  readonly names: Names
  /** Throws 404 where the zone has no such resource. */
  read(context: Context, id: string, selection: Selection): Promise<Resource>
  list(context: Context, query: Listed, selection: Selection): Promise<Page<Resource>>
  page(context: Context, query: Paged, selection: Selection): Promise<CursorPage<Resource>>
  create(context: Context, body: Json, selection: Selection): Promise<Resource>
  /** Throws 412 unless the resource meets the condition. */
  replace(context: Context, change: Change): Promise<Resource>
  /** As `replace`. */
  patch(context: Context, change: Change): Promise<Resource>
  /** As `replace`. */
  delete(context: Context, id: string, condition: Condition): Promise<void>
}

/** A change of one resource. */
export interface Change {
  readonly id: string
  readonly body: Json
  readonly condition: Condition
  readonly selection: Selection
  /** Refuses changes that the caller may not make, given the client-writable part of the resource before and after. */
  readonly check?: (before: Json, after: Json) => void
}
