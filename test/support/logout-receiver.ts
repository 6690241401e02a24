// An application that is notified of ended sessions: stores the logout tokens that are posted to it.
import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import { decodeJwt } from 'jose'
import type { JWTPayload } from 'jose'

/** A running application. */
export interface LogoutReceiver {
  /** Its back-channel logout URI. */
  readonly url: string
  /** The logout tokens so far, in the order of their arrival. */
  readonly tokens: readonly string[]
  /** Their claims. */
  claims(): readonly JWTPayload[]
  /** Its response from now on, and the delay in milliseconds; undefined for no response. */
  answer(status: number | undefined, afterMs?: number): void
  stop(): Promise<void>
}

/** Starts it on a free port of 127.0.0.1. */
export async function startLogoutReceiver(): Promise<LogoutReceiver> {
  const tokens: string[] = []
  let status: number | undefined = 200
  let delay = 0
  const server = createServer((request, response) => {
    let body = ''
    request.setEncoding('utf8').on('data', (chunk: string) => {
      body += chunk
    })
    request.on('end', () => {
      assert.equal(request.method, 'POST')
      assert.equal(request.headers['content-type'], 'application/x-www-form-urlencoded')
      const form = new URLSearchParams(body)
      assert.deepEqual([...form.keys()], ['logout_token'])
      tokens.push(form.get('logout_token') ?? '')
      if (status === undefined) return
      const location = status === 302 ? { location: '/elsewhere' } : {}
      const headers = { 'cache-control': 'no-store', ...location }
      const code = status
      if (delay === 0) response.writeHead(code, headers).end()
      else setTimeout(() => response.writeHead(code, headers).end(), delay)
    })
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  assert.ok(typeof address === 'object' && address !== null)
  return {
    url: `http://127.0.0.1:${address.port}/logged-out`,
    tokens,
    claims: () => tokens.map(token => decodeJwt(token)),
    answer(next, afterMs = 0) {
      status = next
      delay = afterMs
    },
    async stop() {
      server.closeAllConnections()
      await new Promise<void>(resolve => server.close(() => resolve()))
    },
  }
}
