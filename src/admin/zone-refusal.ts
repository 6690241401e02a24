// How the zone API refuses. Its texts are answered as they are, with line ends and quotes, which the descriptions of OAuth
// could not carry; and some refusals are a status and nothing else.
import type { FastifyReply } from 'fastify'
import { InvalidZoneConfig } from '../model/zone-rules.ts'
import { WrongShape } from '../model/zone-shape.ts'
import { AlreadyExists, ChangedMeanwhile } from '../store/store.ts'

/** A refusal with a code and a text, or with an empty body where there is no code. */
export class ZoneRefusal extends Error {
  readonly status: number
  readonly code: string | undefined
  constructor(status: number, code?: string, description = '') {
    super(description)
    this.name = 'ZoneRefusal'
    this.status = status
    this.code = code
  }
}

/** A record that cannot be (§5.5). */
export const invalidZone = (description: string): ZoneRefusal =>
  new ZoneRefusal(422, 'invalid_identity_zone', description)

/** What the reference system fails on: a member of a wrong type. */
export const malformed = (description: string): ZoneRefusal => new ZoneRefusal(400, 'invalid_request', description)

/** Runs the work and answers what it refuses; anything else is thrown on. */
export async function answering(reply: FastifyReply, work: () => Promise<FastifyReply>): Promise<FastifyReply> {
  try {
    return await work()
  } catch (error) {
    const refusal = refusalOf(error)
    if (refusal === undefined) throw error
    reply.status(refusal.status)
    if (refusal.code === undefined) return reply.send()
    return reply
      .type('application/json')
      .send(JSON.stringify({ error: refusal.code, error_description: refusal.message }))
  }
}

function refusalOf(error: unknown): ZoneRefusal | undefined {
  if (error instanceof ZoneRefusal) return error
  if (error instanceof WrongShape) return malformed(error.message)
  if (error instanceof InvalidZoneConfig) {
    return invalidZone(`The identity zone details are invalid. The zone configuration is invalid. ${error.message}`)
  }
  if (error instanceof AlreadyExists) {
    return new ZoneRefusal(409, 'zone_exists', 'An identity zone with this id or subdomain already exists.')
  }
  if (error instanceof ChangedMeanwhile) {
    return new ZoneRefusal(409, 'invalid_identity_zone', 'The identity zone was changed meanwhile: read it again.')
  }
  return undefined
}
