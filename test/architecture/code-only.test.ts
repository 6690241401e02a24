import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { codeOnly } from './code-only.ts'

describe('codeOnly', () => {
  const cases = [
    { name: 'blanks a line comment', text: 'a // b\nc', want: 'a     \nc' },
    { name: 'blanks a block comment and keeps its lines', text: 'a /* b\nc */ d', want: 'a     \n     d' },
    { name: 'blanks an unterminated comment', text: 'a /* b', want: 'a     ' },
    { name: 'blanks strings and keeps their quotes', text: `'a' + "b"`, want: `' ' + " "` },
    { name: 'handles escaped quotes', text: `'a\\'b' c`, want: `'    ' c` },
    { name: 'ends an unterminated string at the end of the line', text: `'a\nb`, want: `' \nb` },
    { name: 'keeps the code inside a template', text: '`a${ b }c`', want: '` ${ b } `' },
    { name: 'handles nested templates', text: '`a${ `b${ c }` }d` e', want: '` ${ ` ${ c }` } ` e' },
    { name: 'handles braces inside a template', text: '`${ { a: {} } }b` c', want: '`${ { a: {} } } ` c' },
    { name: 'handles an escaped template', text: '`\\${a}` b', want: '`     ` b' },
    { name: 'blanks a regular expression', text: "= /a'/g", want: '= /  /g' },
    { name: 'handles a slash in a character class', text: "(/[/']/)", want: '(/    /)' },
    { name: 'handles a regular expression after a keyword', text: "return /'/", want: 'return / /' },
    { name: 'reads a slash after a name as division', text: "a / b / 'c'", want: "a / b / ' '" },
    { name: 'reads a slash after a bracket as division', text: "(a) / b[0] / 'c'", want: "(a) / b[0] / ' '" },
    { name: 'ignores comments inside strings', text: "'//' + a", want: "'  ' + a" },
    { name: 'ignores strings inside comments', text: "// don't\na", want: '        \na' },
  ]
  for (const { name, text, want } of cases) {
    it(name, () => assert.equal(codeOnly(text), want))
  }
})
