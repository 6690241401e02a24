// Sheds load: a process with too many concurrent requests would answer all of them too late.
import type { FastifyReply, FastifyRequest } from 'fastify'
import { subnetOf } from '../../base/network-address.ts'

/** Thrown while too many requests are under way; answered with 503 and `Retry-After`. */
export class Overloaded extends Error {
  override name = 'Overloaded'
  constructor() {
    super('too many requests are in progress')
  }
}

/** At most a second of work, if each request needs an RSA signature. */
const MAX_UNDER_WAY = 1000
/**
 * Further requests, for zones that have few in progress: all requests of one zone may wait for a server that its administrators
 * chose, and must not block other zones.
 */
const RESERVE = { all: 200, zone: 20 }

/**
 * Hooks: `enter` for after the body was read, so that slow senders do not use up the limit, and `leave` for before the response
 * is sent, so that callers who do not read it do not either. Health and files, which belong to no zone, are always served.
 */
export function createLoadShedding(max = MAX_UNDER_WAY, reserve = RESERVE) {
  const byZone = new Map<string, number>()
  const places = new WeakMap<FastifyRequest, string>()
  let underWay = 0

  function release(request: FastifyRequest): void {
    const zoneId = places.get(request)
    if (zoneId === undefined) return
    places.delete(request)
    const left = (byZone.get(zoneId) ?? 1) - 1
    if (left === 0) byZone.delete(zoneId)
    else byZone.set(zoneId, left)
    underWay -= 1
  }

  // Not async: every request passes here.
  return {
    enter: (request: FastifyRequest, reply: FastifyReply, done: (error?: Error) => void): void => {
      if (request.routeOptions.config.zone === false || reply.raw.closed) return done()
      const { id } = request.zone
      const ofZone = byZone.get(id) ?? 0
      if (underWay >= (ofZone < reserve.zone ? max + reserve.all : max)) return done(new Overloaded())
      underWay += 1
      byZone.set(id, ofZone + 1)
      places.set(request, id)
      reply.raw.on('close', () => release(request)) // also if the client has disconnected
      done()
    },
    leave: (request: FastifyRequest, _reply: unknown, _payload: unknown, done: () => void): void => {
      release(request)
      done()
    },
  }
}

/** Bytes. Shorter bodies cost little more than their connection. */
const SHORT_BODY = 16 * 1024
/** Bytes of longer bodies that are being received: in all, and from one network. */
const MAX_RECEIVED = 128 * 1024 * 1024
const MAX_RECEIVED_OF_NETWORK = 16 * 1024 * 1024

/** Hook, for before a body is read: bounds the memory of long bodies that arrive slowly, whether or not they are valid. */
export function createBodyShedding(max = MAX_RECEIVED, maxOfNetwork = MAX_RECEIVED_OF_NETWORK) {
  const byNetwork = new Map<string, number>()
  let received = 0

  // Not async: every request passes here.
  return (request: FastifyRequest, _reply: FastifyReply, _body: unknown, done: (error?: Error) => void): void => {
    const { raw } = request
    const { 'content-length': length, 'transfer-encoding': encoding } = raw.headers
    if (encoding === undefined && (length === undefined || Number(length) <= SHORT_BODY)) return done()
    const { bodyLimit } = request.routeOptions
    const bytes = encoding === undefined ? Number(length) : bodyLimit
    if (bytes > bodyLimit) return done() // refused before it is read
    const network = subnetOf(request.ip)
    const ofNetwork = byNetwork.get(network) ?? 0
    if (received + bytes > max || ofNetwork + bytes > maxOfNetwork) return done(new Overloaded())
    received += bytes
    byNetwork.set(network, ofNetwork + bytes)
    let isHeld = true
    const release = (): void => {
      if (!isHeld) return
      isHeld = false
      received -= bytes
      const rest = (byNetwork.get(network) ?? 0) - bytes
      if (rest > 0) byNetwork.set(network, rest)
      else byNetwork.delete(network)
    }
    raw.once('end', release).once('close', release)
    done()
  }
}
