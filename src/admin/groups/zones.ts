// Shortcuts for the groups of the default zone that give rights in other zones, for callers with `scim.zones`.
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Group, Member } from '../../model/users/group.ts'
import { OAuthError } from '../../model/oauth-error.ts'
import type { GroupCaller } from '../../users/groups/group-rights.ts'
import type { Groups } from '../../users/groups/groups.ts'
import { jsonBody } from '../../web/requests/json.ts'
import { refuseResource } from '../../users/refusal.ts'
import { groupCallerOf } from '../resources/caller.ts'
import { memberPieces, sendGroup } from './answers.ts'
import { readGroup } from './json.ts'
import type { On } from '../../web/deferred-routes.ts'
import type { GroupRoute } from './routes.ts'
import type { AdminDeps } from '../deps.ts'

const ZONE_GROUP = /^zones\.[^.]+\.(?:admin|read|clients\.(?:admin|read|write)|scim\.(?:create|read|write)|idps\.read)$/

interface OfZone {
  readonly Params: { readonly userId: string; readonly zoneId: string; readonly scope?: string }
}

/** `POST /Groups/zones` and the two `DELETE`s below it. */
export function zoneGroupHandlers(on: On<GroupRoute>, groups: Groups, { store, service }: AdminDeps): void {
  /** `scim.zones` is the right to grant scopes of other zones; those of the default zone administer this server. */
  function callerFor(request: FastifyRequest, displayName: string): GroupCaller {
    const by = groupCallerOf(request, service)
    const isOfDefault = displayName.toLowerCase().startsWith(`zones.${service.name}.`)
    return isOfDefault ? by : { ...by, scopes: [...by.scopes, displayName] }
  }

  /** Group names are case-insensitive, but zone ids are not: a group in another case gives rights in another zone. */
  async function find(zoneId: string, displayName: string): Promise<Group | undefined> {
    const found = await store.groups.findByName(zoneId, displayName)
    return found?.displayName === displayName ? found : undefined
  }

  const send = (reply: FastifyReply, group: Group, status = 200): Promise<FastifyReply> =>
    sendGroup(reply, group, { members: memberPieces(store, group), status })

  /** Adds the members to the group, creating it if necessary. */
  async function give(
    request: FastifyRequest,
    { displayName, members }: { readonly displayName: string; readonly members: readonly Member[] },
  ): Promise<Group> {
    const { zone } = request
    const by = callerFor(request, displayName)
    const add = (id: string): Promise<Group> =>
      groups.change(zone, id, group => ({ ...group, members: { remove: [], add: members } }), { by })
    const existing = await find(zone.id, displayName)
    if (existing) return add(existing.id)
    try {
      return await groups.create(zone, { displayName, members }, by)
    } catch (cause) {
      const made = isTaken(cause) ? await find(zone.id, displayName) : undefined
      if (!made) throw cause
      return add(made.id)
    }
  }

  on('POST /Groups/zones', async (request, reply) => {
    const { displayName = '', members = [] } = readGroup(jsonBody(request), service)
    if (!ZONE_GROUP.test(displayName)) throw refuseResource('scim', 'Invalid group name.')
    if (members.length === 0) {
      throw refuseResource('scim', 'Invalid group members, you have to add at least one member.')
    }
    return send(reply, await give(request, { displayName, members }), 201)
  })

  async function take(request: FastifyRequest<OfZone>, reply: FastifyReply): Promise<FastifyReply> {
    const { zone, params } = request
    const { userId, zoneId, scope = 'admin' } = params
    const displayName = `zones.${zoneId}.${scope}`
    if (!ZONE_GROUP.test(displayName)) throw refuseResource('scim', 'Invalid group name.')
    const group = await find(zone.id, displayName)
    if (!group) throw refuseResource('scim', `Group not found:${displayName}`, { status: 404 })
    const member = await store.groups.findMember(zone.id, group.id, userId)
    if (!member) throw refuseResource('scim', 'User is not a zone admin.', { status: 404 })
    const by = callerFor(request, displayName)
    const compute = (before: Group) => ({ ...before, members: { remove: [userId], add: [] } })
    return send(reply, await groups.change(zone, group.id, compute, { by }))
  }
  on<OfZone>('DELETE /Groups/zones/:userId/:zoneId', (request, reply) => take(request, reply))
  on<OfZone>('DELETE /Groups/zones/:userId/:zoneId/:scope', (request, reply) => take(request, reply))
}

const isTaken = (cause: unknown): boolean =>
  cause instanceof OAuthError && cause.error === 'scim_resource_already_exists'
