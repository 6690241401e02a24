// Notifies the clients of one ended session, each once. What is left to do is for back-channel.ts.
import type { Clock } from '../../base/clock.ts'
import { createBreaker } from '../../base/concurrency/breaker.ts'
import type { Outbound } from '../../base/outbound.ts'
import { OutboundBusy, OutboundError } from '../../base/outbound.ts'
import { outboundShareOf } from '../../clients/outbound-share.ts'
import type { Client } from '../../model/clients/client.ts'
import { isAddress } from '../../model/clients/document-address.ts'
import type { Behaviour } from '../../model/compatibility.ts'
import type { EndedSession } from '../../model/sessions/ended-session.ts'
import { supportsProtocol } from '../../model/zones/protocols.ts'
import type { AddressedZone } from '../../model/request.ts'
import { sessionIdFor } from '../../model/sessions/session.ts'
import type { Store } from '../../store/store.ts'
import { NoSigningKey } from '../../token/keys/keys.ts'
import type { ClientDocuments } from '../client-documents/documents.ts'
import { createHostSlots } from './host-slots.ts'
import type { LogoutTokenDeps } from './logout-token.ts'
import { logoutToken } from './logout-token.ts'

/** Dependencies of `createClientNotices`. */
export interface ClientNoticeDeps extends LogoutTokenDeps {
  readonly store: Store
  readonly clock: Clock
  readonly documents: Pick<ClientDocuments, 'isGone'>
  readonly outbound: Outbound
  readonly behaviour: Behaviour
  readonly log: { warn(message: string): void; fault(message: string, cause: unknown): void }
}

/** A client to notify, and how often that was tried before. */
type TriedClient = Pick<PendingClient, 'clientId' | 'attempts'>

/** A client that is still to be notified. `busy`: not contacted, because no outbound connection was free. */
export interface PendingClient {
  readonly clientId: string
  /** Before this one. */
  readonly attempts: number
  readonly why: string
  readonly isBusy: boolean
}

/** One attempt at one client. */
interface Notice {
  readonly zone: AddressedZone
  readonly ended: EndedSession
  readonly tried: TriedClient
}

/** Notifies the clients of ended sessions. */
interface ClientNotices {
  /** Makes an attempt at each of these clients of the session; those that are still to be notified. */
  send(zone: AddressedZone, ended: EndedSession, clients: readonly TriedClient[]): Promise<readonly PendingClient[]>
  /** How many clients need no further attempt, by reason. */
  readonly counts: { readonly delivered: number; readonly refused: number }
}

/** One instance serves the process. A client that does not respond is skipped for a while, and does not delay the others. */
export function createClientNotices(deps: ClientNoticeDeps): ClientNotices {
  const { store, documents, outbound, behaviour, clock, log } = deps
  const breaker = createBreaker({ clock })
  const hostSlots = createHostSlots({ clock })
  const counts = { delivered: 0, refused: 0 }

  /** Undefined if nothing is left to do. */
  async function notify(notice: Notice, client: Client): Promise<PendingClient | undefined> {
    const { zone, ended, tried } = notice
    const { clientId, backchannelLogoutUri: uri } = client
    if (uri === undefined || !supportsProtocol(zone, 'backchannelLogout', behaviour)) return undefined
    const share = outboundShareOf(client, 'background')
    const left = (why: string, isBusy = false): PendingClient => ({ ...tried, why, isBusy })
    // By client, not by server, so that one client cannot stop notifications to a server of another.
    const key = `${zone.id} ${clientId}`
    // Asked before, so that it takes no place from one that may respond.
    if (!breaker.admits(key)) return left('it did not respond to recent requests')
    const slot = await hostSlots.enter(share.zoneId, new URL(uri).host)
    if (!slot) return left('too many requests are in progress', true)
    try {
      const sid = sessionIdFor(ended, clientId)
      const token = await logoutToken(zone, { client, userId: ended.userId, sid }, deps)
      const { status } = await outbound.fetch(uri, {
        method: 'POST',
        headers: { 'content-type': 'application/x-www-form-urlencoded', accept: 'application/json' },
        body: new URLSearchParams({ logout_token: token }).toString(),
        ignoreBody: true,
        share,
      })
      const isLate = slot.noteEnd('ended') === 'late'
      // A late error is as no response: a proxy has waited for the application.
      breaker.report(key, isLate && status >= 300 && status !== 400 ? 'failed' : 'answered')
      if (status < 300) return delivered()
      // §2.8: the application refused. Any other status may come from a proxy in front of it.
      if (status === 400) return refused(client, 'it responded with status 400')
      return failed(left(`it responded with status ${status}`))
    } catch (cause) {
      if (cause instanceof OutboundBusy) return left(cause.message, true)
      if (cause instanceof NoSigningKey) return failed(left(cause.message))
      if (!(cause instanceof OutboundError)) throw cause
      if (cause.failure === 'forbidden') return refused(client, cause.message)
      breaker.report(key, 'failed')
      slot.noteEnd(cause.failure === 'timeout' ? 'hung' : 'ended')
      return failed(left(cause.message))
    } finally {
      slot.leave()
    }
  }

  /** Logs the first failure only: the address may be wrong, and the next line about it is hours away. */
  function failed(pending: PendingClient): PendingClient {
    const { clientId, attempts, why } = pending
    if (attempts === 0) log.warn(`back-channel logout: ${clientId} was not notified, will retry: ${why}`)
    return pending
  }

  function delivered(): undefined {
    counts.delivered += 1
  }

  function refused({ clientId }: Pick<Client, 'clientId'>, why: string): undefined {
    counts.refused += 1
    log.warn(`back-channel logout: ${clientId} was not signed out: ${why}`)
  }

  /** A client whose document cannot be read now may have to be notified later; one that is gone needs nothing. */
  function missing({ zone, tried }: Notice): PendingClient | undefined {
    const { clientId } = tried
    if (!isAddress(clientId) || !supportsProtocol(zone, 'clientMetadataDocuments', behaviour)) return undefined
    if (documents.isGone(zone.id, clientId)) return refused({ clientId }, 'its metadata document is gone')
    return failed({ ...tried, why: 'its metadata document cannot be used', isBusy: false })
  }

  return {
    counts,
    async send(zone, ended, clients) {
      const attempts = clients.map(async (tried): Promise<PendingClient | undefined> => {
        const notice = { zone, ended, tried }
        try {
          const client = await store.clients.find(zone.id, tried.clientId)
          return client ? await notify(notice, client) : missing(notice)
        } catch (cause) {
          if (cause instanceof OutboundBusy) return { ...tried, why: cause.message, isBusy: true }
          log.fault('back-channel logout', cause)
          return { ...tried, why: 'a fault', isBusy: false }
        }
      })
      return (await Promise.all(attempts)).filter(each => each !== undefined)
    },
  }
}
