// Which addresses requests to other servers may reach. A name is resolved once, every address is checked, and the connection
// goes to exactly those.
import { lookup } from 'node:dns/promises'
import { isIP } from 'node:net'
import { isLoopbackHost } from '../loopback.ts'
import { addressKind } from '../network-address.ts'
import { OutboundError } from './error.ts'
import { createLookups } from './lookups.ts'
import type { LookupCaller, Resolver } from './lookups.ts'

/** What is allowed in addition to public addresses. */
interface AddressRules {
  readonly allowPrivate: boolean
  /** Also without https under a loopback name. */
  readonly allowLoopback: boolean
  readonly resolve?: Resolver | undefined
}

/** The target host. */
interface Target {
  readonly hostname: string
  /** Its name in error messages. */
  readonly label: string
  readonly onlyLoopback: boolean
}

/** Each throws an `OutboundError`. */
export interface AddressCheck {
  /** Parses the URL of a request; throws unless its scheme is allowed and it has no credentials. */
  readonly checkUrl: (address: string) => URL
  /** Resolves the host; throws if any of its addresses is not allowed. */
  readonly allowedAddresses: (target: Target, caller: LookupCaller) => Promise<readonly string[]>
}

/** RFC 6761 §6.3: loopback names are not looked up, since not every resolver knows names below `localhost`. */
const systemResolver: Resolver = async hostname =>
  isLoopbackHost(hostname)
    ? ['127.0.0.1', '::1']
    : (await lookup(hostname, { all: true })).map(({ address }) => address)

/** Creates the check for these rules. */
export function createAddressCheck({ resolve = systemResolver, ...rules }: AddressRules): AddressCheck {
  const { allowPrivate } = rules
  const allowLoopback = rules.allowLoopback || allowPrivate
  const lookUp = createLookups(resolve)

  return {
    checkUrl(address: string): URL {
      const url = URL.canParse(address) ? new URL(address) : undefined
      if (!url) throw new OutboundError('forbidden', 'the address is not a URL')
      const isPlain = url.protocol === 'http:' && allowLoopback && isLoopbackHost(url.hostname)
      if (url.protocol !== 'https:' && !isPlain) {
        throw new OutboundError('forbidden', `${url.origin}: only https is allowed`)
      }
      if (url.username !== '' || url.password !== '') {
        throw new OutboundError('forbidden', `${url.origin}: the URL must not have credentials`)
      }
      return url
    },

    async allowedAddresses({ hostname, label, onlyLoopback }, caller) {
      const literal = bareHost(hostname)
      const addresses = isIP(literal) === 0 ? await lookUp(hostname, caller) : [literal]
      if (addresses.length === 0) throw new OutboundError('unreachable', `${label}: the name has no address`)
      for (const address of addresses) {
        const kind = addressKind(address)
        const isAllowed =
          kind === 'loopback'
            ? allowLoopback
            : !onlyLoopback && (kind === 'public' || (kind === 'private' && allowPrivate))
        if (!isAllowed) throw new OutboundError('forbidden', `${label}: resolves to an address that is not allowed`)
      }
      return addresses
    },
  }
}

/** A literal IPv6 address without the brackets of a URL. */
export const bareHost = (hostname: string): string => hostname.replace(/^\[|\]$/g, '')
