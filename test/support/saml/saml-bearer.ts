// Shared by tests of the SAML bearer grant: providers, clients, zones and a request.
import { defaultBootstrap } from '../server.ts'
import { createTestClock } from '../clock.ts'
import type { AssertionParts, SigningParts } from './saml-parts.ts'
import type { SamlIdp } from './saml-idp.ts'
import type { SamlTestKey } from './saml-signing.ts'
import { base64UrlOf } from './saml-xml.ts'
import { createSamlIdp } from './saml-idp.ts'
import { samlTestKey } from './saml-signing.ts'
import type { TestAnswer, TestServer } from '../server.ts'

/** `grant_type`. */
export const SAML_BEARER = 'urn:ietf:params:oauth:grant-type:saml2-bearer'
/** Path of the endpoint in the default zone. */
export const ALIAS = '/oauth/token/alias/latchkey'
/** URL of the endpoint in the default zone, which assertions name as recipient. */
export const RECIPIENT = `http://localhost:8080${ALIAS}`
/** Credentials of the usual client. */
export const CARRIER = ['carrier', 'secret'] as const

/** A client with the grant; `more` replaces its fields. */
export const bearerClient = (id: string, more: object = {}): object => ({
  client_id: id,
  client_secret: 'secret',
  authorized_grant_types: [SAML_BEARER, 'refresh_token', 'client_credentials', 'password'],
  scope: ['openid', 'profile', 'roles', 'user_attributes', 'cloud.read'],
  authorities: ['jobs.run'],
  autoapprove: true,
  ...more,
})

/** The record of a provider with its metadata inline. */
export const samlRecord = (originKey: string, metadata: string, { config = {}, ...more }: SamlRecord = {}): object => ({
  originKey,
  type: 'saml',
  name: originKey,
  config: { metaDataLocation: metadata, ...config },
  ...more,
})

interface SamlRecord {
  readonly config?: object
  readonly active?: boolean
}

/** Made once: a key takes a while. */
const keys = new Map<string, SamlTestKey>()
function keyOf(name: string, kind?: 'ec'): SamlTestKey {
  const key = keys.get(name) ?? samlTestKey(kind)
  keys.set(name, key)
  return key
}

/** The providers and configuration of a test, with one clock. */
export function samlWorld() {
  const clock = createTestClock()
  const to = { entityId: 'latchkey', recipient: RECIPIENT }
  const idpOf = (name: string, key = keyOf(name)): SamlIdp =>
    createSamlIdp({ clock, to, entityId: `https://${name}.example/saml`, key })
  const next = keyOf('next')
  const corp = idpOf('corp')
  const shared = idpOf('shared')
  const idps = {
    corp,
    shared,
    /** The same entity id as `shared`, in the zone `z1` only. */
    sharedOfZone: idpOf('shared', keyOf('shared of the zone')),
    closed: idpOf('closed'),
    off: idpOf('off'),
    mapped: idpOf('mapped'),
    rival: idpOf('rival'),
    curve: idpOf('curve', keyOf('curve', 'ec')),
    ofZone: createSamlIdp({
      clock,
      to: { entityId: 'z1.latchkey', recipient: 'http://z1.localhost:8080/oauth/token/alias/z1.latchkey' },
      entityId: 'https://of-zone.example/saml',
      key: keyOf('of-zone'),
    }),
    stranger: idpOf('stranger'),
  }
  const bootstrap = {
    ...defaultBootstrap,
    groups: [...defaultBootstrap.groups, { displayName: 'team.lead' }],
    clients: [
      ...defaultBootstrap.clients,
      bearerClient('carrier'),
      bearerClient('once', { authorized_grant_types: [SAML_BEARER] }),
      bearerClient('corp-only', { allowedproviders: ['corp'] }),
      bearerClient('own-only', { allowedproviders: ['svc'] }),
      bearerClient('asking', { autoapprove: [] }),
      bearerClient('strict', { required_user_groups: ['cloud.write'] }),
      bearerClient('open', {
        allowpublic: true,
        client_secret: undefined,
        authorized_grant_types: [SAML_BEARER, 'refresh_token'],
      }),
    ],
    users: [
      ...defaultBootstrap.users,
      { userName: 'known', origin: 'closed', emails: [{ value: 'known@closed.example' }], groups: ['cloud.read'] },
      { userName: 'left', origin: 'corp', emails: [{ value: 'left@corp.example' }], active: false },
    ],
    identity_providers: [
      samlRecord('corp', corp.metadata({ keys: [next] })),
      samlRecord('shared', shared.metadata()),
      samlRecord('rival', idps.rival.metadata()),
      samlRecord('curve', idps.curve.metadata()),
      samlRecord('closed', idps.closed.metadata(), { config: { addShadowUserOnLogin: false } }),
      samlRecord('off', idps.off.metadata(), { active: false }),
      samlRecord('mapped', idps.mapped.metadata(), {
        config: {
          attributeMappings: {
            given_name: 'first',
            family_name: 'last',
            email: 'mail',
            external_groups: ['groups'],
            'user.attribute.department': 'dep',
          },
          groupMappingMode: 'AS_SCOPES',
          externalGroupsWhitelist: ['*'],
          storeCustomAttributes: true,
        },
      }),
    ],
    identity_zones: [
      {
        id: 'z1',
        subdomain: 'z1',
        name: 'Zone 1',
        bootstrap: {
          clients: [bearerClient('carrier'), bearerClient('of-zone')],
          identity_providers: [
            samlRecord('shared', idps.sharedOfZone.metadata()),
            samlRecord('of-zone', idps.ofZone.metadata()),
          ],
        },
      },
    ],
  }
  return { clock, bootstrap, next, ...idps }
}

/** A request of the grant. */
export interface BearerRequest {
  readonly form?: Readonly<Record<string, string>>
  readonly basic?: readonly [string, string] | null
  readonly path?: string
  readonly host?: string
}

/** Presents an assertion, as XML. */
export const present = (
  server: TestServer,
  xml: string,
  { form, basic = CARRIER, path = ALIAS, host }: BearerRequest = {},
): Promise<TestAnswer> =>
  server.send(path, {
    form: { grant_type: SAML_BEARER, assertion: base64UrlOf(xml), ...form },
    ...(basic && { basic }),
    ...(host !== undefined && { host }),
  })

/** Presents a signed assertion of the provider. */
export const presentFrom = (
  server: TestServer,
  idp: SamlIdp,
  {
    parts,
    signing,
    ...request
  }: BearerRequest & { readonly parts?: AssertionParts; readonly signing?: SigningParts } = {},
): Promise<TestAnswer> => present(server, idp.signedAssertion(parts, signing), request)
