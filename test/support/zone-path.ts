// Shared by tests of zones by path: zones with the same clients, user names and key, requests with unchanged paths,
// and a jar that keeps cookies by name and path as RFC 6265 §5.3 says. It sends those of short paths first, so that nothing
// may rely on the order.
import { request as httpRequest } from 'node:http'
import { exportJWK, generateKeyPair } from 'jose'
import { privatePem } from './config.ts'
import { hiddenFields, setCookies } from './forms.ts'
import { APP, tokensOf } from './oauth.ts'
import type { TestAnswer, TestRequest, TestServer } from './server.ts'
import { defaultBootstrap } from './server.ts'

/** The Accept header of a browser. */
export const HTML = { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' }
/** The error for a missing zone. */
export const UNKNOWN = 'The subdomain does not map to a valid identity zone.'

const { privateKey, publicKey } = await generateKeyPair('ES256')
/** The key of the client `signer`. */
export const signerKey = privateKey
const jwks = { keys: [{ ...(await exportJWK(publicKey)), kid: 'k1', alg: 'ES256' }] }

const clients = [
  ...defaultBootstrap.clients,
  { client_id: 'signer', jwks, authorized_grant_types: ['client_credentials'], authorities: ['jobs.run'] },
  {
    client_id: 'porter',
    client_secret: 'porter-secret',
    authorized_grant_types: ['password', 'urn:ietf:params:oauth:grant-type:jwt-bearer'],
    scope: ['openid', 'cloud.read'],
    autoapprove: true,
  },
  {
    client_id: 'root',
    client_secret: 'root-secret',
    authorized_grant_types: ['client_credentials'],
    authorities: ['svc.admin', 'zones.x.admin', 'clients.trust'],
  },
]
/** Credentials of the client with the JWT bearer grant. */
export const PORTER = ['porter', 'porter-secret'] as const
/** Credentials of the administrator of the server and of the zone `x`. */
export const ROOT = ['root', 'root-secret'] as const

/** One key for all, so that tokens of different zones differ only in the issuer. */
export const pem = privatePem('rsa', 2048)
const tokenPolicy = { activeKeyId: 'same', keys: { same: { signingKey: pem, signingAlg: 'RS256' } } }

const zoneRecord = (id: string, more: object = {}, config: object = {}) => ({
  id,
  subdomain: id,
  name: `Zone ${id}`,
  config: { tokenPolicy, accountChooserEnabled: true, ...config },
  bootstrap: { ...defaultBootstrap, clients, users: [{ ...defaultBootstrap.users[0], password: `koala-${id}` }] },
  ...more,
})

/** The default zone, and zones that each differ in one setting, named by their id. */
export const bootstrap = {
  ...defaultBootstrap,
  clients,
  identity_zones: [
    zoneRecord('x'),
    zoneRecord('y'),
    zoneRecord('off', { active: false }),
    { ...zoneRecord('a.b'), id: 'a-b' },
    zoneRecord('named', {}, { issuer: 'https://issuer.example' }),
    { ...zoneRecord('called-default'), subdomain: 'default' },
    zoneRecord('styled', {}, { branding: { banner: { text: 'Hello', backgroundColor: '#123456' } } }),
  ],
}
/** Settings of the default zone. */
export const zone_config = { tokenPolicy, accountChooserEnabled: true }
/** The password of the user `marissa` in a zone of the name. */
export const passwordIn = (zone: string): string => (zone === 'default' ? 'koala' : `koala-${zone}`)

/** Requests to the token endpoints of zones, which are named by their path below that of the base URL. */
export function zoneTokens(server: () => TestServer, path: string) {
  const token = (zone: string, form: Form, basic: readonly [string, string] = APP): Promise<TestAnswer> =>
    server().send(`${path}${zone}/oauth/token`, { form, basic })
  return {
    token,
    /** The tokens of `marissa`, by the password grant. */
    signIn: async (zone: string, password: string, form: Form = {}, basic?: readonly [string, string]) =>
      tokensOf(await token(zone, { grant_type: 'password', username: 'marissa', password, ...form }, basic)),
  }
}

type Form = Readonly<Record<string, string>>

/** Sends a request line unchanged; `inject` would remove dot segments. */
export function sendRaw(
  port: number,
  path: string,
  { method = 'GET', ...headers }: Readonly<Record<string, string>> & { readonly method?: string } = {},
): Promise<TestAnswer> {
  return new Promise((resolve, reject) => {
    const sent = httpRequest({ host: '127.0.0.1', port, path, method, headers: { host: 'id.example', ...headers } })
    sent.on('error', reject).on('response', response => {
      const parts: Buffer[] = []
      response
        .on('data', (part: Buffer) => parts.push(part))
        .on('end', () => {
          const text = Buffer.concat(parts).toString()
          const { statusCode: status = 0, headers: received } = response
          const location = (): URL => new URL(received.location ?? '')
          resolve({ status, headers: received, text, json: () => JSON.parse(text), location, cookies: {} })
        })
    })
    sent.end()
  })
}

/** A cookie jar that respects paths. */
export interface Jar {
  readonly cookies: Map<string, { readonly name: string; readonly value: string; readonly path: string }>
  /** Requests a path, with the cookies that belong there, and keeps those that come back. */
  send(path: string, request?: TestRequest): Promise<TestAnswer>
  /** Signs in by the pages below the prefix. */
  signIn(prefix: string, password: string): Promise<TestAnswer>
  /** Who is signed in below the prefix: the home page shows it. */
  isSignedIn(prefix: string): Promise<boolean>
}

/** An empty jar. */
export function jarOf(server: TestServer): Jar {
  const cookies: Jar['cookies'] = new Map()
  const matches = (path: string, cookiePath: string): boolean =>
    path === cookiePath ||
    (path.startsWith(cookiePath) && (cookiePath.endsWith('/') || path[cookiePath.length] === '/'))
  const jar: Jar = {
    cookies,
    async send(path, request = {}) {
      const sent = [...cookies.values()]
        .filter(cookie => matches(path.replace(/\?.*$/s, ''), cookie.path))
        .toSorted((a, b) => a.path.length - b.path.length)
      const header = sent.map(({ name, value }) => `${name}=${value}`).join('; ')
      const answer = await server.send(path, {
        ...request,
        headers: { ...(header !== '' && { cookie: header }), ...request.headers },
      })
      for (const [name, line] of Object.entries(setCookies(answer))) {
        const value = /=([^;]*)/.exec(line)?.[1] ?? ''
        const cookiePath = /; Path=([^;]*)/.exec(line)?.[1] ?? '/'
        if (value === '') cookies.delete(`${name} ${cookiePath}`)
        else cookies.set(`${name} ${cookiePath}`, { name, value, path: cookiePath })
      }
      return answer
    },
    async signIn(prefix, password) {
      const page = await jar.send(`${prefix}/login`)
      const action = /<form action="([^"]*login\.do)"/.exec(page.text)?.[1] ?? `${prefix}/login.do`
      return jar.send(action, { form: { ...hiddenFields(page.text), username: 'marissa', password } })
    },
    isSignedIn: async prefix => (await jar.send(`${prefix}/home`)).status === 200,
  }
  return jar
}
