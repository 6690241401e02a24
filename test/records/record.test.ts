import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { clientFields } from '../../src/records/client.ts'
import { sentSchemas, shownSchemas } from '../../src/records/json-schema.ts'
import { flag, lifetime, list, milliseconds, own, string } from '../../src/records/kinds.ts'
import {
  columnsOf,
  describeRecord,
  filterAttributes,
  mergeUpdate,
  readRecord,
  rowMapping,
  showRecord,
  sortOrders,
  wireNames,
} from '../../src/records/record.ts'
import type { RecordOf } from '../../src/records/record.ts'
import { validatorOf } from '../support/openapi-cases.ts'

/** A client description with two additional fields: one in a column, one among the attributes. */
const fields = describeRecord({
  ...clientFields,
  tagline: {
    wire: 'tag_line',
    kind: string,
    column: 'tag_line',
    storage: 'text',
    optional: true,
    keptBy: 'null',
    filter: 'text',
    sort: true,
    about: 'A few words for people.',
  },
  isBeta: { wire: 'is_beta', kind: flag, storage: 'attribute', optional: true, about: 'Whether it is new.' },
})

const record: RecordOf<typeof fields> = {
  zoneId: 'z1',
  clientId: 'shop',
  scope: ['openid'],
  authorizedGrantTypes: ['password'],
  redirectUris: [],
  autoapprove: [],
  authorities: [],
  requiredUserGroups: [],
  secrets: [],
  additional: { note: 1 },
  createdAt: new Date(1000),
  updatedAt: new Date(2000),
  tagline: 'Sells things',
  isBeta: true,
}

describe('A field added to a description', () => {
  it('is read from a request, and rejected if invalid', () => {
    const { values, problems } = readRecord(fields, { tag_line: 'x', is_beta: 'false', client_id: 'a' })
    assert.deepEqual([values, problems], [{ clientId: 'a', tagline: 'x', isBeta: false }, []])
    assert.deepEqual(readRecord(fields, { tag_line: 5, is_beta: 'maybe' }).problems, [
      { key: 'tag_line', message: 'tag_line must be a string' },
      { key: 'is_beta', message: 'is_beta must be a boolean' },
    ])
    assert.ok(wireNames(fields).has('tag_line'))
  })

  it('is shown in responses', () => {
    const shown = showRecord(fields, record)
    assert.deepEqual([shown['tag_line'], shown['is_beta']], ['Sells things', true])
  })

  it('survives an update without it, and null if so described', () => {
    const stored = showRecord(fields, record)
    const merged = mergeUpdate(fields, stored, { client_id: 'shop', tag_line: null })
    assert.deepEqual([merged['tag_line'], merged['is_beta']], ['Sells things', true])
  })

  it('is stored in a column or among the attributes', () => {
    const { toRow, toRecord } = rowMapping(fields)
    const row = toRow(record)
    assert.ok(columnsOf(fields).includes('tag_line'))
    assert.equal(row.tag_line, 'Sells things')
    assert.deepEqual(JSON.parse(row.additional), { note: 1, is_beta: true })
    assert.deepEqual(toRecord(row), record)
    const { tagline: _, isBeta: __, ...without } = record
    assert.equal(toRow(without).tag_line, null)
    assert.deepEqual(toRecord(toRow(without)), without)
  })

  it('can be filtered and sorted by', () => {
    assert.deepEqual(filterAttributes(fields).get('tag_line'), { column: 'tag_line', type: 'text' })
    assert.equal(sortOrders(fields).get('tag_line'), 'tag_line')
  })

  it('is in the JSON Schemas of the configuration file and of OpenAPI', () => {
    const about = { description: 'A few words for people.' }
    assert.deepEqual(sentSchemas(fields)['tag_line'], { type: 'string', ...about })
    assert.deepEqual(sentSchemas(fields, { nullable: true })['tag_line'], { type: ['string', 'null'], ...about })
    assert.deepEqual(shownSchemas(fields).properties['is_beta'], { type: 'boolean', description: 'Whether it is new.' })
  })
})

describe('A record description', () => {
  const small = describeRecord({
    id: { wire: 'id', kind: string, column: 'id', storage: 'text', required: true },
    secret: { wire: 'secret', kind: string, column: 'secret', storage: 'text', optional: true, shown: 'never' },
    tags: { wire: 'tags', kind: list, column: 'tags', storage: 'json', shown: 'unless empty', keptBy: 'empty' },
    groups: { wire: 'groups', kind: list, column: 'groups', storage: 'json', shown: 'alone' },
    life: {
      wire: 'life',
      kind: lifetime,
      column: 'life',
      storage: 'integer',
      optional: true,
      keptBy: 'null or blank',
    },
    madeAt: {
      wire: 'made',
      sent: 'never',
      kind: own<Date>(),
      column: 'made_at',
      storage: 'time',
      show: (value: Date) => value.getTime(),
      shownAs: milliseconds,
    },
  })
  const kept = { id: 'a', secret: 's', tags: [], groups: ['g'], madeAt: new Date(5) }

  it('does not show secrets, optional empty lists, or fields beyond those of lists in a list', () => {
    assert.deepEqual(showRecord(small, kept), { id: 'a', groups: ['g'], made: 5 })
    assert.deepEqual(showRecord(small, kept, { inList: true }), { id: 'a', made: 5 })
    assert.equal(Object.hasOwn(shownSchemas(small).properties, 'secret'), false)
  })

  it('accepts the same lifetimes in its schema and reader', () => {
    const isValid = validatorOf(sentSchemas(small, { nullable: true })['life'] ?? {}, undefined)
    for (const life of [null, '', ' ', -2, -1, 0, 0.5, 1, 2 ** 31 - 1, 2 ** 31, '-2', '-1', '0', '1', '01', true, []]) {
      const { problems } = readRecord(small, { id: 'a', life })
      assert.equal(isValid(life), problems.length === 0, JSON.stringify(life))
    }
  })

  it('ignores read-only fields and prototype members', () => {
    const json = JSON.parse('{"id":"a","made":1,"__proto__":{"life":5}}')
    assert.deepEqual(readRecord(small, json).values, { id: 'a' })
  })

  const problems: readonly { name: string; json: Record<string, unknown>; want: string }[] = [
    { name: 'a string with NUL', json: { id: 'a\0b' }, want: 'id contains characters that cannot be stored' },
    {
      name: 'a lone surrogate in a list',
      json: { tags: ['\ud800'] },
      want: 'tags contains characters that cannot be stored',
    },
    { name: 'a list of 1,001 words', json: { tags: 'a '.repeat(1001) }, want: 'tags must have at most 1000 entries' },
    { name: 'a list with a number', json: { tags: ['a', 1] }, want: 'tags must be a list of strings' },
    { name: 'zero seconds', json: { life: 0 }, want: 'life must be a positive number of seconds, or -1' },
    {
      name: 'more seconds than dates allow',
      json: { life: 2 ** 31 },
      want: 'life must be a positive number of seconds, or -1',
    },
    {
      name: 'more seconds than dates allow, as a string',
      json: { life: `${2 ** 31}` },
      want: 'life must be a positive number of seconds, or -1',
    },
    {
      name: 'hexadecimal seconds',
      json: { life: '0x10' },
      want: 'life must be a positive number of seconds, or -1',
    },
    { name: 'an object', json: { life: {} }, want: 'life must be a positive number of seconds, or -1' },
  ]
  for (const { name, json, want } of problems) {
    it(`rejects ${name}`, () =>
      assert.deepEqual(
        readRecord(small, json).problems.map(({ message }) => message),
        [want],
      ))
  }

  it('reports every problem at once', () => {
    assert.deepEqual(
      readRecord(small, { id: 5, tags: 5, life: 'x' }).problems.map(({ key }) => key),
      ['id', 'tags', 'life'],
    )
  })
})
