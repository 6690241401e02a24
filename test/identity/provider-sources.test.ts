import assert from 'node:assert/strict'
import { it } from 'node:test'
import { OutboundBusy } from '../../src/base/outbound.ts'
import { createProviderSources } from '../../src/identity/provider-sources.ts'
import type { IdentitySource, SourceDeps } from '../../src/identity/source.ts'
import type { IdentityProvider } from '../../src/model/zones/identity-provider.ts'
import type { Zone } from '../../src/model/zones/zone.ts'
import { createTestClock } from '../support/clock.ts'

const ZONE = { id: 'svc' } as Zone // the rest does not matter

it('providerOf limits the time for fetching documents, and continues on the next call', async () => {
  const clock = createTestClock()
  const providers = Array.from({ length: 40 }, (_, index) => ({ originKey: `p${index}`, type: 'slow', active: true }))
  const fetched = new Set<string>()
  const slow = ({ originKey }: IdentityProvider): IdentitySource => ({
    async issuerInDocument() {
      if (!fetched.has(originKey)) clock.advance(5 / 4) // four at a time, each in five seconds
      fetched.add(originKey)
      return originKey
    },
  })
  const store = { providers: { listActive: () => Promise.resolve(providers) } }
  const deps = { store, clock } as unknown as SourceDeps // the members that are used
  const type = { type: 'slow', open: (_: Zone, provider: IdentityProvider) => slow(provider) }
  const { providerOf } = createProviderSources({ slow: () => Promise.resolve(type) }, deps)

  assert.equal(await providerOf(ZONE, 'slow', 'p39'), undefined)
  assert.equal(fetched.size, 8)
  assert.equal((await providerOf(ZONE, 'slow', 'p9'))?.provider.originKey, 'p9')
  assert.equal(fetched.size, 16)
})

it('providerOf throws OutboundBusy if the issuer may be in a document that it could not fetch', async () => {
  const sources: Readonly<Record<string, () => Promise<string>>> = {
    known: () => Promise.resolve('known'),
    busy: () => Promise.reject(new OutboundBusy('https://idp.example')),
  }
  const providers = Object.keys(sources).map(originKey => ({ originKey, type: 'slow', active: true }))
  const store = { providers: { listActive: () => Promise.resolve(providers) } }
  const deps = { store, clock: createTestClock() } as unknown as SourceDeps // the members that are used
  const open = (_: Zone, { originKey }: IdentityProvider): IdentitySource => ({
    issuerInDocument: sources[originKey] ?? (() => assert.fail()),
  })
  const { providerOf } = createProviderSources({ slow: () => Promise.resolve({ type: 'slow', open }) }, deps)

  assert.equal((await providerOf(ZONE, 'slow', 'known'))?.provider.originKey, 'known')
  await assert.rejects(providerOf(ZONE, 'slow', 'other'), OutboundBusy)
})
