import { BlockList, isIPv6 } from 'node:net'
import { canonicalAddress, withoutPort } from '../../base/network-address.ts'

/**
 * Whether the peer of a connection, or what a proxy forwards as its own, is one of the addresses and blocks, which the
 * configuration has checked.
 */
export function createProxyTrust(blocks: readonly string[]): (peer: string | undefined) => boolean {
  const trusted = new BlockList()
  for (const block of blocks) {
    const [address = '', prefix] = block.split('/')
    const family = familyOf(address)
    if (prefix === undefined) trusted.addAddress(address, family)
    else trusted.addSubnet(address, Number(prefix), family)
  }
  return peer => {
    const address = canonicalAddress(withoutPort(peer ?? ''))
    return address !== undefined && trusted.check(address, familyOf(address))
  }
}

const familyOf = (address: string): 'ipv4' | 'ipv6' => (isIPv6(address) ? 'ipv6' : 'ipv4')
