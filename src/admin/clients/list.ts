// The list of a zone's clients, a page at a time, in the dialect of SCIM that UAA speaks.
import type { FastifyInstance } from 'fastify'
import type { Behaviour } from '../../model/compatibility.ts'
import { InvalidFilter, MAX_FILTER_LENGTH, parseFilter } from '../../model/filter.ts'
import { OAuthError } from '../../model/oauth-error.ts'
import type { Service } from '../../model/service.ts'
import type { Page, Store } from '../../store/store.ts'
import type { Client } from '../../model/client.ts'
import type { Form } from '../../web/form.ts'
import { queryForm, refuseRepeated } from '../../web/query.ts'
import { sendJson } from '../../web/json.ts'
import { clientAccess, clientToJson } from './record.ts'

/** What the endpoint needs. */
export interface ClientListDeps {
  readonly store: Store
  readonly service: Service
  readonly behaviour: Behaviour
}

const SCHEMAS = ['http://cloudfoundry.org/schema/scim/oauth-clients-1.0']
/** UAA: `clientMaxCount`. */
const MAX_PER_PAGE = 500
const MAX_INT32 = 2 ** 31 - 1

/** The query of a list, with its defaults; an empty parameter is an absent one. */
interface ListParameters {
  readonly filter: string
  readonly sortBy: string
  readonly descending: boolean
  readonly startIndex: number
  readonly count: number
  /** Names that each resource is reduced to; none leaves it whole. */
  readonly attributes: readonly string[]
}

/** `GET /oauth/clients`. */
export function clientListEndpoint(app: FastifyInstance, { store, service, behaviour }: ClientListDeps): void {
  app.get(
    '/oauth/clients',
    { config: { access: clientAccess(service, 'clients.read'), audience: 'api' } },
    async (request, reply) => {
      const parameters = readParameters(queryForm(request), behaviour)
      const { startIndex, count, attributes } = parameters
      const { records, totalResults } = await findPage(store, request.zone.id, parameters)
      return sendJson(reply, {
        resources: records.map(client => reduced(clientToJson(client, { inList: true }), attributes)),
        startIndex,
        // UAA: what was asked for, or what there is on all pages together, and not what is on this one.
        itemsPerPage: Math.min(count, totalResults),
        totalResults,
        schemas: SCHEMAS,
      })
    },
  )
}

async function findPage(store: Store, zoneId: string, parameters: ListParameters): Promise<Page<Client>> {
  const { filter, sortBy } = parameters
  try {
    return await store.clients.list(zoneId, { ...parameters, filter: parseFilter(filter) })
  } catch (cause) {
    if (!(cause instanceof InvalidFilter)) throw cause
    const shown = [filter, sortBy].map(text => `[${text.slice(0, MAX_FILTER_LENGTH)}]`)
    throw new OAuthError('unknown_error', `Invalid filter expression: ${shown.join(' ')}`, {
      detail: cause.message,
      cause,
    })
  }
}

function readParameters(query: Form, behaviour: Behaviour): ListParameters {
  const names = ['filter', 'sortBy', 'sortOrder', 'startIndex', 'count', 'attributes']
  refuseRepeated(query, names, behaviour)
  const text = (name: string, fallback: string): string => query.get(name) || fallback
  const startIndex = wholeNumber('startIndex', text('startIndex', '1'))
  if (startIndex < 1) throw new OAuthError('invalid_request', 'The parameter startIndex must be at least 1')
  return {
    filter: text('filter', 'client_id pr'),
    sortBy: text('sortBy', 'client_id'),
    descending: text('sortOrder', 'ascending') !== 'ascending', // UAA: whatever else it says
    startIndex,
    // RFC 7644 §3.4.2.4: a negative number counts as 0, which asks only how many there are.
    count: Math.min(Math.max(wholeNumber('count', text('count', '100')), 0), MAX_PER_PAGE),
    attributes: attributesOf(text('attributes', '')),
  }
}

/** More than a client has; each is answered for each of five hundred clients. */
const MAX_ATTRIBUTES = 100

function attributesOf(text: string): readonly string[] {
  const names = text
    .split(',')
    .map(name => name.trim())
    .filter(name => name !== '')
  if (names.length <= MAX_ATTRIBUTES) return names
  throw new OAuthError('invalid_request', `The parameter attributes must name at most ${MAX_ATTRIBUTES}`)
}

function wholeNumber(name: string, text: string): number {
  if (/^-?\d{1,10}$/.test(text) && Math.abs(Number(text)) <= MAX_INT32) return Number(text)
  throw new OAuthError('invalid_request', `The parameter ${name} must be a whole number`)
}

/** The resource with exactly the names asked for, in their order; null where it has no such member. */
function reduced(resource: Readonly<Record<string, unknown>>, names: readonly string[]): unknown {
  if (names.length === 0) return resource
  return Object.fromEntries(names.map(name => [name, Object.hasOwn(resource, name) ? resource[name] : null]))
}
