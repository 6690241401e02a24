// The body of a PATCH (RFC 7644 §3.5.2).
import { isJsonRecord } from '../../../base/json.ts'
import type { Json, Names } from '../schemas/attribute.ts'
import { ScimError } from '../error.ts'
import { membersOf, readMessage } from '../requests/message.ts'
import type { SentOperation } from '../requests/tolerances.ts'
import { tolerated, unwrapResource } from '../requests/tolerances.ts'

/** The schema of a PATCH body. */
export const PATCH_SCHEMA = 'urn:ietf:params:scim:api:messages:2.0:PatchOp'
const MAX_OPERATIONS = 1000
/** Maximum number of attributes in a request; operations without a path have many. Changing them blocks other requests. */
const MAX_CHANGES = 5000

const OPS = ['add', 'replace', 'remove'] as const
/** The kind of an operation. */
export type Op = (typeof OPS)[number]

/** An operation with its path, which may still be absent. */
export interface Operation {
  readonly op: Op
  readonly path?: string
  readonly value?: unknown
}

/** Reads the body of a PATCH, with the tolerances. */
export function readOperations(names: Names, body: Json): readonly Operation[] {
  const list = readMessage(body, PATCH_SCHEMA)('Operations')
  if (!Array.isArray(list) || list.length === 0) throw new ScimError('invalidSyntax', 'Operations must be a list')
  const sent = list.map(readSent)
  const changes = sent.reduce((sum, each) => sum + countChanges(each), 0)
  if (changes > MAX_CHANGES) {
    throw new ScimError('invalidValue', `A request can change at most ${MAX_CHANGES} attributes`)
  }
  const operations = sent.flatMap(each => tolerated(each, names))
  if (operations.length > MAX_OPERATIONS) {
    throw new ScimError('invalidValue', `A request can have at most ${MAX_OPERATIONS} operations`)
  }
  return operations.map(readOperation)
}

function readSent(sent: unknown): SentOperation {
  if (!isJsonRecord(sent)) throw new ScimError('invalidSyntax', 'An operation must be an object')
  const member = membersOf(sent)
  return { op: member('op'), path: member('path') ?? undefined, value: member('value') }
}

/** How many attributes an operation names. */
function countChanges(operation: SentOperation): number {
  const value = unwrapResource(operation)
  return isJsonRecord(value) ? Object.keys(value).length : 1
}

function readOperation({ op: sent, path, value }: SentOperation): Operation {
  const op = OPS.find(each => each === sent)
  if (!op) throw new ScimError('invalidSyntax', `op must be one of ${OPS.join(', ')}`)
  if (path !== undefined && typeof path !== 'string') throw new ScimError('invalidPath', 'path must be a string')
  if (op === 'remove' && path === undefined) throw new ScimError('noTarget', 'remove requires a path')
  if (op !== 'remove' && value === undefined) throw new ScimError('invalidValue', `${op} requires a value`)
  return { op, ...(path !== undefined && { path }), value }
}
