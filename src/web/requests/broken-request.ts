import type { Socket } from 'node:net'

const BROKEN_REQUESTS: Readonly<Record<string, string>> = {
  HPE_HEADER_OVERFLOW: '431 Request Header Fields Too Large',
  ERR_HTTP_REQUEST_TIMEOUT: '408 Request Timeout',
}

/** For Node's `clientError`: answers 400, 408 or 431 to a request that Node could not parse, and closes the socket. */
export function answerBrokenRequest(error: Error & { code?: string }, socket: Socket): void {
  if (!socket.writable || error.code === 'ECONNRESET') return void socket.destroy()
  const status = BROKEN_REQUESTS[error.code ?? ''] ?? '400 Bad Request'
  const body = '{"error":"invalid_request","error_description":"The request is not valid HTTP"}'
  socket.end(
    `HTTP/1.1 ${status}\r\nContent-Type: application/json\r\nX-Content-Type-Options: nosniff\r\nCache-Control: no-store\r\nContent-Length: ${body.length}\r\nConnection: close\r\n\r\n${body}`,
  )
}
