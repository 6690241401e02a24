// Classifies IP addresses by the registries of special-purpose addresses (RFC 6890 and IANA's lists). An address counts
// as public only if it is known to be.
import { BlockList, isIPv4, isIPv6 } from 'node:net'

/**
 * `private` is a network that an operator may own; `never` has no legitimate use as a target: link-local, multicast and
 * reserved blocks, IPv4 addresses embedded in IPv6, and the metadata services of clouds.
 */
export type AddressKind = 'public' | 'private' | 'loopback' | 'never'

/** An address block and its length. */
type Block = readonly [network: string, prefix: number]

const LOOPBACK_V4: readonly Block[] = [['127.0.0.0', 8]]
const PRIVATE_V4: readonly Block[] = [
  ['10.0.0.0', 8],
  ['100.64.0.0', 10], // RFC 6598: carrier-grade NAT
  ['172.16.0.0', 12],
  ['192.168.0.0', 16],
]
const NEVER_V4: readonly Block[] = [
  ['0.0.0.0', 8],
  ['100.100.100.200', 32], // metadata of a cloud, inside the block of RFC 6598
  ['168.63.129.16', 32], // the platform service of a cloud, inside a public block
  ['169.254.0.0', 16], // link-local, and with it most metadata services
  ['192.0.0.0', 24],
  ['192.0.2.0', 24],
  ['192.31.196.0', 24],
  ['192.52.193.0', 24],
  ['192.88.99.0', 24],
  ['192.175.48.0', 24],
  ['198.18.0.0', 15],
  ['198.51.100.0', 24],
  ['203.0.113.0', 24],
  ['224.0.0.0', 4],
  ['240.0.0.0', 4],
]

const LOOPBACK_V6: readonly Block[] = [['::1', 128]]
const PRIVATE_V6: readonly Block[] = [['fc00::', 7]]
const PUBLIC_V6: readonly Block[] = [['2000::', 3]]
/** Exceptions to the two lists above: blocks that embed other addresses or are not in use. */
const NEVER_V6: readonly Block[] = [
  ['2001::', 23], // Teredo and other protocol assignments
  ['2001:db8::', 32],
  ['2002::', 16], // 6to4
  ['2620:4f:8000::', 48],
  ['3fff::', 20],
  // Clouds: metadata, and in the first block the credentials of pods, too.
  ['fd00:ec2::', 32],
  ['fd20:ce::254', 128],
  ['fd00:c1::a9fe:a9fe', 128],
  ['fd00:42::42', 128],
  ['fd00:a9fe:a9fe::1', 128],
  ['fd00:100::100:200', 128],
]

function listOf(blocks: readonly Block[], family: 'ipv4' | 'ipv6'): BlockList {
  const list = new BlockList()
  for (const [network, prefix] of blocks) list.addSubnet(network, prefix, family)
  return list
}

/** The first list that contains the address decides. */
const V4: readonly (readonly [BlockList, AddressKind])[] = [
  [listOf(NEVER_V4, 'ipv4'), 'never'],
  [listOf(LOOPBACK_V4, 'ipv4'), 'loopback'],
  [listOf(PRIVATE_V4, 'ipv4'), 'private'],
]
const V6: readonly (readonly [BlockList, AddressKind])[] = [
  [listOf(NEVER_V6, 'ipv6'), 'never'],
  [listOf(LOOPBACK_V6, 'ipv6'), 'loopback'],
  [listOf(PRIVATE_V6, 'ipv6'), 'private'],
  [listOf(PUBLIC_V6, 'ipv6'), 'public'],
]

/** The kind of a literal address without brackets; `never` for other strings and for an address with a zone id. */
export function addressKind(address: string): AddressKind {
  if (isIPv4(address)) return V4.find(([list]) => list.check(address, 'ipv4'))?.[1] ?? 'public'
  if (!isIPv6(address) || address.includes('%')) return 'never'
  return V6.find(([list]) => list.check(address, 'ipv6'))?.[1] ?? 'never'
}

/** Without the port of the connection, which some proxies forward with the address: it differs for each connection. */
export const withoutPort = (text: string): string =>
  /^(\d+\.\d+\.\d+\.\d+):\d+$/.exec(text)?.[1] ?? /^\[([^\]]*)\](?::\d+)?$/.exec(text)?.[1] ?? text

/** An IPv4 address, or the /64 of an IPv6 one: a customer usually controls a whole /64. */
export function networkOf(text: string): string {
  const address = inOneSpelling(text)
  const v4 = dottedOf(address)
  return v4 ?? `${groupsOf(address).slice(0, 4).join(':')}::/64`
}

/** An IPv4 address, or the /48 of an IPv6 one, which is what one customer may rent at once: 65,536 networks of `networkOf`. */
export const siteOf = (text: string): string => dottedOf(inOneSpelling(text)) ?? subnetOf(text)

/**
 * Without a port; normalizes leading zeros, and IPv6 addresses that end in IPv4 notation, as some proxies write. Other text is
 * unchanged.
 */
export function inOneSpelling(text: string): string {
  const address = withoutPort(text)
  return canonicalAddress(address) ?? address
}

/**
 * The network used for fair queueing: /24 of IPv4, /48 of IPv6. Wider than `networkOf`, because an attacker can rent
 * neighbouring addresses, and sharing a subnet costs its members a longer wait, not a refusal.
 */
export function subnetOf(text: string): string {
  const address = inOneSpelling(text)
  const v4 = dottedOf(address)
  if (v4 === undefined) return `${groupsOf(address).slice(0, 3).join(':')}::/48`
  return isIPv4(v4) ? `${v4.slice(0, v4.lastIndexOf('.'))}.0/24` : v4
}

/**
 * The usual form of an address of a connection: an IPv4-mapped one as IPv4, IPv6 shortened (RFC 5952) and without its zone
 * id. Undefined for what is no address.
 */
export function canonicalAddress(text: string | undefined): string | undefined {
  const [address = ''] = text?.split('%', 1) ?? []
  const v4 = dottedOf(address)
  if (v4 !== undefined) return isIPv4(v4) ? v4 : undefined
  return isIPv6(address) ? shortened(address) : undefined
}

/** As RFC 5952 has it; an IPv4-mapped one in another notation than that of `dottedOf` as IPv4, too. */
function shortened(address: string): string {
  const short = new URL(`http://[${address}]`).hostname.slice(1, -1)
  const [, ...mapped] = /^::ffff:([\da-f]+):([\da-f]+)$/.exec(short) ?? []
  return (
    mapped.flatMap(group => [Number.parseInt(group, 16) >> 8, Number.parseInt(group, 16) & 0xff]).join('.') || short
  )
}

/** An IPv4 address, unwrapped if it is IPv4-mapped; other strings without a colon as they are; undefined for IPv6. */
function dottedOf(address: string): string | undefined {
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1]
  if (mapped !== undefined) return mapped
  return address.includes(':') ? undefined : address
}

function groupsOf(address: string): readonly string[] {
  const [head = '', tail] = address.split('::')
  const groups = head === '' ? [] : head.split(':')
  if (tail !== undefined) {
    const rest = tail === '' ? [] : tail.split(':')
    while (groups.length + rest.length < 8) groups.push('0')
    groups.push(...rest)
  }
  return groups
}
