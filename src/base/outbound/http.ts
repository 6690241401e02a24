// Sends one HTTP request to addresses that outbound.ts has checked, and reads the response within its limits.
import type { IncomingMessage } from 'node:http'
import type { LookupFunction } from 'node:net'
import { isIP } from 'node:net'
import { OutboundError } from './error.ts'

/** Method, headers and body of a request, and a limit on its response. */
export interface OutboundRequest {
  readonly method?: 'GET' | 'POST'
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
  /** The largest response accepted; default 64 KiB. */
  readonly maxBytes?: number
  /** Only the status and the headers are needed: the body is not read. */
  readonly ignoreBody?: boolean
}

/** The largest body, unless a request says otherwise. */
const MAX_BYTES = 64 * 1024
/** Of status lines, headers and the framing of a body. Node limits those of one response, but not the number of interim ones. */
const MAX_OVERHEAD = 64 * 1024

/** A request to a host whose addresses were checked. */
interface Exchange {
  readonly request: OutboundRequest
  readonly addresses: readonly string[]
  readonly signal: AbortSignal
}

/** Imported on first use: it loads all of Node's `fetch`, which costs 15 MB and a tenth of the start-up time. */
const requestOver = async (protocol: string) =>
  protocol === 'https:' ? (await import('node:https')).request : (await import('node:http')).request

/** Resolves to the addresses that were checked: a second DNS query could answer differently (DNS rebinding). */
export function lookupOf(addresses: readonly string[]): LookupFunction {
  const checked = addresses.map(address => ({ address, family: isIP(address) }))
  return (_, { all }, done) => {
    const [first = { address: '', family: 0 }] = checked
    if (all === true) done(null, checked)
    else done(null, first.address, first.family)
  }
}

/** Sends the request on a connection of its own; the response body is not read yet. */
export async function exchange(url: URL, { request, addresses, signal }: Exchange): Promise<IncomingMessage> {
  const open = await requestOver(url.protocol)
  const { method = 'GET', headers = {}, body, maxBytes = MAX_BYTES } = request
  return new Promise((resolve, reject) => {
    const outgoing = open(url, {
      method,
      headers: {
        ...headers,
        // Against decompression bombs; a response that is compressed anyway is refused.
        'accept-encoding': 'identity',
        ...(body !== undefined && { 'content-length': Buffer.byteLength(body) }),
      },
      agent: false, // never reuses a connection that was opened to another address
      lookup: lookupOf(addresses),
      signal,
    })
    let received = 0
    let answer: IncomingMessage | undefined
    outgoing.on('socket', socket => {
      // Bytes, because empty lines before a response cause no event at all.
      socket.on('data', (chunk: Buffer) => {
        received += chunk.length
        // Twice: a body in small chunks has as much framing as content.
        if (received > 2 * maxBytes + MAX_OVERHEAD) (answer ?? outgoing).destroy(tooLarge(url, maxBytes))
      })
    })
    outgoing.on('error', reject)
    outgoing.on('response', incoming => {
      answer = incoming
      resolve(incoming)
    })
    // A connection can close without either event, for example after a protocol upgrade.
    outgoing.on('close', () => reject(new Error('closed without a response')))
    outgoing.end(body)
  })
}

/** Reads a response to its end; throws `OutboundError` for a redirect and for a body that is compressed or too large. */
export async function readAnswer(
  url: URL,
  incoming: IncomingMessage,
  { maxBytes = MAX_BYTES, ignoreBody = false }: OutboundRequest,
): Promise<Response> {
  const { origin } = url
  try {
    const { statusCode: status = 0, headers } = incoming
    // Each target would need the same checks, and nothing that we fetch needs redirects.
    if (status >= 300 && status < 400) throw new OutboundError('redirect', `${origin}: redirects are not followed`)
    if (status < 200 || status > 599) throw new OutboundError('bad-answer', `${origin}: answered ${status}`)
    if (ignoreBody) return new Response(null, { status, headers: headersOf(incoming) })
    const encoding = headers['content-encoding'] ?? 'identity'
    if (encoding !== 'identity') throw new OutboundError('bad-answer', `${origin}: the response is compressed`)
    if (Number(headers['content-length'] ?? 0) > maxBytes) throw tooLarge(url, maxBytes)
    const chunks: Buffer[] = []
    let size = 0
    for await (const chunk of incoming) {
      const bytes = chunk as Buffer // no encoding is set
      size += bytes.length
      if (size > maxBytes) throw tooLarge(url, maxBytes)
      chunks.push(bytes)
    }
    return new Response(size === 0 ? null : Buffer.concat(chunks), { status, headers: headersOf(incoming) })
  } finally {
    incoming.destroy()
  }
}

const tooLarge = ({ origin }: URL, maxBytes: number): OutboundError =>
  new OutboundError('too-large', `${origin}: the response has more than ${maxBytes} bytes`)

function headersOf({ headers }: IncomingMessage): Headers {
  const kept = new Headers()
  for (const [name, value] of Object.entries(headers)) {
    for (const each of [value ?? []].flat()) kept.append(name, each)
  }
  return kept
}
