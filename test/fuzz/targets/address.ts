import assert from 'node:assert/strict'
import { isIPv4, isIPv6 } from 'node:net'
import fc from 'fast-check'
import { addressKind, canonicalAddress, networkOf, subnetOf, withoutPort } from '../../../src/base/network-address.ts'
import { documentUrlProblem } from '../../../src/model/clients/document-address.ts'
import { isSafeUri } from '../../../src/model/safe-uri.ts'
import { redirectUriProblem } from '../../../src/oauth/registration/redirect-uris.ts'
import { createProxyTrust } from '../../../src/web/requests/trusted-proxies.ts'
import { anyText, changed, jumble } from '../changes.ts'
import { target } from '../target.ts'

const isTrusted = createProxyTrust(['10.0.0.0/8', '192.0.2.1', 'fd00::/8', '::1'])
const addresses = fc.oneof(
  fc.ipV4(),
  fc.ipV4Extended(),
  fc.ipV6(),
  fc.constantFrom(
    '10.1.2.3',
    '::ffff:10.0.0.1',
    '::1',
    'fe80::1%eth0',
    '127.1',
    '0x7f000001',
    '2130706433',
    '::ffff:7f00:1',
  ),
)
const urls = addresses.map(address =>
  address.includes(':') ? `https://[${address}]/client` : `https://${address}/client`,
)
const PIECES = ['.', ':', '::', '%', '%25', '0', '00', '0x', '/', '[', ']', 'ffff', '127.0.0.1', '@', '?', '#', '..']

const isInTen = (address: string): boolean => /^(?:::ffff:)?10\.\d+\.\d+\.\d+(?:%.*)?$/i.test(address)

/** Addresses of peers and in untrusted URLs: one notation, one network, and no private address read as public. */
export const address = target({
  name: 'address',
  inputs: fc.oneof(addresses, changed(addresses, PIECES), urls, changed(urls, PIECES), jumble(PIECES), anyText),
  check(text) {
    if (documentUrlProblem(text) === undefined) {
      const url = new URL(text)
      assert.ok(url.href === text && url.username === '' && url.search === '' && url.hash === '')
    }
    if (redirectUriProblem(text, 'web') === undefined) assert.match(text, /^https:\/\/[\x21-\x7e]+$/i)
    if (redirectUriProblem(text, 'native') === undefined) assert.ok(isSafeUri(text) && !text.includes('#'))
    const canonical = canonicalAddress(text)
    const kind = addressKind(text)
    if (isTrusted(text)) {
      assert.ok(canonicalAddress(withoutPort(text)) !== undefined, 'trusted an invalid address')
    }
    if (canonical === undefined) {
      assert.ok(kind === 'never' || isIPv6(text))
      return 'refused'
    }
    assert.ok(isIPv4(canonical) || isIPv6(canonical))
    assert.equal(canonicalAddress(canonical), canonical, 'two spellings')
    if (isInTen(text) && isIPv4(canonical)) assert.ok(isTrusted(text))
    assert.notEqual(networkOf(canonical), '')
    assert.notEqual(subnetOf(canonical), '')
    if (kind === 'public') assert.doesNotMatch(canonical, /^(?:127\.|10\.|192\.168\.|169\.254\.|0\.|fe80:|fc|fd|ff|::)/)
    return 'read'
  },
})
