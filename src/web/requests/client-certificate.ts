// Takes the certificate of a client from the connection, or from the header of a trusted proxy, and removes the header from
// every request, trusted or not, so that no other code reads it.
import type { Socket } from 'node:net'
import type { TLSSocket } from 'node:tls'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { MutualTlsSettings } from '../../model/clients/mutual-tls.ts'
import { createProxyTrust } from './trusted-proxies.ts'

/** What proxies write if there is no certificate: nothing, or Apache's word. */
const NONE = new Set(['', '-', '(null)'])

/**
 * Hook: sets `request.clientCertificate`. From a trusted proxy the header counts, not the proxy's own certificate; from other
 * callers the certificate of the connection. An address in `X-Forwarded-For` proves nothing about who wrote other headers.
 */
export function createCertificateHook({ header, asks }: MutualTlsSettings, trustedProxies: readonly string[]) {
  const isTrusted = createProxyTrust(trustedProxies)
  // Not async: every request passes here.
  return (request: FastifyRequest, _reply: FastifyReply, done: () => void): void => {
    const { headers, socket } = request.raw
    const value = header === undefined ? undefined : headers[header]
    if (header !== undefined && value !== undefined) delete headers[header]
    if (value === undefined && !asks) return done()
    if (isTrusted(socket.remoteAddress)) {
      const text = String(value ?? '') // two headers are joined by a comma, which no certificate has
      if (!NONE.has(text.trim())) request.clientCertificate = text
    } else if (asks) {
      request.clientCertificate = certificateOf(socket)
    }
    done()
  }
}

/** By connection: undefined for one without a certificate. */
const seen = new WeakMap<Socket, string | undefined>()

/** In the form of RFC 9440. TLS has checked that the caller has the key, and nothing else. */
function certificateOf(socket: Socket): string | undefined {
  if (!seen.has(socket)) {
    // Only a TLS socket has the method. Not by `instanceof`: that would load the module of the class where there is no TLS.
    const certificate = 'getPeerX509Certificate' in socket ? (socket as TLSSocket).getPeerX509Certificate() : undefined
    seen.set(socket, certificate && `:${certificate.raw.toString('base64')}:`)
  }
  return seen.get(socket)
}
