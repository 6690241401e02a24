import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { behaviourOf } from '../../src/model/compatibility.ts'
import { createUrls, pathNameOf, subdomainForPathName } from '../../src/model/urls.ts'
import type { AddressedZone } from '../../src/model/request.ts'
import { MODES } from '../support/oauth.ts'

const zone = (subdomain: string, more: Partial<AddressedZone> = {}): AddressedZone => ({
  id: subdomain || 'svc',
  subdomain,
  name: subdomain,
  active: true,
  version: 0,
  config: {},
  createdAt: new Date(0),
  updatedAt: new Date(0),
  address: 'host',
  ...more,
})

const BASES = [
  { base: 'https://id.example', path: '' },
  { base: 'https://id.example/', path: '' },
  { base: 'http://id.example:8080/uaa', path: '/uaa' },
  { base: 'http://id.example:8080/a/b//', path: '/a/b' },
] as const

for (const { base, path } of BASES) {
  describe(`createUrls with the base URL ${base}`, () => {
    const urls = createUrls(base, behaviourOf('standard'))
    const root = base.replace(/\/+$/, '')
    const host = root.replace('://', '://x.')

    const cases: readonly {
      name: string
      zone: AddressedZone
      ofZone: string
      pathOf: string
      others: readonly string[]
    }[] = [
      {
        name: 'the default zone by host',
        zone: zone(''),
        ofZone: root,
        pathOf: path,
        others: [`${root}/z/default`],
      },
      {
        name: 'the default zone by path',
        zone: zone('', { address: 'path' }),
        ofZone: `${root}/z/default`,
        pathOf: `${path}/z/default`,
        others: [root],
      },
      { name: 'a zone by host', zone: zone('x'), ofZone: host, pathOf: path, others: [`${root}/z/x`] },
      {
        name: 'a zone by path',
        zone: zone('x', { address: 'path' }),
        ofZone: `${root}/z/x`,
        pathOf: `${path}/z/x`,
        others: [host],
      },
      {
        name: 'a zone called "default", which has no path',
        zone: zone('default'),
        ofZone: root.replace('://', '://default.'),
        pathOf: path,
        others: [],
      },
    ]
    for (const { name, zone: given, ofZone, pathOf, others } of cases) {
      it(`addresses ${name}`, () => {
        assert.equal(urls.ofZone(given), ofZone)
        assert.equal(urls.pathOf(given), pathOf)
        assert.deepEqual(urls.addressesOf(given), [ofZone, ...others])
        assert.equal(new URL(`${ofZone}/x`).pathname, `${pathOf}/x`)
      })
    }

    it('gives each zone its own addresses', () => {
      const all = ['', 'x', 'y', 'x.y', 'default', 'z'].flatMap(name => urls.addressesOf(zone(name)))
      assert.equal(new Set(all).size, all.length)
    })
  })
}

for (const mode of MODES) {
  describe(`Issuers in ${mode}`, () => {
    const urls = createUrls('https://id.example/uaa', behaviourOf(mode))
    const end = mode === 'uaa' ? '/oauth/token' : ''

    it('are the addresses of the zone, the requested one first', () => {
      const [byHost, byPath] = [`https://x.id.example/uaa${end}`, `https://id.example/uaa/z/x${end}`]
      assert.equal(urls.issuer(zone('x')), byHost)
      assert.deepEqual(urls.issuersOf(zone('x')), [byHost, byPath])
      assert.equal(urls.issuer(zone('x', { address: 'path' })), byPath)
      assert.deepEqual(urls.issuersOf(zone('x', { address: 'path' })), [byPath, byHost])
    })

    it('are only the configured issuer of a zone', () => {
      const config = { issuer: 'https://issuer.example' }
      for (const address of [{ address: 'host' }, { address: 'path' }] as const) {
        const given = zone('x', { config, ...address })
        assert.equal(urls.issuer(given), `https://issuer.example${end}`)
        assert.deepEqual(urls.issuersOf(given), [`https://issuer.example${end}`])
      }
    })

    it('are the server’s own if they belong to the zone or to a host of any zone', () => {
      const given = zone('x', { config: { issuer: 'https://issuer.example' } })
      const own = [
        `https://issuer.example${end}`,
        'https://id.example',
        'https://id.example/other',
        'http://ID.example./',
      ]
      for (const issuer of [...own, 'https://y.id.example/uaa'])
        assert.equal(urls.isOwnIssuer(given, issuer), true, issuer)
      const foreign = [
        'https://other.example',
        'https://id.example:8443',
        'https://notid.example',
        'https://id.example.org',
      ]
      for (const issuer of [...foreign, 'id.example']) assert.equal(urls.isOwnIssuer(given, issuer), false, issuer)
    })
  })
}

describe('Zone names in paths', () => {
  it('are the subdomain, or "default" for the default zone', () => {
    assert.equal(pathNameOf(zone('x')), 'x')
    assert.equal(pathNameOf(zone('')), 'default')
    assert.equal(subdomainForPathName('x'), 'x')
    assert.equal(subdomainForPathName('default'), '')
  })
})
