// Validates a value with the keywords of JSON Schema (draft 7) that the configuration's schema uses. Ajv gives the same
// results, as a test verifies, but takes a third of a second to compile the schema, too long for a start.
import { nearest } from './nearest.ts'

/** The supported keywords; the first five are annotations. */
export interface Schema {
  readonly $schema?: string
  readonly title?: string
  readonly description?: string
  readonly default?: unknown
  /** What the pattern demands; a keyword of editors, such as VS Code. */
  readonly patternErrorMessage?: string
  readonly $ref?: string
  readonly type?: string | readonly string[]
  readonly enum?: readonly unknown[]
  readonly not?: { readonly const: number }
  readonly properties?: Readonly<Record<string, Schema>>
  readonly additionalProperties?: boolean | Schema
  readonly required?: readonly string[]
  readonly minProperties?: number
  readonly maxProperties?: number
  readonly items?: Schema
  readonly minItems?: number
  readonly maxItems?: number
  readonly minimum?: number
  readonly maximum?: number
  readonly minLength?: number
  readonly maxLength?: number
  readonly pattern?: string
  readonly definitions?: Readonly<Record<string, Schema>>
}

/** A violation of the schema. */
export interface SchemaProblem {
  /** `bootstrap.clients[0].scope`; empty for the whole value. */
  readonly key: string
  /** The key as a path. */
  readonly steps: readonly (string | number)[]
  readonly keyword: keyof Schema
  readonly message: string
}

/** All violations in the value. The content of a value of the wrong type is not checked. */
export function checkSchema(value: unknown, schema: Schema): readonly SchemaProblem[] {
  const found: SchemaProblem[] = []

  function check(value: unknown, schema: Schema, steps: SchemaProblem['steps']): void {
    const refuse = (keyword: keyof Schema, message: string, member?: string): void => {
      const path = member === undefined ? steps : [...steps, member]
      found.push({ key: keyOf(path), steps: path, keyword, message })
    }
    if (schema.$ref !== undefined) return check(value, resolve(schema.$ref), steps)
    const types = [schema.type ?? []].flat()
    if (types.length > 0 && !types.some(type => isOfType(value, type))) {
      return refuse(
        'type',
        `must be ${types.map(type => TYPE_TEXTS[type] ?? type).join(' or ')}${typeHint(value, types)}`,
      )
    }
    if (schema.enum !== undefined && !schema.enum.includes(value)) {
      refuse('enum', `must be one of ${schema.enum.join(', ')}`)
    }
    if (schema.not !== undefined && value === schema.not.const) refuse('not', `must not be ${schema.not.const}`)
    if (typeof value === 'string') checkString(value, schema, refuse)
    if (typeof value === 'number') checkNumber(value, schema, refuse)
    if (Array.isArray(value)) {
      const { items, minItems = 0, maxItems = Infinity } = schema
      if (value.length < minItems) refuse('minItems', `must have at least ${minItems} entries`)
      if (value.length > maxItems) refuse('maxItems', `must have at most ${maxItems} entries`)
      if (items !== undefined) value.forEach((item: unknown, index) => check(item, items, [...steps, index]))
    } else if (typeof value === 'object' && value !== null) {
      checkObject(Object.entries(value), schema, { steps, refuse })
    }
  }

  function checkObject(
    members: readonly (readonly [string, unknown])[],
    {
      properties = {},
      additionalProperties = true,
      required = [],
      minProperties = 0,
      maxProperties = Infinity,
    }: Schema,
    { steps, refuse }: { steps: SchemaProblem['steps']; refuse: Refuse },
  ): void {
    const names = new Set(members.map(([name]) => name))
    for (const name of required) if (!names.has(name)) refuse('required', 'is missing', name)
    if (names.size < minProperties) refuse('minProperties', `must have at least ${minProperties} members`)
    if (names.size > maxProperties) refuse('maxProperties', `must have at most ${maxProperties} members`)
    for (const [name, member] of members) {
      const property = Object.hasOwn(properties, name) ? properties[name] : additionalProperties
      if (property === false) {
        const meant = nearest(name, Object.keys(properties))
        refuse(
          'additionalProperties',
          `is not a known key${meant === undefined ? '' : `; did you mean ${meant}?`}`,
          name,
        )
      } else if (typeof property === 'object') check(member, property, [...steps, name])
    }
  }

  function resolve(reference: string): Schema {
    const definition = schema.definitions?.[reference.replace('#/definitions/', '')]
    if (definition === undefined) throw new Error(`the schema has no ${reference}`)
    return definition
  }

  check(value, schema, [])
  return found
}

const TYPE_TEXTS: Readonly<Record<string, string>> = {
  array: 'a list',
  boolean: 'true or false',
  integer: 'a whole number',
  number: 'a number',
  object: 'a mapping',
  string: 'a string',
}

/** In YAML, quotes distinguish strings from numbers and booleans. */
function typeHint(value: unknown, types: readonly string[]): string {
  if (value === null) return ': it is empty'
  if (types.includes('string') && (typeof value === 'number' || typeof value === 'boolean')) return ': put it in quotes'
  if (typeof value !== 'string') return ''
  const isNumber = types.includes('integer') && /^-?\d+$/.test(value)
  const isBoolean = types.includes('boolean') && /^(?:true|false)$/.test(value)
  return isNumber || isBoolean ? ', without quotes' : ''
}

type Refuse = (keyword: keyof Schema, message: string, member?: string) => void

function checkString(
  text: string,
  { minLength = 0, maxLength = Infinity, pattern, patternErrorMessage }: Schema,
  refuse: Refuse,
): void {
  const { length } = Array.from(text) // characters, not UTF-16 units
  if (length < minLength)
    refuse('minLength', minLength === 1 ? 'must not be empty' : `must have ${minLength} characters`)
  if (length > maxLength) refuse('maxLength', `must have at most ${maxLength} characters`)
  if (pattern !== undefined && !new RegExp(pattern, 'u').test(text))
    refuse('pattern', patternErrorMessage ?? `must match ${pattern}`)
}

function checkNumber(number: number, { minimum = -Infinity, maximum = Infinity }: Schema, refuse: Refuse): void {
  if (number < minimum) refuse('minimum', `must be at least ${minimum}`)
  if (number > maximum) refuse('maximum', `must be at most ${maximum}`)
}

function isOfType(value: unknown, type: string): boolean {
  switch (type) {
    case 'array':
      return Array.isArray(value)
    case 'integer':
      return Number.isInteger(value)
    case 'null':
      return value === null
    case 'object':
      return typeof value === 'object' && value !== null && !Array.isArray(value)
    default:
      return typeof value === type
  }
}

const keyOf = (steps: SchemaProblem['steps']): string =>
  steps
    .map(step => (typeof step === 'number' ? `[${step}]` : `.${step}`))
    .join('')
    .replace(/^\./, '')
