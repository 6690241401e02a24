import { Readable } from 'node:stream'
import type { FastifyReply } from 'fastify'
import type { Json } from './schemas/attribute.ts'
import { tagOf } from './meta.ts'
import type { Resource } from './resources/resources.ts'

const CONTENT_TYPE = 'application/scim+json'

/** Answers with SCIM's content type. */
export const sendScim = (reply: FastifyReply, body: Json, status = reply.statusCode): FastifyReply =>
  reply.status(status).type(CONTENT_TYPE).send(JSON.stringify(body))

/** Answers with the resource and its version. */
export function sendResource(reply: FastifyReply, { json, list, version }: Resource, status = 200): FastifyReply {
  reply.header('etag', tagOf(version))
  if (!list) return sendScim(reply, json, status)
  return reply
    .status(status)
    .type(CONTENT_TYPE)
    .send(Readable.from(textOf(json, list)))
}

/** The resource as text, in pieces. */
async function* textOf(json: Json, { name, pages }: NonNullable<Resource['list']>): AsyncGenerator<string> {
  let before = `${JSON.stringify(json).slice(0, -1)},${JSON.stringify(name)}:[`
  let after = '}'
  for await (const page of pages) {
    if (page.length === 0) continue
    yield before + page.map(each => JSON.stringify(each)).join(',')
    before = ','
    after = ']}'
  }
  // RFC 7643 §2.5: a list without values is left out.
  yield after === '}' ? JSON.stringify(json) : after
}
