import assert from 'node:assert/strict'
import fc from 'fast-check'
import { jwtVerify } from 'jose'
import type { Outbound } from '../../../src/base/outbound.ts'
import { privateKeyJwt } from '../../../src/clients/authentication/private-key-jwt.ts'
import type { ClientAuthDeps } from '../../../src/clients/authentication/method.ts'
import type { Client } from '../../../src/model/clients/client.ts'
import { behaviourOf } from '../../../src/model/compatibility.ts'
import { OAuthError } from '../../../src/model/oauth-error.ts'
import type { AddressedZone, RequestOrigin } from '../../../src/model/request.ts'
import { createUrls } from '../../../src/model/urls.ts'
import { readObject } from '../../../src/oauth/authorize/sources/request-object.ts'
import { createForeignKeys } from '../../../src/token/foreign-keys.ts'
import { createVerifications } from '../../../src/token/verifications.ts'
import { MalformedInput } from '../../../src/web/requests/form.ts'
import { parseQuery } from '../../../src/web/requests/query.ts'
import { createTestClock } from '../../support/clock.ts'
import { changed, jumble, oddJson } from '../changes.ts'
import { target, verdictLater } from '../target.ts'
import type { Verdict } from '../target.ts'
import { signedText, testKey } from './keys.ts'

const clock = createTestClock()
const now = clock.now().getTime() / 1000
const behaviour = behaviourOf('standard')
const urls = createUrls('https://id.example', behaviour)
const foreignKeys = createForeignKeys({ outbound: {} as Outbound, clock, verifications: createVerifications() }) // the keys are inline
const key = testKey('client')
const jwks = JSON.stringify({ keys: [{ ...key.publicKey.export({ format: 'jwk' }), kid: 'c1' }] })
const zone = { id: 'svc', subdomain: '', active: true, address: 'host', config: {} } as unknown as AddressedZone // what is read
const client = { clientId: 'app', zoneId: 'svc', jwks } as unknown as Client
const endpoint = { path: '/oauth/token', allowsNone: false, allowsAssertion: true }
const TYPE = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer'

/** As a client that asks for tokens sends it. */
async function authenticate(assertion: string): Promise<string> {
  const params: Readonly<Record<string, string>> = { client_assertion_type: TYPE, client_assertion: assertion }
  const get = (name: string): string | undefined => params[name]
  const attempt = privateKeyJwt.read({ authorization: undefined, params: { get, raw: get }, endpoint })
  const deps = {
    behaviour,
    clock,
    urls,
    foreignKeys,
    store: { isUnreachable: () => false, assertions: { use: () => Promise.resolve(true) } },
  } as unknown as ClientAuthDeps // what is used
  const isGenuine = await attempt.verify(
    attempt.clientId === 'app' ? client : undefined,
    { zone } as RequestOrigin,
    deps,
  )
  assert.ok(isGenuine)
  return attempt.clientId
}

async function isSigned(token: string): Promise<void> {
  await jwtVerify(token, key.publicKey, { currentDate: clock.now(), clockTolerance: 61 })
}

const HEADER = { alg: 'EdDSA', kid: 'c1', typ: 'JWT' }
const headers = oddJson(
  fc.constantFrom(
    HEADER,
    HEADER,
    { ...HEADER, alg: 'Ed25519' },
    { ...HEADER, alg: 'none' },
    { ...HEADER, typ: 'oauth-authz-req+jwt' },
  ),
  ['crit', 'b64', 'jwk', 'jku', 'x5c'],
  1,
)
const ASSERTION = { iss: 'app', sub: 'app', aud: 'https://id.example/oauth/token', jti: 'j', exp: now + 60, iat: now }
const REQUEST = {
  iss: 'app',
  aud: urls.issuer(zone),
  client_id: 'app',
  exp: now + 60,
  nbf: now,
  response_type: 'code',
  scope: 'openid',
  redirect_uri: 'https://app.example/cb?x=1&y=a+b',
  max_age: 60,
  resource: ['https://a.example/', 'https://b.example/'],
  claims: { id_token: { acr: null } },
}
const MEMBERS = ['exp', 'nbf', 'iat', 'aud', 'sub', 'jti', 'request', 'request_uri', 'client_secret', 'state']
const claims = oddJson(fc.constantFrom<object>(ASSERTION, REQUEST), MEMBERS, 2)
const tokens = fc
  .tuple(headers, claims, fc.boolean())
  .map(([header, payload, isOurs]) =>
    signedText(header, payload, isOurs ? key.privateKey : testKey('other').privateKey),
  )

/**
 * What clients sign: assertions that authenticate them, and request objects. Both are what the client's key signed, for us and
 * for now, as a library that is not ours reads them too.
 */
export const clientJwt = target({
  name: 'client-jwt',
  inputs: fc.oneof(
    { weight: 3, arbitrary: tokens },
    changed(tokens, ['.', '=', 'e30', 'A', ' ']),
    jumble(['e30', '.', 'A']),
  ),
  async check(token) {
    const verdicts: Verdict[] = []
    verdicts.push(
      await verdictLater(
        [OAuthError],
        () => authenticate(token),
        clientId => assert.equal(clientId, 'app'),
      ),
      await verdictLater(
        [OAuthError],
        () => readObject({ jwt: token, client, zone, at: clock.now() }, { foreignKeys, urls }),
        ({ parameters }) => {
          const form = parseQuery(parameters)
          if (form instanceof MalformedInput) return
          assert.equal(form.get('client_id'), 'app')
          for (const name of ['request', 'request_uri', 'client_secret', 'client_assertion', 'iss', 'exp']) {
            assert.equal(form.get(name), undefined, name)
          }
        },
      ),
    )
    if (!verdicts.includes('read')) return 'refused'
    await isSigned(token)
    return 'read'
  },
})
