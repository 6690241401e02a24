// `/Bulk` (RFC 7644 §3.7): operations in sequence, each applied completely or not at all. Creations of users that cost no
// hash and refer to nothing run together, so that an import is written in few transactions.
import { setImmediate as nextTurn } from 'node:timers/promises'
import { MAX_TOGETHER } from '../../base/concurrency/in-batches.ts'
import { isJsonRecord } from '../../base/json.ts'
import type { JsonRecord } from '../../base/json.ts'
import { userNameKey } from '../../model/users/user.ts'
import type { Json } from './schemas/attribute.ts'
import { LIMITS } from './schemas/discovery.ts'
import { errorBody, ScimError } from './error.ts'
import { membersOf, readMessage } from './requests/message.ts'
import { conditionOf, locationOf, tagOf } from './meta.ts'
import { shown } from './requests/reader.ts'
import { faultOf, refusedBy } from './refusal.ts'
import type { Context, Resource, Resources } from './resources/resources.ts'
import { createSelection } from './requests/selection.ts'

/** The schema of the body. */
export const BULK_SCHEMA = 'urn:ietf:params:scim:api:messages:2.0:BulkRequest'
const BULK_RESPONSE_SCHEMA = 'urn:ietf:params:scim:api:messages:2.0:BulkResponse'

const METHODS = ['POST', 'PUT', 'PATCH', 'DELETE'] as const
type Method = (typeof METHODS)[number]
const ENDPOINTS = ['Users', 'Groups'] as const
type Endpoint = (typeof ENDPOINTS)[number]

/** An operation whose method and path have been parsed. */
interface Operation {
  readonly method: Method
  readonly endpoint: Endpoint
  /** Absent for a POST; may be a reference to another operation. */
  readonly id?: string | undefined
  readonly bulkId?: string | undefined
  readonly version?: string | undefined
  readonly data: JsonRecord
  /** The bulkIds that its path and the values of its data refer to. */
  readonly references: readonly string[]
}

/** An operation, or why it is invalid. */
type Sent = { readonly operation: Operation } | { readonly sent: JsonRecord; readonly refusal: ScimError }

/** An operation with its place in the request. */
interface Placed {
  readonly sent: Sent
  readonly index: number
}

/** Which resources each path has. */
type ResourcesByEndpoint = Readonly<Record<Endpoint, Resources>>

/** Runs the operations of a body; the response has a result for each that was tried, in order. */
export async function runBulk(
  body: Json,
  context: Context,
  { resources, fault }: { readonly resources: ResourcesByEndpoint; readonly fault: (cause: unknown) => void },
): Promise<Json> {
  const { operations, failOnErrors } = readBulk(body)
  const ids = new Map<string, string>()
  const results = new Map<number, Json>()
  let failures = 0
  let isBroken = false
  const mayGoOn = (): boolean => !isBroken && (failOnErrors === undefined || failures < failOnErrors)
  // A failure that is not caused by the operation would affect the following ones as well.
  const stop = (cause: unknown): void => {
    isBroken = true
    fault(cause)
  }

  async function run(sent: Sent, index: number): Promise<void> {
    const { result, failed } = await resultOf(sent, { context, resources, ids, stop })
    results.set(index, result)
    if (failed) failures += 1
  }

  const placed = inOrder(operations)
  for (let start = 0; start < placed.length && mayGoOn(); ) {
    await nextTurn() // with SQLite nothing else would yield to other requests
    const together = failOnErrors === undefined ? countTogether(placed.slice(start, start + MAX_TOGETHER)) : 1
    const some = placed.slice(start, start + together)
    await Promise.all(some.map(({ sent, index }) => run(sent, index)))
    start += together
  }
  const ordered = [...results].toSorted(([one], [other]) => one - other).map(([, result]) => result)
  return { schemas: [BULK_RESPONSE_SCHEMA], Operations: ordered }
}

/**
 * In the order of the request, but an operation that refers to a later one is deferred until directly after that one (§3.7.2).
 * Those that refer to each other circularly come last, and are refused.
 */
function inOrder(operations: readonly Sent[]): readonly Placed[] {
  const open = new Set(operations.flatMap(sent => bulkIdOf(sent) ?? []))
  const placed: Placed[] = []
  const deferred = new Map<string, Placed[]>()
  const place = (each: Placed): void => {
    const references = 'operation' in each.sent ? each.sent.operation.references : []
    const missing = references.find(id => open.has(id))
    if (missing !== undefined) {
      deferred.set(missing, [...(deferred.get(missing) ?? []), each])
      return
    }
    placed.push(each)
    const bulkId = bulkIdOf(each.sent)
    if (bulkId === undefined) return
    open.delete(bulkId)
    const next = deferred.get(bulkId) ?? []
    deferred.delete(bulkId)
    next.forEach(place)
  }
  operations.forEach((sent, index) => place({ sent, index }))
  const circular = [...deferred.values()].flat().toSorted((one, other) => one.index - other.index)
  return [...placed, ...circular]
}

const bulkIdOf = (sent: Sent): string | undefined => ('operation' in sent ? sent.operation.bulkId : undefined)

/** How many leading operations can run together: at least one, and no two that could have the same name. */
function countTogether(batch: readonly Placed[]): number {
  const taken = new Set<string>()
  let count = 0
  for (const { sent } of batch) {
    if (!('operation' in sent) || !isQuick(sent.operation)) break
    const names = uniqueNamesOf(sent.operation)
    if (names.some(name => taken.has(name))) break
    for (const name of names) taken.add(name)
    count += 1
  }
  return Math.max(count, 1)
}

/** The unique values of a user. */
const uniqueNamesOf = ({ data }: Operation): readonly string[] =>
  Object.entries(data).flatMap(([name, value]) => {
    const attribute = name.toLowerCase()
    const isUnique = attribute === 'username' || attribute === 'externalid'
    return isUnique && typeof value === 'string' ? [`${attribute} ${userNameKey(value)}`] : []
  })

const isQuick = (operation: Operation): boolean =>
  operation.method === 'POST' &&
  operation.endpoint === 'Users' &&
  !Object.keys(operation.data).some(name => name.toLowerCase() === 'password') &&
  operation.references.length === 0

function readBulk(body: Json): { readonly operations: readonly Sent[]; readonly failOnErrors: number | undefined } {
  const member = readMessage(body, BULK_SCHEMA)
  const failOnErrors = member('failOnErrors')
  if (failOnErrors !== undefined && !(Number.isInteger(failOnErrors) && Number(failOnErrors) >= 1)) {
    throw new ScimError('invalidValue', 'failOnErrors must be a whole number from 1')
  }
  const list = member('Operations')
  if (!Array.isArray(list)) throw new ScimError('invalidSyntax', 'Operations must be a list')
  if (list.length > LIMITS.maxOperations) {
    throw new ScimError(413, `A request can have at most ${LIMITS.maxOperations} operations`)
  }
  const operations = list.map(readOperation)
  const bulkIds = operations.flatMap(sent => bulkIdOf(sent) ?? [])
  const twice = bulkIds.find((id, index) => bulkIds.indexOf(id) !== index)
  if (twice !== undefined) throw new ScimError('invalidValue', `The bulkId ${shown(twice)} occurs twice`)
  return { operations, failOnErrors: failOnErrors === undefined ? undefined : Number(failOnErrors) }
}

function readOperation(sent: unknown): Sent {
  if (!isJsonRecord(sent)) throw new ScimError('invalidSyntax', 'An operation must be an object')
  const refuse = (message: string): Sent => ({ sent, refusal: new ScimError('invalidSyntax', message) })
  const member = membersOf(sent)
  const [name, path, bulkId, version] = ['method', 'path', 'bulkId', 'version'].map(member)
  const method = typeof name === 'string' ? METHODS.find(each => each === name.toUpperCase()) : undefined
  if (!method) return refuse(`method must be one of ${METHODS.join(', ')}`)
  const [, folder, id] = typeof path === 'string' ? (/^\/(Users|Groups)(?:\/([^/]+))?$/.exec(path) ?? []) : []
  const endpoint = ENDPOINTS.find(each => each === folder)
  if (!endpoint) return refuse('path must be /Users or /Groups, with an id behind it')
  if ((method === 'POST') !== (id === undefined)) return refuse(`${method} is not supported there`)
  const texts = [bulkId ?? undefined, version ?? undefined]
  if (!texts.every(text => text === undefined || typeof text === 'string')) {
    return refuse('bulkId and version must be strings')
  }
  const [bulk, tag] = texts
  if (method === 'POST' && !bulk) return refuse('A POST requires a bulkId')
  const data = member('data') ?? {}
  if (!isJsonRecord(data)) return refuse('data must be an object')
  const decoded = id === undefined ? undefined : decode(id)
  if (id !== undefined && decoded === undefined) return refuse('The path is not valid')
  const references = [...new Set(referencesOf([decoded, data]))]
  return { operation: { method, endpoint, id: decoded, bulkId: bulk || undefined, version: tag, data, references } }
}

/** Undefined where it could not be encoded again, as half of a surrogate pair. */
function decode(id: string): string | undefined {
  try {
    const decoded = decodeURIComponent(id)
    return decoded.isWellFormed() ? decoded : undefined
  } catch {
    return undefined // the caller refuses it
  }
}

const REFERENCE = /^bulkId:(.+)$/s

function referencesOf(value: unknown): readonly string[] {
  const found: string[] = []
  replaceReferences(value, bulkId => {
    found.push(bulkId)
    return undefined
  })
  return found
}

/** The value with every resolvable reference replaced. */
function replaceReferences(value: unknown, idOf: (bulkId: string) => string | undefined): unknown {
  if (typeof value === 'string') {
    const [, bulkId] = REFERENCE.exec(value) ?? []
    return (bulkId === undefined ? undefined : idOf(bulkId)) ?? value
  }
  if (Array.isArray(value)) return value.map(each => replaceReferences(each, idOf))
  if (!isJsonRecord(value)) return value
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, replaceReferences(each, idOf)]))
}

interface Running {
  readonly context: Context
  readonly resources: ResourcesByEndpoint
  /** Ids of the resources created so far, by bulkId. */
  readonly ids: Map<string, string>
  readonly stop: (cause: unknown) => void
}

async function resultOf(sent: Sent, running: Running): Promise<{ readonly result: Json; readonly failed: boolean }> {
  if (!('operation' in sent)) {
    const [method, bulkId] = ['method', 'bulkId'].map(membersOf(sent.sent))
    const facts = {
      ...(typeof method === 'string' && { method: shown(method) }),
      ...(typeof bulkId === 'string' && { bulkId: shown(bulkId) }),
    }
    return { result: failure(facts, sent.refusal, running), failed: true }
  }
  const { method, bulkId, endpoint, id } = sent.operation
  const { base } = running.context
  const { type } = running.resources[endpoint].names
  const facts = { method, ...(bulkId !== undefined && { bulkId }) }
  try {
    const resource = await perform(sent.operation, running)
    if (bulkId !== undefined && resource) running.ids.set(bulkId, resource.id)
    const madeId = resource?.id ?? id
    return {
      failed: false,
      result: {
        ...(madeId !== undefined && { location: locationOf(resolved(madeId, running), type, base) }),
        ...facts,
        ...(resource && { version: tagOf(resource.version) }),
        status: method === 'POST' ? '201' : resource ? '200' : '204',
      },
    }
  } catch (thrown) {
    // RFC 7644 §3.7.3: the location is there unless a POST failed.
    const location = id === undefined || REFERENCE.test(id) ? {} : { location: locationOf(id, type, base) }
    return { result: failure({ ...location, ...facts }, thrown, running), failed: true }
  }
}

function failure(facts: Json, thrown: unknown, { stop }: Running): Json {
  const refused = refusedBy(thrown)
  if (!refused) stop(thrown)
  const { status, detail, scimType } = refused ?? faultOf(thrown)
  return { ...facts, status: String(status), response: errorBody(status, detail, scimType) }
}

const resolved = (id: string, { ids }: Running): string => {
  const [, bulkId] = REFERENCE.exec(id) ?? []
  return (bulkId === undefined ? undefined : ids.get(bulkId)) ?? id
}

/** The response does not contain the resource, so nothing else needs to be read. */
const NOTHING_SHOWN = { attributes: ['id'], excludedAttributes: [] }

async function perform(operation: Operation, running: Running): Promise<Resource | undefined> {
  const { context, ids } = running
  const { method, endpoint, id = '', version, data } = operation
  const unknown = operation.references.find(bulkId => !ids.has(bulkId))
  if (unknown !== undefined) {
    throw new ScimError(409, `No resource was created for the bulkId ${shown(unknown)}`) // §3.7.1
  }
  const resources = running.resources[endpoint]
  const selection = createSelection(resources.names, NOTHING_SHOWN)
  const body = replaceReferences(data, bulkId => ids.get(bulkId)) as JsonRecord // an object in, an object out
  const change = { id: resolved(id, running), body, condition: conditionOf(version), selection }
  switch (method) {
    case 'POST':
      return resources.create(context, body, selection)
    case 'PUT':
      return resources.replace(context, change)
    case 'PATCH':
      return resources.patch(context, change)
    case 'DELETE':
      await resources.delete(context, change.id, change.condition)
      return undefined
  }
}
