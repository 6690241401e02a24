// Takes the certificate of a client from the header of a trusted proxy, and the header out of every request: nothing else of the
// server reads it, whoever sent it.
import { BlockList, isIPv6 } from 'node:net'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { canonicalAddress } from '../base/network-address.ts'
import type { MutualTlsSettings } from '../model/mutual-tls.ts'

/** What proxies write if there is no certificate: nothing, or Apache's word. */
const NONE = new Set(['', '-', '(null)'])

/**
 * Hook: sets `request.clientCertificate`. Only the peer of the connection counts, which must be a proxy itself: an address in
 * `X-Forwarded-For` proves nothing about who wrote the other headers.
 */
export function createCertificateHook({ header }: MutualTlsSettings, trustedProxies: readonly string[]) {
  const trusted = blockListOf(trustedProxies)
  // Not async: every request passes here.
  return (request: FastifyRequest, _reply: FastifyReply, done: () => void): void => {
    const { headers, socket } = request.raw
    const value = headers[header]
    if (value === undefined) return done()
    delete headers[header]
    const text = String(value) // two headers are joined by a comma, which no certificate has
    if (!NONE.has(text.trim()) && isTrusted(trusted, socket.remoteAddress)) request.clientCertificate = text
    done()
  }
}

function isTrusted(trusted: BlockList, peer: string | undefined): boolean {
  const address = canonicalAddress(peer)
  return address !== undefined && trusted.check(address, isIPv6(address) ? 'ipv6' : 'ipv4')
}

/** Of addresses and blocks that the configuration has checked. */
function blockListOf(blocks: readonly string[]): BlockList {
  const list = new BlockList()
  for (const block of blocks) {
    const [address = '', prefix] = block.split('/')
    const family = isIPv6(address) ? 'ipv6' : 'ipv4'
    if (prefix === undefined) list.addAddress(address, family)
    else list.addSubnet(address, Number(prefix), family)
  }
  return list
}
