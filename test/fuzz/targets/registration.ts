import assert from 'node:assert/strict'
import fc from 'fast-check'
import { isJsonRecord, memberOf } from '../../../src/base/json.ts'
import { clientFromJson } from '../../../src/clients/client-json.ts'
import { behaviourOf } from '../../../src/model/compatibility.ts'
import { OAuthError } from '../../../src/model/oauth-error.ts'
import { registrationPolicy } from '../../../src/model/clients/registration.ts'
import { serviceNamed } from '../../../src/model/service.ts'
import type { Zone } from '../../../src/model/zones/zone.ts'
import { readMetadata } from '../../../src/oauth/registration/metadata.ts'
import { MalformedInput } from '../../../src/web/requests/form.ts'
import { parseJsonObject } from '../../../src/web/requests/json.ts'
import { changed, oddJson } from '../changes.ts'
import { target, verdictOf } from '../target.ts'

const service = serviceNamed('svc')
const behaviour = behaviourOf('standard')
const zone = {
  id: 'svc',
  subdomain: '',
  config: { registration: { mode: 'open', scopes: ['openid', 'profile', 'cloud.read'] } },
} as unknown as Zone // what is read
const policy = registrationPolicy(zone, service)

const URIS = [
  'https://app.example/cb',
  'com.example.app:/cb',
  'http://127.0.0.1/cb',
  'http://app.example/cb',
  'javascript:alert(1)',
  'https://*.example/cb',
  'https://a@b.example/',
  'https://localhost/cb',
]
const GOOD = fc.constantFrom<object>(
  { redirect_uris: ['https://app.example/cb'] },
  { redirect_uris: ['com.example.app:/cb'], application_type: 'native', token_endpoint_auth_method: 'none' },
  {
    redirect_uris: ['https://a.example/'],
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'],
  },
  {
    redirect_uris: ['https://a.example/'],
    jwks_uri: 'https://a.example/keys',
    token_endpoint_auth_method: 'private_key_jwt',
  },
)
const MEMBERS: readonly object[] = [
  { client_name: 'App' },
  { client_name: ' ' },
  { client_name: 'x'.repeat(101) },
  { client_name: 'Ä\u202e' },
  { scope: 'openid profile' },
  { scope: 'cloud.read' },
  { scope: 'openid  openid' },
  { scope: 'openid uaa.admin' },
  { scope: 'scim.*' },
  { grant_types: ['client_credentials'] },
  { grant_types: ['authorization_code', 'password'] },
  { response_types: ['token'] },
  { response_types: ['code id_token'] },
  { jwks: { keys: [] } },
  { jwks: { keys: [{ kty: 'oct', k: 'AAAA' }] } },
  { jwks_uri: 'http://169.254.169.254/' },
  { client_uri: 'https://app.example/' },
  { client_uri: 'javascript:alert(1)' },
  { contacts: ['a@b.example'] },
  { contacts: [1] },
  { default_max_age: 60 },
  { default_max_age: -1 },
  { autoapprove: true },
  { authorities: ['uaa.admin'] },
  ...URIS.map(uri => ({ redirect_uris: ['https://app.example/cb', uri] })),
]
const metadata = fc
  .tuple(GOOD, fc.array(fc.constantFrom(...MEMBERS), { maxLength: 2 }))
  .map(([good, more]) => Object.assign({}, good, ...more) as object)
const sent = oddJson(
  metadata,
  ['software_statement', 'client_id', 'authorities', 'autoapprove', 'allowedproviders', 'redirect_uri'],
  1,
)

const list = (value: unknown): readonly unknown[] => [value ?? []].flat()

/** Metadata in client registrations: no member reserved for administrators, and no URL that a browser would run. */
export const registration = target({
  name: 'registration',
  inputs: fc.oneof(
    { weight: 3, arbitrary: sent },
    changed(sent, ['"scope":"uaa.admin",', '"authorities":["uaa.admin"],', '\\u0000', '[', '{']),
  ),
  check: text =>
    verdictOf(
      [OAuthError, MalformedInput],
      () => readMetadata(parseJsonObject(text), { zone, policy, behaviour }),
      ({ json, grantTypes, responseTypes }) => {
        assert.ok(grantTypes.every(grant => policy.grantTypes.includes(grant)))
        assert.ok(
          responseTypes.every(type => type === 'code' || type === 'none'),
          String(responseTypes),
        )
        for (const name of ['authorities', 'autoapprove', 'allowedproviders', 'client_id', 'client_secret']) {
          assert.equal(memberOf(json, name), undefined, name)
        }
        for (const scope of list(memberOf(json, 'scope')).flatMap(each => String(each).split(/[\s,]+/))) {
          assert.ok(scope === '' || policy.scopes.includes(scope), scope)
        }
        for (const uri of list(memberOf(json, 'redirect_uri'))) {
          assert.doesNotMatch(String(uri), /^(?:javascript|data|file|vbscript|blob):|[*#\s\\]/i)
        }
        const rules = { service, exactRedirectUri: true, furtherProtocols: behaviour.furtherProtocols }
        const { definition } = clientFromJson({ ...json, client_id: 'new' }, rules, {
          as: 'configured',
          withSecondSecret: false,
        })
        assert.deepEqual(
          definition.authorities.filter(each => each !== 'svc.none' && each !== 'uaa.none'),
          [],
        )
        assert.ok(isJsonRecord(json) && !('polluted' in {}))
      },
    ),
})
