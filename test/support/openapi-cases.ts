// Requests generated from the schemas of an OpenAPI document: bodies and parameters that differ from an accepted one in one
// place. Ajv decides by the schema whether each is valid.
import { isJsonRecord } from '../../src/base/json.ts'
import type { OpenApi, Parameter, Schema } from './openapi.ts'
import { checkOf } from './openapi-checks.ts'

/** Replacements for each member: every JSON type, limits, and strings of different formats. */
const VALUES: readonly unknown[] = [
  null,
  true,
  0,
  -1,
  7,
  1.5,
  2 ** 31,
  '',
  ' ',
  'x',
  'a\u0000b',
  'javascript:alert(1)',
  'https://x.example/',
  'x'.repeat(300),
  [],
  [''],
  ['x'],
  [7],
  ['a\u0000b'],
  {},
  { x: 'a\u0000b' },
]

/** Deeper members would be too many requests. */
const MAX_DEPTH = 4

/** A body with a description of its change. */
export interface BodyCase {
  readonly label: string
  readonly body: unknown
}

const resolve = (schema: Schema, { components }: OpenApi): Schema => {
  const { $ref } = schema
  return typeof $ref === 'string' ? (components.schemas[$ref.replace('#/components/schemas/', '')] ?? {}) : schema
}

const asSchema = (value: unknown): Schema => (isJsonRecord(value) ? value : {})

/** The value with each of its members, known or not, replaced or left out, one at a time. */
export function* bodyCases(schema: Schema, valid: unknown, api: OpenApi, at = ''): Generator<BodyCase> {
  const { properties, items } = resolve(schema, api)
  for (const value of VALUES) yield { label: `${at || 'body'} = ${JSON.stringify(value).slice(0, 30)}`, body: value }
  if (at.split('.').length > MAX_DEPTH) return
  if (items !== undefined && Array.isArray(valid)) {
    const [first, ...others]: unknown[] = valid
    for (const { label, body } of bodyCases(asSchema(items), first, api, `${at}[0]`)) {
      yield { label, body: [body, ...others] }
    }
  }
  if (!isJsonRecord(properties)) return
  const record = isJsonRecord(valid) ? valid : {}
  for (const [name, member] of [...Object.entries(properties), ['unknown_member', {}] as const]) {
    const path = at === '' ? name : `${at}.${name}`
    const { [name]: old, ...without } = record
    if (old !== undefined) yield { label: `${path} left out`, body: without }
    for (const { label, body } of bodyCases(asSchema(member), old, api, path)) {
      yield { label, body: { ...record, [name]: body } }
    }
  }
}

/** Strings for a query parameter, and whether its schema allows them. */
export function* parameterCases(parameter: Parameter): Generator<{ readonly text: string; readonly isValid: boolean }> {
  const { schema, allowEmptyValue = false } = parameter
  const isValid = validatorOf(schema, undefined)
  const texts = ['', 'x', 'abc', '1', '0', '-1', '1.5', '1e3', '99999999999', 'true', 'false', 'a\u0000b', 'ascending']
  for (const text of texts) {
    const value = schema['type'] === 'integer' && /^-?\d+$/.test(text) ? Number(text) : text
    yield { text, isValid: (text === '' && allowEmptyValue) || isValid(value) }
  }
}

/** Asks whether a value is valid. */
export function validatorOf(schema: Schema, api: OpenApi | undefined): (value: unknown) => boolean {
  const check = checkOf(schema, api)
  return value => check(value)
}
