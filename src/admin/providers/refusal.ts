// How the provider API says no: with the record that it was sent, with a sentence, or with nothing.
import type { FastifyReply } from 'fastify'
import type { JsonRecord } from '../../base/json.ts'
import { sendJson } from '../../web/json.ts'

/** What stands in the body of a refusal: the submitted record without its secrets, bare text, or nothing. */
export type RefusalBody = { readonly kind: 'record' } | { readonly kind: 'text'; readonly text: string } | undefined

/** Thrown for a change that is not made; the detail is for the log. */
export class ProviderRefusal extends Error {
  readonly status: number
  readonly body: RefusalBody

  constructor(status: number, body: RefusalBody, detail: string) {
    super(detail)
    this.name = 'ProviderRefusal'
    this.status = status
    this.body = body
  }
}

/** A refusal that repeats the record. */
export const refuseRecord = (status: 409 | 422, detail: string): ProviderRefusal =>
  new ProviderRefusal(status, { kind: 'record' }, detail)

/** A refusal in a sentence. */
export const refuseWith = (status: 400 | 404 | 409 | 503, text: string): ProviderRefusal =>
  new ProviderRefusal(status, { kind: 'text', text }, text)

/** Answers a refusal; `echo` is the record that it may repeat. */
export function sendRefusal(
  reply: FastifyReply,
  { status, body }: ProviderRefusal,
  echo?: () => JsonRecord,
): FastifyReply {
  if (body?.kind === 'text') return reply.status(status).type('text/plain; charset=utf-8').send(body.text)
  return body && echo ? sendJson(reply, echo(), status) : reply.status(status).send()
}
