// Maps user names to ids and back, for programs that may not learn more about users.
import type { FastifyRequest } from 'fastify'
import type { Filter } from '../../model/filters/filter.ts'
import { InvalidFilter, MAX_FILTER_LENGTH } from '../../model/filters/filter.ts'
import { joinForms } from '../../web/requests/form.ts'
import type { Form } from '../../web/requests/form.ts'
import { sendJson } from '../../web/requests/json.ts'
import { queryForm } from '../../web/requests/query.ts'
import { postedForm } from '../../web/route.ts'
import { escapedFilter, findPage, listOf, readListParameters } from '../resources/list.ts'
import type { ListRules } from '../resources/list.ts'
import { refuseResource } from '../../users/refusal.ts'
import { SCHEMAS } from '../resources/dialect.ts'
import type { On } from '../../web/deferred-routes.ts'
import type { UserRoute } from './routes.ts'
import type { AdminDeps } from '../deps.ts'

const refuse = (message: string): Error => refuseResource('scim', message)

const RULES: ListRules = {
  defaults: { filter: '', sortBy: 'userName' },
  isDescending: sortOrder => sortOrder.toLowerCase() !== 'ascending',
  lenient: { startIndex: true, count: false },
  allowsNot: false,
  attributePaths: true,
  schemas: SCHEMAS,
  refuse: message => refuseResource('scim', message),
  refuseFilter: ({ filter }, cause) =>
    refuseResource('scim', `Invalid filter '${escapedFilter(filter)}'`, { detail: cause.message, cause }),
}

/** `GET /ids/Users`, and `POST` with a form. */
export function userIdsHandlers(on: On<UserRoute>, { store, behaviour, settings }: AdminDeps): void {
  async function list(request: FastifyRequest, form: Form) {
    const {
      sortBy: _,
      attributes: _attributes,
      ...parameters
    } = readListParameters(form, RULES, {
      behaviour,
      maxCount: settings.maxCounts.users,
    })
    if (parameters.filter.trim() === '') throw refuse("a 'filter' parameter is required")
    const text = parameters.filter.slice(0, MAX_FILTER_LENGTH) // longer ones are refused below, and expensive to search
    // UAA: these quotes are for lists only.
    const isQuotedOtherwise = text.replace(/"(?:[^"\\]|\\.)*"/g, '').includes("'")
    const page = { ...parameters, sortBy: 'userName', attributes: [] }
    if (isQuotedOtherwise) throw refuse(`Invalid filter '${escapedFilter(text)}'`)
    const includesInactive = form.get('includeInactive')?.toLowerCase() === 'true'
    const { records, totalResults } = await findPage(page, RULES, async query => {
      if (!namesUsers(query.filter)) throw refuse('Invalid filter attribute.')
      const filter = includesInactive ? query.filter : await ofActiveProviders(request.zone.id, query.filter)
      if (!filter) return { records: [], totalResults: 0 }
      return store.users.list(request.zone.id, { ...query, filter, profiles: 'primary email' })
    })
    const resources = records.map(({ id, userName, origin }) => ({ id, userName, origin }))
    return listOf(resources, page, { rules: RULES, totalResults })
  }

  /** The filter, and that the user's provider is active; undefined where no provider is. */
  async function ofActiveProviders(zoneId: string, filter: Filter): Promise<Filter | undefined> {
    const origins = (await store.providers.listActive(zoneId)).map(
      ({ originKey: value }): Filter => ({ kind: 'compare', attribute: 'origin', comparison: 'eq', value }),
    )
    const [first, second] = origins
    if (!first) return undefined
    return { kind: 'and', parts: [filter, second ? { kind: 'or', parts: origins } : first] }
  }

  for (const name of ['GET /ids/Users', 'POST /ids/Users'] as const) {
    on(name, async (request, reply) => {
      if (settings.userIdsDisabled) {
        return reply.status(400).type('text/plain; charset=utf-8').send('Illegal Operation: Endpoint not enabled.')
      }
      const form = joinForms(postedForm(request), queryForm(request))
      return sendJson(reply, await list(request, form))
    })
  }
}

/**
 * Whether each alternative of the filter names a user by id or name, so that listing all of an origin is impossible. Throws for
 * anything but equality, and for other attributes.
 */
function namesUsers(filter: Filter): boolean {
  switch (filter.kind) {
    case 'and':
      return filter.parts.map(namesUsers).includes(true)
    case 'or':
      return !filter.parts.map(namesUsers).includes(false)
    case 'present':
      throw refuse('Wildcards are not allowed in filter.')
    case 'not':
    case 'values':
      throw new InvalidFilter('it has more than comparisons')
    case 'compare': {
      if (filter.comparison === 'co' || filter.comparison === 'sw') throw refuse('Wildcards are not allowed in filter.')
      if (filter.comparison !== 'eq') throw refuse('Invalid operator.')
      const attribute = filter.attribute.toLowerCase()
      if (attribute === 'origin') return false
      if (attribute !== 'id' && attribute !== 'username') throw refuse('Invalid filter attribute.')
      return true
    }
  }
}
