// Converts everything that is thrown on the routes of SCIM into the errors of RFC 7644 §3.12.
import type { FastifyReply, FastifyRequest } from 'fastify'
import { InvalidFilter, InvalidOrder } from '../../model/filters/filter.ts'
import { OAuthError } from '../../model/oauth-error.ts'
import { AlreadyExists, ChangedMeanwhile, TooManyDetails } from '../../store/store.ts'
import type { ChallengeDeps } from '../../web/answers.ts'
import { answerFor, setRefusalHeaders } from '../../web/answers.ts'
import { isWrongContentType } from '../../web/requests/bodies.ts'
import { MalformedInput } from '../../web/requests/form.ts'
import { sendScim } from './answers.ts'
import { errorBody, ScimError } from './error.ts'
import type { ScimType } from './error.ts'

/** A refusal, for a response of its own or a bulk result. */
interface Refused {
  readonly status: number
  readonly scimType: ScimType | undefined
  readonly detail: string
}

/** UAA's codes for invalid values of users and groups. */
const INVALID_VALUES: ReadonlySet<string> = new Set(['scim', 'invalid_scim_resource', 'invalid_password'])

/** The SCIM error for the caller; undefined for a fault of the server. */
export function refusedBy(thrown: unknown): Refused | undefined {
  if (thrown instanceof ScimError) {
    const { status, scimType, message: detail } = thrown
    return { status, scimType, detail }
  }
  const refused = (status: number, detail: string, scimType?: ScimType): Refused => ({ status, scimType, detail })
  if (thrown instanceof AlreadyExists) return refused(409, 'The name or the external id is taken', 'uniqueness')
  if (thrown instanceof ChangedMeanwhile) return refused(409, 'The resource was changed concurrently')
  if (thrown instanceof InvalidFilter) {
    const what = thrown instanceof InvalidOrder ? 'order' : 'filter'
    return refused(400, `The ${what} is not valid: ${thrown.message}`, 'invalidFilter')
  }
  if (thrown instanceof TooManyDetails) return refused(400, thrown.message, 'tooMany')
  const { status, description, fault } = answerFor(thrown)
  if (fault) return undefined
  if (isWrongContentType(thrown)) return refused(415, description) // RFC 9110 §15.5.16
  if (thrown instanceof MalformedInput) return refused(status, description, 'invalidSyntax')
  if (!(thrown instanceof OAuthError)) return refused(status, description)
  // UAA answers 400 where another group has the new name.
  const isTaken = thrown.error === 'scim_resource_already_exists' || thrown.cause instanceof AlreadyExists
  if (isTaken) return refused(409, description, 'uniqueness')
  return refused(status, description, status === 400 && INVALID_VALUES.has(thrown.error) ? 'invalidValue' : undefined)
}

/** The description of a fault for the caller. */
export function faultOf(thrown: unknown): Refused {
  const { status, description: detail } = answerFor(thrown)
  return { status, detail, scimType: undefined }
}

/** Makes the `errorHandler` of every route of SCIM. */
export const createScimErrorHandler =
  (deps: ChallengeDeps & { readonly log: { fault(message: string, cause: unknown): void } }) =>
  (thrown: unknown, request: FastifyRequest, reply: FastifyReply): FastifyReply => {
    const known = refusedBy(thrown)
    if (!known) deps.log.fault(`${request.method} ${request.routeOptions.url ?? 'unknown route'}`, thrown)
    const { status, detail, scimType } = known ?? faultOf(thrown)
    setRefusalHeaders(reply, { thrown, answer: { ...answerFor(thrown), status } }, deps)
    return sendScim(reply, errorBody(status, detail, scimType), status)
  }
