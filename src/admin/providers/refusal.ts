// Refusals of the provider API: the record that was sent, a sentence, or a status alone.
import type { FastifyRequest } from 'fastify'
import type { JsonRecord } from '../../base/json.ts'
import type { Behaviour } from '../../model/compatibility.ts'
import { OAuthError, withBody } from '../../model/oauth-error.ts'
import { AlreadyExists, ChangedMeanwhile, TooLarge } from '../../store/store.ts'

/** A refusal that repeats the record, in `standard` with the reason, which must therefore repeat no value. */
export const refuseRecord = (status: 409 | 422, detail: string, cause?: unknown): OAuthError =>
  new OAuthError({ error: 'invalid_request', status }, detail, { detail, body: { kind: 'sent' }, cause })

/** A refusal in a sentence. */
export const refuseWith = (status: 400 | 404 | 409 | 503, text: string): OAuthError =>
  new OAuthError({ error: 'invalid_request', status }, text, { detail: text, body: { kind: 'text' } })

/** A refusal without a body; the detail is for the log. */
export const refuseSilently = (status: 422, detail: string): OAuthError =>
  new OAuthError({ error: 'invalid_request', status }, detail, { detail, body: { kind: 'none' } })

/** The request without its secrets, which a refusal may repeat. */
export type SentRecord = (request: FastifyRequest) => JsonRecord

/** Runs the work; its refusals that repeat the request repeat `sent`. */
export async function repeating<T>(
  request: FastifyRequest,
  { sent, behaviour }: { readonly sent: SentRecord | undefined; readonly behaviour: Behaviour },
  work: () => Promise<T>,
): Promise<T> {
  try {
    return await work()
  } catch (thrown) {
    const isConflict = thrown instanceof AlreadyExists || thrown instanceof ChangedMeanwhile
    const isRefused = isConflict || thrown instanceof TooLarge
    const refusal = isRefused ? refuseRecord(isConflict ? 409 : 422, thrown.message, thrown) : thrown
    if (!sent || !(refusal instanceof OAuthError) || refusal.body?.kind !== 'sent') throw refusal
    const reason = behaviour.namesBadSetting && { error: refusal.error, error_description: refusal.message }
    throw withBody(refusal, { kind: 'json', value: { ...sent(request), ...reason } })
  }
}
