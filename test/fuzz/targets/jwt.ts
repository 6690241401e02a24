import assert from 'node:assert/strict'
import fc from 'fast-check'
import { behaviourOf } from '../../../src/model/compatibility.ts'
import { OAuthError } from '../../../src/model/oauth-error.ts'
import type { AddressedZone } from '../../../src/model/request.ts'
import { createUrls } from '../../../src/model/urls.ts'
import { createTokenReader } from '../../../src/token/reader.ts'
import { createVerifications } from '../../../src/token/verifications.ts'
import { createCredentialReader } from '../../../src/web/limits/caller-credential.ts'
import { createTestClock } from '../../support/clock.ts'
import { anyText, changed, jumble, oddJson } from '../changes.ts'
import { target, verdictLater } from '../target.ts'
import { signedText, testKey } from './keys.ts'

const clock = createTestClock()
const now = clock.now().getTime() / 1000
const zone = { id: 'svc', subdomain: '', active: true, address: 'host', config: {} } as unknown as AddressedZone // what is read
const urls = createUrls('https://id.example', behaviourOf('standard'))
const key = testKey('tokens')
const stranger = testKey('stranger')
type Deps = Parameters<typeof createTokenReader>[0]
const reader = createTokenReader({
  clock,
  urls,
  keys: {
    find: (_: string, keyId: string) =>
      Promise.resolve(keyId === 'k1' ? { keyId, algorithm: 'EdDSA', verifyKey: key.publicKey } : undefined),
  } as unknown as Deps['keys'], // a ring with one key
  store: { tokens: { find: () => Promise.resolve(undefined) } } as unknown as Deps['store'], // without a row
  senders: {} as Deps['senders'],
  verifications: createVerifications(),
  behaviour: behaviourOf('standard'),
  groupsOf: () => Promise.reject(new Error('not asked for')),
})

const CLAIMS = {
  iss: urls.issuer(zone),
  sub: 'app',
  client_id: 'app',
  aud: ['app'],
  jti: 'j',
  exp: now + 60,
  iat: now,
  scope: ['a.b'],
}
const HEADER = { alg: 'EdDSA', kid: 'k1', typ: 'JWT' }
const GENUINE = signedText(JSON.stringify(HEADER), JSON.stringify(CLAIMS), key.privateKey)
const headers = oddJson(
  fc.constantFrom(HEADER, { ...HEADER, alg: 'none' }, { ...HEADER, alg: 'HS256' }),
  ['crit', 'b64', 'jwk', 'kid', 'x5c'],
  2,
)
/** Foreign headers and claims, unsigned or signed by a foreign key. */
const forged = fc
  .tuple(headers, oddJson(fc.constant(CLAIMS), ['exp', 'scope', 'iss']), fc.boolean())
  .map(([header, claims, isSigned]) => {
    const jwt = signedText(header, claims, stranger.privateKey)
    return isSigned ? jwt : jwt.slice(0, jwt.lastIndexOf('.') + 1)
  })

const credentialOf = [
  createCredentialReader({ kind: 'claim', section: 1, claim: 'client_id' }),
  createCredentialReader({ kind: 'section', section: 1 }),
  createCredentialReader({ kind: 'pattern', section: 1, pattern: '"client_id":"([^"]*)"' }),
  createCredentialReader({ kind: 'token' }),
]

/** Our own tokens as presented: the signed claims, or a rejection. */
export const jwt = target({
  name: 'jwt',
  inputs: fc.oneof(
    changed(fc.constant(GENUINE), ['.', '..', '=', 'e30', '-', '_', 'A', ' ', '\n']),
    forged,
    changed(forged, ['.', '=', 'e30']),
    jumble(['e30', '.', 'A', GENUINE]),
    anyText,
  ),
  async check(token) {
    for (const read of credentialOf) {
      const id = read(`Bearer ${token}`)
      assert.ok(id === undefined || (id !== '' && id.length <= 64))
    }
    await verdictLater(
      [OAuthError],
      () => reader.readHint(zone, token),
      claims => assert.deepEqual(claims, CLAIMS),
    )
    return verdictLater(
      [OAuthError],
      () => reader.readIssued(zone, token),
      ({ claims }) => assert.deepEqual(claims, CLAIMS, 'claims that we did not sign'),
    )
  },
})
