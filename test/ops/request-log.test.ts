import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { FastifyRequest } from 'fastify'
import { givenTraceId } from '../../src/ops/request-log.ts'
import { loadedAtStart } from '../support/loaded-at-start.ts'

const traceIdIn = (traceparent: string) => givenTraceId({ headers: { traceparent } } as unknown as FastifyRequest)
const trace = '4bf92f3577b34da6a3ce929d0e0e4736'
const parent = '00f067aa0ba902b7'

describe('The trace id of a request (W3C Trace Context)', () => {
  const cases = [
    { name: 'is read from the header', header: `00-${trace}-${parent}-01`, want: trace },
    { name: 'may be of a later version, with more fields', header: `01-${trace}-${parent}-00-more`, want: trace },
    { name: 'is not of the invalid version ff', header: `ff-${trace}-${parent}-01`, want: undefined },
    { name: 'is not all zeros', header: `00-${'0'.repeat(32)}-${parent}-01`, want: undefined },
    { name: 'requires a parent that is not all zeros', header: `00-${trace}-${'0'.repeat(16)}-01`, want: undefined },
    { name: 'is in lower case', header: `00-${trace.toUpperCase()}-${parent}-01`, want: undefined },
    { name: 'requires the whole header', header: `00-${trace.slice(1)}-${parent}-01`, want: undefined },
    { name: 'ignores other values', header: 'hello', want: undefined },
  ]
  for (const { name, header, want } of cases) it(name, () => assert.equal(traceIdIn(header), want))
})

describe('The request log', () => {
  it('is not loaded unless configured', () => {
    assert.deepEqual(
      loadedAtStart().filter(url => url.endsWith('/src/ops/request-log.ts')),
      [],
    )
  })
})
