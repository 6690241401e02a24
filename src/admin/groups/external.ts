// Mappings of groups of external providers to groups of the zone.
import type { FastifyRequest } from 'fastify'
import type { JsonRecord } from '../../base/json.ts'
import type { Filter } from '../../model/filters/filter.ts'
import { InvalidFilter, parseFilter } from '../../model/filters/filter.ts'
import type { ExternalGroup, Group } from '../../model/users/group.ts'
import type { OAuthError } from '../../model/oauth-error.ts'
import type { Groups } from '../../users/groups/groups.ts'
import { jsonBody, sendJson } from '../../web/requests/json.ts'
import { queryForm, repeatedName } from '../../web/requests/query.ts'
import { refuseResource } from '../../users/refusal.ts'
import { groupCallerOf } from '../resources/caller.ts'
import { MAPPING_PATHS } from './access.ts'
import { SCHEMAS } from '../resources/dialect.ts'
import type { On } from '../../web/deferred-routes.ts'
import type { GroupRoute } from './routes.ts'
import type { AdminDeps } from '../deps.ts'
import { stringIn } from '../resources/body.ts'

/** The default provider of a mapping. */
const DEFAULT_ORIGIN = 'ldap'
const MAX_PER_PAGE = 10_000
const MAX_SHOWN = 255

type MappingParams = {
  readonly [Name in 'groupId' | 'displayName' | 'externalGroup' | 'origin']?: string | undefined
}

/** `/Groups/External` and below. */
export function externalGroupHandlers(on: On<GroupRoute>, groups: Groups, deps: AdminDeps): void {
  const { store, service, behaviour } = deps

  async function groupOf(request: FastifyRequest, { groupId, displayName }: MappingParams): Promise<Group> {
    if (groupId !== undefined) {
      const group = await store.groups.find(request.zone.id, groupId)
      if (!group) throw notFound(`Group ${groupId.slice(0, MAX_SHOWN)} does not exist`)
      return group
    }
    if (displayName === undefined) throw notFound('Group not found, not name provided')
    const group = await store.groups.findByName(request.zone.id, displayName)
    if (!group) throw notFound(`Group not found:${displayName.slice(0, MAX_SHOWN)}`)
    return group
  }

  for (const [name, hasParameters] of [
    ['GET /Groups/External', true],
    ['GET /Groups/External/list', false],
  ] as const) {
    on(name, async (request, reply) => {
      const query = queryForm(request)
      const repeated = repeatedName(query, ['startIndex', 'count', 'origin', 'externalGroup', 'filter'], behaviour)
      if (repeated !== undefined) throw refuse(`The parameter ${repeated} must not be repeated`)
      const startIndex = Math.max(1, wholeNumber('startIndex', query.get('startIndex') || '1'))
      const count = Math.min(MAX_PER_PAGE, Math.max(0, wholeNumber('count', query.get('count') || '100')))
      const named = {
        origin: (hasParameters && query.get('origin')) || undefined,
        externalGroup: (hasParameters && query.get('externalGroup')) || undefined,
      }
      const filter = query.get('filter') || undefined
      if (filter !== undefined && (named.origin !== undefined || named.externalGroup !== undefined)) {
        const parameters = 'origin or externalGroup parameters'
        throw refuse(`Deprecated filter parameter may not be used in conjunction with ${parameters}`)
      }
      const asked = filter === undefined ? named : conditionsOf(filter)
      const page = await store.groups.listExternal(request.zone.id, { ...asked, startIndex, count })
      const resources = page.records.map(({ groupId, displayName, externalGroup, origin }) => ({
        groupId,
        displayName,
        externalGroup,
        origin,
      }))
      const { totalResults } = page
      return sendJson(reply, { resources, startIndex, itemsPerPage: resources.length, totalResults, schemas: SCHEMAS })
    })
  }

  on('POST /Groups/External', async (request, reply) => {
    const body = jsonBody(request)
    const group = await groupOf(request, { groupId: textOf(body, 'groupId'), displayName: textOf(body, 'displayName') })
    const mapping = {
      externalGroup: textOf(body, 'externalGroup') ?? '',
      origin: textOf(body, 'origin') ?? DEFAULT_ORIGIN,
    }
    const made = await groups.map(request.zone, group, mapping, groupCallerOf(request, service))
    return sendJson(reply, mappingToJson(group, made), 201)
  })

  for (const path of MAPPING_PATHS) {
    on<{ Params: MappingParams }>(`DELETE ${path}`, async (request, reply) => {
      const { externalGroup = '', origin = DEFAULT_ORIGIN } = request.params
      const group = await groupOf(request, request.params)
      const by = groupCallerOf(request, service)
      return sendJson(
        reply,
        mappingToJson(group, await groups.unmap(request.zone, group, { externalGroup, origin }, by)),
      )
    })
  }
}

const refuse = (message: string): OAuthError => refuseResource('scim', message)
const notFound = (message: string): OAuthError => refuseResource('scim', message, { status: 404 })

function wholeNumber(name: string, text: string): number {
  if (/^-?\d{1,9}$/.test(text)) return Number(text)
  throw refuse(`The parameter ${name} must be a whole number`)
}

/** An empty string counts as absent. */
const textOf = (body: JsonRecord, name: string): string | undefined =>
  stringIn(body, name, () => refuse(`${name} must be a string`)) || undefined

const UNSUPPORTED = 'Filter not supported, please use origin and externalGroup parameters'

/** Parses the deprecated filter: `eq` of the two attributes, joined by `and`. */
function conditionsOf(text: string): { readonly origin?: string; readonly externalGroup?: string } {
  const found: { origin?: string; externalGroup?: string } = {}
  const read = (filter: Filter): void => {
    if (filter.kind === 'and') return filter.parts.forEach(read)
    if (filter.kind !== 'compare' || filter.comparison !== 'eq' || typeof filter.value !== 'string') {
      throw refuse(UNSUPPORTED)
    }
    const name = (['origin', 'externalGroup'] as const).find(
      each => each.toLowerCase() === filter.attribute.toLowerCase(),
    )
    if (name === undefined || found[name] !== undefined) throw refuse(UNSUPPORTED)
    found[name] = filter.value
  }
  try {
    read(parseFilter(text))
  } catch (cause) {
    throw cause instanceof InvalidFilter ? refuseResource('scim', UNSUPPORTED, { cause }) : cause
  }
  return found
}

function mappingToJson(
  group: Group,
  { externalGroup, origin, createdAt = group.createdAt }: ExternalGroup,
): JsonRecord {
  const created = createdAt.toISOString()
  return {
    meta: { version: 0, created, lastModified: created },
    groupId: group.id,
    externalGroup,
    displayName: group.displayName,
    origin,
    schemas: SCHEMAS,
  }
}
