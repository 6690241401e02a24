import assert from 'node:assert/strict'
import { isUtf8 } from 'node:buffer'
import fc from 'fast-check'
import { joinForms, MalformedInput, parseForm } from '../../../src/web/requests/form.ts'
import type { Form } from '../../../src/web/requests/form.ts'
import { encodeForm, parseQuery } from '../../../src/web/requests/query.ts'
import { anyText, changed, jumble } from '../changes.ts'
import { target, verdictOf } from '../target.ts'

const pairsOf = (form: Form): readonly (readonly [string, string])[] =>
  form.names.flatMap(name => form.all(name).map(value => [name, value] as const))

/** The parameters as parsed by the platform, by name. It strips one question mark. */
function pairsByPlatform(text: string): readonly (readonly [string, string])[] {
  const params = new URLSearchParams(`?${text}`)
  return [...new Set(params.keys())].flatMap(name => params.getAll(name).map(value => [name, value] as const))
}

/** The bytes encoded by the text. Node's own parser reads invalid percent-encoding as other bytes. */
const bytesOf = (text: string): Buffer =>
  Buffer.from(
    Buffer.from(text)
      .toString('latin1')
      .replace(/%([0-9a-f]{2})/gi, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16))),
    'latin1',
  )

/** Input that a strict parser may reject. */
function isMalformed(text: string): boolean {
  const pieces = text.split('&')
  return (
    pieces.length > 1000 ||
    /%(?![0-9a-f]{2})/i.test(text) ||
    pieces.flatMap(piece => piece.split('=')).some(piece => !isUtf8(bytesOf(piece)) || bytesOf(piece).includes(0))
  )
}

const PIECES = ['grant_type', 'scope', 'a', '=', '&', '+', '%20', '%26', '%3D', '&a=', 'a=1&a=2', '&'.repeat(1001)]
const pair = fc.tuple(
  fc.constantFrom('grant_type', 'client_id', 'scope', 'a', ''),
  fc.oneof(jumble(['x', ' ']), anyText),
)
const texts = fc.array(pair, { maxLength: 5 }).map(pairs => new URLSearchParams(pairs as [string, string][]).toString())

/** Bodies and queries: read like the platform does, or rejected where the platform would repair them. */
export const form = target({
  name: 'form',
  inputs: fc.oneof(changed(texts, PIECES), jumble(PIECES), anyText),
  check: text =>
    verdictOf(
      [MalformedInput],
      () => {
        const read = parseQuery(text)
        if (!(read instanceof MalformedInput)) return read
        assert.throws(() => parseForm(text), MalformedInput)
        assert.ok(isMalformed(text), 'refused without a reason')
        throw read
      },
      read => {
        const pairs = pairsOf(read)
        // A lone surrogate cannot be transferred; the platform replaces it.
        if (text.isWellFormed()) assert.deepEqual(pairs, pairsByPlatform(text))
        const all = pairs.map(([name]) => name)
        assert.deepEqual(
          read.repeated.toSorted(),
          [...new Set(all.filter((name, at) => all.indexOf(name) !== at))].toSorted(),
        )
        if (!pairs.every(each => each.every(one => one.isWellFormed()))) return
        assert.deepEqual(pairsOf(parseForm(encodeForm(read))), pairs)
        assert.ok(!parseForm(encodeForm(read, ['a'])).names.includes('a'))
        const joined = joinForms(read, read)
        assert.deepEqual(joined.repeated, joined.names)
      },
    ),
})
