import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { OutboundBusy, OutboundError } from '../../src/base/outbound.ts'
import type { Outbound, OutboundFailure } from '../../src/base/outbound.ts'
import { withBreaker } from '../../src/identity/sources/outbound-breaker.ts'
import { createTestClock } from '../support/clock.ts'

describe('withBreaker', () => {
  const TOKEN_URL = 'https://a.example/token'

  function provider(answer: () => Promise<Response>) {
    const asked: string[] = []
    const outbound: Outbound = {
      fetch(address) {
        asked.push(address)
        return answer()
      },
      getJson(address) {
        asked.push(address)
        return answer().then(() => ({ value: {}, headers: new Headers() }))
      },
    }
    return { asked, outbound: withBreaker(outbound, { clock: createTestClock() }) }
  }
  const failing = (failure: OutboundFailure) => provider(() => Promise.reject(new OutboundError(failure, 'no')))
  const share = (zoneId: string) => ({ zoneId, purpose: 'background' }) as const

  for (const failure of ['timeout', 'unreachable'] as const) {
    it(`stops requests of a zone to a host after five failures: ${failure}`, async () => {
      const { asked, outbound } = failing(failure)
      for (let index = 0; index < 20; index += 1) {
        await assert.rejects(outbound.fetch(TOKEN_URL, { share: share('z') }), OutboundError)
        await assert.rejects(outbound.getJson('https://a.example/keys', share('z')), OutboundError)
      }
      assert.equal(asked.length, 5)
      await assert.rejects(outbound.fetch(TOKEN_URL, { share: share('another zone') }))
      await assert.rejects(outbound.fetch('https://b.example/token', { share: share('z') }))
      assert.equal(asked.length, 7)
    })
  }

  for (const failure of ['bad-answer', 'too-large', 'redirect', 'forbidden'] as const) {
    it(`ignores failures of the kind ${failure}`, async () => {
      const { asked, outbound } = failing(failure)
      for (let index = 0; index < 20; index += 1) await assert.rejects(outbound.fetch(TOKEN_URL))
      assert.equal(asked.length, 20)
    })
  }

  it('ignores requests without an outbound slot', async () => {
    const { asked, outbound } = provider(() => Promise.reject(new OutboundBusy('https://a.example')))
    for (let index = 0; index < 20; index += 1) await assert.rejects(outbound.fetch(TOKEN_URL), OutboundBusy)
    assert.equal(asked.length, 20)
  })

  it('ignores error statuses, which any user can provoke', async () => {
    const { asked, outbound } = provider(() => Promise.resolve(new Response('{}', { status: 500 })))
    for (let index = 0; index < 20; index += 1) assert.equal((await outbound.fetch(TOKEN_URL)).status, 500)
    assert.equal(asked.length, 20)
  })

  it('passes invalid URLs on', async () => {
    await assert.rejects(failing('forbidden').outbound.fetch('none'), OutboundError)
  })
})
