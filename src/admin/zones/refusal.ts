// How the zone API refuses. Its texts are answered as they are, with line ends and quotes, which the descriptions of OAuth
// could not carry; and some refusals are a status and nothing else (row M10).
import type { FastifyReply } from 'fastify'
import type { Behaviour } from '../../model/compatibility.ts'
import { InvalidZoneConfig } from '../../model/zone-rules.ts'
import { WrongShape } from '../../records/settings.ts'
import { AlreadyExists, ChangedMeanwhile } from '../../store/store.ts'
import { sendJson } from '../../web/json.ts'

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

/** What is said where the status says everything already. */
const WITHOUT_CODE: Readonly<Record<number, readonly [code: string, description: string]>> = {
  400: ['invalid_request', 'The name or the subdomain is missing.'],
  403: ['access_denied', 'The caller is in another zone, or the zone is the default one.'],
  404: ['not_found', 'There is no such zone, or no such client in it.'],
  422: ['invalid_identity_zone', 'A provider of the zone has an alias in another one.'],
}

/** Runs the work and answers what it refuses; anything else is thrown on. */
export type Answering = (reply: FastifyReply, work: () => Promise<FastifyReply>) => Promise<FastifyReply>

/** Makes that for the mode. */
export const createAnswering =
  ({ bodyInEveryRefusal }: Behaviour): Answering =>
  async (reply, work) => {
    try {
      return await work()
    } catch (error) {
      const refusal = refusalOf(error)
      if (refusal === undefined) throw error
      const { status, code, message } = refusal
      const own = code === undefined ? undefined : ([code, message] as const)
      const body = own ?? (bodyInEveryRefusal ? WITHOUT_CODE[status] : undefined)
      if (body === undefined) return reply.status(status).send()
      return sendJson(reply, { error: body[0], error_description: body[1] }, status)
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
