// Creates, reads, replaces, patches and deletes one group.
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Group } from '../../model/users/group.ts'
import type { GroupChange } from '../../users/groups/group-changes.ts'
import type { Groups } from '../../users/groups/groups.ts'
import { jsonBody } from '../../web/requests/json.ts'
import { noSuchResource, refuseResource } from '../../users/refusal.ts'
import { expectedVersion, requiredVersion } from '../resources/versions.ts'
import type { ExpectedVersion } from '../resources/versions.ts'
import { groupCallerOf } from '../resources/caller.ts'
import { collected, memberPieces, sendGroup } from './answers.ts'
import { externalGroupHandlers } from './external.ts'
import { readGroup } from './json.ts'
import type { SentGroup } from './json.ts'
import { groupListHandler } from './list.ts'
import { memberHandlers } from './members.ts'
import { zoneGroupHandlers } from './zones.ts'
import type { On } from '../../web/deferred-routes.ts'
import type { GroupRoute } from './routes.ts'
import type { AdminDeps } from '../deps.ts'

interface OfGroup {
  readonly Params: { readonly id: string }
}

/** The handlers of `/Groups` and everything below it. */
export function groupHandlers(on: On<GroupRoute>, deps: AdminDeps): void {
  const { groups } = deps
  groupListHandler(on, deps)
  singleHandlers(on, groups, deps)
  memberHandlers(on, groups, deps)
  externalGroupHandlers(on, groups, deps)
  zoneGroupHandlers(on, groups, deps)
}

function singleHandlers(on: On<GroupRoute>, groups: Groups, { store, service }: AdminDeps): void {
  const send = (reply: FastifyReply, group: Group, status = 200): Promise<FastifyReply> =>
    sendGroup(reply, group, { members: memberPieces(store, group), status })
  const change = (request: FastifyRequest, expected: ExpectedVersion | undefined): GroupChange => ({
    expected: expected === 'any' ? undefined : expected,
    by: groupCallerOf(request, service),
  })

  on<OfGroup>('GET /Groups/:id', async (request, reply) => {
    const group = await store.groups.find(request.zone.id, request.params.id)
    if (!group) throw noSuchResource('Group', request.params.id)
    return send(reply, group)
  })

  on('POST /Groups', async (request, reply) => {
    const { displayName = '', description, members = [], version } = readGroup(jsonBody(request), service)
    const draft = { displayName, description, members, version }
    return send(reply, await groups.create(request.zone, draft, groupCallerOf(request, service)), 201)
  })

  on<OfGroup>('PUT /Groups/:id', async (request, reply) => {
    const expected = requiredVersion(request)
    const { displayName = '', description, members = [] } = readGroup(jsonBody(request), service)
    const replacement = { displayName, description, members: { remove: 'others', add: members } } as const
    return send(
      reply,
      await groups.change(request.zone, request.params.id, () => replacement, change(request, expected)),
    )
  })

  on<OfGroup>('PATCH /Groups/:id', async (request, reply) => {
    const expected = requiredVersion(request, 'PATCH')
    const patch = readPatch(readGroup(jsonBody(request), service))
    return send(reply, await groups.change(request.zone, request.params.id, patch, change(request, expected)))
  })

  on<OfGroup>('DELETE /Groups/:id', async (request, reply) => {
    const { zone, params } = request
    const found = await store.groups.find(zone.id, params.id)
    if (!found) throw noSuchResource('Group', params.id)
    const asked = change(request, expectedVersion(request))
    const members = await collected(memberPieces(store, found))
    return sendGroup(reply, await groups.delete(zone, params.id, asked), { members })
  })
}

const CLEARABLE = new Set(['description', 'displayname', 'members'])
const FIXED = new Map([
  ['zoneid', 'ZoneId'],
  ['id', 'ID'],
])

/** The group after a PATCH, which changes only the given attributes. */
function readPatch(patch: SentGroup): Parameters<Groups['change']>[2] {
  for (const name of patch.cleared) {
    const fixed = FIXED.get(name.toLowerCase())
    if (fixed !== undefined) throw refuseResource('scim', `Cannot delete or change ${fixed}`)
    if (CLEARABLE.has(name.toLowerCase())) continue
    throw refuseResource('scim', `Attribute ${name.slice(0, 255)} cannot be removed using "Meta.attributes"`)
  }
  const cleared = new Set(patch.cleared.map(name => name.toLowerCase()))
  const { members = [] } = patch
  const seen = new Set(members.map(({ memberId }) => memberId))
  if (seen.size < members.length) throw refuseResource('invalid_scim_resource', 'A member is named twice')
  const remove = cleared.has('members')
    ? 'others'
    : members.filter(({ isRemoved }) => isRemoved).map(({ memberId }) => memberId)
  const add = members.filter(({ isRemoved }) => !isRemoved)
  return ({ displayName, description }) => ({
    displayName: patch.displayName ?? (cleared.has('displayname') ? '' : displayName),
    description: patch.description ?? (cleared.has('description') ? undefined : description),
    members: { remove, add },
  })
}
