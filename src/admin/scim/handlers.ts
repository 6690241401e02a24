// The handlers of SCIM's routes: the HTTP part, which is the same for users and groups.
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Service } from '../../model/service.ts'
import { jsonBody } from '../../web/requests/json.ts'
import { queryForm } from '../../web/requests/query.ts'
import { serverCallerOf } from '../resources/caller.ts'
import { sendResource, sendScim } from './answers.ts'
import type { Json } from './schemas/attribute.ts'
import { runBulk } from './bulk.ts'
import { listOfAll, resourceTypes, schemas, serviceProviderConfig } from './schemas/discovery.ts'
import type { DiscoveryFacts } from './schemas/discovery.ts'
import { ScimError } from './error.ts'
import { createScimGroups } from './resources/groups.ts'
import { listResources, searchAll } from './lists.ts'
import { checkOwnChange, ownId } from './me.ts'
import { conditionOf, isUnchanged, locationOf, tagOf } from './meta.ts'
import { readListQuery, readSearch, readSelection } from './requests/query.ts'
import type { ListRequest } from './requests/query.ts'
import { createScimErrorHandler } from './refusal.ts'
import type { Change, Context, Resource, Resources } from './resources/resources.ts'
import { createSelection } from './requests/selection.ts'
import type { Selection } from './requests/selection.ts'
import { createScimUsers } from './resources/users.ts'
import type { AdminDeps } from '../deps.ts'

type Handler = (request: FastifyRequest, reply: FastifyReply) => Promise<FastifyReply>

/** One for each route; those of users and groups find the resource type from the path. */
export interface Handlers extends Readonly<Record<HandlerName, Handler>> {
  readonly refuse: (error: unknown, request: FastifyRequest, reply: FastifyReply) => FastifyReply
}

type HandlerName =
  | 'serviceProviderConfig'
  | 'resourceTypes'
  | 'resourceType'
  | 'schemas'
  | 'schema'
  | 'list'
  | 'search'
  | 'searchAll'
  | 'create'
  | 'read'
  | 'replace'
  | 'patch'
  | 'remove'
  | 'bulk'
  | 'readMe'
  | 'replaceMe'
  | 'patchMe'
  | 'refuseMethod'
  | 'refusePath'

/** Created on the first request. */
export function createHandlers(deps: AdminDeps): Handlers {
  const { service, urls, vault } = deps
  const users = createScimUsers(deps)
  const groups = createScimGroups(deps)

  const baseOf = ({ zone }: FastifyRequest): string => `${urls.ofZone(zone)}/scim/v2`

  const contextOf = (request: FastifyRequest): Context => ({
    zone: request.zone,
    base: baseOf(request),
    by: serverCallerOf(request, service),
  })

  const typeOf = ({ routeOptions: { url = '' } }: FastifyRequest): Resources =>
    url.includes('/scim/v2/Groups') ? groups : users

  async function sendList(request: FastifyRequest, reply: FastifyReply, list: ListRequest): Promise<FastifyReply> {
    return sendScim(reply, await listResources(typeOf(request), contextOf(request), { request: list, vault }))
  }

  const sendRead = async (request: FastifyRequest, reply: FastifyReply, id: string, resources: Resources) =>
    sendUnlessUnchanged(request, reply, await resources.read(contextOf(request), id, selectionOf(request, resources)))

  return {
    refuse: createScimErrorHandler(deps),

    ...documentHandlers(baseOf, service),
    ...ownAccountHandlers(users, contextOf, service),

    list: (request, reply) => sendList(request, reply, readListQuery(queryForm(request))),
    search: (request, reply) => sendList(request, reply, readSearch(jsonBody(request))),
    searchAll: async (request, reply) =>
      sendScim(reply, await searchAll([users, groups], contextOf(request), readSearch(jsonBody(request)))),

    read: (request, reply) => sendRead(request, reply, idOf(request), typeOf(request)),

    async create(request, reply) {
      const resources = typeOf(request)
      const context = contextOf(request)
      const resource = await resources.create(context, jsonBody(request), selectionOf(request, resources))
      const location = locationOf(resource.id, resources.names.type, context.base)
      return sendResource(reply.header('location', location), resource, 201)
    },

    async replace(request, reply) {
      const resources = typeOf(request)
      const change = changeOf(request, idOf(request), resources)
      return sendResource(reply, await resources.replace(contextOf(request), change))
    },

    async patch(request, reply) {
      const resources = typeOf(request)
      const change = changeOf(request, idOf(request), resources)
      const resource = await resources.patch(contextOf(request), change)
      // RFC 7644 §3.5.2: 204 unless attributes are requested. Groups may have very many members.
      const isAsked = queryForm(request).get('attributes') !== undefined
      if (resources === groups && !isAsked) return reply.header('etag', tagOf(resource.version)).status(204).send()
      return sendResource(reply, resource)
    },

    async remove(request, reply) {
      await typeOf(request).delete(contextOf(request), idOf(request), conditionOf(request.headers['if-match']))
      return reply.status(204).send()
    },

    async bulk(request, reply) {
      const fault = (cause: unknown): void => deps.log.fault('an operation of a bulk', cause)
      const resources = { Users: users, Groups: groups }
      return sendScim(reply, await runBulk(jsonBody(request), contextOf(request), { resources, fault }))
    },

    async refuseMethod() {
      throw new ScimError(405, 'This method is not supported here')
    },

    async refusePath() {
      throw new ScimError(404, 'There is no such resource')
    },
  }
}

/** The documents about the server (RFC 7644 §4). */
function documentHandlers(baseOf: (request: FastifyRequest) => string, service: Service) {
  const factsOf = (request: FastifyRequest): DiscoveryFacts => ({ base: baseOf(request), internalOrigin: service.name })

  return {
    serviceProviderConfig: async (request, reply) => sendScim(reply, serviceProviderConfig(factsOf(request))),
    resourceTypes: async (request, reply) => sendDocument(request, reply, resourceTypes(factsOf(request))),
    resourceType: async (request, reply) => sendDocument(request, reply, resourceTypes(factsOf(request))),
    schemas: async (request, reply) => sendDocument(request, reply, schemas(factsOf(request))),
    schema: async (request, reply) => sendDocument(request, reply, schemas(factsOf(request))),
  } satisfies Partial<Record<HandlerName, Handler>>
}

/** `/Me`: a user's own account. */
function ownAccountHandlers(users: Resources, contextOf: (request: FastifyRequest) => Context, service: Service) {
  const ownChange = (request: FastifyRequest): Change => ({
    ...changeOf(request, ownId(request, service), users),
    check: checkOwnChange(service),
  })

  /** RFC 7644 §3.11: a response of `/Me` names the location of the user. */
  const atOwnLocation = (request: FastifyRequest, reply: FastifyReply, id: string): FastifyReply =>
    reply.header('location', locationOf(id, users.names.type, contextOf(request).base))

  return {
    async readMe(request, reply) {
      const id = ownId(request, service)
      const resource = await users.read(contextOf(request), id, selectionOf(request, users))
      return sendUnlessUnchanged(request, atOwnLocation(request, reply, id), resource)
    },

    async replaceMe(request, reply) {
      const change = ownChange(request)
      const resource = await users.replace(contextOf(request), change)
      return sendResource(atOwnLocation(request, reply, resource.id), resource)
    },

    async patchMe(request, reply) {
      const change = ownChange(request)
      const resource = await users.patch(contextOf(request), change)
      return sendResource(atOwnLocation(request, reply, resource.id), resource)
    },
  } satisfies Partial<Record<HandlerName, Handler>>
}

/** Sends the resource, or 304 to a caller who has this version of it. */
function sendUnlessUnchanged(request: FastifyRequest, reply: FastifyReply, resource: Resource): FastifyReply {
  const { isOfVersion, version } = resource
  if (isOfVersion && isUnchanged(request, version)) return reply.header('etag', tagOf(version)).status(304).send()
  return sendResource(reply, resource)
}

const idOf = (request: FastifyRequest): string => (request.params as { readonly id: string }).id // as the routes name it

const selectionOf = (request: FastifyRequest, { names }: Resources): Selection =>
  createSelection(names, readSelection(queryForm(request)))

const changeOf = (request: FastifyRequest, id: string, resources: Resources): Change => ({
  id,
  body: jsonBody(request),
  condition: conditionOf(request.headers['if-match']),
  selection: selectionOf(request, resources),
})

/** Answers one of the documents about the server, or all of them. */
function sendDocument(
  request: FastifyRequest,
  reply: FastifyReply,
  documents: readonly (Json & { readonly id: string })[],
): FastifyReply {
  // RFC 7644 §4: filters are forbidden here, so that clients do not conclude that something is missing.
  if (queryForm(request).get('filter') !== undefined) throw new ScimError(403, 'Filters are not supported here')
  const { id } = request.params as { readonly id?: string } // as the routes name it
  if (id === undefined) return sendScim(reply, listOfAll(documents))
  const found = documents.find(document => document.id === id)
  if (!found) throw new ScimError(404, `There is no ${id.slice(0, 100)}`)
  return sendScim(reply, found)
}
