// A minimal HTTP/1.1 client of the flow driver: keep-alive connections, one request at a time on each, for well-behaved
// servers on this machine. `node:http` would use as much CPU time as the servers, on the same cores, and the driver
// would be measured instead.
import { Socket } from 'node:net'

/** A response of any status. */
export interface Answer {
  readonly status: number
  /** By lower-case name; several of one name are joined by line breaks. */
  readonly headers: ReadonlyMap<string, string>
  readonly body: string
}

const TIMEOUT_MILLISECONDS = 10_000
const idle = new Map<string, Connection[]>()

/** Sends one request and waits for the response. `headers` are whole lines without line ends. */
export async function exchange(method: string, url: URL, { headers, body = '' }: { headers: string[]; body?: string }) {
  const { host, hostname, port, pathname, search } = url
  const spare = idle.get(host) ?? []
  idle.set(host, spare)
  let connection = spare.pop()
  while (connection?.isClosed()) connection = spare.pop() // servers close idle connections
  connection ??= connect(hostname, Number(port))
  const length = body === '' && method === 'GET' ? [] : [`content-length: ${Buffer.byteLength(body)}`]
  const head = [`${method} ${pathname}${search} HTTP/1.1`, `host: ${host}`, ...headers, ...length]
  const answer = await connection.ask(`${head.join('\r\n')}\r\n\r\n${body}`)
  if (answer.headers.get('connection')?.toLowerCase() === 'close') connection.close()
  else spare.push(connection)
  return answer
}

/** Closes the idle connections. */
export function closeConnections(): void {
  for (const connections of idle.values()) for (const connection of connections) connection.close()
  idle.clear()
}

interface Connection {
  ask(request: string): Promise<Answer>
  isClosed(): boolean
  close(): void
}

function connect(hostname: string, port: number): Connection {
  const socket = new Socket()
  let received = ''
  let settle: { resolve: (answer: Answer) => void; reject: (error: Error) => void } | undefined
  const fail = (error: Error): void => {
    settle?.reject(error)
    settle = undefined
    socket.destroy()
  }
  socket.setNoDelay(true).setEncoding('latin1').setTimeout(TIMEOUT_MILLISECONDS)
  socket.on('data', (chunk: string) => {
    received += chunk
    const answer = parseAnswer(received)
    if (!answer) return
    received = ''
    settle?.resolve(answer)
    settle = undefined
  })
  socket.on('timeout', () => fail(new Error(`${hostname}:${port} does not answer`)))
  socket.on('error', fail)
  socket.on('close', () => fail(new Error(`${hostname}:${port} closed the connection`)))
  socket.connect(port, hostname)
  return {
    ask: request =>
      new Promise((resolve, reject) => {
        settle = { resolve, reject }
        socket.write(request, 'latin1')
      }),
    isClosed: () => socket.destroyed,
    close: () => socket.destroy(),
  }
}

/** The response, once complete; undefined before. The text is Latin-1, so that each character is a byte. */
function parseAnswer(text: string): Answer | undefined {
  const end = text.indexOf('\r\n\r\n')
  if (end < 0) return undefined
  const [start = '', ...lines] = text.slice(0, end).split('\r\n')
  const headers = new Map<string, string>()
  for (const line of lines) {
    const colon = line.indexOf(':')
    const name = line.slice(0, colon).toLowerCase()
    const value = line.slice(colon + 1).trim()
    const before = headers.get(name)
    headers.set(name, before === undefined ? value : `${before}\n${value}`)
  }
  const status = Number(start.slice(9, 12))
  const body = bodyOf(text.slice(end + 4), headers)
  return body === undefined ? undefined : { status, headers, body }
}

function bodyOf(text: string, headers: ReadonlyMap<string, string>): string | undefined {
  if (headers.get('transfer-encoding') === 'chunked') return unchunked(text)
  const length = Number(headers.get('content-length') ?? 0)
  return text.length >= length ? text.slice(0, length) : undefined
}

function unchunked(text: string): string | undefined {
  let body = ''
  for (let place = 0; ; ) {
    const end = text.indexOf('\r\n', place)
    const size = end < 0 ? Number.NaN : Number.parseInt(text.slice(place, end), 16)
    if (Number.isNaN(size) || text.length < end + 2 + size + 2) return undefined
    if (size === 0) return body
    body += text.slice(end + 2, end + 2 + size)
    place = end + 2 + size + 2
  }
}
