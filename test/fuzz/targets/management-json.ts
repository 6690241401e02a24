import assert from 'node:assert/strict'
import fc from 'fast-check'
import { readZoneBody, refuseBadId, refuseBadNames, refuseUnnamed } from '../../../src/admin/zones/body.ts'
import { isJsonRecord, memberOf } from '../../../src/base/json.ts'
import type { JsonRecord } from '../../../src/base/json.ts'
import { clientFromJson, clientToJson } from '../../../src/clients/client-json.ts'
import { fitsLogoutEntry, resolveRedirectUri } from '../../../src/clients/redirect-uri.ts'
import type { Client } from '../../../src/model/clients/client.ts'
import { behaviourOf } from '../../../src/model/compatibility.ts'
import { OAuthError } from '../../../src/model/oauth-error.ts'
import { serviceNamed } from '../../../src/model/service.ts'
import type { IdentityProvider } from '../../../src/model/zones/identity-provider.ts'
import { InvalidZoneConfig, checkZoneConfig } from '../../../src/model/zones/zone-rules.ts'
import { echoOf, providerFromJson, providerToJson } from '../../../src/providers/provider-json.ts'
import { WrongShape, readSettings, showSettings } from '../../../src/records/settings.ts'
import { standardDefaultGroups, zoneConfigSettings } from '../../../src/records/zone-config.ts'
import { MalformedInput } from '../../../src/web/requests/form.ts'
import { parseJsonObject } from '../../../src/web/requests/json.ts'
import { changed, oddJson } from '../changes.ts'
import { target, verdictOf } from '../target.ts'
import type { Verdict } from '../target.ts'

const service = serviceNamed('svc')
const { furtherProtocols } = behaviourOf('standard')
const now = new Date(0)
/** No answer may have it. */
const SECRET = 'hunter2-secret'

const CLIENTS: readonly object[] = [
  {
    client_id: 'app',
    client_secret: SECRET,
    authorized_grant_types: ['authorization_code', 'refresh_token'],
    redirect_uri: ['https://app.example/cb'],
    scope: 'openid,profile',
    autoapprove: ['openid'],
    access_token_validity: 60,
    allowedproviders: ['svc'],
    name: 'App',
    note: { kept: true },
  },
  {
    client_id: 'job',
    client_secret: SECRET,
    authorized_grant_types: 'client_credentials',
    authorities: ['jobs.run'],
    token_endpoint_auth_method: 'client_secret_basic',
  },
  {
    client_id: 'keys',
    authorized_grant_types: ['client_credentials'],
    jwks: { keys: [{ kty: 'OKP', crv: 'Ed25519', kid: '1', x: '11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo' }] },
    secondFactor: { requirement: 'required' },
  },
]
const PROVIDERS: readonly object[] = [
  {
    type: 'oidc1.0',
    originKey: 'okta',
    name: 'Okta',
    config: {
      issuer: 'https://idp.example',
      authUrl: 'https://idp.example/auth',
      tokenUrl: 'https://idp.example/token',
      tokenKeyUrl: 'https://idp.example/keys',
      relyingPartyId: 'me',
      relyingPartySecret: SECRET,
      emailDomain: ['example.org'],
      attributeMappings: { user_name: 'sub' },
    },
  },
  {
    type: 'ldap',
    originKey: 'ldap',
    name: 'Directory',
    config: JSON.stringify({
      ldapProfileFile: 'ldap/ldap-search-and-bind.xml',
      baseUrl: 'ldaps://ldap.example',
      bindUserDn: 'cn=admin',
      bindPassword: SECRET,
    }),
  },
  { type: 'svc', originKey: 'svc', name: 'svc', config: { passwordPolicy: { minLength: 8 } } },
  {
    type: 'saml',
    originKey: 'adfs',
    name: 'ADFS',
    config: { metaDataLocation: 'https://idp.example/md', idpEntityAlias: 'adfs' },
  },
]
const ZONES: readonly object[] = [
  { id: 'acme', subdomain: 'Acme', name: 'Acme', config: {} },
  {
    subdomain: 'a.b',
    name: 'B',
    description: 'x',
    active: false,
    version: 1,
    config: {
      links: { logout: { redirectUrl: '/login', whitelist: ['https://app.example/*'] }, homeRedirect: '/home' },
      branding: { companyName: 'Acme', banner: { text: 'Hi', link: 'https://acme.example' } },
      tokenPolicy: { accessTokenValidity: 60, jwtRevocable: true },
      clientSecretPolicy: { minLength: 4 },
      corsPolicy: { xhrConfiguration: { allowedOrigins: ['https://app.example'] } },
      registration: { mode: 'open', scopes: ['openid'] },
    },
  },
]
const KINDS = ['client', 'provider', 'zone'] as const
type Kind = (typeof KINDS)[number]
const SAMPLES: Readonly<Record<Kind, readonly object[]>> = { client: CLIENTS, provider: PROVIDERS, zone: ZONES }
const MEMBERS =
  'client_secret secondary_client_secret redirect_uri jwks_uri scope authorities lastModified config ' +
  'type originKey active version aliasZid relyingPartySecret bindPassword tokenKey ' +
  'id subdomain samlConfig keys issuer links secondFactor zoneId identityZoneId'
const PIECES = [
  '"scope":["svc.admin"],',
  '"redirect_uri":"javascript:alert(1)",',
  '"client_secret":"",',
  '\\u0000',
  '[',
  '{',
]
const bodyOf = (kind: Kind): fc.Arbitrary<string> => {
  const near = oddJson(fc.constantFrom(...SAMPLES[kind]), MEMBERS.split(' '), 2)
  return fc.oneof({ weight: 3, arbitrary: near }, changed(near, PIECES))
}

/** The message of an error, for each of its three kinds. */
class Refused extends Error {}

function refuseAll(problems: readonly { readonly key: string; readonly message: string }[]): void {
  for (const { key, message } of problems)
    assert.ok(typeof key === 'string' && message !== '', 'a problem without a message')
  if (problems.length > 0) throw new Refused()
}

const UNSAFE_URI = /^(?:javascript|data|vbscript):|\s/i

const asSent = (value: unknown): JsonRecord => JSON.parse(JSON.stringify(value)) as JsonRecord // an object goes in

function readClient(json: JsonRecord, exactRedirectUri: boolean): void {
  const rules = { service, exactRedirectUri, furtherProtocols }
  const read = clientFromJson(json, rules, { as: 'created', withSecondSecret: false })
  refuseAll(read.problems)
  const { definition, secrets } = read
  assert.match(definition.clientId, /^[^/\\\p{Cc}]{1,255}$/u)
  // In uaa, clients without a grant that redirects may store any text (row A15).
  for (const uri of definition.redirectUris.filter(each => UNSAFE_URI.test(each))) {
    assert.equal(exactRedirectUri, false, uri)
    assert.equal(resolveRedirectUri(definition, uri, { exactRedirectUri }), undefined)
    assert.equal(fitsLogoutEntry(uri, uri), false)
  }
  for (const scope of [...definition.scope, ...definition.authorities]) assert.match(scope, /^[^\s,]+$/)
  assert.equal(secrets.length > 0, typeof json['client_secret'] === 'string')
  const client: Client = { ...definition, zoneId: 'svc', secrets: [], createdAt: now, updatedAt: now }
  const shown = asSent(clientToJson(client))
  for (const name of ['client_secret', 'secondary_client_secret']) assert.ok(!Object.hasOwn(shown, name), name)
  const again = clientFromJson(shown, rules, { as: 'updated', withSecondSecret: false })
  assert.deepEqual(again.problems, [], 'rejects its own output')
  assert.deepEqual(asSent({ ...client, ...again.definition }), asSent(client), 'differs when read again')
}

/** Settings in a response have no text in place of a secret. */
function assertHidden(config: unknown): void {
  for (const name of ['relyingPartySecret', 'bindPassword']) {
    assert.notEqual(typeof memberOf(config, name), 'string', `shows ${name}`)
  }
}

function readProvider(json: JsonRecord): void {
  for (const raw of [true, false]) {
    const echo = asSent(echoOf(json, { raw }))['config']
    assertHidden(raw || typeof echo !== 'string' ? echo : JSON.parse(echo))
  }
  const { definition, problems } = providerFromJson(json, { serviceName: 'svc' })
  refuseAll(problems)
  const dates = { zoneId: 'svc', id: 'p1', createdAt: now, updatedAt: now }
  const provider: IdentityProvider = { ...dates, ...definition }
  for (const raw of [true, false]) {
    const shown = asSent(providerToJson(provider, { serviceName: 'svc', raw }))
    assertHidden(raw ? shown['config'] : JSON.parse(String(shown['config'])))
    const again = providerFromJson(shown, { serviceName: 'svc', before: provider })
    assert.deepEqual(again.problems, [], 'rejects its own output')
    assert.deepEqual(again.definition.externalKey, definition.externalKey)
    assert.equal(again.definition.originKey, definition.originKey)
    const next = asSent(providerToJson({ ...dates, ...again.definition }, { serviceName: 'svc', raw }))
    assert.deepEqual(next, shown, 'differs when read again')
  }
}

const settings = zoneConfigSettings('svc')

/** An empty section is the same as none: it is shown if it had an empty section of its own. */
function withoutEmpty(value: unknown): unknown {
  if (!isJsonRecord(value)) return value
  const members = Object.entries(value).map(([name, each]) => [name, withoutEmpty(each)] as const)
  return Object.fromEntries(members.filter(([, each]) => !(isJsonRecord(each) && Object.keys(each).length === 0)))
}

function readZone(json: JsonRecord): void {
  const body = readZoneBody(json)
  refuseUnnamed(body)
  if (body.id !== undefined) refuseBadId(body.id)
  refuseBadNames(body)
  const config = readSettings(settings, body.config, 'config')
  checkZoneConfig(config, { standardDefaultGroups: standardDefaultGroups('svc'), service })
  assert.match(body.subdomain, /^[a-z0-9_](?:[a-z0-9._-]{0,253}[a-z0-9_])?$/)
  assert.ok(body.id === undefined || /^[^\s.,+*/"\\]{1,36}$/.test(body.id))
  const shown = asSent(showSettings(settings, config))
  const again = readSettings(settings, shown, 'config')
  checkZoneConfig(again, { standardDefaultGroups: standardDefaultGroups('svc'), service })
  const next = asSent(showSettings(settings, again))
  assert.deepEqual(withoutEmpty(next), withoutEmpty(shown), 'differs when read again')
}

const READERS: Readonly<Record<Kind, (json: JsonRecord, exactRedirectUri: boolean) => void>> = {
  client: readClient,
  provider: readProvider,
  zone: readZone,
}
type Input = readonly [body: string, kind: Kind, exactRedirectUri: boolean]

/** Bodies of the management APIs: what was accepted is shown without secrets, and accepted again as the same. */
export const managementJson = target<Input>({
  name: 'management-json',
  inputs: fc.constantFrom(...KINDS).chain(kind => fc.tuple(bodyOf(kind), fc.constant(kind), fc.boolean())),
  check: ([body, kind, exactRedirectUri]): Verdict =>
    verdictOf([Refused, OAuthError, MalformedInput, WrongShape, InvalidZoneConfig], () => {
      READERS[kind](parseJsonObject(body), exactRedirectUri)
      assert.ok(!('polluted' in {}))
    }),
})
