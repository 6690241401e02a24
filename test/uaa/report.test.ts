import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { createReport, summaryOf } from '../../src/uaa/report.ts'

describe('The report of an import', () => {
  it('escapes what a terminal would execute, and what changes the direction of the text', () => {
    const lines: string[] = []
    const report = createReport(line => lines.push(line))
    report.refused('client', 'a\u001b[2J\u009b2J\u007f\u2028\u202eb\u{e0041}', 'why')
    assert.deepEqual(lines, ['refused: client a\\u001b[2J\\u009b2J\\u007f\\u2028\\u202eb\\udb40\\udc41: why'])
  })

  it('ends with the numbers of each kind', () => {
    const report = createReport(() => {})
    report.imported('identity provider')
    report.same('identity provider')
    report.refused('SAML key', 'a', 'why')
    assert.equal(
      summaryOf(report),
      'SAML keys           0 imported, 1 refused\nidentity providers  1 imported, 1 there already\n',
    )
  })
})
