import type { FastifyReply, FastifyRequest } from 'fastify'
import { addressKind, canonicalAddress } from '../../base/network-address.ts'
import { createProxyTrust } from './trusted-proxies.ts'

/**
 * Hook: logs once per process that a peer in a private network or on this machine, as proxies are, sends `X-Forwarded-For`
 * and is not trusted. Public peers may send anything, and must not use up the only line.
 */
export function createProxyNotice(trustedProxies: readonly string[], log: { warn(message: string): void }) {
  const isTrusted = createProxyTrust(trustedProxies)
  let hasLogged = false
  // Not async: every request passes here.
  return ({ raw }: FastifyRequest, _reply: FastifyReply, done: () => void): void => {
    if (!hasLogged && raw.headers['x-forwarded-for'] !== undefined) {
      const peer = canonicalAddress(raw.socket.remoteAddress) ?? ''
      const kind = addressKind(peer)
      if ((kind === 'private' || kind === 'loopback') && !isTrusted(peer)) {
        hasLogged = true
        log.warn(
          `X-Forwarded-For of ${peer} is not read, because that address is not in listen.trusted_proxies; if it is a proxy, all its callers count as one. Not logged again`,
        )
      }
    }
    done()
  }
}
