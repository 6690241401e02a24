import type { Socket } from 'node:net'

const BROKEN_REQUESTS: Readonly<Record<string, string>> = {
  HPE_HEADER_OVERFLOW: '431 Request Header Fields Too Large',
  ERR_HTTP_REQUEST_TIMEOUT: '408 Request Timeout',
}

/** After this the response is given up, because earlier ones that the caller does not read are before it. */
const UNREAD_MS = 10_000

/** For Node's `clientError`: answers 400, 408 or 431 to a request that Node could not parse, and closes the socket. */
export function answerBrokenRequest(error: Error & { code?: string }, socket: Socket): void {
  if (!socket.writable || error.code === 'ECONNRESET') return void socket.destroy()
  const status = BROKEN_REQUESTS[error.code ?? ''] ?? '400 Bad Request'
  const body = '{"error":"invalid_request","error_description":"The request is not valid HTTP"}'
  socket.write(
    `HTTP/1.1 ${status}\r\nContent-Type: application/json\r\nX-Content-Type-Options: nosniff\r\nCache-Control: no-store\r\nContent-Length: ${body.length}\r\nConnection: close\r\n\r\n${body}`,
  )
  // A socket that only ends is kept until the caller closes its side, which a hostile one never does.
  socket.destroySoon()
  const timer = setTimeout(() => socket.destroy(), UNREAD_MS).unref()
  socket.once('close', () => clearTimeout(timer))
}
