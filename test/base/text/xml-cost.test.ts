import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { nodesOfText } from '../../../src/base/text/xml-cost.ts'

describe('nodesOfText', () => {
  const cases = [
    { name: 'nothing', text: '', want: 0 },
    { name: 'one character less than a node', text: 'a'.repeat(359), want: 0 },
    { name: 'enough characters for a node', text: 'a'.repeat(360), want: 1 },
    { name: 'one reference less than a node', text: '&'.repeat(44), want: 0 },
    { name: 'enough references for a node', text: '&'.repeat(45), want: 1 },
    { name: 'one line feed less than a node', text: '\n'.repeat(89), want: 0 },
    { name: 'enough line feeds for a node', text: '\n'.repeat(90), want: 1 },
    { name: 'carriage returns', text: '\r'.repeat(90), want: 1 },
    { name: 'tabs', text: '\t'.repeat(90), want: 1 },
    { name: 'brackets', text: ']'.repeat(90), want: 1 },
    { name: 'a mixture of these', text: `${'&\n]'.repeat(90)}${'a'.repeat(90)}`, want: 1 + 2 + 2 },
  ]
  for (const { name, text, want } of cases)
    it(`returns ${want} for ${name}`, () => assert.equal(nodesOfText(text), want))
})
