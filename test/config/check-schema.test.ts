import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { AnySchemaObject } from 'ajv'
import { Ajv } from 'ajv'
import fc from 'fast-check'
import { checkSchema } from '../../src/config/check-schema.ts'
import type { Schema } from '../../src/config/check-schema.ts'
import { CONFIG_SCHEMA } from '../../src/config/schema.ts'
import { runs } from '../support/thinning.ts'

/** The path and keyword of every problem that Ajv reports for the value. */
function ajvAnswers(schema: AnySchemaObject): (value: unknown) => readonly string[] {
  const ajv = new Ajv({ allErrors: true, allowUnionTypes: true, keywords: ['patternErrorMessage'] })
  const validate = ajv.compile(schema)
  return value => {
    if (validate(value) === true) return []
    const found = (validate.errors ?? []).map(({ instancePath, keyword, params }) => {
      const member: unknown = params['additionalProperty'] ?? params['missingProperty']
      return `${instancePath}${typeof member === 'string' ? `/${member}` : ''} ${keyword}`
    })
    return [...new Set(found)].toSorted()
  }
}

const ownAnswer = (value: unknown, schema: Schema): readonly string[] => {
  const found = checkSchema(value, schema).map(
    ({ steps, keyword }) => `${steps.map(step => `/${step}`).join('')} ${keyword}`,
  )
  return [...new Set(found)].toSorted()
}

/** Every schema inside a schema. */
function parts(schema: Schema): readonly Schema[] {
  const below = [
    schema.items,
    schema.additionalProperties,
    ...Object.values({ ...schema.properties, ...schema.definitions }),
  ]
  return [schema, ...below.flatMap(part => (typeof part === 'object' ? parts(part) : []))]
}

describe('The check of the configuration by its schema', () => {
  const schema: Schema = CONFIG_SCHEMA
  const ajv = ajvAnswers(CONFIG_SCHEMA)

  it('supports every keyword of the schema', () => {
    const understood = new Set(
      (
        '$schema title description default definitions $ref type enum not properties additionalProperties required ' +
        'minProperties maxProperties items minItems maxItems minimum maximum minLength maxLength pattern ' +
        'patternErrorMessage'
      ).split(' '),
    )
    const used = new Set(parts(schema).flatMap(part => Object.keys(part)))
    assert.deepEqual(
      [...used].filter(keyword => !understood.has(keyword)),
      [],
    )
  })

  /** Values that resemble a configuration: known names at every level, with fitting and unfitting values. */
  const names = [...new Set(parts(schema).flatMap(part => Object.keys(part.properties ?? {})))]
  const leaf = fc.oneof(
    fc.constantFrom('', 'a', '#fff', 'https://a', 'ldap', 'RS256', 'opaque', 'standard', 'lax', '\u{1F511}'.repeat(40)),
    fc.constantFrom(-2, -1, 0, 1, 1.5, 64, 65_536),
    fc.boolean(),
    fc.constant(null),
  )
  const { value } = fc.letrec(tie => ({
    value: fc.oneof(
      { maxDepth: 6, withCrossShrink: true },
      leaf,
      fc.array(tie('value'), { maxLength: 3 }),
      fc.dictionary(fc.oneof(fc.constantFrom(...names), fc.constantFrom('x', 'toString', '0')), tie('value'), {
        maxKeys: 5,
      }),
    ),
  }))

  it('agrees with Ajv on any value', () => {
    fc.assert(
      fc.property(value, given => {
        assert.deepEqual(ownAnswer(given, schema), ajv(given))
      }),
      { numRuns: runs(300) },
    )
  })

  it('agrees with Ajv on records', () => {
    const at = fc.constantFrom('groups', 'clients', 'users', 'external_groups', 'identity_providers', 'identity_zones')
    fc.assert(
      fc.property(at, fc.dictionary(fc.constantFrom(...names), value, { maxKeys: 8 }), (list, record) => {
        const given = { bootstrap: { [list]: [record] }, zone_config: record, smtp: record, listen: record }
        assert.deepEqual(ownAnswer(given, schema), ajv(given))
      }),
      { numRuns: runs(300) },
    )
  })

  it('recognizes own members named like those of Object.prototype', () => {
    const given: unknown = JSON.parse('{"__proto__": 1, "constructor": 2, "listen": {"toString": 3}}')
    assert.deepEqual(ownAnswer(given, schema), [
      '/__proto__ additionalProperties',
      '/constructor additionalProperties',
      '/listen/toString additionalProperties',
    ])
  })
})
