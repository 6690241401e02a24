import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { nodesOfText } from '../../../src/base/text/xml-cost.ts'

describe('the nodes of a text', () => {
  const cases = [
    { name: 'nothing', text: '', want: 0 },
    { name: 'a node of characters, less one', text: 'a'.repeat(359), want: 0 },
    { name: 'a node of characters', text: 'a'.repeat(360), want: 1 },
    { name: 'references, less one', text: '&'.repeat(44), want: 0 },
    { name: 'references', text: '&'.repeat(45), want: 1 },
    { name: 'line feeds, less one', text: '\n'.repeat(89), want: 0 },
    { name: 'line feeds', text: '\n'.repeat(90), want: 1 },
    { name: 'carriage returns', text: '\r'.repeat(90), want: 1 },
    { name: 'tabs', text: '\t'.repeat(90), want: 1 },
    { name: 'brackets', text: ']'.repeat(90), want: 1 },
    { name: 'all of them', text: `${'&\n]'.repeat(90)}${'a'.repeat(90)}`, want: 1 + 2 + 2 },
  ]
  for (const { name, text, want } of cases) it(`are ${want} for ${name}`, () => assert.equal(nodesOfText(text), want))
})
