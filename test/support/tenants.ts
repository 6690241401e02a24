// What tests of isolation share: a default zone and two tenants of one shape, in which everything has the same name, and
// the tenants' secrets, which tell by themselves whose they are.
import { exportJWK, generateKeyPair, SignJWT } from 'jose'
import { signedIn } from './authorize.ts'
import { privatePem } from './config.ts'
import { tokensOf } from './oauth.ts'
import type { Browser, TestRequest, TestServer } from './server.ts'

/** A zone by the name that its host, path, id, secrets and passwords have. */
export type Tenant = 'svc' | 'zone-a' | 'zone-b'

/** A marker in every private record of the tenant, and in none of its public pages. */
export const markOf = (tenant: Tenant): string => `known-to-${tenant}-only`

/** The only client with a unique id. */
export const onlyClientOf = (tenant: Tenant): string => `client-of-${tenant}`

/** Host of the tenant. */
export const hostOf = (tenant: Tenant): string => (tenant === 'svc' ? 'localhost:8080' : `${tenant}.localhost:8080`)

/** Rights that `zones.<id>.` may stand before. */
export const ZONE_RIGHTS = [
  'admin',
  'read',
  'clients.admin',
  'clients.read',
  'clients.write',
  'scim.read',
  'scim.write',
  'scim.create',
  'scim.invite',
  'idps.read',
  'idps.write',
  'sps.read',
  'sps.write',
]

/** All administrative rights; those of a tenant apply only there. */
export const EVERY_RIGHT: readonly string[] = [
  'svc.admin',
  'svc.resource',
  'clients.admin',
  'clients.read',
  'clients.write',
  'clients.secret',
  'clients.trust',
  'idps.read',
  'idps.write',
  'zones.read',
  'zones.write',
  'tokens.list',
  'tokens.revoke',
  'oauth.login',
  'scim.read',
  'scim.write',
  ...(['svc', 'zone-a', 'zone-b'] as const).flatMap(id => ZONE_RIGHTS.map(right => `zones.${id}.${right}`)),
]

const { privateKey, publicKey } = await generateKeyPair('ES256')
const jwks = { keys: [{ ...(await exportJWK(publicKey)), kid: 'k1', alg: 'ES256' }] }
/** One key for all, so that tokens of different zones differ only in the issuer. */
const tokenPolicy = {
  activeKeyId: 'same',
  keys: { same: { signingKey: privatePem('rsa', 2048), signingAlg: 'RS256' } },
}

function contentOf(tenant: Tenant) {
  const mark = markOf(tenant)
  const client = (id: string, more: object) => ({
    client_id: id,
    client_secret: `${id} of ${mark}`,
    name: `Name ${mark}`,
    note: { kept: mark },
    ...more,
  })
  const own = ['authorization_code', 'refresh_token', 'password', 'client_credentials', 'user_token']
  const actsItself = { authorized_grant_types: ['client_credentials'] }
  return {
    groups: [
      { displayName: 'cloud.read', description: mark },
      ...['svc.admin', 'clients.admin', 'idps.write', 'zones.write', 'tokens.list'].map(displayName => ({
        displayName,
      })),
    ],
    clients: [
      client('app', {
        authorized_grant_types: own,
        scope: ['openid', 'svc.user', 'svc.admin', 'clients.admin', 'idps.write', 'zones.write', 'cloud.read'],
        authorities: ['svc.resource'],
        redirect_uri: ['https://app.example/cb'],
        autoapprove: true,
      }),
      client('root', { ...actsItself, authorities: EVERY_RIGHT }),
      client('admin-of-a', { ...actsItself, authorities: ZONE_RIGHTS.map(right => `zones.zone-a.${right}`) }),
      client(onlyClientOf(tenant), { ...actsItself, authorities: ['cloud.read'] }),
      client('jwt', {
        authorized_grant_types: ['client_credentials', 'urn:ietf:params:oauth:grant-type:jwt-bearer'],
        authorities: ['svc.admin'],
        scope: ['openid', 'svc.admin'],
        jwks,
      }),
    ],
    users: [
      {
        userName: 'marissa',
        password: `koala of ${mark}`,
        emails: [{ value: `marissa@${mark}.example` }],
        name: { givenName: 'Marissa', familyName: mark },
        groups: ['svc.admin', 'clients.admin', 'idps.write', 'zones.write', 'cloud.read'],
      },
    ],
    identity_providers: [
      {
        originKey: 'corp',
        type: 'oidc1.0',
        name: `Provider ${mark}`,
        config: {
          authUrl: 'https://corp.example/authorize',
          tokenUrl: 'https://corp.example/token',
          tokenKeyUrl: 'https://corp.example/keys',
          issuer: 'https://corp.example',
          relyingPartyId: mark,
          relyingPartySecret: `secret ${mark}`,
          linkText: 'Corp',
          showLinkText: false,
        },
      },
    ],
  }
}

const tenantZone = (id: Tenant) => ({
  id,
  subdomain: id,
  name: 'Tenant',
  description: markOf(id),
  config: { tokenPolicy, links: { logout: { whitelist: [`https://${markOf(id)}.example/`] } } },
  bootstrap: contentOf(id),
})

/** The configuration of a server with both tenants. */
export const tenantsConfig = {
  zone_config: { tokenPolicy },
  bootstrap: { ...contentOf('svc'), identity_zones: [tenantZone('zone-a'), tenantZone('zone-b')] },
}

/** Credentials, sessions and tokens of a tenant, and the ids of its records. */
export interface Belongings {
  readonly tenant: Tenant
  /** The token of a client with all rights. */
  readonly adminToken: string
  /** The token of a client with all rights in the zone `zone-a`. */
  readonly zoneToken: string
  readonly userToken: string
  readonly refreshToken: string
  readonly idToken: string
  readonly opaqueToken: string
  readonly passcode: string
  /** Signed in. */
  readonly browser: Browser
  /** Ids of records, by what they are. */
  readonly ids: Readonly<Record<'zone' | 'user' | 'provider' | 'token', string>>
  /** Credentials of a client. */
  basic(id: string): readonly [string, string]
  /** A fresh code for the client `app`. */
  code(): Promise<string>
  /** A client assertion for the tenant's own token endpoint. */
  assertion(): Promise<string>
}

/** Signs a user in, and requests one of each credential of the tenant. */
export async function recordsOf(server: TestServer, tenant: Tenant): Promise<Belongings> {
  const host = hostOf(tenant)
  const mark = markOf(tenant)
  const basic = (id: string) => [id, `${id} of ${mark}`] as const
  const ask = async (form: Readonly<Record<string, string>>, id: string) =>
    tokensOf(await server.token(form, { basic: basic(id), host }))
  const asMarissa = { grant_type: 'password', username: 'marissa', password: `koala of ${mark}` }
  const user = await ask(asMarissa, 'app')
  const opaque = await ask({ ...asMarissa, token_format: 'opaque' }, 'app')
  const browser = await signedIn(server, 'marissa', `koala of ${mark}`, host)
  const passcode = await browser.send('/passcode', { headers: { accept: 'application/json' } })
  const { provider } =
    (await server.store.providers.list(tenant)).find(each => each.provider.originKey === 'corp') ?? {}
  const account = await server.store.users.findByName(tenant, 'svc', 'marissa')
  const credentials = { grant_type: 'client_credentials' }
  return {
    tenant,
    adminToken: (await ask(credentials, 'root')).access_token,
    zoneToken: (await ask(credentials, 'admin-of-a')).access_token,
    userToken: user.access_token,
    refreshToken: user.refresh_token,
    idToken: user.id_token,
    opaqueToken: opaque.access_token,
    passcode: String(passcode.json<unknown>()),
    browser,
    ids: { zone: tenant, user: account?.id ?? '', provider: provider?.id ?? '', token: opaque.access_token },
    basic,
    async code() {
      const query = { response_type: 'code', client_id: 'app', redirect_uri: 'https://app.example/cb' }
      return (await browser.send('/oauth/authorize', { query })).location().searchParams.get('code') ?? ''
    },
    assertion: () =>
      new SignJWT({})
        .setProtectedHeader({ alg: 'ES256', kid: 'k1' })
        .setIssuer('jwt')
        .setSubject('jwt')
        .setAudience(`http://${host}/oauth/token`)
        .setJti(crypto.randomUUID())
        .setIssuedAt(Math.floor(server.clock.now().getTime() / 1000))
        .setExpirationTime(Math.floor(server.clock.now().getTime() / 1000) + 60)
        .sign(privateKey),
  }
}

/** The ways to address a tenant, except the zone header of administrators. */
export const waysTo = (
  tenant: Tenant,
): readonly { readonly name: string; readonly prefix: string; readonly request: TestRequest }[] => [
  { name: 'its host', prefix: '', request: { host: hostOf(tenant) } },
  { name: 'its path', prefix: tenant === 'svc' ? '' : `/z/${tenant}`, request: {} },
]
