// Requests to providers, with a circuit breaker for each zone and provider: one that does not answer is retried at intervals.
import { createBreaker } from '../../base/concurrency/breaker.ts'
import type { Clock } from '../../base/clock.ts'
import { OutboundBusy, OutboundError } from '../../base/outbound.ts'
import type { Outbound, OutboundShare } from '../../base/outbound.ts'

/** The client, with a breaker for each host. An error response of the provider counts as a response: any caller may provoke one. */
export function withBreaker(outbound: Outbound, { clock }: { clock: Clock }): Outbound {
  const breaker = createBreaker({ clock })

  async function guarded<T>(address: string, share: OutboundShare | undefined, send: () => Promise<T>): Promise<T> {
    const origin = URL.canParse(address) ? new URL(address).origin : address
    const key = JSON.stringify([share?.zoneId, origin])
    if (!breaker.admits(key))
      throw new OutboundError('paused', `${origin}: did not respond several times, and is paused`)
    try {
      const answer = await send()
      breaker.report(key, 'answered')
      return answer
    } catch (error) {
      const isSilent =
        error instanceof OutboundError && (error.failure === 'timeout' || error.failure === 'unreachable')
      // No request was sent, so the outcome is unknown.
      const isUnknown =
        error instanceof OutboundBusy || (error instanceof OutboundError && error.failure === 'forbidden')
      if (!isUnknown) breaker.report(key, isSilent ? 'failed' : 'answered')
      throw error
    }
  }

  return {
    fetch: (address, request) => guarded(address, request?.share, () => outbound.fetch(address, request)),
    getJson: (address, share) => guarded(address, share, () => outbound.getJson(address, share)),
  }
}
