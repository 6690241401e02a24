// Responses too long to be built at once: they are streamed in parts, at the pace of the client, so that other requests are
// handled in between.
import { Readable } from 'node:stream'
import type { FastifyReply } from 'fastify'
import type { ListParameters, ListRules } from './list.ts'
import { listOf } from './list.ts'

/** Sends JSON in parts; at once if there is only one part. */
export async function sendPieces(
  reply: FastifyReply,
  parts: AsyncIterable<string> | Iterable<string>,
  { before, after }: { readonly before: string; readonly after: string },
): Promise<FastifyReply> {
  reply.type('application/json')
  const iterator = Symbol.asyncIterator in parts ? parts[Symbol.asyncIterator]() : parts[Symbol.iterator]()
  const first = await iterator.next()
  const second = first.done === true ? first : await iterator.next()
  if (second.done === true) return reply.send(before + (first.done === true ? '' : first.value) + after)
  async function* rest(): AsyncGenerator<string> {
    yield before + String(first.value)
    yield String(second.value)
    for (let next = await iterator.next(); next.done !== true; next = await iterator.next()) yield next.value
    yield after
  }
  return reply.send(Readable.from(rest()))
}

/** Sends a page of a list in parts, separated by commas. */
export function sendListPieces(
  reply: FastifyReply,
  records: AsyncIterable<string>,
  { parameters, ...page }: { readonly parameters: ListParameters; rules: ListRules; totalResults: number },
): Promise<FastifyReply> {
  const envelope = JSON.stringify(listOf([], parameters, page))
  const before = '{"resources":['
  return sendPieces(reply, records, { before, after: envelope.slice(before.length) })
}
