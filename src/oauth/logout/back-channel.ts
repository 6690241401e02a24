// Tells applications of ended sessions (OpenID Connect Back-Channel Logout §2.5). What is to be told is in the database
// (`EndedSession`), so that a process that stops loses nothing, and any process can go on. Nobody waits for it.
import { addSeconds } from '../../base/clock.ts'
import { createBreaker } from '../../base/breaker.ts'
import type { Outbound } from '../../base/outbound.ts'
import { OutboundError } from '../../base/outbound.ts'
import { outboundShareOf } from '../../clients/outbound-share.ts'
import type { Client } from '../../model/client.ts'
import type { Behaviour } from '../../model/compatibility.ts'
import type { EndedSession } from '../../model/ended-session.ts'
import { speaks } from '../../model/protocols.ts'
import type { AddressedZone } from '../../model/request.ts'
import { sessionIdFor } from '../../model/session.ts'
import type { Store } from '../../store/store.ts'
import type { LogoutTokenDeps } from './logout-token.ts'
import { logoutToken } from './logout-token.ts'

/** Longer than an attempt at all clients of a session can last. */
const CLAIM_SECONDS = 300
/** Before the next attempt at those that did not answer; given up after the last, which is about six hours later. */
const DELAYS_SECONDS = [10, 60, 300, 900, 3600, 7200, 10_800]
const SESSIONS_AT_ONCE = 8
/** Statuses of the client's fault that another attempt may change. */
const PASSING = new Set([408, 425, 429])
const MAX_ANSWER_BYTES = 4096

/** What the sender needs. */
export interface BackChannelDeps extends LogoutTokenDeps {
  readonly store: Store
  readonly outbound: Outbound
  readonly behaviour: Behaviour
  readonly log: { warn(message: string): void; fault(message: string, cause: unknown): void }
}

/** Delivers what is due. */
export interface BackChannel {
  /** Tells the clients of every session that is due now; the number of sessions. */
  deliver(): Promise<number>
}

type Outcome = 'told' | 'refused' | 'failed'

/** One instance serves the process. A client that answers nothing is left alone for a while, and holds up nobody else. */
export function createBackChannel(deps: BackChannelDeps): BackChannel {
  const { store, outbound, behaviour, clock, log } = deps
  const breaker = createBreaker({ clock })

  async function tell(zone: AddressedZone, ended: EndedSession, client: Client): Promise<Outcome> {
    const { backchannelLogoutUri: uri } = client
    if (uri === undefined || !speaks(zone, 'backchannelLogout', behaviour)) return 'told'
    const server = new URL(uri).origin
    if (!breaker.admits(`${zone.id} ${server}`)) return 'failed'
    const sid = sessionIdFor(ended, client.clientId)
    const token = await logoutToken(zone, { client, userId: ended.userId, sid }, deps)
    try {
      const response = await outbound.fetch(uri, {
        method: 'POST',
        headers: { 'content-type': 'application/x-www-form-urlencoded', accept: 'application/json' },
        body: new URLSearchParams({ logout_token: token }).toString(),
        maxBytes: MAX_ANSWER_BYTES,
        share: outboundShareOf(client, 'background'),
      })
      breaker.report(`${zone.id} ${server}`, 'answered')
      if (response.status < 300) return 'told'
      // §2.8: the application understood, and will not; another attempt would be the same.
      if (response.status >= 400 && response.status < 500 && !PASSING.has(response.status))
        return refused(client, `it answers ${response.status}`)
      return 'failed'
    } catch (cause) {
      if (cause instanceof OutboundError && cause.failure === 'forbidden') return refused(client, cause.message)
      breaker.report(`${zone.id} ${server}`, 'failed')
      return cause instanceof OutboundError ? 'failed' : fault(cause)
    }
  }

  function refused({ clientId }: Client, why: string): Outcome {
    log.warn(`back-channel logout: ${clientId} was not signed out: ${why}`)
    return 'refused'
  }

  function fault(cause: unknown): Outcome {
    log.fault('back-channel logout', cause)
    return 'failed'
  }

  /** Those that are still to be told. */
  async function tellAll(zone: AddressedZone, ended: EndedSession): Promise<readonly string[]> {
    const outcomes = await Promise.all(
      ended.clients.map(async (clientId): Promise<readonly string[]> => {
        const client = await store.clients.find(zone.id, clientId)
        if (!client) return []
        const outcome = await tell(zone, ended, client).catch(fault)
        return outcome === 'failed' ? [clientId] : []
      }),
    )
    return outcomes.flat()
  }

  async function settle(ended: EndedSession): Promise<void> {
    const zone = await store.zones.find(ended.zoneId)
    const left = zone?.active ? await tellAll({ ...zone, address: ended.byPath ? 'path' : 'host' }, ended) : []
    if (left.length === 0) return store.endedSessions.delete(ended)
    const delay = DELAYS_SECONDS[ended.attempts - 1]
    if (delay === undefined) {
      log.warn(
        `back-channel logout: given up after ${ended.attempts} attempts: ${left.join(', ')} in zone ${ended.zoneId}`,
      )
      return store.endedSessions.delete(ended)
    }
    return store.endedSessions.retry(ended, { clients: left, nextAttemptAt: addSeconds(clock.now(), delay) })
  }

  return {
    async deliver() {
      let count = 0
      const work = async (): Promise<void> => {
        for (;;) {
          const now = clock.now()
          const ended = await store.endedSessions.claim(now, addSeconds(now, CLAIM_SECONDS))
          if (!ended) return
          count += 1
          await settle(ended)
        }
      }
      await Promise.all(Array.from({ length: SESSIONS_AT_ONCE }, work))
      return count
    },
  }
}
