// Clients register, read, change and delete themselves (RFC 7591, RFC 7592, OpenID Connect Registration).
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Clock } from '../../base/clock.ts'
import { memberOf } from '../../base/json.ts'
import type { Outbound } from '../../base/outbound.ts'
import { digest, sameSecret } from '../../base/secrets.ts'
import { acceptsHost } from '../../clients/redirect-uri.ts'
import { applyWrites, deletion, newClient, recordCreation, update } from '../../clients/changes.ts'
import { clientFromJson } from '../../clients/client-json.ts'
import type { ClientDefinition } from '../../clients/client-json.ts'
import { problemInZone } from '../../clients/in-zone.ts'
import { isSecretOf, newSecret } from '../../clients/secrets.ts'
import type { SecretDeps } from '../../clients/secrets.ts'
import type { Client } from '../../model/clients/client.ts'
import type { Behaviour } from '../../model/compatibility.ts'
import type { Audit } from '../../model/audit/event.ts'
import { OAuthError } from '../../model/oauth-error.ts'
import { isElevated, registrationPolicy } from '../../model/clients/registration.ts'
import type { RegistrationToken } from '../../model/clients/registration.ts'
import type { Service } from '../../model/service.ts'
import type { Urls } from '../../model/urls.ts'
import { clientFields } from '../../records/client.ts'
import { ChangedMeanwhile } from '../../store/store.ts'
import type { Store, StoredClient } from '../../store/store.ts'
import type { KeyRing } from '../../token/keys.ts'
import { bearerChallenge, bearerHeader } from '../../web/callers/authorization-header.ts'
import type { On } from '../../web/deferred-routes.ts'
import { jsonBody, sendJson } from '../../web/requests/json.ts'
import { callerKey, siteKey } from '../../web/limits/limits.ts'
import type { Limits } from '../../web/limits/limits.ts'
import { auditOriginOf, requesterOf } from '../../web/requests/requester.ts'
import { clientInformation } from './answer.ts'
import { invalidMetadata, readMetadata, REGISTERED_MEMBERS } from './metadata.ts'
import type { RequestedClient } from './metadata.ts'
import { pathNotFound, REGISTRATION_PATH } from './routes.ts'
import type { RegistrationRoute } from './routes.ts'
import { checkSector } from './sector.ts'

/** Dependencies of the endpoints. */
export interface RegistrationDeps extends SecretDeps {
  readonly store: Store
  readonly clock: Clock
  readonly keys: KeyRing
  readonly outbound: Outbound
  readonly service: Service
  readonly behaviour: Behaviour
  readonly urls: Urls
  readonly audit: Audit
  readonly limits: Pick<Limits, 'registrations'>
}

const TOKEN_LENGTH = 43

/** Members of an answer, which a request must not have (RFC 7592 §2.2). */
const OF_ANSWERS = [
  'registration_access_token',
  'registration_client_uri',
  'client_secret_expires_at',
  'client_id_issued_at',
]

interface OfClient {
  readonly Params: { readonly client_id: string }
}

/** The handlers of `/connect/register` and below. */
export function registrationHandlers(on: On<RegistrationRoute>, deps: RegistrationDeps): void {
  const { store, clock, random, service, behaviour, audit, limits } = deps

  const refuseToken = (description: string): OAuthError =>
    new OAuthError('invalid_token', description, {
      challenge: bearerChallenge(service.oauthRealm, { error: 'invalid_token', description }),
    })

  /** The initial access token of the request; undefined where the zone asks for none and none was sent. */
  async function initialToken(request: FastifyRequest, mode: 'token' | 'open'): Promise<RegistrationToken | undefined> {
    const sent = bearerHeader(request)
    if (sent === undefined && mode === 'open') return undefined
    if (sent === undefined) {
      const challenge = bearerChallenge(service.oauthRealm)
      throw new OAuthError('invalid_token', 'Registration needs an initial access token', { challenge })
    }
    const token = await store.registrations.findToken(request.zone.id, digest(sent))
    if (!token || token.uses >= token.maxUses || token.expiresAt <= clock.now()) throw usedUp()
    return token
  }

  const usedUp = (): OAuthError => refuseToken('The initial access token is invalid, used up or expired')

  /** The metadata as a client, checked in every way that a client of the client API is. */
  async function define(
    request: FastifyRequest,
    requested: RequestedClient,
    { clientId, secret }: { readonly clientId: string; readonly secret: string | undefined },
  ): Promise<ClientDefinition> {
    const { zone } = request
    const json = { ...requested.json, client_id: clientId, ...(secret !== undefined && { client_secret: secret }) }
    const rules = { service, exactRedirectUri: true, furtherProtocols: behaviour.furtherProtocols }
    const { definition: read, problems } = clientFromJson(json, rules, { as: 'configured', withSecondSecret: false })
    const [problem] = problems
    if (problem) {
      throw invalidMetadata(problem.message, problem.key === 'redirect_uri' ? 'invalid_redirect_uri' : undefined)
    }
    const definition = { ...read, authorizedGrantTypes: requested.grantTypes }
    const problemHere = await problemInZone(zone, definition, deps)
    if (problemHere !== undefined) throw invalidMetadata(problemHere)
    await checkSector(zone.id, definition, deps.outbound)
    return definition
  }

  /** A registration must not use the host of an application that an administrator registered: users judge by it. */
  async function refuseForeignHosts(request: FastifyRequest, redirectUris: readonly string[]): Promise<void> {
    const urls = redirectUris.map(uri => new URL(uri))
    const web = urls.filter(({ protocol }) => protocol === 'https:')
    const hosts = new Set(web.map(({ hostname }) => hostname.replace(/\.$/, ''))) // the same host by its full name
    const schemes = new Set(urls.map(({ protocol }) => protocol).filter(each => each.includes('.')))
    const refuse = (what: string): OAuthError =>
      invalidMetadata(`redirect_uris: ${what} belongs to another application`, 'invalid_redirect_uri')
    for (const host of hosts) if (await isHostTaken(request.zone.id, host)) throw refuse(host)
    for (const scheme of schemes) {
      if (await store.registrations.isSchemeTaken(request.zone.id, scheme)) throw refuse(scheme)
    }
  }

  /** The same for links, which the approval page shows with their hosts. */
  async function refuseForeignLinks(request: FastifyRequest, links: readonly string[]): Promise<void> {
    for (const host of new Set(links.map(link => new URL(link).hostname.replace(/\.$/, '')))) {
      if (!(await isHostTaken(request.zone.id, host))) continue
      throw invalidMetadata(`client_uri, policy_uri or tos_uri: ${host} belongs to another application`)
    }
  }

  async function isHostTaken(zoneId: string, host: string): Promise<boolean> {
    if (await store.registrations.isHostTaken(zoneId, host)) return true
    if (behaviour.exactRedirectUri) return false
    // UAA: an entry may stand for many hosts (row A15). One that fixes only the last label belongs to no one.
    const domain = host.split('.').slice(-2).join('.')
    const lists = await store.registrations.redirectUrisWith(zoneId, domain)
    return lists.flat().some(entry => entry.toLowerCase().includes(domain) && acceptsHost(entry, host))
  }

  const answer = (
    reply: FastifyReply,
    request: FastifyRequest,
    { client, token, secret, status }: { client: Client; token: string; secret?: string | undefined; status: number },
  ): FastifyReply => {
    const uri = `${deps.urls.ofZone(request.zone)}${REGISTRATION_PATH}/${encodeURIComponent(client.clientId)}`
    const facts = { uri, token, secret, noneScope: service.scope('none') }
    return sendJson(reply.header('cache-control', 'no-store'), clientInformation(client, facts), status)
  }

  on('POST /connect/register', async (request, reply) => {
    const { zone } = request
    const policy = registrationPolicy(zone, service)
    if (policy.mode === 'off') throw pathNotFound()
    const initial = await initialToken(request, policy.mode)
    const requested = readMetadata(jsonBody(request), { zone, policy, behaviour })
    if (!initial) await limits.registrations.take(siteKey({ zone, remoteAddress: request.ip }, 'registration'))
    const clientId = random.urlSafe(22)
    const secret = requested.needsSecret ? random.urlSafe(TOKEN_LENGTH) : undefined
    const definition = await define(request, requested, { clientId, secret })
    if (!initial) {
      await refuseForeignHosts(request, definition.redirectUris)
      await refuseForeignLinks(request, linksOf(definition))
    }
    const draft = { definition, secrets: secret === undefined ? [] : [secret] }
    const token = random.urlSafe(TOKEN_LENGTH)
    const { responseTypes } = requested
    const client: Client = {
      ...(await newClient(draft, { zoneId: zone.id, requester: requesterOf(request) }, deps)),
      registration: { tokenDigest: digest(token), responseTypes },
    }
    const createdBy = initial ? `registration:${initial.id}` : 'registration'
    const { maxClients } = policy
    const outcome = await store.registrations.register(
      zone.id,
      { client, createdBy, maxClients, tokenId: initial?.id },
      clock.now(),
    )
    if (outcome === 'used') throw usedUp()
    if (outcome === 'full') throw new OAuthError('access_denied', 'The zone takes no more registrations')
    recordCreation(client, { audit, origin: auditOriginOf(request) })
    return answer(reply, request, { client, token, secret, status: 201 })
  })

  /** The client whose registration access token was sent; every failure gives the same answer (RFC 7592 §2). */
  async function ofCaller(request: FastifyRequest<OfClient>): Promise<StoredClient & { readonly token: string }> {
    const token = bearerHeader(request)
    const found = await store.clients.findForChange(request.zone.id, request.params.client_id)
    const { tokenDigest } = found?.client.registration ?? {}
    if (token === undefined || !found || tokenDigest === undefined || !sameSecret(tokenDigest, digest(token))) {
      throw refuseToken('The registration access token is invalid')
    }
    return { ...found, token }
  }

  on<OfClient>('GET /connect/register/:client_id', async (request, reply) => {
    if (registrationPolicy(request.zone, service).mode === 'off') throw pathNotFound()
    const { client, token } = await ofCaller(request)
    return answer(reply, request, { client, token, status: 200 })
  })

  on<OfClient>('PUT /connect/register/:client_id', async (request, reply) => {
    const { zone } = request
    const policy = registrationPolicy(zone, service)
    if (policy.mode === 'off') throw pathNotFound()
    const stored = await ofCaller(request)
    const { client: existing } = stored
    const sent = jsonBody(request)
    const { clientId } = existing
    await limits.registrations.take(callerKey({ zone, remoteAddress: undefined }, 'registration', clientId))
    if (memberOf(sent, 'client_id') !== clientId) throw invalidMetadata('client_id must be that of the client')
    const unwanted = OF_ANSWERS.find(name => (memberOf(sent, name) ?? undefined) !== undefined)
    if (unwanted !== undefined) throw invalidMetadata(`${unwanted} must not be sent`)
    if (isElevated(existing, policy, service)) {
      throw new OAuthError('access_denied', 'An administrator has taken over this client')
    }
    const sentSecret = memberOf(sent, 'client_secret') ?? undefined
    if (sentSecret !== undefined) {
      const checks = { clientSecrets: deps.clientSecrets, requester: requesterOf(request) }
      const isOwn = typeof sentSecret === 'string' && (await isSecretOf(existing.secrets, sentSecret, checks))
      if (!isOwn) throw invalidMetadata('client_secret must be that of the client')
    }
    const requested = readMetadata(sent, { zone, policy, behaviour })
    const keepsSecret = requested.needsSecret && existing.secrets.length > 0
    const secret = requested.needsSecret && !keepsSecret ? random.urlSafe(TOKEN_LENGTH) : undefined
    const definition = await define(request, requested, { clientId, secret })
    const addedUris = definition.redirectUris.filter(uri => !existing.redirectUris.includes(uri))
    const isTrusted = (await store.clients.findMetadata(zone.id, clientId))?.createdBy !== 'registration'
    if (!isTrusted) {
      const shown = linksOf(existing)
      await refuseForeignHosts(request, addedUris)
      await refuseForeignLinks(
        request,
        linksOf(definition).filter(link => !shown.includes(link)),
      )
    }
    const token = random.urlSafe(TOKEN_LENGTH)
    const secrets = secret === undefined ? [] : [await newSecret(secret, requesterOf(request), deps)]
    const client: Client = {
      ...withMembersOf(existing, definition),
      secrets: keepsSecret ? existing.secrets : secrets,
      registration: { tokenDigest: digest(token), responseTypes: requested.responseTypes },
      updatedAt: clock.now(),
    }
    // Users approved what they saw: where it leads, and who it says it is.
    const forgetApprovals = addedUris.length > 0 || client.name !== existing.name
    await commit(request, [update(stored, client, { forgetApprovals })])
    return answer(reply, request, { client, token, secret, status: 200 })
  })

  on<OfClient>('DELETE /connect/register/:client_id', async (request, reply) => {
    if (registrationPolicy(request.zone, service).mode === 'off') throw pathNotFound()
    await commit(request, [deletion(await ofCaller(request))])
    return reply.status(204).header('cache-control', 'no-store').send()
  })

  async function commit(request: FastifyRequest, writes: Parameters<typeof applyWrites>[1]): Promise<void> {
    const about = { store, audit, origin: auditOriginOf(request) }
    await applyWrites(request.zone.id, writes, about).catch((cause: unknown) => {
      if (!(cause instanceof ChangedMeanwhile)) throw cause
      throw new OAuthError({ error: 'invalid_request', status: 409 }, 'The client was changed meanwhile', { cause })
    })
  }
}

/** What the approval page links to. */
const linksOf = ({ clientUri, policyUri, tosUri }: Pick<Client, 'clientUri' | 'policyUri' | 'tosUri'>) =>
  [clientUri, policyUri, tosUri].filter(link => link !== undefined)

/** The client with the members that a registration sets; what an administrator set beside them stays. */
function withMembersOf(existing: Client, definition: ClientDefinition): Client {
  const isRegistered = (name: string): boolean => {
    const field = Reflect.get(clientFields, name) as { readonly wire?: string } | undefined
    return REGISTERED_MEMBERS.has(field?.wire ?? '')
  }
  const kept = Object.entries(existing).filter(([name]) => !isRegistered(name))
  const given = Object.entries(definition).filter(([name]) => isRegistered(name))
  return Object.fromEntries([...kept, ...given]) as unknown as Client // every member of a client comes from one of both
}
