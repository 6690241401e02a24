import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { html } from '../../src/base/html.ts'
import type { Html, HtmlValue } from '../../src/base/html.ts'
import { anyCodePoint } from '../support/code-points.ts'

const render = (value: HtmlValue): string => html`${value}`.toString()

describe('html', () => {
  const cases: readonly { name: string; markup: Html; want: string }[] = [
    { name: 'keeps the template unchanged', markup: html`<p title="a">&amp;</p>`, want: '<p title="a">&amp;</p>' },
    { name: 'accepts an empty template', markup: html``, want: '' },
    { name: 'escapes markup in a string', markup: html`<p>${'<b>'}</p>`, want: '<p>&lt;b&gt;</p>' },
    { name: 'escapes a double quote', markup: html`<p title="${'"'}">`, want: '<p title="&quot;">' },
    { name: 'escapes a single quote', markup: html`${"'"}`, want: '&#39;' },
    { name: 'escapes a backtick', markup: html`${'`'}`, want: '&#96;' },
    { name: 'escapes an ampersand once', markup: html`${'&lt;'}`, want: '&amp;lt;' },
    {
      name: 'does not escape nested templates',
      markup: html`<p>${html`<b>${'<'}</b>`}</p>`,
      want: '<p><b>&lt;</b></p>',
    },
    { name: 'writes a number', markup: html`${-1.5}`, want: '-1.5' },
    { name: 'writes zero', markup: html`${0}`, want: '0' },
    { name: 'writes nothing for undefined', markup: html`a${undefined}b`, want: 'ab' },
    { name: 'writes nothing for null', markup: html`a${null}b`, want: 'ab' },
    { name: 'writes nothing for false', markup: html`a${false}b`, want: 'ab' },
    { name: 'writes nothing for an empty string', markup: html`a${''}b`, want: 'ab' },
    { name: 'joins a list without commas', markup: html`${['a', html`<br>`, '<']}`, want: 'a<br>&lt;' },
    { name: 'joins nested lists', markup: html`${[['a', ['b']], [], false, 3]}`, want: 'ab3' },
    { name: 'keeps the order of several values', markup: html`${'a'}-${'b'}-${'c'}`, want: 'a-b-c' },
    { name: 'keeps characters beyond the Basic Multilingual Plane', markup: html`${'😀 ü'}`, want: '😀 ü' },
  ]
  for (const { name, markup, want } of cases) {
    it(name, () => assert.equal(markup.toString(), want))
  }

  it('escapes any string against tags, attributes and entities', () => {
    fc.assert(
      fc.property(fc.string({ unit: anyCodePoint }), text => {
        const escaped = render(text)
        assert.doesNotMatch(escaped, /[<>"'`]/)
        assert.doesNotMatch(escaped, /&(?!(?:amp|lt|gt|quot|#39|#96);)/)
      }),
    )
  })

  it('keeps the text when entities are decoded', () => {
    const unescaped: Readonly<Record<string, string>> = {
      '&amp;': '&',
      '&lt;': '<',
      '&gt;': '>',
      '&quot;': '"',
      '&#39;': "'",
      '&#96;': '`',
    }
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom(...Array.from('&<>"\'`;#amplt39é😀')) }), text => {
        assert.equal(
          render(text).replace(/&[^;]+;/g, entity => unescaped[entity] ?? entity),
          text,
        )
      }),
    )
  })

  it('escapes values in nested lists', () => {
    const { values } = fc.letrec<{ values: HtmlValue }>(tie => ({
      values: fc.oneof(
        { depthSize: 'small' },
        fc.constantFrom('<', '&', 'a', 7, null),
        fc.array(tie('values'), { maxLength: 4 }),
      ),
    }))
    const flat = (value: HtmlValue): string => (Array.isArray(value) ? value.map(flat).join('') : render(value))
    fc.assert(fc.property(values, value => assert.equal(render(value), flat(value))))
  })
})
