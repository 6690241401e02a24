// Sheds load before it piles up: beyond so many requests under way a process could only answer everybody late.
import type { FastifyReply, FastifyRequest } from 'fastify'

/** Thrown while too many requests are under way; answered with 503 and `Retry-After`. */
export class Overloaded extends Error {
  constructor() {
    super('too many requests are under way')
    this.name = 'Overloaded'
  }
}

/** A second of work at most, where each needs a signature of RSA. */
const MAX_UNDER_WAY = 1000

/**
 * Hook, for after the body was read, so that who sends slowly takes nobody's place. Health and files, which belong to no
 * zone, are always served.
 */
export function createLoadShedding(max = MAX_UNDER_WAY) {
  let underWay = 0
  const leave = (): void => {
    underWay -= 1
  }

  // Not async: every request passes here.
  return (request: FastifyRequest, reply: FastifyReply, done: (error?: Error) => void): void => {
    if (request.routeOptions.config.zone === false || reply.raw.closed) return done()
    if (underWay >= max) return done(new Overloaded())
    underWay += 1
    reply.raw.on('close', leave) // emitted once for every response, also if the client has disconnected
    done()
  }
}
