import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { nearest } from '../../src/config/nearest.ts'

describe('nearest', () => {
  const names = ['listen', 'base_url', 'session-cookie', 'queryString', 'id', 'port']
  for (const [typed, want] of [
    ['listne', 'listen'],
    ['lisen', 'listen'],
    ['baseurl', 'base_url'],
    ['querystring', 'queryString'],
    ['prt', 'port'],
    ['prot', 'port'],
    ['session-store', undefined],
    ['x', undefined],
    ['ip', undefined],
    ['', undefined],
  ] as const) {
    it(`is ${want ?? 'none'} for "${typed}"`, () => assert.equal(nearest(typed, names), want))
  }
})
