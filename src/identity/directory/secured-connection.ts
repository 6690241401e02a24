// TLS with a directory: which certificates are trusted, and for which name.
import { isIP } from 'node:net'
import type { Socket } from 'node:net'
import type { SecureContext, TLSSocket } from 'node:tls'
import { LatestMap } from '../../base/latest-map.ts'
import { DirectoryError } from './directory-error.ts'

/** Which certificates a provider accepts. */
export interface TlsTrust {
  readonly verifiesCertificate: boolean
  /** Certificates in PEM, instead of those that the server trusts; read before. */
  readonly authorities: string | undefined
}

/** Creating a context costs as much as a handshake, so the most recently used ones are cached. */
const MAX_CONTEXTS = 100
const contexts = new LatestMap<SecureContext>(MAX_CONTEXTS)

/** Verifies the certificate against the address's host, a name or an IP address. */
export async function secured(
  socket: Socket,
  host: string,
  { verifiesCertificate, authorities }: TlsTrust,
): Promise<TLSSocket> {
  const { connect, createSecureContext } = await import('node:tls')
  const contextOf = (ca: string): SecureContext => {
    const context = contexts.get(ca) ?? createSecureContext({ ca })
    contexts.set(ca, context)
    return context
  }
  const secure = connect({
    socket,
    host,
    ...(isIP(host) === 0 && { servername: host }), // RFC 6066 §3: not an IP address
    rejectUnauthorized: verifiesCertificate,
    ...(authorities !== undefined && { secureContext: contextOf(authorities) }),
  })
  secure.on('error', () => {}) // errors after the handshake end the stream
  await new Promise<void>((connected, failed) => {
    secure.once('secureConnect', connected)
    secure.once('error', cause => {
      const code: unknown = Reflect.get(cause, 'code')
      const name = typeof code === 'string' ? code : 'no code'
      failed(
        secure.authorizationError
          ? new DirectoryError('untrusted', `its certificate is not trusted (${name})`)
          : new DirectoryError('unreachable', `TLS failed (${name})`),
      )
    })
    secure.once('close', () => failed(new DirectoryError('unreachable', 'closed the connection')))
  })
  return secure
}
