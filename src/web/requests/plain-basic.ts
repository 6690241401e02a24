// For deployments whose clients put id and secret into the Basic header without the form encoding of RFC 6749 §2.3.1.
import type { FastifyReply, FastifyRequest } from 'fastify'
import { BASE64 } from '../../base/text/base64.ts'

/** The hook of such deployments. `X-CF-ENCODED-CREDENTIALS: true` says that a request is form-encoded nevertheless. */
export function encodePlainBasic(request: FastifyRequest, _: FastifyReply, done: () => void): void {
  const { authorization, 'x-cf-encoded-credentials': encoded } = request.headers
  const isEncoded = typeof encoded === 'string' && encoded.toLowerCase() === 'true'
  if (authorization !== undefined && !isEncoded) request.encodedBasic = formEncodedBasic(authorization)
  done()
}

/** The Authorization header for client authentication, form-encoded by the hook where it is on. */
export const authorizationOf = (request: FastifyRequest): string | undefined =>
  request.encodedBasic ?? request.headers.authorization

const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** The same credentials, form-encoded; anything but a proper Basic header stays as it is, and is refused later. */
function formEncodedBasic(authorization: string): string {
  if (!/^basic /i.test(authorization)) return authorization
  const credentials = decodedCredentials(authorization.slice('basic '.length).trim())
  const colon = credentials?.indexOf(':') ?? -1
  if (credentials === undefined || colon < 0) return authorization
  const joined = `${encodeURIComponent(credentials.slice(0, colon))}:${encodeURIComponent(credentials.slice(colon + 1))}`
  return `Basic ${btoa(joined)}`
}

function decodedCredentials(base64: string): string | undefined {
  if (!BASE64.test(base64)) return undefined
  try {
    return decoder.decode(Buffer.from(base64, 'base64'))
  } catch {
    return undefined // refused where the header is read
  }
}
