import assert from 'node:assert/strict'
import { BlockList, isIPv4, isIPv6 } from 'node:net'
import { setImmediate } from 'node:timers/promises'
import fc from 'fast-check'
import { canonicalAddress, networkOf, withoutPort } from '../../../src/base/network-address.ts'
import { behaviourOf } from '../../../src/model/compatibility.ts'
import { createUrls } from '../../../src/model/urls.ts'
import { createCertificateHook } from '../../../src/web/requests/client-certificate.ts'
import { createHttpServer } from '../../../src/web/server.ts'
import { changed, jumble } from '../changes.ts'
import { target } from '../target.ts'
import type { Verdict } from '../target.ts'

const PROXIES = ['10.0.0.0/8', '192.0.2.1', 'fd00::/8', '::1']
const behaviour = behaviourOf('standard')
/** The members that the server reads from a request. */
interface Taken {
  readonly ip: string
  readonly certificate?: string
  readonly hasHeader: boolean
}

const http = createHttpServer({
  behaviour,
  urls: createUrls('https://id.example', behaviour),
  trustedProxies: PROXIES,
  onFrameworkError: (_, __, reply) => Promise.resolve(void reply.status(400).send()),
})
http.addHook(
  'onRequest',
  createCertificateHook({ header: 'client-cert', asks: false, trustedAuthorities: [] }, PROXIES),
)
http.get('/', ({ ip, clientCertificate, raw }) => ({
  ip,
  certificate: clientCertificate,
  hasHeader: 'client-cert' in raw.headers,
}))

const peers = fc.constantFrom(
  '10.1.2.3',
  '192.0.2.1',
  '::ffff:10.0.0.9',
  'fd00::1',
  '::1',
  '203.0.113.7',
  '2001:db8::5',
)
const addresses = fc.oneof(
  { weight: 3, arbitrary: peers },
  fc.ipV4(),
  fc.ipV6(),
  fc.constantFrom(
    '10.1.2.3:4711',
    '[fd00::1]:443',
    'unknown',
    '_hidden',
    '010.0.0.1',
    '10.1',
    '0xa.0.0.1',
    '::ffff:a00:1',
  ),
)
const lists = fc.array(addresses, { maxLength: 5 }).map(all => all.join(', '))
const PIECES = [',', ', ', ',,', '\t', '10.0.0.1', '203.0.113.9', '::1', '::ffff:', '[', ']', ':80', '%eth0', '"', ';']
/** Node refuses control characters in headers. */
const inHeader = (text: string): string => text.replaceAll(/[^\t\x20-\x7e]/g, '')
const header = (texts: fc.Arbitrary<string>): fc.Arbitrary<string | undefined> =>
  fc.option(fc.oneof(texts, changed(texts, PIECES), jumble(PIECES)).map(inHeader), { nil: undefined })

const inputs = fc.record({
  peer: peers,
  xForwardedFor: header(lists),
  clientCert: header(fc.constantFrom('', '-', '(null)', ':MIIB:', 'MIIB', '-----BEGIN%20CERTIFICATE-----')),
  others: fc.constantFrom<Readonly<Record<string, string>>>(
    {},
    { forwarded: 'for=203.0.113.99;host=evil.example;proto=http' },
    { 'x-real-ip': '203.0.113.99', 'x-client-ip': '203.0.113.99' },
    { 'x-forwarded-host': 'evil.example', 'x-forwarded-proto': 'javascript', 'x-forwarded-port': '1' },
    { 'x-forwarded-client-cert': ':MIIB:', 'x-forwarded-server': 'evil.example' },
  ),
})
type Input = typeof inputs extends fc.Arbitrary<infer T> ? T : never

const blocks = new BlockList()
blocks.addSubnet('10.0.0.0', 8, 'ipv4')
blocks.addAddress('192.0.2.1', 'ipv4')
blocks.addSubnet('fd00::', 8, 'ipv6')
blocks.addAddress('::1', 'ipv6')
/** The independent check: IPv4-mapped addresses count as IPv4, and ports are ignored. */
function isProxy(given: string): boolean {
  const [text = ''] = withoutPort(given).split('%', 1)
  if (isIPv4(text)) return blocks.check(text, 'ipv4')
  if (!isIPv6(text)) return false
  const [, high, low] =
    /^::ffff:([0-9a-f]{1,4}):([0-9a-f]{1,4})$/.exec(new URL(`http://[${text}]`).hostname.slice(1, -1)) ?? []
  if (high === undefined || low === undefined) return blocks.check(text, 'ipv6')
  const bytes = Buffer.from(high.padStart(4, '0') + low.padStart(4, '0'), 'hex')
  return blocks.check(bytes.join('.'), 'ipv4')
}

/** The caller: from the end, the first address that is not a proxy; otherwise the first of all. */
function callerOf({ peer, xForwardedFor }: Input): string {
  const named =
    xForwardedFor === undefined
      ? []
      : xForwardedFor
          .split(',')
          .map(each => each.trim())
          .filter(each => each !== '')
  const chain = [...named, peer]
  return chain.findLast((address, index) => index === 0 || !isProxy(address)) ?? peer
}

/** Forwarded addresses: only those of a trusted proxy count, from the end of the list, and only in two headers. */
export const forwarded = target<Input>({
  name: 'forwarded',
  inputs,
  async check(input): Promise<Verdict> {
    const { peer, xForwardedFor, clientCert, others } = input
    const answer = await http.inject({
      url: '/',
      remoteAddress: peer,
      headers: {
        host: 'id.example',
        ...others,
        ...(xForwardedFor !== undefined && { 'x-forwarded-for': xForwardedFor }),
        ...(clientCert !== undefined && { 'client-cert': clientCert }),
      },
    })
    await setImmediate() // otherwise what a request leaves behind is kept until the end of the run
    assert.equal(answer.statusCode, 200)
    const { ip, certificate, hasHeader } = answer.json<Taken>()
    assert.ok(!hasHeader, 'the header of certificates is still there')
    const isTrusted = isProxy(peer)
    if (!isTrusted) {
      assert.deepEqual([ip, certificate], [peer, undefined], 'a stranger was believed')
      return 'refused'
    }
    assert.equal(ip, callerOf(input))
    const isSent = clientCert !== undefined && !['', '-', '(null)'].includes(clientCert.trim())
    assert.equal(certificate, isSent ? clientCert : undefined)
    assert.ok(networkOf(ip).length <= ip.length + 20)
    const canonical = canonicalAddress(withoutPort(ip))
    if (canonical !== undefined) assert.equal(networkOf(canonical), networkOf(ip), 'two networks')
    return ip === peer && certificate === undefined ? 'refused' : 'read'
  },
})
