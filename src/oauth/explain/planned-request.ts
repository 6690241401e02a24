// A hypothetical request: client, user and grant.
import type { Client } from '../../model/clients/client.ts'
import { hasCredential } from '../../model/clients/client.ts'
import { OAuthError } from '../../model/oauth-error.ts'
import type { AddressedZone } from '../../model/request.ts'
import type { ScopeTrace } from '../../model/rules.ts'
import type { User } from '../../model/users/user.ts'
import { parseForm } from '../../web/requests/form.ts'
import type { DecidedRequest } from '../grants/grant.ts'
import { readParams } from '../params.ts'
import type { Params } from '../params.ts'
import type { ExplainDeps } from './deps.ts'

/** The request that would be sent. */
export interface PlannedRequest {
  readonly clientId: string
  readonly grantType: string
  readonly user?: PlannedUser | undefined
  readonly scope?: string | undefined
  readonly resources?: readonly string[] | undefined
  readonly acrValues?: string | undefined
  readonly tokenFormat?: string | undefined
  readonly refreshToken?: string | undefined
  /** Only for an exchange. */
  readonly subjectToken?: string | undefined
  readonly audience?: string | undefined
  /** Scopes to be explained although the request does not ask for them. */
  readonly about?: readonly string[] | undefined
}

/** By id, or by name and provider. */
export type PlannedUser =
  | { readonly id: string }
  /** `origin` is that of this server's own accounts unless given. */
  | { readonly userName: string; readonly origin?: string | undefined }

const ACCESS_TOKEN = 'urn:ietf:params:oauth:token-type:access_token'

/** The parameters of the token request. */
export function paramsOf(planned: PlannedRequest): Params {
  const form = new URLSearchParams()
  const set = (name: string, value: string | undefined): void => {
    if (value !== undefined) form.append(name, value)
  }
  set('grant_type', planned.grantType)
  set('client_id', planned.clientId)
  set('scope', planned.scope)
  set('token_format', planned.tokenFormat)
  set('refresh_token', planned.refreshToken)
  set('subject_token', planned.subjectToken)
  set('subject_token_type', planned.subjectToken === undefined ? undefined : ACCESS_TOKEN)
  set('audience', planned.audience)
  for (const resource of planned.resources ?? []) form.append('resource', resource)
  return readParams(parseForm(form.toString()))
}

/** The request as the decisions of the grants take it. */
export function decidedRequest(
  zone: AddressedZone,
  { client, params, because }: { readonly client: Client; readonly params: Params; readonly because: ScopeTrace },
): DecidedRequest {
  const clientAuthMethod = methodOf(client)
  return { zone, client, params, because, ...(clientAuthMethod !== undefined && { clientAuthMethod }) }
}

/** The claim `client_auth_method` that the client will have, as far as its record shows. */
function methodOf(client: Client): string | undefined {
  if (!hasCredential(client)) return 'none'
  if (client.secrets.some(secret => secret.empty !== true)) return undefined
  return client.tokenEndpointAuthMethod ?? 'private_key_jwt'
}

/** The client; refuses where there is none. A document that describes one is not fetched. */
export async function findPlannedClient(
  zone: AddressedZone,
  clientId: string,
  { store }: Pick<ExplainDeps, 'store'>,
): Promise<Client> {
  const client = await store.clients.find(zone.id, clientId)
  if (client) return client
  throw new OAuthError('invalid_client', 'Bad credentials', {
    rule: 'unknown-client',
    detail: `The zone ${zone.id} has no client ${clientId.slice(0, 255)}.`,
  })
}

/** The user with the names of their groups. */
export async function findPlannedUser(
  zone: AddressedZone,
  { wanted, grantType }: { readonly wanted: PlannedUser; readonly grantType: string },
  { store, service, behaviour }: Pick<ExplainDeps, 'store' | 'service' | 'behaviour'>,
): Promise<User> {
  const found =
    'id' in wanted
      ? await store.users.find(zone.id, wanted.id)
      : await store.users.findByName(zone.id, wanted.origin ?? service.name, wanted.userName)
  const user = found && (await store.users.findWithGroups(zone.id, found.id))
  if (user) return user
  const name = 'id' in wanted ? `with the id ${wanted.id}` : `${wanted.userName} of ${wanted.origin ?? service.name}`
  const { error, status } = behaviour.badCredentials
  throw new OAuthError(grantType === 'password' ? { error, status } : 'invalid_grant', 'Bad credentials', {
    rule: 'unknown-user',
    detail: `The zone ${zone.id} has no user ${name.slice(0, 300)}.`,
  })
}
