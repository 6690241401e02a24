// The OpenAPI document of a server, and valid and invalid requests generated from it.
import fc from 'fast-check'
import type { TestRequest } from './server.ts'

/** A JSON Schema. */
export type Schema = Readonly<Record<string, unknown>>

/** A parameter of an operation. */
export interface Parameter {
  readonly name: string
  readonly in: 'path' | 'query' | 'header'
  readonly required: boolean
  /** Whether an empty text counts as absent. */
  readonly allowEmptyValue?: boolean
  readonly schema: Schema
}

/** An answer of an operation. */
export interface Response {
  readonly description: string
  readonly headers?: Readonly<Record<string, unknown>>
  readonly content?: Readonly<Record<string, { readonly schema: Schema }>>
  readonly 'x-body-may-be-absent'?: boolean
}

/** One method of one path. */
export interface Operation {
  readonly operationId: string
  readonly tags: readonly string[]
  readonly security: readonly Readonly<Record<string, readonly string[]>>[]
  readonly parameters?: readonly Parameter[]
  readonly requestBody?: {
    readonly content: Readonly<Record<string, { readonly schema: Schema; readonly example?: unknown }>>
  }
  readonly responses: Readonly<Record<string, Response | { readonly $ref: string }>>
}

/** A document. */
export interface OpenApi {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
  readonly components: {
    readonly schemas: Readonly<Record<string, Schema>>
    readonly responses: Readonly<Record<string, Response>>
  }
}

/** An operation with where it is. */
export interface Place {
  readonly method: string
  readonly path: string
  readonly operation: Operation
}

const METHODS = new Set(['get', 'post', 'put', 'delete', 'patch'])

/** Every operation of the document. */
export const placesOf = ({ paths }: OpenApi): readonly Place[] =>
  Object.entries(paths).flatMap(([path, item]) =>
    Object.entries(item).flatMap(([method, operation]) =>
      METHODS.has(method) ? [{ method: method.toUpperCase(), path, operation }] : [],
    ),
  )

/** The response of an operation for a status, with references resolved. */
export function responseOf({ components }: OpenApi, { responses }: Operation, status: number): Response | undefined {
  const response = responses[status]
  if (response === undefined || !('$ref' in response)) return response
  return components.responses[response.$ref.replace('#/components/responses/', '')]
}

// Creating one takes milliseconds, and each document has hundreds of strings.
const TEXT = fc.string({ unit: 'grapheme', maxLength: 40 })
const ANYTHING = fc.oneof(fc.string(), fc.integer(), fc.boolean())

/** A value that the schema describes, for fast-check. */
export function arbitraryOf(schema: Schema, { components }: OpenApi, depth = 0): fc.Arbitrary<unknown> {
  const { $ref, type, enum: words, const: only, pattern, items, properties, required = [] } = schema
  const inner = (each: unknown): fc.Arbitrary<unknown> =>
    arbitraryOf(Object(each) as Schema, { components, paths: {} }, depth + 1) // a schema of the document
  if (typeof $ref === 'string') return inner(components.schemas[$ref.replace('#/components/schemas/', '')])
  if (Array.isArray(words)) return fc.constantFrom<unknown>(...(words as readonly unknown[]))
  if (only !== undefined) return fc.constant(only)
  if (Array.isArray(type)) return fc.oneof(...type.map(each => inner({ ...schema, type: each })))
  switch (type) {
    case 'string':
      return typeof pattern === 'string' ? fc.stringMatching(new RegExp(pattern)) : TEXT
    case 'integer': {
      const { minimum = -5, maximum = 2 ** 31 } = schema
      return fc.integer({ min: Number(minimum), max: Math.min(Number(maximum), 2 ** 31 - 1) })
    }
    case 'boolean':
      return fc.boolean()
    case 'null':
      return fc.constant(null)
    case 'array':
      // A schema may refer to itself.
      return depth > 5 ? fc.constant([]) : fc.array(inner(items ?? { type: 'string' }), { maxLength: 3 })
    case 'object': {
      const members = Object.entries(Object(properties) as Readonly<Record<string, unknown>>)
      if (members.length === 0 || depth > 5) return fc.constant({})
      const needed = (required as readonly string[]).filter(name => members.some(([each]) => each === name))
      return fc.record(Object.fromEntries(members.map(([name, each]) => [name, inner(each)])), { requiredKeys: needed })
    }
    default:
      return ANYTHING
  }
}

/** The media type of an operation's body. */
export const bodyTypeOf = ({ requestBody }: Operation): string | undefined => Object.keys(requestBody?.content ?? {})[0]

/** The parameters in one place. */
export const parametersIn = ({ parameters = [] }: Operation, where: Parameter['in']): readonly Parameter[] =>
  parameters.filter(each => each.in === where)

/** Values of a wrong type, or absurd values of the right type. */
export const ODD_VALUES: readonly unknown[] = [
  null,
  0,
  -1,
  1.5,
  1e300,
  true,
  '',
  ' ',
  'x'.repeat(5000),
  'a\u0000b',
  '\ud800',
  '</script><b>"\'`',
  [],
  [null],
  [[]],
  {},
  { a: 1 },
  { constructor: 1 },
]

/** A request in its parts, so that one of them can be replaced. */
export interface Draft {
  readonly method: string
  readonly path: string
  readonly values: Readonly<Record<string, string>>
  readonly query: Readonly<Record<string, string>>
  readonly headers: Readonly<Record<string, string>>
  readonly form?: Readonly<Record<string, string>>
  readonly json?: unknown
}

/** The path and the request of a draft. */
export function requestOf({ method, path, values, query, headers, form, json }: Draft): [string, TestRequest] {
  const filled = path.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(values[name] ?? 'x'))
  return [
    filled,
    {
      method,
      headers: { ...(json !== undefined && { 'content-type': 'application/json' }), ...headers },
      ...(Object.keys(query).length > 0 && { query }),
      ...(form && { form }),
      ...(json !== undefined && { body: JSON.stringify(json) }),
    },
  ]
}

/** Copies without each of the named members, one at a time. */
export const withoutEach = (record: Readonly<Record<string, unknown>>, names: readonly string[]) =>
  names.map(name => Object.fromEntries(Object.entries(record).filter(([each]) => each !== name)))
