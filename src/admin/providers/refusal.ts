// Refusals of the provider API: the record that was sent, a sentence, or a status alone.
import type { FastifyRequest } from 'fastify'
import type { JsonRecord } from '../../base/json.ts'
import { OAuthError, withBody } from '../../model/oauth-error.ts'
import { AlreadyExists, ChangedMeanwhile } from '../../store/store.ts'

/** A refusal that repeats the record; the detail is for the log. */
export const refuseRecord = (status: 409 | 422, detail: string, cause?: unknown): OAuthError =>
  new OAuthError({ error: 'invalid_request', status }, detail, { detail, body: { kind: 'sent' }, cause })

/** A refusal in a sentence. */
export const refuseWith = (status: 400 | 404 | 409 | 503, text: string): OAuthError =>
  new OAuthError({ error: 'invalid_request', status }, text, { detail: text, body: { kind: 'text' } })

/** A refusal without a body; the detail is for the log. */
export const refuseSilently = (status: 422, detail: string): OAuthError =>
  new OAuthError({ error: 'invalid_request', status }, detail, { detail, body: { kind: 'none' } })

/** The `errorHandler` of a route of this API; `sent` is the record that a refusal may repeat, without its secrets. */
export const repeating =
  (sent?: (request: FastifyRequest) => JsonRecord) =>
  (thrown: unknown, request: FastifyRequest): never => {
    const isConflict = thrown instanceof AlreadyExists || thrown instanceof ChangedMeanwhile
    const refusal = isConflict ? refuseRecord(409, thrown.message, thrown) : thrown
    if (!sent || !(refusal instanceof OAuthError) || refusal.body?.kind !== 'sent') throw refusal
    throw withBody(refusal, { kind: 'json', value: sent(request) })
  }
