// Changes how a client's assertions are verified (private_key_jwt): its public keys and its `jwt_creds`.
import type { FastifyRequest } from 'fastify'
import { update } from '../../clients/changes.ts'
import { lengthProblem } from '../../clients/client-rules.ts'
import type { ClientKeys, KeyRemoval } from '../../model/clients/client-keys.ts'
import {
  keySetProblem,
  keyUriProblem,
  namesOfKeys,
  publicKeySet,
  withKeys,
  withoutKeys,
} from '../../model/clients/client-keys.ts'
import { withCredential, withoutCredential } from '../../model/clients/jwt-credentials.ts'
import { OAuthError } from '../../model/oauth-error.ts'
import { isSameSubject, jwtCredentialsProblem } from '../../records/jwt-credential.ts'
import type { JwtCredential } from '../../records/jwt-credential.ts'
import type { JsonObject } from '../../web/requests/json.ts'
import { jsonBody, sendJson } from '../../web/requests/json.ts'
import { auditOriginOf } from '../../web/requests/requester.ts'
import { isClientAdministrator, sendNotFound, unknownPrincipal } from './record.ts'
import type { On } from '../../web/deferred-routes.ts'
import type { ClientRoute } from './routes.ts'
import type { ClientWriter } from './writer.ts'
import type { AdminDeps } from '../deps.ts'
import { memberOf } from '../../base/json.ts'
import { stringIn } from '../resources/body.ts'

/** The requested change: keys to add or to remove, undefined if the body names none; or an entry of `jwt_creds`. */
type Change =
  | { readonly mode: (typeof MODES)[number]; readonly credential: JwtCredential }
  | { readonly mode: 'ADD' | 'UPDATE'; readonly keys: ClientKeys | undefined }
  | { readonly mode: 'DELETE'; readonly removal: KeyRemoval | undefined }

const refuse = (description: string): OAuthError =>
  new OAuthError({ error: 'invalid_client', status: 400 }, description)

const MODES = ['ADD', 'UPDATE', 'DELETE'] as const

const UNREADABLE = 'Client jwt configuration cannot be parsed'
const INVALID = 'Invalid jwt configuration configuration'
const INVALID_CREDENTIAL = 'Invalid federated jwt credentials'

/** `PUT /oauth/clients/{client_id}/clientjwt`. */
export function clientJwtHandler(on: On<ClientRoute>, writer: ClientWriter, deps: AdminDeps): void {
  const { store, behaviour, audit } = deps

  async function changeKeys(request: FastifyRequest, clientId: string, isThere: boolean): Promise<string | undefined> {
    checkCaller(request, clientId, deps)
    if (!isThere) return undefined // before the body is read
    const change = readChange(jsonBody(request))
    if ('credential' in change) return changeCredentials(request, clientId, change)
    if (change.mode !== 'DELETE') {
      const { keys, mode } = change
      if (!keys) return 'No key added'
      await store.clients.changeKeys(request.zone.id, clientId, before => {
        const after = withKeys(before, keys, { overwrite: mode === 'UPDATE' })
        const problem =
          after.jwks === undefined ? undefined : (keySetProblem(after.jwks) ?? lengthProblem(after, before))
        if (problem !== undefined) throw refuse(problem)
        return after
      })
      return mode === 'UPDATE' ? 'Client jwt configuration updated' : 'Client jwt configuration is added'
    }
    const { removal } = change
    if (!removal) return 'No key deleted'
    const changed = await store.clients.changeKeys(request.zone.id, clientId, before => withoutKeys(before, removal))
    return changed && changed.after !== changed.before ? 'Client jwt configuration is deleted' : 'No key deleted'
  }

  async function changeCredentials(
    request: FastifyRequest,
    clientId: string,
    { mode, credential }: Extract<Change, { credential: unknown }>,
  ): Promise<string | undefined> {
    const stored = await store.clients.findForChange(request.zone.id, clientId)
    if (!stored) return undefined
    const { jwtCreds: before = [], ...client } = stored.client
    const known = before.find(each => isSameSubject(each, credential))
    if (mode === 'ADD' && known && known.aud !== credential.aud) {
      throw refuse('jwt_creds has this iss and sub with another aud: change it with the changeMode UPDATE')
    }
    const after = mode === 'DELETE' ? withoutCredential(before, credential) : withCredential(before, credential)
    if (mode === 'DELETE' && after.length === before.length) return 'No key deleted'
    const problem = mode === 'DELETE' ? undefined : jwtCredentialsProblem(after)
    if (problem !== undefined) throw refuse(`jwt_creds ${problem}`)
    const changed = { ...client, ...(after.length > 0 && { jwtCreds: after }) }
    await writer.commit(request, [update(stored, changed, { events: [] })])
    return `Federated client jwt configuration ${{ ADD: 'is added', UPDATE: 'updated', DELETE: 'is deleted' }[mode]}`
  }

  on<{ Params: { client_id: string } }>('PUT /oauth/clients/:client_id/clientjwt', async (request, reply) => {
    const clientId = request.params.client_id
    const isThere = (await store.clients.find(request.zone.id, clientId)) !== undefined
    const report = (type: 'ClientJwtChangeSuccess' | 'ClientJwtChangeFailure', data: string) =>
      audit({
        type,
        zoneId: request.zone.id,
        principal: isThere ? clientId : unknownPrincipal(clientId),
        data,
        ...auditOriginOf(request),
      })
    try {
      const message = await changeKeys(request, clientId, isThere)
      if (message !== undefined) {
        report('ClientJwtChangeSuccess', message)
        return await sendJson(reply, { status: 'ok', message })
      }
    } catch (error) {
      report('ClientJwtChangeFailure', error instanceof OAuthError ? error.message : 'the change failed')
      throw error
    }
    report('ClientJwtChangeFailure', 'client not found')
    return sendNotFound(reply, behaviour)
  })
}

/** Administrators may change every client of the zone; a client with `clients.trust` may change itself. */
function checkCaller(request: FastifyRequest, clientId: string, { service }: AdminDeps): void {
  if (isClientAdministrator(request, service)) return
  const { bearer, zone } = request
  if (bearer?.user || bearer?.client.clientId !== clientId || bearer.client.zoneId !== zone.id) {
    throw refuse("Bad request. Not permitted to change another client's secret")
  }
}

/** Reads the body, ignoring its `client_id`: the path decides. Throws for text that cannot be stored. */
function readChange(body: JsonObject): Change {
  const text = (name: string, problem: string): string | undefined => stringIn(body, name, () => refuse(problem))
  const jwksUri = text('jwks_uri', 'Client jwt configuration with invalid URI')
  const jwks = text('jwks', UNREADABLE)
  const kid = text('kid', INVALID)
  const mode = MODES.find(each => each === (memberOf(body, 'changeMode') ?? 'ADD'))
  if (mode === undefined) throw refuse(INVALID)
  const [iss, sub, aud] = ['iss', 'sub', 'aud'].map(name => text(name, INVALID_CREDENTIAL))
  if ((iss ?? sub ?? aud) !== undefined) {
    if (iss === undefined || sub === undefined) throw refuse(INVALID_CREDENTIAL)
    if ((jwksUri ?? jwks ?? kid) !== undefined) throw refuse(INVALID) // one of both would be ignored
    return { mode, credential: { sub, iss, ...(aud !== undefined && { aud }) } }
  }
  switch (mode) {
    case 'ADD':
    case 'UPDATE': {
      const keys = readKeys(jwksUri, jwks)
      if (!keys && mode === 'UPDATE') throw refuse(INVALID)
      return { mode, keys }
    }
    case 'DELETE':
      return { mode, removal: readRemoval(jwksUri, jwks, kid) }
  }
}

/** `jwks_uri` takes precedence over `jwks`. */
function readKeys(jwksUri: string | undefined, jwks: string | undefined): ClientKeys | undefined {
  if (jwksUri === undefined && jwks === undefined) return undefined
  const problem = jwksUri === undefined ? keySetProblem(jwks, { named: true }) : keyUriProblem(jwksUri)
  if (problem !== undefined) throw refuse(problem)
  return jwksUri === undefined ? { jwks: publicKeySet(jwks) } : { jwksUri }
}

function readRemoval(
  jwksUri: string | undefined,
  jwks: string | undefined,
  kid: string | undefined,
): KeyRemoval | undefined {
  if (kid !== undefined) return { kids: [kid] }
  if (jwksUri !== undefined) return { jwksUri }
  if (jwks === undefined) return undefined
  const problem = keySetProblem(jwks, { named: true })
  if (problem !== undefined) throw refuse(problem)
  return { kids: namesOfKeys(jwks) }
}
