// Connections to other servers for protocols other than HTTP, with the address checks and limits of outbound requests.
import type { Socket } from 'node:net'
import { connect } from 'node:net'
import { bareHost } from './addresses.ts'
import type { AddressCheck } from './addresses.ts'
import { TIMEOUT_MS, untilAborted } from './deadline.ts'
import { OutboundBusy, OutboundError, unreachable } from './error.ts'
import { lookupOf } from './http.ts'
import { OWN_SHARE } from './slots.ts'
import type { OutboundShare, TakeSlot } from './slots.ts'

/** A server of a protocol other than HTTP. */
interface OutboundServer {
  /** A name or a literal address, as `URL` gives it. */
  readonly hostname: string
  readonly port: number
  /** Timeout for everything, if less than the default of five seconds. */
  readonly withinMs?: number
  readonly share?: OutboundShare
}

/** Opens a connection to one of the checked addresses. */
export type OpenConnection = () => Promise<Socket>

/**
 * Keeps a connection open after `talk` ends; false if too many are kept, in which case it is closed like the others. The
 * caller that keeps it limits its time and closes it.
 */
export type KeepConnection = (socket: Socket) => boolean

/** Opens connections for other protocols, with the same address checks and limits. */
export interface OutboundConnections {
  /**
   * Lets `talk` open connections to one server; they are closed when it ends or the timeout expires, unless it keeps one. Adds
   * no encryption and does not limit the data received. Errors of `talk` are passed on; every other failure is an
   * `OutboundError`, or `OutboundBusy`.
   */
  connect<T>(server: OutboundServer, talk: (open: OpenConnection, keep: KeepConnection) => Promise<T>): Promise<T>
}

interface ConnectionDeps {
  readonly allowedAddresses: AddressCheck['allowedAddresses']
  readonly takeSlot: TakeSlot
  readonly deadline: (milliseconds: number) => AbortSignal
}

/** Creates `connect` of the client. */
export function createConnect({
  allowedAddresses,
  takeSlot,
  deadline,
}: ConnectionDeps): OutboundConnections['connect'] {
  return async function withConnections<T>(
    { hostname, port, withinMs = TIMEOUT_MS, share = OWN_SHARE }: OutboundServer,
    talk: (open: OpenConnection, keep: KeepConnection) => Promise<T>,
  ): Promise<T> {
    const label = `${hostname}:${port}`
    const leave = takeSlot(label, label, share)
    const signal = deadline(Math.min(withinMs, TIMEOUT_MS))
    const fail = (cause: unknown): never => {
      throw cause instanceof OutboundError ? cause : unreachable(label, cause)
    }
    const sockets = new Set<Socket>()
    let isOver = false
    try {
      const caller = { zoneId: share.zoneId, signal }
      const judged = allowedAddresses({ hostname, label, onlyLoopback: false }, caller).catch(fail)
      const lookup = lookupOf(await untilAborted(judged, signal))
      const open: OpenConnection = async () => {
        if (isOver) throw new OutboundError('timeout', `${label}: timed out`)
        const socket = connect({ host: bareHost(hostname), port, lookup })
        sockets.add(socket)
        await new Promise<void>((connected, failed) => {
          socket.once('connect', connected).once('error', failed)
          socket.once('close', () => failed(new Error('closed'))) // ended by the deadline
        }).catch(fail)
        socket.on('error', () => {}) // the reader notices the close
        return socket
      }
      const keep: KeepConnection = socket => {
        if (isOver || socket.destroyed || !sockets.has(socket)) return false
        try {
          socket.once('close', takeSlot(label, label, { zoneId: share.zoneId, purpose: 'kept' }))
        } catch (cause) {
          if (cause instanceof OutboundBusy) return false
          throw cause
        }
        return sockets.delete(socket)
      }
      return await untilAborted(talk(open, keep), signal)
    } catch (cause) {
      if (signal.aborted) throw new OutboundError('timeout', `${label}: no complete response in time`)
      throw cause
    } finally {
      isOver = true
      for (const socket of sockets) socket.destroy()
      leave()
    }
  }
}
