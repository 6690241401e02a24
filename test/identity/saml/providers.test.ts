import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { OutboundError } from '../../../src/base/outbound.ts'
import type { Outbound, OutboundFailure } from '../../../src/base/outbound.ts'
import { SamlProblem } from '../../../src/identity/saml/problem.ts'
import { createSamlProviders } from '../../../src/identity/saml/providers.ts'
import type { IdentityProvider } from '../../../src/model/zones/identity-provider.ts'
import { certificateOf } from '../../support/certificate.ts'
import { createTestClock } from '../../support/clock.ts'
import { keyOfLongExponent } from '../../support/long-exponent.ts'
import { createSamlIdp } from '../../support/saml/saml-idp.ts'
import { SAML } from '../../support/saml/saml-xml.ts'
import { samlTestKey } from '../../support/saml/saml-signing.ts'
import { signMetadata } from '../../support/saml/saml-metadata-samples.ts'

const keys = [samlTestKey(), samlTestKey(), samlTestKey()] as const
const ADDRESS = 'https://idp.example/metadata'
/** In an encoding that is not allowed. */
const NOT_UTF8 = Buffer.from(set().idp.metadata().replace(/>$/, '><!-- \u00e9 -->'), 'latin1')

/** Providers whose document is `state.next`; records the requests. */
function set() {
  const clock = createTestClock()
  const idp = createSamlIdp({ clock, to: { entityId: 'us', recipient: 'https://us.example/' }, key: keys[0] })
  const state = {
    asked: [] as string[],
    next: idp.metadata() as string | Buffer | number,
    logged: [] as string[],
  }
  const outbound: Outbound = {
    fetch(address, { share, maxBytes } = {}) {
      state.asked.push(`${address} ${share?.zoneId} ${share?.purpose} ${maxBytes}`)
      const { next } = state
      if (typeof next === 'number') return Promise.resolve(new Response(idp.metadata(), { status: next }))
      const isFailure = typeof next === 'string' && /^[a-z-]+$/.test(next)
      return isFailure
        ? Promise.reject(new OutboundError(next as OutboundFailure, 'why'))
        : Promise.resolve(new Response(typeof next === 'string' ? next : new Uint8Array(next)))
    },
    getJson: () => Promise.reject(new Error('not used')),
  }
  const log = { refusal: (message: string) => void state.logged.push(message) }
  const providers = createSamlProviders({ outbound, clock, log })
  const now = clock.now()
  const recordOf = (config: IdentityProvider['config'], more: Partial<IdentityProvider> = {}): IdentityProvider => ({
    zoneId: 'z',
    id: 'p',
    originKey: 'corp',
    type: 'saml',
    name: 'Corp',
    active: true,
    config,
    version: 0,
    createdAt: now,
    updatedAt: now,
    externalKey: idp.entityId,
    ...more,
  })
  return { clock, idp, state, providers, recordOf, record: recordOf({ metaDataLocation: ADDRESS }) }
}

const problemOf = async (work: Promise<unknown>): Promise<string> => {
  try {
    await work
  } catch (error) {
    assert.ok(error instanceof SamlProblem)
    assert.equal(error.reason, 'metadata')
    return error.message
  }
  return assert.fail('it was read')
}

describe('Metadata at a URL', () => {
  it('is cached for ten minutes, and fetched on behalf of the zone with a size limit', async () => {
    const { clock, state, providers, record } = set()
    await Promise.all([1, 2, 3].map(() => providers.read(record, 'sign-in')))
    clock.advance(599)
    await providers.read({ ...record }, 'background')
    assert.deepEqual(state.asked, [`${ADDRESS} z sign-in 262144`])
    clock.advance(1)
    await providers.read(record, 'background')
    assert.equal(state.asked.length, 2)
  })

  it('is fetched separately for each zone', async () => {
    const { state, providers, recordOf } = set()
    await providers.read(recordOf({ metaDataLocation: ADDRESS }), 'sign-in')
    await providers.read(recordOf({ metaDataLocation: ADDRESS }, { zoneId: 'other' }), 'sign-in')
    assert.deepEqual(
      state.asked.map(line => line.split(' ')[1]),
      ['z', 'other'],
    )
  })

  for (const next of [
    'timeout',
    'unreachable',
    'paused',
    'too-large',
    'forbidden',
    'redirect',
    'bad-answer',
    404,
    500,
    '<html/>',
    '<?xml version="1.0"?><!DOCTYPE x><x/>',
    NOT_UTF8,
    `<EntityDescriptor xmlns="${SAML.metadata}" entityID="https://idp.example/saml"/>`,
  ] as const) {
    const name = String(next).slice(0, 40)
    it(`is unusable after ${name}, but a cached document is used for an hour`, async () => {
      const { clock, state, providers, record } = set()
      const good = state.next
      state.next = next
      assert.match(await problemOf(providers.read(record, 'sign-in')), /cannot be fetched/)
      clock.advance(30)
      state.next = good
      assert.ok(await providers.read(record, 'sign-in'))
      state.next = next
      clock.advance(600)
      assert.ok(await providers.read(record, 'sign-in'))
      clock.advance(2999)
      assert.ok(await providers.read(record, 'sign-in'))
      clock.advance(31)
      await problemOf(providers.read(record, 'sign-in'))
    })
  }

  it('is retried immediately without logging if the circuit breaker is open, and logs failures', async () => {
    const { state, providers, record } = set()
    const good = state.next
    state.next = 'paused'
    await problemOf(providers.read(record, 'sign-in'))
    assert.deepEqual(state.logged, [])
    state.next = good
    assert.ok(await providers.read(record, 'sign-in'))

    const failing = set()
    failing.state.next = 404
    await problemOf(failing.providers.read(failing.record, 'sign-in'))
    failing.state.next = good
    await problemOf(failing.providers.read(failing.record, 'sign-in'))
    assert.deepEqual(failing.state.logged, ['SAML metadata of corp: answered 404'])
  })

  it('is refused with another entity id than that of the record', async () => {
    const { clock, state, providers, record } = set()
    await providers.read(record, 'sign-in')
    clock.advance(600)
    state.next = createSamlIdp({
      clock,
      to: { entityId: 'us', recipient: 'x' },
      entityId: 'https://evil.example',
      key: keys[1],
    }).metadata()
    assert.match(await problemOf(providers.read(record, 'sign-in')), /entityID is not the one/)
  })

  it('provides the entity id if the record has none', async () => {
    const { providers, recordOf, idp } = set()
    const { externalKey: _, ...unnamed } = recordOf({ metaDataLocation: ADDRESS })
    assert.equal(await providers.entityIdOf(unnamed), idp.entityId)
  })

  it('is refused from the cache after validUntil', async () => {
    const { clock, state, providers, record } = set()
    state.next = String(state.next).replace(
      '<md:EntityDescriptor ',
      '<md:EntityDescriptor validUntil="2026-01-15T12:01:00Z" ',
    )
    await providers.read(record, 'sign-in')
    clock.advance(60)
    assert.match(await problemOf(providers.read(record, 'sign-in')), /validUntil/)
  })

  it('is not renewed with another entity id', async () => {
    const { clock, state, providers, record } = set()
    const good = String(state.next)
    await providers.read(record, 'sign-in')
    state.next = good.replace(/entityID="[^"]*"/, 'entityID="https://other.example/idp"')
    assert.notEqual(state.next, good)
    clock.advance(30)
    assert.match(await problemOf(providers.renew(record)), /its entityID is not the one/)
  })

  it('is renewed for a new key at most once in 30 seconds', async () => {
    const { clock, state, providers, record, idp } = set()
    await providers.read(record, 'sign-in')
    state.next = idp.metadata({ keys: [keys[1]] })
    assert.equal(await providers.renew(record), undefined)
    clock.advance(30)
    assert.equal((await providers.renew(record))?.signingKeys.length, 2)
    assert.equal(await providers.renew(record), undefined)
    assert.equal((await providers.read(record, 'sign-in')).signingKeys.length, 2)
    assert.equal(state.asked.length, 2)
  })
})

describe('Metadata in the record', () => {
  it('is used without a request', async () => {
    const { state, providers, recordOf, idp } = set()
    const record = recordOf({ metaDataLocation: idp.metadata() })
    assert.equal((await providers.read(record, 'sign-in')).entityId, idp.entityId)
    assert.equal(await providers.renew(record), undefined)
    assert.deepEqual(state.asked, [])
  })

  it('is refused after validUntil', async () => {
    const { clock, providers, recordOf, idp } = set()
    const text = idp
      .metadata()
      .replace('<md:EntityDescriptor ', '<md:EntityDescriptor validUntil="2026-01-15T12:01:00Z" ')
    const record = recordOf({ metaDataLocation: text })
    await providers.read(record, 'sign-in')
    clock.advance(60)
    assert.match(await problemOf(providers.read(record, 'sign-in')), /validUntil/)
  })

  for (const config of [{}, { metaDataLocation: '' }, { metaDataLocation: '<EntityDescriptor/>' }]) {
    it(`is unusable: ${JSON.stringify(config)}`, async () => {
      const { providers, recordOf } = set()
      assert.ok(await problemOf(providers.read(recordOf(config), 'sign-in')))
    })
  }
})

describe('isOut', () => {
  it('returns true once the metadata are known to be unavailable or without an endpoint', async () => {
    for (const next of ['timeout', set().idp.metadata({ sso: 'javascript:alert(1)' })]) {
      const { state, providers, record } = set()
      state.next = next
      assert.equal(providers.isOut(record), false)
      assert.equal(state.asked.length, 1) // in the background
      await providers.read(record, 'sign-in').catch(() => {})
      assert.equal(providers.isOut(record), true)
    }
  })
  it('does not parse metadata in records', async () => {
    const { providers, recordOf, idp } = set()
    const broken = recordOf({ metaDataLocation: '<EntityDescriptor/>' })
    assert.equal(providers.isOut(broken), false)
    await problemOf(providers.read(broken, 'sign-in'))
    assert.equal(providers.isOut(broken), true)
    const good = recordOf({ metaDataLocation: idp.metadata() })
    await providers.read(good, 'sign-in')
    assert.equal(providers.isOut(good), false)
    assert.equal(providers.isOut(recordOf({})), false)
  })
})

describe('metadataTrustCheck', () => {
  /** Signed metadata: the signature is the first child of the root. */
  const signed = (key = keys[0], xml?: string): string => {
    const { idp } = set()
    const text = (xml ?? idp.metadata()).replace('<md:EntityDescriptor ', '<md:EntityDescriptor ID="_m" ')
    return signMetadata(text, key)
  }
  const inRecord = (metaDataLocation: string, metadataCertificates?: string) => {
    const { providers, recordOf } = set()
    return providers.read(
      recordOf({ metaDataLocation, metadataTrustCheck: true, ...(metadataCertificates && { metadataCertificates }) }),
      'sign-in',
    )
  }

  it('accepts metadata in the record signed with one of its own keys', async () =>
    assert.equal((await inRecord(signed())).signingKeys.length, 1))
  it('accepts metadata in the record signed with a key of metadataCertificates', async () =>
    assert.ok(await inRecord(signed(keys[2]), keys[2].certificate)))
  it('refuses metadata in the record signed with another key', async () => {
    assert.match(await problemOf(inRecord(signed(keys[2]))), /signature/)
    assert.match(await problemOf(inRecord(signed(), keys[2].certificate)), /signature/)
  })
  it('refuses more than ten metadataCertificates, and ignores keys with a large exponent', async () => {
    const many = Array.from({ length: 11 }, () => samlTestKey('ec').certificate)
    assert.match(await problemOf(inRecord(signed(), many.join(''))), /more than 10 signing keys/)
    const pem = keyOfLongExponent().export({ type: 'pkcs8', format: 'pem' }).toString()
    const slow = { privateKey: pem, certificate: certificateOf(pem) }
    assert.match(await problemOf(inRecord(signed(slow), slow.certificate)), /signature/)
  })
  it('refuses unsigned metadata', async () => {
    assert.match(await problemOf(inRecord(set().idp.metadata())), /signature/)
    assert.match(await problemOf(inRecord(set().idp.metadata(), keys[0].certificate)), /signature/)
  })
  it('refuses metadata changed after signing', async () => {
    const changed = signed().replace('https://idp.example/sso', 'https://evil.example/sso')
    assert.match(await problemOf(inRecord(changed)), /signature/)
    const added = signed().replace(
      '</md:IDPSSODescriptor>',
      `${/<md:KeyDescriptor.*<\/md:KeyDescriptor>/.exec(set().idp.metadata({ keys: [keys[1]] }))?.[0]}</md:IDPSSODescriptor>`,
    )
    assert.match(await problemOf(inRecord(added)), /signature/)
  })
  it('requires metadata at a URL to be signed with a key of metadataCertificates', async () => {
    for (const { by, named, isGood } of [
      { by: keys[2], named: keys[2].certificate, isGood: true },
      { by: keys[2], named: `${keys[1].certificate}${keys[2].certificate}`, isGood: true },
      { by: keys[0], named: keys[2].certificate, isGood: false },
      { by: keys[0], named: undefined, isGood: false },
    ]) {
      const { state, providers, recordOf } = set()
      state.next = signed(by)
      const config = {
        metaDataLocation: ADDRESS,
        metadataTrustCheck: true,
        ...(named && { metadataCertificates: named }),
      }
      const reading = providers.read(recordOf(config), 'sign-in')
      if (isGood) assert.ok(await reading)
      else assert.match(await problemOf(reading), /cannot be fetched/)
    }
  })
  it('does not reuse a document that was fetched without metadataTrustCheck', async () => {
    const { state, providers, recordOf } = set()
    await providers.read(recordOf({ metaDataLocation: ADDRESS }), 'sign-in')
    const strict = recordOf({
      metaDataLocation: ADDRESS,
      metadataTrustCheck: true,
      metadataCertificates: keys[2].certificate,
    })
    await problemOf(providers.read(strict, 'sign-in'))
    assert.equal(state.asked.length, 2)
  })
})
