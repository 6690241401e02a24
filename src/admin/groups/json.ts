// Groups and members as `/Groups` shows and reads them.
import { isJsonRecord, memberOf } from '../../base/json.ts'
import type { JsonRecord } from '../../base/json.ts'
import type { Group, Member } from '../../model/users/group.ts'
import type { Service } from '../../model/service.ts'
import { groupFields } from '../../records/group.ts'
import { isKeepable } from '../../records/kinds.ts'
import { readRecord } from '../../records/record.ts'
import { refuseResource } from '../../users/refusal.ts'
import { checkSchemas, isVersion } from '../resources/dialect.ts'

const MAX_ID_LENGTH = 255

/** The part of a response before the members of a group. */
export const groupHead = (group: Group): JsonRecord => ({
  id: group.id,
  meta: {
    version: group.version,
    created: group.createdAt.toISOString(),
    lastModified: group.updatedAt.toISOString(),
  },
  displayName: group.displayName,
  zoneId: group.zoneId,
  ...(group.description !== undefined && { description: group.description }),
})

/** A member in responses. */
export const memberToJson = ({ origin, memberType, memberId }: Member): JsonRecord => ({
  origin,
  type: memberType,
  value: memberId,
})

/** A group in requests; absent members are undefined. */
export interface SentGroup {
  readonly displayName?: string | undefined
  readonly description?: string | undefined
  readonly members?: readonly SentMember[] | undefined
  readonly version?: number | undefined
  /** `meta.attributes`: what a PATCH clears. */
  readonly cleared: readonly string[]
}

/** A member in requests. */
interface SentMember extends Member {
  /** Whether a PATCH removes it. */
  readonly isRemoved: boolean
}

const refuse = (message: string): Error => refuseResource('scim', message)

/** Reads the body of POST, PUT and PATCH; throws `scim`. Members that it does not know are ignored. */
export function readGroup(json: JsonRecord, service: Service): SentGroup {
  const { values, problems } = readRecord(groupFields, json)
  const [problem] = problems
  if (problem) throw refuse(problem.message)
  checkSchemas([memberOf(json, 'schemas') ?? []].flat())
  const meta = memberOf(json, 'meta') ?? {}
  if (!isJsonRecord(meta)) throw refuse('meta must be an object')
  const members = memberOf(json, 'members') ?? undefined
  if (members !== undefined && !Array.isArray(members)) throw refuse('members must be a list')
  const { displayName, description } = values
  return {
    displayName,
    description,
    members: members?.map((member: unknown) =>
      // cf-uaac lists the bare ids of users.
      readMember(typeof member === 'string' ? { value: member } : member, service),
    ),
    version: versionIn(meta),
    cleared: attributesIn(meta),
  }
}

function versionIn(meta: JsonRecord): number | undefined {
  const version = memberOf(meta, 'version') ?? undefined
  if (version === undefined) return undefined
  if (isVersion(version)) return version
  throw refuse('meta.version must be a whole number')
}

function attributesIn(meta: JsonRecord): readonly string[] {
  const attributes: unknown = memberOf(meta, 'attributes') ?? []
  if (!Array.isArray(attributes)) throw refuse('meta.attributes must be a list of strings')
  return attributes.map((name: unknown) => {
    if (typeof name === 'string' && isKeepable(name)) return name
    throw refuse('meta.attributes must be a list of strings')
  })
}

/** Reads a member; throws `scim`. One without `value` has an empty id. */
export function readMember(member: unknown, service: Service): SentMember {
  if (!isJsonRecord(member)) throw refuse('A member must be an object')
  const text = (name: string, fallback: string): string => {
    const value = Object.hasOwn(member, name) ? member[name] : fallback
    if (typeof value === 'string') return value
    throw refuse(`The ${name} of a member must be a string`)
  }
  const memberType = memberOf(member, 'type') === null ? 'USER' : text('type', 'USER')
  if (memberType !== 'USER' && memberType !== 'GROUP') throw refuse('The type of a member must be USER or GROUP')
  const origin = text('origin', service.name)
  if (!isKeepable(origin)) throw refuse('The origin of a member has characters that cannot be stored')
  const operation: unknown = memberOf(member, 'operation') ?? ''
  const memberId = memberOf(member, 'value') === null ? '' : text('value', '')
  if (memberId.length > MAX_ID_LENGTH) throw refuse('The value of a member must be the id of a user or a group')
  return {
    memberId,
    memberType,
    origin,
    isRemoved: typeof operation === 'string' && operation.toLowerCase() === 'delete',
  }
}
