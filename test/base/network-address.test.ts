import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { AddressKind } from '../../src/base/network-address.ts'
import { addressKind, canonicalAddress, networkOf, siteOf, subnetOf } from '../../src/base/network-address.ts'

const addresses: Readonly<Record<AddressKind, readonly string[]>> = {
  public: ['1.1.1.1', '8.8.8.8', '100.63.255.255', '100.128.0.0', '172.15.255.255', '172.32.0.0', '192.167.255.255']
    .concat(['192.169.0.0', '169.253.255.255', '198.17.255.255', '198.20.0.0', '223.255.255.255', '168.63.129.17'])
    .concat(['2606:4700:4700::1111', '2a00:1450:4001::1', '2001:200::1', '3ffe::1']),
  private: ['10.0.0.0', '10.255.255.255', '172.16.0.1', '172.31.255.255', '192.168.0.1', '192.168.255.255'].concat([
    '100.64.0.1',
    '100.127.255.255',
    'fc00::1',
    'fd12:3456::1',
    'fdff:ffff:ffff:ffff:ffff:ffff:ffff:ffff',
  ]),
  loopback: ['127.0.0.1', '127.0.0.0', '127.255.255.255', '::1', '0:0:0:0:0:0:0:1'],
  never: [
    ['unspecified', '0.0.0.0', '0.1.2.3', '::'],
    ['link-local', '169.254.0.1', '169.254.169.254', 'fe80::1', 'fe80::1%eth0', 'febf::1'],
    ['metadata', '100.100.100.200', '168.63.129.16', '192.0.0.192', 'fd00:ec2::254', 'fd20:ce::254'],
    ['metadata over IPv6', 'fd00:c1::a9fe:a9fe', 'fd00:42::42', 'fd00:a9fe:a9fe::1', 'fd00:100::100:200'],
    ['credentials of pods', '169.254.170.23', 'fd00:ec2::23'],
    ['multicast', '224.0.0.1', '239.255.255.255', 'ff02::1'],
    ['reserved', '240.0.0.1', '255.255.255.255', '192.0.2.1', '198.18.0.1', '198.51.100.7', '203.0.113.9'],
    ['reserved', '2001:db8::1', '3fff::1', '100::1', '5f00::1', 'fec0::1', '4000::1'],
    ['wrapped IPv4', '::ffff:127.0.0.1', '::ffff:8.8.8.8', '::ffff:0a00:0001', '::127.0.0.1', '64:ff9b::a00:1'],
    ['wrapped IPv4', '64:ff9b:1::1', '2002:7f00:1::', '2001:0:4136:e378:8000:63bf:3fff:fdd2'],
    ['no address', '', 'localhost', '127.1', '0x7f.0.0.1', '[::1]', '1.2.3.4.5', '256.1.1.1', '1.1.1.1 '],
  ].flatMap(([, ...list]) => list),
}

describe('addressKind', () => {
  for (const [kind, list] of Object.entries(addresses)) {
    for (const address of list) {
      it(`returns ${kind} for ${JSON.stringify(address)}`, () => assert.equal(addressKind(address), kind))
    }
  }
})

describe('subnetOf', () => {
  const cases = [
    ['192.0.2.7', '192.0.2.0/24'],
    ['::ffff:192.0.2.9', '192.0.2.0/24'],
    ['2001:DB8:1:2::7', '2001:db8:1::/48'],
    ['2001:db8::7', '2001:db8:0::/48'],
    ['2001:0db8:0001::7', '2001:db8:1::/48'],
    ['::1:0:0:192.0.2.7', '0:0:0::/48'],
    ['', ''],
    ['no address', 'no address'],
  ] as const
  for (const [address, want] of cases) {
    it(`is ${want || 'nothing'} for ${address || 'none'}`, () => assert.equal(subnetOf(address), want))
  }
})

describe('An address with a port', () => {
  for (const [one, other, want] of [
    ['192.0.2.7:1024', '192.0.2.7:65535', '192.0.2.7'],
    ['[2001:db8:1:2::7]:1024', '[2001:db8:1:2::7]', '2001:db8:1:2::7'],
  ] as const) {
    for (const network of [networkOf, siteOf, subnetOf]) {
      it(`has the same ${network.name} as ${want}`, () => {
        assert.deepEqual([network(one), network(other)], [network(want), network(want)])
      })
    }
  }
})

describe('An address in another notation', () => {
  for (const [one, other] of [
    ['2001:db8:1:2::7', '2001:0db8:0001:0002::7'],
    ['::1:0:0:192.0.2.7', '0:0:0:1:0:0:c000:207'],
    ['192.0.2.7', '::ffff:c000:207'],
    ['192.0.2.7', '0:0:0:0:0:FFFF:192.0.2.7'],
  ] as const) {
    for (const network of [networkOf, siteOf, subnetOf]) {
      it(`has the same ${network.name} as ${one}`, () => assert.equal(network(one), network(other)))
    }
  }
})

describe('canonicalAddress', () => {
  const forms: readonly (readonly [string | undefined, string | undefined])[] = [
    ['203.0.113.9', '203.0.113.9'],
    ['::ffff:203.0.113.9', '203.0.113.9'],
    ['::FFFF:CB00:7109', '203.0.113.9'],
    ['0:0:0:0:0:ffff:cb00:7109', '203.0.113.9'],
    ['::ffff:0:1', '0.0.0.1'],
    ['::ffff:0:cb00:7109', '::ffff:0:cb00:7109'],
    ['2001:0DB8:0:0::1', '2001:db8::1'],
    ['fe80::1%eth0', 'fe80::1'],
    ['::1', '::1'],
    [undefined, undefined],
    ['', undefined],
    ['unix', undefined],
    ['1.2.3', undefined],
    ['256.1.1.1', undefined],
    ['::ffff:256.1.1.1', undefined],
    ['2001:db8::1]/x', undefined],
    ['"><script>', undefined],
  ]
  for (const [text, want] of forms) {
    it(`is ${String(want)} for ${String(text)}`, () => assert.equal(canonicalAddress(text), want))
  }
})
