// Authenticates the client of a request. Each method is one file and one entry in the list below, which the metadata
// document reads too.
import { digest } from '../../base/secrets.ts'
import { demandsOn } from '../../model/clients/client-demands.ts'
import type { Client } from '../../model/clients/client.ts'
import type { Audit } from '../../model/audit/event.ts'
import { OAuthError } from '../../model/oauth-error.ts'
import type { Service } from '../../model/service.ts'
import type { AddressedZone, RequestOrigin } from '../../model/request.ts'
import { supportsProtocol } from '../../model/zones/protocols.ts'
import { certificate } from './certificate.ts'
import { clientSecretBasic, clientSecretPost } from './client-secret.ts'
import { createRefusals } from './refusals.ts'
import type { Attempt, ClientAuthDeps, ClientAuthMethod, ClientAuthMethodClaim, ClientAuthRequest } from './method.ts'
import { none } from './none.ts'
import { privateKeyJwt } from './private-key-jwt.ts'

/** Every method, in the order of discovery; if a request may use two, the first one applies. */
export const CLIENT_AUTH_METHODS: readonly ClientAuthMethod[] = [
  clientSecretBasic,
  clientSecretPost,
  privateKeyJwt,
  none,
]

/** Also the methods that only requests with a certificate have; discovery names them where the zone supports RFC 8705. */
const WITH_CERTIFICATE: readonly ClientAuthMethod[] = [...CLIENT_AUTH_METHODS, certificate]

/** A client whose credential was verified. */
export interface AuthenticatedClient {
  readonly client: Client
  /** The claim `client_auth_method`; absent when the client authenticated with a non-empty secret. */
  readonly clientAuthMethod?: ClientAuthMethodClaim
}

/** Authenticates the client of a request. */
export interface ClientAuthenticator {
  /** Throws `invalid_client` with a Basic challenge, or `invalid_request` for two methods at once. */
  authenticate(from: RequestOrigin, request: ClientAuthRequest): Promise<AuthenticatedClient>
}

interface Chosen {
  readonly method: ClientAuthMethod
  readonly attempt: Attempt
}

/** A wrong secret gets the same response after the same time whether or not the client exists. */
export function createClientAuthenticator(
  deps: ClientAuthDeps & { service: Service; audit: Audit },
): ClientAuthenticator {
  const { store, behaviour, audit } = deps
  const { badClient, challenged, missingCredential } = createRefusals(deps)

  function choose(request: ClientAuthRequest): Chosen | undefined {
    let chosen: ClientAuthMethod | undefined
    for (const method of request.certificate === undefined ? CLIENT_AUTH_METHODS : WITH_CERTIFICATE) {
      if (!method.recognises(request)) continue
      if (chosen) {
        // RFC 6749 §2.3: a client must not use more than one method in each request.
        throw new OAuthError('invalid_request', 'Only one method of client authentication may be used')
      }
      chosen = method
      if (!behaviour.refuseTwoMethods) break
    }
    try {
      return chosen && { method: chosen, attempt: chosen.read(request) }
    } catch (cause) {
      throw challenged(cause)
    }
  }

  /**
   * RFC 6749 §3.2: an empty parameter is an absent one. Dovecot sends an empty secret with its Basic credentials. On its own it
   * is the credential of a client that has a secret, because that may be the empty one.
   */
  async function withoutEmptySecret({ id }: AddressedZone, request: ClientAuthRequest): Promise<ClientAuthRequest> {
    const { params } = request
    if (!behaviour.ignoreEmptySecret || params.raw('client_secret') !== '') return request
    if (!clientSecretBasic.recognises(request) && !privateKeyJwt.recognises(request)) {
      const clientId = params.get('client_id')
      const client = clientId === undefined ? undefined : await store.clients.find(id, clientId)
      if (client?.secrets.length !== 0) return request
    }
    const raw = (name: string): string | undefined => (name === 'client_secret' ? undefined : params.raw(name))
    return { ...request, params: { get: name => params.get(name), raw } }
  }

  /** Verifies the credential, also of an unknown client, so that both take the same time. */
  async function refusalOf(
    client: Client | undefined,
    { method, attempt }: Chosen,
    from: RequestOrigin,
  ): Promise<OAuthError | undefined> {
    try {
      if (!(await attempt.verify(client, from, deps))) return badClient('Bad credentials')
    } catch (cause) {
      return challenged(cause, client)
    }
    const { authMethods } = client ? demandsOn(from.zone, client) : {}
    if (!authMethods || authMethods.includes(method.name)) return undefined
    return badClient(`This client must authenticate by ${authMethods.join(' or ') || 'other means'}`)
  }

  function refusalOfGivenId({ params }: ClientAuthRequest, { clientId }: Client): OAuthError | undefined {
    const given = params.get('client_id')
    if (given === undefined || given === clientId) return undefined
    const description = 'Given client ID does not match authenticated client'
    return behaviour.basicForForeignId ? badClient(description) : new OAuthError('invalid_client', description)
  }

  return {
    async authenticate(from, sent) {
      const { zone, remoteAddress, clientCertificate } = from
      const mayUseCertificate = clientCertificate !== undefined && supportsProtocol(zone, 'mutualTls', behaviour)
      const shown = mayUseCertificate ? { ...sent, certificate: clientCertificate } : sent
      const request = await withoutEmptySecret(zone, shown)
      const chosen = choose(request)
      if (!chosen) throw await missingCredential(zone, request)
      const zoneId = zone.id
      const client = await store.clients.find(zoneId, chosen.attempt.clientId)
      const method = chosen.method.forClient?.(client, request) ?? chosen.method
      const attempt = method === chosen.method ? chosen.attempt : method.read(request)
      const refusal =
        (await refusalOf(client, { method, attempt }, from)) ?? (client && refusalOfGivenId(request, client))
      if (!client || refusal) {
        // An unknown client id may be a secret in the wrong field: the audit trail gets its digest.
        const principal = client?.clientId ?? digest(attempt.clientId)
        audit({ type: 'ClientAuthenticationFailure', zoneId, principal, remoteAddress })
        throw refusal ?? badClient('Bad credentials')
      }
      const data = attempt.evidence === undefined ? {} : { data: attempt.evidence }
      audit({ type: 'ClientAuthenticationSuccess', zoneId, principal: client.clientId, remoteAddress, ...data })
      const { clientAuthMethod } = attempt
      return clientAuthMethod === undefined ? { client } : { client, clientAuthMethod }
    },
  }
}
