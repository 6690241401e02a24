// One HTTP request to addresses that outbound.ts has judged, and its answer within its bounds.
import type { IncomingMessage } from 'node:http'
import type { LookupFunction } from 'node:net'
import { isIP } from 'node:net'
import { OutboundError } from './outbound-error.ts'

/** What is sent beside the address. */
export interface OutboundRequest {
  readonly method?: 'GET' | 'POST'
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
  /** The largest answer that is taken, where the usual 64 KiB are too few. */
  readonly maxBytes?: number
}

/** A request to a host whose addresses were judged. */
export interface Exchange {
  readonly request: OutboundRequest
  readonly addresses: readonly string[]
  readonly signal: AbortSignal
}

/** Imported when first needed: Node opens its whole `fetch` with it, which costs 15 MB and a tenth of the start. */
const requestOver = async (protocol: string) =>
  protocol === 'https:' ? (await import('node:https')).request : (await import('node:http')).request

/** Gives the addresses that were judged: asking again could give another answer. */
export function lookupOf(addresses: readonly string[]): LookupFunction {
  const checked = addresses.map(address => ({ address, family: isIP(address) }))
  return (_, { all }, done) => {
    const [first = { address: '', family: 0 }] = checked
    if (all === true) done(null, checked)
    else done(null, first.address, first.family)
  }
}

/** Sends it on a connection of its own; the answer's body is still to be read. */
export async function exchange(url: URL, { request, addresses, signal }: Exchange): Promise<IncomingMessage> {
  const open = await requestOver(url.protocol)
  const { method = 'GET', headers = {}, body } = request
  return new Promise((resolve, reject) => {
    const outgoing = open(url, {
      method,
      headers: {
        ...headers,
        // A small text may unfold to a huge one: what comes compressed all the same is refused.
        'accept-encoding': 'identity',
        ...(body !== undefined && { 'content-length': Buffer.byteLength(body) }),
      },
      agent: false, // a connection of its own: none that was opened to another address is used again
      lookup: lookupOf(addresses),
      signal,
    })
    outgoing.on('error', reject)
    outgoing.on('response', resolve)
    // A connection can end with neither, after a change of protocol for one.
    outgoing.on('close', () => reject(new Error('closed without an answer')))
    outgoing.end(body)
  })
}

/** Reads an answer to its end; an `OutboundError` for a redirect, and for one that is compressed or too large. */
export async function readAnswer({ origin }: URL, incoming: IncomingMessage, maxBytes: number): Promise<Response> {
  try {
    const { statusCode: status = 0, headers } = incoming
    // Each target would have to be judged like the first, and nothing that is fetched here needs to move.
    if (status >= 300 && status < 400) throw new OutboundError('redirect', `${origin}: redirects are not followed`)
    const encoding = headers['content-encoding'] ?? 'identity'
    if (encoding !== 'identity') throw new OutboundError('bad-answer', `${origin}: the answer is compressed`)
    const tooLarge = new OutboundError('too-large', `${origin}: the answer has more than ${maxBytes} bytes`)
    if (Number(headers['content-length'] ?? 0) > maxBytes) throw tooLarge
    const chunks: Buffer[] = []
    let size = 0
    for await (const chunk of incoming) {
      const bytes = chunk as Buffer // no encoding is set
      size += bytes.length
      if (size > maxBytes) throw tooLarge
      chunks.push(bytes)
    }
    if (status < 200 || status > 599) throw new OutboundError('bad-answer', `${origin}: answered ${status}`)
    return new Response(size === 0 ? null : Buffer.concat(chunks), { status, headers: headersOf(incoming) })
  } finally {
    incoming.destroy()
  }
}

function headersOf({ headers }: IncomingMessage): Headers {
  const kept = new Headers()
  for (const [name, value] of Object.entries(headers)) {
    for (const each of [value ?? []].flat()) kept.append(name, each)
  }
  return kept
}
