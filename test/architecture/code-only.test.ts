import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { codeOnly } from './code-only.ts'

describe('codeOnly', () => {
  const cases = [
    { name: 'blanks a line comment', text: 'a // b\nc', want: 'a     \nc' },
    { name: 'blanks a block comment and keeps its lines', text: 'a /* b\nc */ d', want: 'a     \n     d' },
    { name: 'blanks a comment that does not end', text: 'a /* b', want: 'a     ' },
    { name: 'blanks strings and keeps their quotes', text: `'a' + "b"`, want: `' ' + " "` },
    { name: 'knows escaped quotes', text: `'a\\'b' c`, want: `'    ' c` },
    { name: 'ends a string that is not closed with its line', text: `'a\nb`, want: `' \nb` },
    { name: 'keeps the code inside a template', text: '`a${ b }c`', want: '` ${ b } `' },
    { name: 'knows templates inside templates', text: '`a${ `b${ c }` }d` e', want: '` ${ ` ${ c }` } ` e' },
    { name: 'knows braces inside a template', text: '`${ { a: {} } }b` c', want: '`${ { a: {} } } ` c' },
    { name: 'knows an escaped template', text: '`\\${a}` b', want: '`     ` b' },
    { name: 'blanks a regular expression', text: "= /a'/g", want: '= /  /g' },
    { name: 'knows a slash in a character class', text: "(/[/']/)", want: '(/    /)' },
    { name: 'knows a regular expression after a keyword', text: "return /'/", want: 'return / /' },
    { name: 'takes a slash after a name for a division', text: "a / b / 'c'", want: "a / b / ' '" },
    { name: 'takes a slash after a bracket for a division', text: "(a) / b[0] / 'c'", want: "(a) / b[0] / ' '" },
    { name: 'finds no comment inside a string', text: "'//' + a", want: "'  ' + a" },
    { name: 'finds no string inside a comment', text: "// don't\na", want: '        \na' },
  ]
  for (const { name, text, want } of cases) {
    it(name, () => assert.equal(codeOnly(text), want))
  }
})
