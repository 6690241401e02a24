// The members of a group, one at a time.
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Group } from '../../model/group.ts'
import { noSuchMember } from '../../users/group-refusals.ts'
import type { GroupDeps, Groups } from '../../users/groups.ts'
import { jsonBody, sendJson } from '../../web/json.ts'
import { queryForm } from '../../web/query.ts'
import { noSuchResource, refuseMalformed } from '../resources/refusal.ts'
import { userToJson } from '../users/record.ts'
import { groupAccess, groupCallerOf } from './access.ts'
import { memberPieces, recordPieces, sendPieces } from './answers.ts'
import { SCHEMAS } from '../resources/dialect.ts'
import { groupHead, memberToJson, readMember } from './json.ts'

interface OfGroup {
  readonly Params: { readonly id: string }
}
interface OfMember {
  readonly Params: { readonly id: string; readonly memberId: string }
}

/** `/Groups/{id}/members` and `/Groups/{id}/members/{memberId}`. */
export function memberEndpoints(app: FastifyInstance, groups: Groups, { store, service }: GroupDeps): void {
  const options = { errorHandler: refuseMalformed }
  const reading = { ...options, config: { access: groupAccess(service, 'scim.read'), audience: 'api' } } as const
  const deleting = { ...options, config: { access: groupAccess(service, 'scim.write'), audience: 'api' } } as const
  const access = groupAccess(service, 'scim.write', 'groups.update')
  const writing = { ...options, config: { access, audience: 'api', body: 'json' } } as const

  app.get<OfGroup>('/Groups/:id/members', reading, async (request, reply) => {
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

  app.post<OfGroup>('/Groups/:id/members', writing, async (request, reply) => {
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
  app.get<OfMember>('/Groups/:id/members/:memberId', reading, (request, reply) => show(request, reply))
  // UAA: the same as GET, with the right to write and whatever the body says.
  app.put<OfMember>('/Groups/:id/members/:memberId', writing, (request, reply) => show(request, reply))

  app.delete<OfMember>('/Groups/:id/members/:memberId', deleting, async (request, reply) => {
    const { id, memberId } = request.params
    const by = groupCallerOf(request, service)
    return sendJson(reply, memberToJson(await groups.removeMember(request.zone, id, memberId, by)))
  })
}

const entityOf = (group: Group) => ({ ...groupHead(group), schemas: SCHEMAS })
