import assert from 'node:assert/strict'
import fc from 'fast-check'
import { MalformedInput } from '../../../src/web/requests/form.ts'
import { parseJsonList, parseJsonObject } from '../../../src/web/requests/json.ts'
import { anyText, changed, oddJson } from '../changes.ts'
import { target, verdictOf } from '../target.ts'

const PIECES = [
  '{"a":',
  '[',
  ']',
  '}',
  '"__proto__":',
  '"\\u005f_proto__":1',
  '\\',
  '"',
  'null',
  ',',
  '1e999',
  '\ufeff',
  '//',
  '[{"a":'.repeat(20),
]
const texts = fc.oneof(
  oddJson(fc.constant({ client_id: 'app', scope: ['a'], nested: { name: 'x', list: [{}, 1] } })),
  fc.json(),
)

/** Levels of the value; its own members only. */
function depthOf(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0
  return 1 + Math.max(0, ...Object.values(value).map(depthOf))
}

const hasPrototypeMember = (value: unknown): boolean =>
  typeof value === 'object' &&
  value !== null &&
  (Object.hasOwn(value, '__proto__') || Object.values(value).some(hasPrototypeMember))

/** JSON bodies: read like the platform does, except prototype members and deep nesting. */
export const jsonBody = target({
  name: 'json-body',
  inputs: fc.oneof(
    changed(texts, PIECES),
    changed(
      texts.map(text => `[${text}]`),
      PIECES,
    ),
    texts,
    anyText,
  ),
  check: text => {
    verdictOf(
      [MalformedInput],
      () => parseJsonList(text),
      read => assert.deepEqual(read, JSON.parse(text)),
    )
    return verdictOf(
      [MalformedInput],
      () => parseJsonObject(text),
      read => {
        assert.deepEqual(read, JSON.parse(text))
        assert.ok(!Array.isArray(read) && Object.getPrototypeOf(read) === Object.prototype)
        assert.ok(depthOf(read) <= 32, 'too deep')
        assert.ok(!hasPrototypeMember(read))
        assert.ok(!('polluted' in {}))
      },
    )
  },
})
