// Types of the descriptions of endpoints: purpose, parameters, bodies and responses. Data, one file per area;
// document.ts merges it with the route table, which knows paths, access and shared responses.
import type { Behaviour } from '../../model/compatibility.ts'
import type { Service } from '../../model/service.ts'
import type { TokenSettings } from '../../model/zones/settings.ts'

/** A JSON Schema (draft 2020-12). */
export type Schema = Readonly<Record<string, unknown>>

/** A parameter of the query or the path, or a field of a form. */
export interface Field {
  readonly about: string
  readonly schema: Schema
  readonly required: boolean
  /** Whether an empty string counts as absent in a query. */
  readonly mayBeEmpty?: true
}

/** Fields by name. */
export type Fields = Readonly<Record<string, Field>>

/** The response of one status; an error without `content` has the route's default error body. */
export interface Answer {
  readonly about: string
  /** Schemas by media type; empty for a response without a body. */
  readonly content?: Readonly<Record<string, Schema>>
  /** Whether the body may be absent. */
  readonly mayBeEmpty?: true
  /** Whether UAA sends no body (row M10). */
  readonly statusAlone?: true
  readonly headers?: Readonly<Record<string, string>>
}

/** See `refusesRepeated`. */
export type Repeated = 'every field' | 'all but targets'

/** What the token endpoint and its neighbours refuse (row A3). */
export const repeatedIn = ({ refuseRepeated }: Behaviour): Repeated | undefined =>
  refuseRepeated ? 'all but targets' : undefined

/** Ways of client authentication besides an `Authorization: Basic` header. */
type Credential = 'form' | 'bearer' | 'none'

/** One method of one path. */
export interface Operation {
  readonly summary: string
  readonly about?: string
  readonly path?: Fields
  /** The parameter name for `*` at the end of the path. */
  readonly wildcard?: string
  readonly query?: Fields
  readonly headers?: Fields
  readonly form?: Fields
  /** Which fields must not be repeated, whether known or not. Targets are `resource` and `audience`. */
  readonly refusesRepeated?: Repeated | undefined
  /** The schema of the JSON body, with a valid example. */
  readonly json?: { readonly schema: Schema; readonly example: unknown }
  /** What a bare string in the body is, with an example. */
  readonly bare?: { readonly about: string; readonly example: string }
  /** Accepted credentials besides Basic. */
  readonly credentials?: readonly Credential[]
  readonly answers: Readonly<Record<number, Answer | string>>
  /** The playground alone has the route. */
  readonly inPlayground?: true
}

/** The operations of one area, by `METHOD /path` of the route table, below the base path. */
export interface Area {
  readonly name: string
  readonly about: string
  readonly operations: Readonly<Record<string, Operation>>
  /** Schemas that operations refer to by name. */
  readonly schemas?: Readonly<Record<string, Schema>>
}

/** Inputs of descriptions: names, mode and settings of the server, and the lists that the endpoints enforce. */
export interface Facts {
  readonly service: Service
  readonly behaviour: Behaviour
  readonly settings: TokenSettings
  readonly lists: SupportedLists
}

/** What the authorization server supports, as discovery lists it. */
interface SupportedLists {
  readonly responseTypes: readonly string[]
  readonly responseModes: readonly string[]
  readonly codeChallengeMethods: readonly string[]
}

/** A string. */
export const text: Schema = { type: 'string' }
/** A string or null. */
export const textOrNull: Schema = { type: ['string', 'null'] }
/** A non-empty string. */
export const filled: Schema = { type: 'string', minLength: 1 }
/** Something other than white space, and no NUL. */
export const NOT_BLANK = '^[^\\u0000]*[^\\u0000\\s][^\\u0000]*$'
/** RFC 4648 §4, with its padding. */
export const BASE64 = '^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$'
/** A list of strings. */
export const texts: Schema = { type: 'array', items: text }
/** A string that may be sent several times. */
export const repeatable: Schema = { type: ['string', 'array'], items: text }
/** True or false. */
export const flag: Schema = { type: 'boolean' }
/** A whole number. */
export const whole: Schema = { type: 'integer' }
/** Milliseconds since 1970. */
export const milliseconds: Schema = { type: 'integer', description: 'Milliseconds since 1970.' }

/** One of the words. */
export const oneOf = (words: readonly string[]): Schema => ({ type: 'string', enum: words })

/** The schema with a description. */
export const described = (schema: Schema, description: string): Schema => ({ ...schema, description })

/** A list. */
export const listOf = (items: Schema): Schema => ({ type: 'array', items })

/** A list in a body; null counts as an empty one. */
export const listOrNull = (items: Schema): Schema => ({ type: ['array', 'null'], items, maxItems: 1000 })

/** A list in a body that must not be empty. */
export const filledList = (items: Schema): Schema => ({ type: 'array', items, minItems: 1, maxItems: 1000 })

/** One of the words, or null for the first. */
export const oneOfOrNull = (words: readonly string[]): Schema => ({ enum: [...words, null] })

/** The schema of this name. */
export const ref = (name: string): Schema => ({ $ref: `#/components/schemas/${name}` })

/** An object with exactly these members, required unless listed as optional. */
export const closed = (members: Readonly<Record<string, Schema>>, optional: readonly string[] = []): Schema => ({
  type: 'object',
  properties: members,
  required: Object.keys(members).filter(name => !optional.includes(name)),
  additionalProperties: false,
})

/** An object with these members and any others. */
export const open = (members: Readonly<Record<string, Schema>>, required: readonly string[] = []): Schema => ({
  type: 'object',
  properties: members,
  ...(required.length > 0 && { required }),
})

/** An optional field. */
export const may = (about: string, schema: Schema = text): Field => ({ about, schema, required: false })
/** A query parameter that may be absent or empty. */
export const mayBe = (about: string, schema: Schema = text): Field => ({ ...may(about, schema), mayBeEmpty: true })
/** A required field; an empty string counts as absent. */
export const must = (about: string, schema: Schema = filled): Field => ({ about, schema, required: true })

/** A JSON response. */
export const json = (about: string, schema: Schema, more: Partial<Answer> = {}): Answer => ({
  about,
  content: { 'application/json': schema },
  ...more,
})

/** A page. */
export const page = (about: string): Answer => ({ about, content: { 'text/html': text } })

/** A status without a body. */
export const empty = (about: string): Answer => ({ about, content: {} })

/** A status that may come without a body. */
export const bare = (about: string): Answer => ({ about, mayBeEmpty: true })

/** An error that UAA answers without a body (row M10). */
export const statusAlone = (about: string): Answer => ({ about, statusAlone: true })

/** A redirect. */
export const redirect = (about: string): Answer => empty(about)

/** A flag in a query. */
export const queryFlag: Schema = oneOf(['true', 'false', 'on', 'off', 'yes', 'no', '1', '0'])

/** A string that the database can store: without NUL. */
export const WITHOUT_NUL = '^[^\\u0000]*$'

/**
 * The schema of a request body, in which no string may contain NUL. `kept`: unknown members are stored, so the rule
 * applies to them too.
 */
export function sent(schema: Schema, { kept = false } = {}): Schema {
  return walk(schema) as Schema // an object in, an object out

  function walk(value: unknown): unknown {
    if (Array.isArray(value)) return value.map(walk)
    if (typeof value !== 'object' || value === null) return value
    const { properties, examples, ...rest } = value as Schema // an object of JSON
    const types = new Set([rest['type']].flat())
    const isOpen = kept && types.has('object') && rest['additionalProperties'] === undefined
    return {
      ...Object.fromEntries(Object.entries(rest).map(([name, each]) => [name, walk(each)])),
      ...(types.has('string') && rest['pattern'] === undefined && !rest['enum'] && { pattern: WITHOUT_NUL }),
      ...(examples !== undefined && { examples }),
      ...(properties !== undefined && {
        properties: Object.fromEntries(Object.entries(Object(properties)).map(([name, each]) => [name, walk(each)])),
      }),
      ...(isOpen && { additionalProperties: ref('Kept'), propertyNames: { pattern: WITHOUT_NUL } }),
    }
  }
}

/** Any JSON without NUL. */
export const KEPT: Schema = {
  type: ['object', 'array', 'string', 'number', 'boolean', 'null'],
  pattern: WITHOUT_NUL,
  items: ref('Kept'),
  additionalProperties: ref('Kept'),
  propertyNames: { pattern: WITHOUT_NUL },
  description: 'Any JSON whose strings contain no NUL.',
}
