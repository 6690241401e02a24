import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { OutboundBusy, OutboundError } from '../../src/base/outbound.ts'
import type { Outbound } from '../../src/base/outbound.ts'
import { createRandom } from '../../src/base/random.ts'
import { createVault } from '../../src/base/secrets.ts'
import { oidcSource } from '../../src/identity/sources/oidc.ts'
import type { IdentityProvider } from '../../src/model/zones/identity-provider.ts'
import { sealProviderSecrets } from '../../src/providers/provider-secrets.ts'
import type { AddressedZone } from '../../src/model/request.ts'
import { behaviourOf } from '../../src/model/compatibility.ts'
import { createVerifications } from '../../src/token/verifications.ts'
import { createTestClock } from '../support/clock.ts'

const zoneKeys = { active: () => Promise.reject(new Error('not asked for')) }

const clock = createTestClock()
const vault = createVault(Buffer.alloc(32, 7), createRandom())
const now = clock.now()
const zone: AddressedZone = {
  address: 'host',
  id: 'svc',
  subdomain: '',
  name: 'svc',
  active: true,
  version: 0,
  config: {},
  createdAt: now,
  updatedAt: now,
}
const usual = {
  authUrl: 'https://corp.example/authorize',
  tokenUrl: 'https://corp.example/token',
  tokenKeyUrl: 'https://corp.example/keys',
  issuer: 'https://corp.example',
  relyingPartyId: 'me',
  relyingPartySecret: 'secret',
}
const attempt = { redirectUri: 'https://here.example/cb', nonce: 'n', codeVerifier: 'v' }

/** The `redirect` of a provider whose requests are answered by `fetch`. */
function open(
  config: Readonly<Record<string, unknown>>,
  fetch: Outbound['fetch'] = () => Promise.reject(new Error('not asked for')),
) {
  const outbound: Outbound = {
    fetch,
    getJson: address => fetch(address).then(() => ({ value: {}, headers: new Headers() })),
  }
  const provider: IdentityProvider = sealProviderSecrets(
    {
      zoneId: 'svc',
      id: 'p',
      originKey: 'corp',
      type: 'oidc1.0',
      name: 'Corp',
      active: true,
      config,
      version: 0,
      createdAt: now,
      updatedAt: now,
    },
    vault,
  )
  const foreignKeys = { find: () => Promise.resolve(undefined), ...createVerifications() }
  return oidcSource({ outbound, foreignKeys, clock, vault, random: createRandom(), zoneKeys }).open(zone, provider, {
    behaviour: behaviourOf('standard'),
  } as never).redirect // it uses no store
}

describe('oidcSource redirect', () => {
  for (const failure of [
    'timeout',
    'unreachable',
    'paused',
    'too-large',
    'forbidden',
    'redirect',
    'bad-answer',
  ] as const) {
    it(`finish() returns unavailable with a log detail if the request fails: ${failure}`, async () => {
      const redirect = open(usual, () => Promise.reject(new OutboundError(failure, 'https://corp.example: why')))
      assert.deepEqual(await redirect?.finish({ code: 'c' }, attempt, zone), {
        outcome: 'unavailable',
        detail: 'https://corp.example: why',
      })
    })
  }

  it('finish() throws OutboundBusy if no outbound slot is free', async () => {
    const redirect = open(usual, () => Promise.reject(new OutboundBusy('https://corp.example')))
    await assert.rejects(async () => redirect?.finish({ code: 'c' }, attempt, zone), OutboundBusy)
  })

  it('finish() rethrows unexpected errors', async () => {
    const redirect = open(usual, () => Promise.reject(new TypeError('a bug')))
    await assert.rejects(async () => redirect?.finish({ code: 'c' }, attempt, zone), TypeError)
  })

  it('finish() does not send a secret that was sealed for another zone', async () => {
    const redirect = open({ ...usual, relyingPartySecret: undefined })
    assert.ok(redirect)
    const foreign = sealProviderSecrets(
      {
        zoneId: 'z1',
        id: 'p',
        originKey: 'corp',
        type: 'oidc1.0',
        name: 'Corp',
        active: true,
        config: usual,
        version: 0,
        createdAt: now,
        updatedAt: now,
      },
      vault,
    )
    const outbound: Outbound = {
      fetch: () => Promise.reject(new Error('sent')),
      getJson: () => Promise.reject(new Error('sent')),
    }
    const source = oidcSource({
      outbound,
      foreignKeys: { find: () => Promise.resolve(undefined), ...createVerifications() },
      clock,
      vault,
      random: createRandom(),
      zoneKeys,
    })
    const moved = source.open(zone, { ...foreign, zoneId: 'svc' }, {
      behaviour: behaviourOf('standard'),
    } as never).redirect // it uses no store
    await assert.rejects(async () => moved?.finish({ code: 'c' }, attempt, zone), /an encrypted value was altered/)
  })

  const unready = [
    { name: 'no authorization endpoint', config: { ...usual, authUrl: undefined } },
    { name: 'no token endpoint', config: { ...usual, tokenUrl: undefined } },
    { name: 'an empty client id', config: { ...usual, relyingPartyId: '' } },
    { name: 'an invalid authorization endpoint', config: { ...usual, authUrl: 'corp.example' } },
    { name: 'a javascript: authorization endpoint', config: { ...usual, authUrl: 'javascript:alert(1)' } },
    {
      name: 'an unavailable discovery document',
      config: { discoveryUrl: 'https://corp.example/d', relyingPartyId: 'me' },
    },
  ]
  for (const { name, config } of unready) {
    it(`is not ready with ${name}`, async () => {
      const redirect = open(config, () => Promise.reject(new OutboundError('timeout', 'no')))
      assert.equal(await redirect?.isReady(), false)
      assert.equal(await redirect?.start({ ...attempt, state: 's', reauthenticate: false }, zone), undefined)
      assert.equal((await redirect?.finish({ code: 'c' }, attempt, zone))?.outcome, 'unavailable')
    })
  }

  for (const responseType of ['token', 'signed_request', 'code signed_request', ' ', 7]) {
    it(`is undefined for the response type ${responseType}`, () =>
      assert.equal(open({ ...usual, responseType }), undefined))
  }
  for (const responseType of [
    undefined,
    null,
    '',
    'code',
    'id_token',
    'id_token token',
    'code id_token',
    'code token',
  ]) {
    it(`exists for the response type ${String(responseType)}`, () => assert.ok(open({ ...usual, responseType })))
  }
})
