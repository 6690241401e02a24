// The members of a group, one at a time.
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Group } from '../../model/users/group.ts'
import { noSuchMember } from '../../users/groups/group-refusals.ts'
import type { Groups } from '../../users/groups/groups.ts'
import { jsonBody, sendJson } from '../../web/requests/json.ts'
import { queryForm } from '../../web/requests/query.ts'
import { noSuchResource } from '../../users/refusal.ts'
import { userToJson } from '../users/record.ts'
import { groupCallerOf } from '../resources/caller.ts'
import { sendPieces } from '../resources/pieces.ts'
import { memberPieces, recordPieces } from './answers.ts'
import { SCHEMAS } from '../resources/dialect.ts'
import { groupHead, memberToJson, readMember } from './json.ts'
import type { On } from '../../web/deferred-routes.ts'
import type { GroupRoute } from './routes.ts'
import type { AdminDeps } from '../deps.ts'

interface OfGroup {
  readonly Params: { readonly id: string }
}
interface OfMember {
  readonly Params: { readonly id: string; readonly memberId: string }
}

/** `/Groups/{id}/members` and `/Groups/{id}/members/{memberId}`. */
export function memberHandlers(on: On<GroupRoute>, groups: Groups, { store, service }: AdminDeps): void {
  on<OfGroup>('GET /Groups/:id/members', async (request, reply) => {
    const { zone, params } = request
    const group = await store.groups.find(zone.id, params.id)
    if (!group) throw noSuchResource('Group', params.id)
    const withEntities = queryForm(request).get('returnEntities')?.toLowerCase() === 'true'
    const parts = withEntities
      ? recordPieces(store, group, ({ member, user, group: nested }) => {
          const entity = user ? userToJson(user) : nested && entityOf(nested)
          const { origin, type, value } = memberToJson(member)
          return { origin, type, ...(entity !== undefined && { entity }), value }
        })
      : memberPieces(store, group)
    return sendPieces(reply, parts, { before: '[', after: ']' })
  })

  on<OfGroup>('POST /Groups/:id/members', async (request, reply) => {
    const { isRemoved: _, ...member } = readMember(jsonBody(request), service)
    const by = groupCallerOf(request, service)
    return sendJson(reply, memberToJson(await groups.addMember(request.zone, request.params.id, member, by)), 201)
  })

  async function show(request: FastifyRequest<OfMember>, reply: FastifyReply): Promise<FastifyReply> {
    const { id, memberId } = request.params
    const member = await store.groups.findMember(request.zone.id, id, memberId)
    if (!member) throw noSuchMember(id, memberId)
    return sendJson(reply, memberToJson(member))
  }
  on<OfMember>('GET /Groups/:id/members/:memberId', (request, reply) => show(request, reply))
  // UAA: the same as GET, but requires the right to write; the body is ignored.
  on<OfMember>('PUT /Groups/:id/members/:memberId', (request, reply) => show(request, reply))

  on<OfMember>('DELETE /Groups/:id/members/:memberId', async (request, reply) => {
    const { id, memberId } = request.params
    const by = groupCallerOf(request, service)
    return sendJson(reply, memberToJson(await groups.removeMember(request.zone, id, memberId, by)))
  })
}

const entityOf = (group: Group) => ({ ...groupHead(group), schemas: SCHEMAS })
