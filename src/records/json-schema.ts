// Derives JSON Schemas of requests and responses from descriptions, for the configuration file, OpenAPI and SCIM.
import { toJsonSchema } from '@valibot/to-json-schema'
import type { JsonRecord } from '../base/json.ts'
import type { JsonSchema, Kind } from './kinds.ts'
import type { Field, Fields } from './record.ts'
import type { Section, Setting } from './settings.ts'

/** The schema of a kind: of accepted (`input`) or of stored (`output`) values. */
export function schemaOf(kind: Kind, typeMode: 'input' | 'output'): JsonSchema {
  const { $schema: _, ...schema } = toJsonSchema(kind, {
    typeMode,
    errorMode: 'ignore', // custom checks have no keyword
    overrideAction: ({ valibotAction, jsonSchema }) => withMessage(valibotAction, jsonSchema),
    overrideSchema: ({ jsonSchema }) => withoutImplied(jsonSchema) ?? withTypeList(jsonSchema),
  })
  return schema
}

/** Adds what the kind says about a text that its pattern does not match. */
function withMessage<S extends object>(
  { type, message }: { readonly type: string; readonly message?: unknown },
  schema: S,
): S | undefined {
  return type === 'regex' && typeof message === 'string' ? { ...schema, patternErrorMessage: message } : undefined
}

/** Drops implied keywords (`type` next to `enum`, `propertyNames`), so that a wrong value is reported once. */
function withoutImplied<S extends object>(schema: S): S | undefined {
  const implied = Object.hasOwn(schema, 'enum') ? 'type' : 'propertyNames'
  if (!Object.hasOwn(schema, implied)) return undefined
  const rest = { ...schema }
  Reflect.deleteProperty(rest, implied)
  return rest
}

/** Replaces alternatives that differ only in type by `{"type": ["array", "string"], …}`, and several `enum`s by one. */
function withTypeList<S extends object>(schema: S): S | undefined {
  const alternatives: unknown = Reflect.get(schema, 'anyOf')
  if (!Array.isArray(alternatives)) return undefined
  const parts: JsonRecord[] = alternatives.map((part: object) => ({ ...part }))
  const values = parts.map(({ type, enum: words }) => (type === 'boolean' ? [true, false] : words))
  if (values.every(Array.isArray)) return { enum: values.flat() } as unknown as S // still a JSON Schema
  const keywords = parts.flatMap(part => Object.keys(part).filter(keyword => keyword !== 'type'))
  const isFlat = parts.every(({ type }) => typeof type === 'string') && new Set(keywords).size === keywords.length
  if (!isFlat) return undefined
  return Object.assign({}, ...parts, { type: parts.map(({ type }) => type) }) as S // likewise
}

const described = (schema: JsonSchema, { about, schema: more }: Field): JsonSchema => ({
  ...schema,
  ...more,
  ...(about !== undefined && { description: about }),
})

/** The schemas of request members by wire name; `nullable` if null, and a blank where it keeps the value, counts as absent. */
export const sentSchemas = (
  fields: Fields,
  { nullable = false }: { readonly nullable?: boolean } = {},
): Readonly<Record<string, JsonSchema>> =>
  Object.fromEntries(
    Object.values(fields).flatMap(field => {
      const { wire, sent, kind, required, keptBy } = field
      if (wire === undefined || sent === 'never') return []
      const schema = described(schemaOf(kind, 'input'), field)
      if (!nullable || required) return [[wire, schema] as const]
      return [[wire, orNull(keptBy === 'null or blank' ? orBlank(schema) : schema)] as const]
    }),
  )

const orNull = (schema: JsonSchema): JsonSchema => ({
  ...schema,
  ...(schema['type'] !== undefined && { type: [schema['type'], 'null'].flat() }),
  ...(Array.isArray(schema['enum']) && { enum: [...schema['enum'], null] }),
})

const orBlank = (schema: JsonSchema): JsonSchema => ({
  ...schema,
  ...(typeof schema['pattern'] === 'string' && { pattern: `^$|${schema['pattern']}` }),
})

/** The schemas of response members by wire name, and which are always present. */
export function shownSchemas(fields: Fields): {
  readonly properties: Readonly<Record<string, JsonSchema>>
  readonly required: readonly string[]
} {
  const shown = Object.values(fields).flatMap(field =>
    field.wire === undefined || field.shown === 'never' ? [] : [{ ...field, wire: field.wire }],
  )
  return {
    properties: Object.fromEntries(
      shown.map(field => [field.wire, described(schemaOf(field.shownAs ?? field.kind, 'output'), field)]),
    ),
    required: shown
      .filter(({ optional, shown, always }) => always !== undefined || (optional === undefined && shown === undefined))
      .map(({ wire }) => wire),
  }
}

/** `nullable`: null counts as absent, as in requests; in the file, null is allowed only where it has a meaning. */
interface Sent {
  readonly nullable?: boolean
}

/** The schema of settings in a request; refuses unknown members unless the description ignores them. */
export function settingsSchema(
  { members, others = {}, required, unknown, about }: Section,
  { nullable = false }: Sent = {},
): JsonSchema {
  const properties = Object.entries(members).map(([name, member]) => [name, sentSchema(member, { nullable })] as const)
  return {
    type: 'object',
    ...(unknown !== 'ignored' && { additionalProperties: false }),
    ...(required && { required }),
    properties: { ...Object.fromEntries(properties), ...others },
    ...(about !== undefined && { description: about }),
  }
}

function sentSchema(member: Setting | Section, sent: Sent): JsonSchema {
  const { nullable = false } = sent
  if ('members' in member) {
    const schema = settingsSchema(member, sent)
    return nullable && !member.notNull ? orNull(schema) : schema
  }
  const schema = { ...schemaOf(member.kind, 'input'), ...member.schema }
  return {
    ...(member.unset === null || (nullable && !member.notNull) ? orNull(schema) : schema),
    ...(member.about !== undefined && { description: member.about }),
  }
}

/** The schema of settings as answers show them: with every default and without secrets. */
export function shownSettingsSchema({ members, about }: Section): JsonSchema {
  const shown = Object.entries(members).filter(([, member]) => 'members' in member || member.secret !== true)
  const isAlwaysThere = (member: Setting | Section): boolean =>
    member.optional !== true && ('members' in member || (member.unset !== undefined && member.secret === undefined))
  return {
    type: 'object',
    additionalProperties: false,
    required: shown.filter(([, member]) => isAlwaysThere(member)).map(([name]) => name),
    properties: Object.fromEntries(shown.map(([name, member]) => [name, shownSchema(member)])),
    ...(about !== undefined && { description: about }),
  }
}

function shownSchema(member: Setting | Section): JsonSchema {
  if ('members' in member) {
    const schema = shownSettingsSchema(member)
    return member.optional === 'null' ? orNull(schema) : schema
  }
  if (member.dropped === 'always') return { const: member.unset }
  const schema = { ...schemaOf(member.kind, 'output'), ...member.schema }
  return {
    ...(member.unset === null && !member.optional ? orNull(schema) : schema),
    ...(member.about !== undefined && { description: member.about }),
  }
}
