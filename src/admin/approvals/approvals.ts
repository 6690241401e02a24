// UAA's API of a user's own approvals.
import type { ClientSummary } from '../../token/client-summary.ts'
import { findClientSummary } from '../../token/client-summary.ts'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Approval } from '../../model/users/approval.ts'
import type { OAuthError } from '../../model/oauth-error.ts'
import { isAutoApproved, isScopeOf } from '../../model/tokens/scopes.ts'
import type { User } from '../../model/users/user.ts'
import { approvalToJson, replaceApprovals } from '../../users/approvals.ts'
import type { ApprovalOwner } from '../../users/approvals.ts'
import { refuseResource } from '../../users/refusal.ts'
import { jsonList, sendJson } from '../../web/requests/json.ts'
import { queryForm } from '../../web/requests/query.ts'
import { auditOriginOf } from '../../web/requests/requester.ts'
import type { On } from '../../web/deferred-routes.ts'
import { refuseUnreadable, UNREADABLE } from './refusal.ts'
import { createApprovalReader } from './requests.ts'
import type { ApprovalRoute } from './routes.ts'
import type { AdminDeps } from '../deps.ts'

/** Maximum per request; more than a user decides on. */
const MAX_APPROVALS = 1000
/** Longer ones belong to no client. */
const MAX_SHOWN = 255

interface OfClient {
  readonly Params: { readonly clientId: string }
}

/** The handlers of `/approvals` and `/approvals/{clientId}`. */
export function approvalHandlers(on: On<ApprovalRoute>, deps: AdminDeps): void {
  const { store, behaviour } = deps
  const { approvalIn, pageOf, refuseRepeated } = createApprovalReader(deps)

  on('GET /approvals', async (request, reply) => {
    const { zone } = request
    const { id } = userOf(request)
    const { startIndex, count } = pageOf(request)
    const all = await store.approvals.listAllOfUser(zone.id, id)
    const clients = new Map<string, ClientSummary | undefined>()
    for (const clientId of new Set(all.map(approval => approval.clientId))) {
      clients.set(clientId, await findClientSummary(store, zone, clientId))
    }
    const shown = all.filter(({ clientId, scope }) => {
      const summary = clients.get(clientId)
      return summary !== undefined && !(summary.client && isAutoApproved(summary.client, scope))
    })
    return sendJson(reply, shown.slice(startIndex - 1, startIndex - 1 + count).map(approvalToJson))
  })

  on('PUT /approvals', (request, reply) => replace(request, reply, undefined))

  on<OfClient>('PUT /approvals/:clientId', async (request, reply) => {
    const { clientId } = request.params
    userOf(request) // before revealing which clients exist
    await requireClient(request, clientId, deps)
    return replace(request, reply, clientId)
  })

  on('DELETE /approvals', async (request, reply) => {
    const owner = ownerOf(request)
    refuseRepeated(request, ['clientId'])
    const clientId = queryForm(request).get('clientId') ?? ''
    if (clientId === '') throw refuse('The parameter clientId is missing')
    await requireClient(request, clientId, deps)
    await replaceApprovals(owner, { clientId, approvals: [] }, deps)
    return sendJson(reply, {
      status: 'ok',
      message: `Approvals of user ${owner.userId} and client ${clientId} revoked`,
    })
  })

  async function replace(
    request: FastifyRequest,
    reply: FastifyReply,
    ofClient: string | undefined,
  ): Promise<FastifyReply> {
    const owner = ownerOf(request)
    const list = jsonList(request)
    if (list.length > MAX_APPROVALS) throw refuse(`At most ${MAX_APPROVALS} approvals can be sent at once`)
    const read = list.map(json => approvalIn(json, owner, ofClient))
    // UAA: of two decisions about one scope the later one wins.
    const unique = new Map(read.map(approval => [JSON.stringify([approval.clientId, approval.scope]), approval]))
    const approvals = [...unique.values()].toSorted(byClientAndScope)
    await checkScopes(request, approvals)
    await replaceApprovals(owner, { clientId: ofClient, approvals }, deps)
    return sendJson(reply, approvals.map(approvalToJson))
  }

  /** A decision made in advance would take effect when the client gets the scope, without asking the user. */
  async function checkScopes(request: FastifyRequest, approvals: readonly Approval[]): Promise<void> {
    const { zone } = request
    const before = await store.approvals.listAllOfUser(zone.id, userOf(request).id)
    const decided = new Set(before.map(({ clientId, scope }) => JSON.stringify([clientId, scope])))
    for (const [clientId, ofClient] of Map.groupBy(approvals, approval => approval.clientId)) {
      await requireClient(request, clientId, deps)
      const undecided = ofClient.filter(({ scope }) => !decided.has(JSON.stringify([clientId, scope])))
      if (undecided.length === 0) continue // also while a document of the client cannot be read
      const client = await store.clients.find(zone.id, clientId)
      if (!client) throw noClient(clientId)
      const foreign = undecided.find(({ scope }) => !isScopeOf(client, scope))
      if (foreign) throw refuse(`The client ${clientId} has no scope ${foreign.scope}`)
    }
  }

  const refuse = (problem: string): OAuthError => refuseUnreadable(problem, behaviour)
}

async function requireClient({ zone }: FastifyRequest, clientId: string, { store }: AdminDeps): Promise<void> {
  if (!(await findClientSummary(store, zone, clientId))) throw noClient(clientId)
}

const noClient = (clientId: string): OAuthError =>
  refuseResource('uaa', `No client with requested id: ${clientId.slice(0, MAX_SHOWN)}`, { status: 404 })

function userOf({ bearer }: FastifyRequest): User {
  if (bearer?.user) return bearer.user
  throw refuseResource('uaa', UNREADABLE, { status: 403, detail: 'the token does not speak for a user' })
}

const ownerOf = (request: FastifyRequest): ApprovalOwner => ({
  zone: request.zone,
  userId: userOf(request).id,
  origin: auditOriginOf(request),
})

function byClientAndScope(a: Approval, b: Approval): number {
  if (a.clientId !== b.clientId) return a.clientId < b.clientId ? -1 : 1
  return a.scope < b.scope ? -1 : 1
}
