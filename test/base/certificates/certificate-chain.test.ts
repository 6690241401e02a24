import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { leadsToRoot } from '../../../src/base/certificates/certificate-chain.ts'
import type { TestCertificate } from '../../support/client-certificates.ts'
import { issue, nameOf, onlyHostsOf } from '../../support/client-certificates.ts'

const NOW = new Date(Date.UTC(2026, 0))
const named = (name: string) => nameOf([['CN', name]])
const authority = (name: string, options: Parameters<typeof issue>[0] = {}) =>
  issue({ name: named(name), isAuthority: true, ...options })
const unknown = (isCritical: boolean) => ({ id: '2a0304', isCritical, value: Buffer.from('0500', 'hex') })
const policies = { id: '551d20', isCritical: true, value: Buffer.from('3000', 'hex') }

describe('leadsToRoot', () => {
  const root = authority('root')
  const middle = authority('middle', { issuer: root })
  const constrained = authority('constrained', { extensions: [onlyHostsOf('partner.example')] })
  const lenient = authority('lenient', { extensions: [{ ...onlyHostsOf('partner.example'), isCritical: false }] })
  const strange = authority('strange', { extensions: [unknown(true)] })
  const shallow = authority('shallow', { pathLength: 0 })
  const below = authority('below', { issuer: shallow })
  const deep = authority('deep', { pathLength: 1 })
  const belowDeep = authority('below deep', { issuer: deep })
  const old = authority('old', { to: new Date(Date.UTC(2020, 0)) })

  const of = (issuer: TestCertificate, options: Parameters<typeof issue>[0] = {}) => issue({ issuer, ...options })
  const cases: readonly { name: string; chain: readonly TestCertificate[]; root: TestCertificate; leads: boolean }[] = [
    { name: 'accepts a certificate issued by the root', chain: [of(root)], root, leads: true },
    { name: 'accepts an intermediate certificate', chain: [of(middle), middle], root, leads: true },
    { name: 'accepts a chain that includes the root', chain: [of(middle), middle, root], root, leads: true },
    { name: 'rejects a missing intermediate certificate', chain: [of(middle)], root, leads: false },
    {
      name: 'rejects an issuer that is not a certification authority',
      chain: [of(of(root)), of(root)],
      root,
      leads: false,
    },
    { name: 'rejects an expired root', chain: [of(old)], root: old, leads: false },
    {
      name: 'rejects a root with critical name constraints',
      chain: [of(constrained)],
      root: constrained,
      leads: false,
    },
    {
      name: 'rejects a root with name constraints that are not critical',
      chain: [of(lenient)],
      root: lenient,
      leads: false,
    },
    { name: 'rejects a root with an unknown critical extension', chain: [of(strange)], root: strange, leads: false },
    {
      name: 'rejects a certificate with an unknown critical extension',
      chain: [of(root, { extensions: [unknown(true)] })],
      root,
      leads: false,
    },
    {
      name: 'accepts a certificate with an unknown extension that is not critical',
      chain: [of(root, { extensions: [unknown(false)] })],
      root,
      leads: true,
    },
    { name: 'accepts critical policies', chain: [of(root, { extensions: [policies] })], root, leads: true },
    {
      name: 'rejects a repeated extension',
      chain: [of(root, { extensions: [unknown(false), unknown(false)] })],
      root,
      leads: false,
    },
    {
      name: 'accepts a certificate issued by a root of path length 0',
      chain: [of(shallow)],
      root: shallow,
      leads: true,
    },
    {
      name: 'rejects an intermediate certificate below a root of path length 0',
      chain: [of(below), below],
      root: shallow,
      leads: false,
    },
    {
      name: 'rejects an intermediate certificate in a chain that includes a root of path length 0',
      chain: [of(below), below, shallow],
      root: shallow,
      leads: false,
    },
    {
      name: 'accepts one intermediate certificate below a root of path length 1',
      chain: [of(belowDeep), belowDeep],
      root: deep,
      leads: true,
    },
  ]
  for (const { name, chain, root: trusted, leads } of cases) {
    it(name, () => {
      assert.equal(
        leadsToRoot(
          chain.map(({ raw }) => raw),
          [trusted.raw],
          NOW,
        ),
        leads,
      )
    })
  }
})
