import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Paint } from '../../src/ops/terminal.ts'
import { readableLines } from '../../src/ops/terminal.ts'

const plain: Paint = (_style, text) => text
const marked: Paint = (style, text) => `<${style}:${text}>`
const time = '2026-03-04T05:06:07.890Z'
const line = (event: object): string => `${JSON.stringify(event)}\n`

describe('A log line on a terminal', () => {
  const cases = [
    {
      name: 'has time, level and message',
      event: { level: 30, time, msg: 'bootstrap: 16 records written' },
      want: '05:06:07Z info  bootstrap: 16 records written\n',
    },
    {
      name: 'marks warnings',
      event: { level: 40, time, msg: 'careful' },
      want: '05:06:07Z warn  careful\n',
    },
    {
      name: 'has the facts of an audit event',
      event: { level: 30, time, log: 'audit', type: 'UserNotFound', zoneId: 'svc', data: 'a b', msg: 'UserNotFound' },
      want: '05:06:07Z audit UserNotFound zoneId=svc data="a b"\n',
    },
    {
      name: 'has the stack of a fault below it',
      event: { level: 50, time, err: { type: 'Error', message: 'no', stack: 'Error: no\n    at here' }, msg: 'GET /' },
      want: '05:06:07Z error GET /\n                Error: no\n                at here\n',
    },
    {
      name: 'shows control characters instead of executing them',
      event: { level: 30, time, msg: 'a\u001b[2J\rb\u009b31m\n05:06:07Z audit Forged', who: 'x\u0007\u202ey' },
      want:
        String.raw`05:06:07Z info  a\u001b[2J\u000db\u009b31m\u000a05:06:07Z audit Forged who=x\u0007\u202ey` + '\n',
    },
    {
      name: 'shows control characters in the stack of a fault',
      event: { level: 50, time, err: { message: 'no', stack: 'Error: \u001b]0;title\u0007' }, msg: 'GET /' },
      want: String.raw`05:06:07Z error GET /` + '\n' + String.raw`                Error: \u001b]0;title\u0007` + '\n',
    },
  ]
  for (const { name, event, want } of cases) {
    it(name, () => assert.equal(readableLines(line(event), plain), want))
  }

  it('is coloured by its level', () => {
    const text = readableLines(line({ level: 40, time, msg: 'careful' }), marked)
    assert.equal(text, '<dim:05:06:07Z> <yellow:warn > careful\n')
  })

  it('may come with others in one chunk', () => {
    const two = line({ level: 30, time, msg: 'one' }) + line({ level: 30, time, msg: 'two' })
    assert.equal(readableLines(two, plain), '05:06:07Z info  one\n05:06:07Z info  two\n')
  })

  it('is unchanged if it is not JSON', () => {
    assert.equal(readableLines('no JSON\u001b[1m\n', plain), 'no JSON\\u001b[1m\n')
  })
})
