// The groups of a UAA, their members, and their mappings to groups of other providers.
import { isKeepable } from '../records/kinds.ts'
import { MAX_GROUP_TEXT } from '../records/group.ts'
import type { Group, Membership, MemberType } from '../model/users/group.ts'
import type { UaaRow } from '../store/uaa/tables.ts'
import { AlreadyExists, InvalidNesting, NoSuchMember } from '../store/store.ts'
import { isResourceId, isUnseen, zoneProblem } from './import-deps.ts'
import type { ImportDeps } from './import-deps.ts'
import { inPortions, oneByOne } from './in-portions.ts'
import { storedTime, storedVersion } from './stored-json.ts'

/** Writes every group with its members and mappings. */
export async function importGroups(deps: ImportDeps): Promise<void> {
  const { source } = deps
  await inPortions(
    source.rows('groups'),
    oneByOne(row => importGroup(row, deps)),
  )
}

async function importGroup(row: UaaRow<'groups'>, deps: ImportDeps): Promise<void> {
  const { store, clock, report } = deps
  const zoneId = row.zoneId ?? ''
  const displayName = row.displayName ?? ''
  const name = `${displayName} (zone ${zoneId})`
  const problem = zoneProblem(row.zoneId, deps.zones)
  if (problem && 'refused' in problem) return report.refused('group', name, problem.refused)
  if (problem) return report.leftOut('group', name, problem.leftOut)
  const description = row.description ?? ''
  const isText = isKeepable([displayName, description]) && description.length <= MAX_GROUP_TEXT
  if (!isText || displayName.trim() === '' || displayName.length > MAX_GROUP_TEXT) {
    return report.refused(
      'group',
      name,
      `its name must have 1 to ${MAX_GROUP_TEXT} characters, its description at most that`,
    )
  }
  if (!isResourceId(row.id ?? ''))
    return report.refused('group', name, 'its id is not one of 1 to 36 visible characters, other than dots')
  const updatedAt = storedTime(row.updated) ?? clock.now()
  const group: Group = {
    zoneId,
    id: row.id ?? '',
    displayName,
    ...(description !== '' && { description }),
    version: storedVersion(row.version),
    createdAt: storedTime(row.created) ?? updatedAt,
    updatedAt,
  }
  try {
    await store.groups.insert(zoneId, group)
    report.imported('group')
  } catch (error) {
    if (!(error instanceof AlreadyExists)) throw error
    if ((await store.groups.find(zoneId, group.id)) !== undefined) report.same('group')
    else report.refused('group', name, 'another group of the zone has its name, in any case')
  }
}

/** Adds the members, after the users and the groups. */
export async function importMembers(deps: ImportDeps): Promise<void> {
  const { source } = deps
  await inPortions(source.rows('members'), async portion => {
    const members = portion.flatMap(row => readMember(row, deps) ?? [])
    for (const ofGroup of Map.groupBy(members, ({ groupId }) => groupId).values()) await addMembers(ofGroup, deps)
  })
}

const OTHER_ZONE = 'its zone is not that of its group'

const isMemberType = (type: string | null): type is MemberType => type === 'USER' || type === 'GROUP'

const NESTING: Readonly<Record<InvalidNesting['problem'], string>> = {
  itself: 'a group cannot be a member of itself',
  cycle: 'the groups would contain each other',
  'too deep': 'the groups would be nested too deeply',
  'too many': 'the group would be in too many others',
}

interface ReadMember extends Membership {
  readonly zoneId: string
}

const nameOf = ({ memberType, memberId, groupId }: Pick<UaaRow<'members'>, 'memberType' | 'memberId' | 'groupId'>) =>
  `of ${memberType ?? ''} ${memberId ?? ''} in group ${groupId ?? ''}`

/** The membership of a row that can be taken; of any other one the report says why not. */
function readMember(row: UaaRow<'members'>, { report, rules, zones }: ImportDeps): ReadMember | undefined {
  const { zoneId, groupId, memberId, memberType } = row
  const problem = zoneProblem(zoneId, zones)
  if (problem && 'refused' in problem) report.refused('membership', nameOf(row), problem.refused)
  else if (problem || zoneId === null) report.leftOut('membership', nameOf(row), 'its group does not exist')
  else if (isUnseen(row)) report.leftOut('membership', nameOf(row), OTHER_ZONE)
  else if (groupId === null || memberId === null || !isMemberType(memberType) || !isKeepable([groupId, memberId])) {
    report.refused('membership', nameOf(row), 'its member is neither a USER nor a GROUP')
  } else return { zoneId, groupId, memberId, memberType, origin: row.origin || rules.service.name }
  return undefined
}

/** Adds the members of one group together, or one by one if there is a reason against one of them. */
async function addMembers(members: readonly ReadMember[], deps: ImportDeps): Promise<void> {
  const { store, report } = deps
  const [first] = members
  if (!first) return
  try {
    const added = await store.groups.insertMembers(first.zoneId, first.groupId, members)
    for (const [index, member] of members.entries()) {
      if (added === 'missing') report.refused('membership', nameOf(member), 'its group is refused')
      else if (index < added) report.imported('membership')
      else report.same('membership')
    }
  } catch (error) {
    if (!(error instanceof NoSuchMember || error instanceof InvalidNesting)) throw error
    for (const member of members) await addMember(member, deps)
  }
}

async function addMember(member: ReadMember, { store, report }: ImportDeps): Promise<void> {
  try {
    const outcome = await store.groups.insertMember(member.zoneId, member)
    if (outcome === 'added') report.imported('membership')
    else if (outcome === 'same') report.same('membership')
    else report.refused('membership', nameOf(member), 'its group is refused')
  } catch (error) {
    // UAA leaves memberships behind when it deletes an account; they are of none of the zone's users.
    if (error instanceof NoSuchMember) report.leftOut('membership', nameOf(member), 'its zone has no such member')
    else if (error instanceof InvalidNesting) report.refused('membership', nameOf(member), NESTING[error.problem])
    else throw error
  }
}

/** Adds the mappings of groups of other providers. */
export async function importExternalGroups(deps: ImportDeps): Promise<void> {
  const { source } = deps
  await inPortions(
    source.rows('externalGroups'),
    oneByOne(row => importExternalGroup(row, deps)),
  )
}

async function importExternalGroup(row: UaaRow<'externalGroups'>, deps: ImportDeps): Promise<void> {
  const { store, clock, report } = deps
  const externalGroup = (row.externalGroup ?? '').trim().toLowerCase()
  const name = `${externalGroup} for group ${row.groupId ?? ''}`
  const problem = zoneProblem(row.zoneId, deps.zones)
  if (problem && 'refused' in problem) return report.refused('external group', name, problem.refused)
  if (problem || row.zoneId === null || row.groupId === null) {
    return report.leftOut('external group', name, 'its group does not exist')
  }
  if (isUnseen(row)) return report.leftOut('external group', name, OTHER_ZONE)
  if (externalGroup === '' || !isKeepable([externalGroup, row.origin ?? ''])) {
    return report.refused('external group', name, 'its name cannot be stored')
  }
  if ((await store.groups.find(row.zoneId, row.groupId)) === undefined) {
    return report.refused('external group', name, 'its group is refused')
  }
  // Older versions knew no other provider.
  const mapping = { groupId: row.groupId, externalGroup, origin: row.origin || 'ldap' }
  if (await store.groups.findExternal(row.zoneId, mapping)) return report.same('external group')
  await store.groups.addExternal(row.zoneId, { ...mapping, createdAt: storedTime(row.created) ?? clock.now() })
  report.imported('external group')
}
