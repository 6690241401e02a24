import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { OutboundBusy, OutboundError } from '../../src/base/outbound.ts'
import type { Outbound, OutboundFailure } from '../../src/base/outbound.ts'
import { withBreaker } from '../../src/identity/sources/outbound-breaker.ts'
import { createTestClock } from '../support/clock.ts'

describe('withBreaker', () => {
  const URL_OF_TOKENS = 'https://a.example/token'

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
    it(`leaves a host alone that ends in ${failure} again and again, whatever is asked of it`, async () => {
      const { asked, outbound } = failing(failure)
      for (let index = 0; index < 20; index += 1) {
        await assert.rejects(outbound.fetch(URL_OF_TOKENS, { share: share('z') }), OutboundError)
        await assert.rejects(outbound.getJson('https://a.example/keys', share('z')), OutboundError)
      }
      assert.equal(asked.length, 5)
      await assert.rejects(outbound.fetch(URL_OF_TOKENS, { share: share('another zone') }))
      await assert.rejects(outbound.fetch('https://b.example/token', { share: share('z') }))
      assert.equal(asked.length, 7)
    })
  }

  for (const failure of ['bad-answer', 'too-large', 'redirect', 'forbidden'] as const) {
    it(`keeps asking a host that ends in ${failure}`, async () => {
      const { asked, outbound } = failing(failure)
      for (let index = 0; index < 20; index += 1) await assert.rejects(outbound.fetch(URL_OF_TOKENS))
      assert.equal(asked.length, 20)
    })
  }

  it('keeps asking a host after there was no slot to ask it', async () => {
    const { asked, outbound } = provider(() => Promise.reject(new OutboundBusy('https://a.example')))
    for (let index = 0; index < 20; index += 1) await assert.rejects(outbound.fetch(URL_OF_TOKENS), OutboundBusy)
    assert.equal(asked.length, 20)
  })

  it('keeps asking a host that answers errors, which any user may provoke', async () => {
    const { asked, outbound } = provider(() => Promise.resolve(new Response('{}', { status: 500 })))
    for (let index = 0; index < 20; index += 1) assert.equal((await outbound.fetch(URL_OF_TOKENS)).status, 500)
    assert.equal(asked.length, 20)
  })

  it('passes on an address that is none', async () => {
    await assert.rejects(failing('forbidden').outbound.fetch('none'), OutboundError)
  })
})
