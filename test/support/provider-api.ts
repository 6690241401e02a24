// Shared by tests of the identity provider API: administrators, complete records, and a search of all server output
// for secrets.
import { defaultBootstrap } from './server.ts'
import assert from 'node:assert/strict'
import { systemClock } from '../../src/base/clock.ts'
import { tokensOf } from './oauth.ts'
import { createSamlIdp } from './saml/saml-idp.ts'
import { samlTestKey } from './saml/saml-signing.ts'
import type { TestAnswer, TestRequest, TestServer } from './server.ts'

/** A record as it is sent. */
export type Members = Readonly<Record<string, unknown>>

/** A provider as the API answers it, with its config as an object. */
export interface ProviderAnswer {
  readonly type: string
  readonly config: Members
  readonly id: string
  readonly originKey: string
  readonly name: string
  readonly version: number
  readonly created: number
  readonly last_modified: number
  readonly active: boolean
  readonly identityZoneId: string
  readonly aliasId: string | null
  readonly aliasZid: string | null
}

/** Every secret that these tests send begins with it. */
export const SECRET_MARK = 'hush-hush'

const caller = (id: string, ...authorities: readonly string[]) => ({
  client_id: id,
  client_secret: `${id}-secret`,
  authorized_grant_types: ['client_credentials'],
  authorities,
})

/** Host of the zone `z1`. */
export const HOST_OF_Z1 = 'z1.localhost:8080'

/** Names of the default zone's administrators, and what each may do. */
export const CALLERS = {
  admin: ['svc.admin'],
  reader: ['idps.read'],
  writer: ['idps.write'],
  'zone-admin': ['zones.svc.admin'],
  'z1-admin': ['zones.z1.admin'],
  'z1-reader': ['zones.z1.idps.read'],
  'z1-writer': ['zones.z1.idps.write'],
  'z1-clients': ['zones.z1.clients.admin'],
  stranger: ['clients.admin', 'scim.write'],
} as const

/** The usual accounts, administrators, a zone with administrators of its own, and one that is not active. */
export const providerBootstrap = {
  ...defaultBootstrap,
  clients: [...defaultBootstrap.clients, ...Object.entries(CALLERS).map(([id, scopes]) => caller(id, ...scopes))],
  identity_zones: [
    {
      id: 'z1',
      subdomain: 'z1',
      name: 'Zone 1',
      bootstrap: {
        clients: [
          caller('admin', 'svc.admin'),
          caller('writer', 'idps.write', 'idps.read'),
          caller('pretender', 'zones.z1.admin', 'zones.svc.admin'),
        ],
      },
    },
    { id: 'z2', subdomain: 'z2', name: 'Zone 2', active: false },
  ],
}

/** An access token of one of the administrators. */
export async function tokenOf(server: TestServer, id: string, request: TestRequest = {}): Promise<string> {
  const form = { grant_type: 'client_credentials' }
  return tokensOf(await server.token(form, { basic: [id, `${id}-secret`], ...request })).access_token
}

/** A call of the API. */
export interface ProviderCall extends TestRequest {
  /** Whose token is sent; by default that of the administrator. */
  readonly as?: string
  /** Below `/identity-providers`. */
  readonly path?: string
  /** A record, sent as JSON; a text as it is. */
  readonly json?: unknown
}

/** A caller of the API, which keeps every answer for `assertNoSecrets`. */
export interface ProviderApi {
  call(call?: ProviderCall): Promise<TestAnswer>
  /** Creates a provider; it must work. */
  create(json: Members, call?: ProviderCall): Promise<ProviderAnswer>
  read(id: string, call?: ProviderCall): Promise<ProviderAnswer>
  /** Asserts that no response so far, no audit event and no log line contains a secret. */
  assertNoSecrets(): void
}

/** Calls the API of a server; answers have their config as an object unless a call says otherwise. */
export function providerApi(server: () => TestServer): ProviderApi {
  const answers: string[] = []
  const api: ProviderApi = {
    async call({ as = 'admin', path = '', json, ...request } = {}) {
      const where = request.host === undefined ? {} : { host: request.host }
      const bearer = request.bearer ?? (await tokenOf(server(), as, where))
      const answer = await server().send(`/identity-providers${path}`, {
        ...(json !== undefined && { body: typeof json === 'string' ? json : JSON.stringify(json) }),
        query: { rawConfig: 'true' },
        ...request,
        bearer,
        headers: { ...(json !== undefined && { 'content-type': 'application/json' }), ...request.headers },
      })
      answers.push(`${answer.text} ${JSON.stringify(answer.headers)}`)
      return answer
    },
    async create(json, call = {}) {
      const answer = await api.call({ method: 'POST', json, ...call })
      assert.equal(answer.status, 201, answer.text)
      return answer.json<ProviderAnswer>()
    },
    async read(id, call = {}) {
      const answer = await api.call({ path: `/${id}`, ...call })
      assert.equal(answer.status, 200, answer.text)
      return answer.json<ProviderAnswer>()
    },
    assertNoSecrets() {
      assert.ok(answers.length > 0)
      const texts = [...answers, JSON.stringify(server().events), JSON.stringify(server().faults)]
      for (const text of texts) assert.ok(!text.includes(SECRET_MARK), text)
    },
  }
  return api
}

/** A complete OpenID Connect provider. */
export const oidc = (originKey: string, config: Members = {}, more: Members = {}): Members => ({
  type: 'oidc1.0',
  originKey,
  name: `The ${originKey}`,
  config: {
    authUrl: `https://${originKey}.example/authorize`,
    tokenUrl: `https://${originKey}.example/token`,
    tokenKeyUrl: `https://${originKey}.example/keys`,
    issuer: `https://${originKey}.example`,
    relyingPartyId: 'me',
    relyingPartySecret: `${SECRET_MARK} of ${originKey}`,
    linkText: originKey,
    ...config,
  },
  ...more,
})

const samlKey = samlTestKey('ec')

/** Metadata of an entity that signs users in. */
export const metadata = (entityId: string): string =>
  `<?xml version="1.0"?>${createSamlIdp({ clock: systemClock, to: { entityId: 'x', recipient: 'x' }, entityId, key: samlKey }).metadata()}`

/** A complete SAML provider. */
export const saml = (originKey: string, config: Members = {}, more: Members = {}): Members => ({
  type: 'saml',
  originKey,
  name: `The ${originKey}`,
  config: { metaDataLocation: metadata(`https://${originKey}.example/saml`), ...config },
  ...more,
})

/** A directory; a zone has one at most. */
export const ldap = (config: Members = {}, more: Members = {}): Members => ({
  type: 'ldap',
  originKey: 'ldap',
  name: 'Directory',
  config: {
    ldapProfileFile: 'ldap/ldap-search-and-bind.xml',
    baseUrl: 'ldap://directory.example',
    bindUserDn: 'cn=admin',
    bindPassword: `${SECRET_MARK} of the directory`,
    ...config,
  },
  ...more,
})
