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

describe('a chain of certificates', () => {
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
    { name: 'leads to the root that issued it', chain: [of(root)], root, leads: true },
    { name: 'leads there by an authority between', chain: [of(middle), middle], root, leads: true },
    { name: 'leads there with the root in it', chain: [of(middle), middle, root], root, leads: true },
    { name: 'leads nowhere without the authority between', chain: [of(middle)], root, leads: false },
    {
      name: 'leads nowhere by a certificate that is no authority',
      chain: [of(of(root)), of(root)],
      root,
      leads: false,
    },
    { name: 'does not lead to a root that has expired', chain: [of(old)], root: old, leads: false },
    {
      name: 'does not lead to a root with name constraints',
      chain: [of(constrained)],
      root: constrained,
      leads: false,
    },
    { name: 'nor if they are not critical', chain: [of(lenient)], root: lenient, leads: false },
    { name: 'does not lead to a root with an unknown condition', chain: [of(strange)], root: strange, leads: false },
    {
      name: 'leads nowhere with an unknown critical extension in its own certificate',
      chain: [of(root, { extensions: [unknown(true)] })],
      root,
      leads: false,
    },
    {
      name: 'leads to the root with an unknown one that is not critical',
      chain: [of(root, { extensions: [unknown(false)] })],
      root,
      leads: true,
    },
    { name: 'leads there with critical policies', chain: [of(root, { extensions: [policies] })], root, leads: true },
    {
      name: 'leads nowhere with an extension twice',
      chain: [of(root, { extensions: [unknown(false), unknown(false)] })],
      root,
      leads: false,
    },
    { name: 'leads to a root of path length 0 that issued it', chain: [of(shallow)], root: shallow, leads: true },
    { name: 'does not lead there by another authority', chain: [of(below), below], root: shallow, leads: false },
    { name: 'nor with the root in it', chain: [of(below), below, shallow], root: shallow, leads: false },
    { name: 'leads to one of path length 1 by one other', chain: [of(belowDeep), belowDeep], root: deep, leads: true },
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
