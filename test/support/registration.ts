// Shared by tests of dynamic registration: a server whose zone lets clients register, and requests to it.
import { issue } from './client-certificates.ts'
import { startServer } from './server.ts'
import type { ServerOptions, TestAnswer, TestRequest, TestServer } from './server.ts'
import { authorizeBootstrap } from './authorize.ts'
import { caller, sendJson, tokenOf } from './zones.ts'

/** A registered client; the members that tests use. */
export interface Registered {
  readonly client_id: string
  readonly client_secret: string
  readonly client_secret_expires_at: number
  readonly registration_access_token: string
  readonly registration_client_uri: string
  readonly redirect_uris: readonly string[]
  readonly grant_types: readonly string[]
  readonly response_types: readonly string[]
  readonly scope: string
  readonly token_endpoint_auth_method: string
  readonly application_type: string
}

/** The metadata of a plain application. */
export const METADATA = { redirect_uris: ['https://new.example/cb'], client_name: 'A new application' }

/** For clients that register with certificates. */
const CERTIFICATES = {
  listen: { trusted_proxies: ['192.0.2.1'] },
  mutual_tls: { trusted_ca: issue({ isAuthority: true }).pem },
}

/** A server whose default zone has the policy of registration. */
export async function startRegistrationServer(
  registration: object | undefined = { mode: 'open' },
  options: ServerOptions = {},
): Promise<TestServer> {
  const bootstrap = { ...authorizeBootstrap, clients: [...authorizeBootstrap.clients, caller('root', 'svc.admin')] }
  const server = await startServer({ ...options, config: { bootstrap, ...CERTIFICATES, ...options.config } })
  await setRegistration(server, registration)
  return server
}

/** Changes the policy of registration of a zone. */
export async function setRegistration(server: TestServer, registration: object | undefined, id = 'svc'): Promise<void> {
  const zone = await server.store.zones.find(id)
  if (!zone) throw new Error(`there is no zone ${id}`)
  const { registration: _, ...config } = zone.config
  await server.store.zones.update({ ...zone, config: { ...config, ...(registration && { registration }) } })
}

/** `POST /connect/register`. */
export const register = (server: TestServer, metadata: unknown = METADATA, request: TestRequest = {}) =>
  sendJson(server, 'POST', '/connect/register', metadata, request)

/** The answer of a registration, which must be a success. */
export function registered(answer: TestAnswer): Registered {
  if (answer.status !== 201 && answer.status !== 200) throw new Error(`${answer.status} ${answer.text}`)
  return answer.json<Registered & Record<string, unknown>>()
}

/** The path of `registration_client_uri`. */
export const managementPath = ({ registration_client_uri: uri }: Registered): string => new URL(uri).pathname

/** A request about itself that a client makes with its registration access token. */
export const manage = (server: TestServer, method: string, client: Registered, body?: unknown): Promise<TestAnswer> =>
  sendJson(server, method, managementPath(client), body, { bearer: client.registration_access_token })

/** An initial access token that an administrator makes. */
export async function initialToken(server: TestServer, more: object = {}): Promise<string> {
  const bearer = await tokenOf(server, 'root')
  const answer = await sendJson(server, 'POST', '/oauth/registration-tokens', more, { bearer })
  if (answer.status !== 201) throw new Error(`${answer.status} ${answer.text}`)
  return answer.json<{ token: string }>().token
}
