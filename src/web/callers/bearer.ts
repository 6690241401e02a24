import type { FastifyRequest } from 'fastify'
import type { Behaviour } from '../../model/compatibility.ts'
import { actsAsOwner } from '../../model/clients/account-use.ts'
import { OAuthError } from '../../model/oauth-error.ts'
import type { Service } from '../../model/service.ts'
import type { TokenSettings } from '../../model/zones/settings.ts'
import type { TokenReader } from '../../token/reader.ts'
import { bearerChallenge, bearerHeader, inRealm, insufficientScope } from './authorization-header.ts'
import type { Form } from '../requests/form.ts'
import { queryForm, refuseRepeated } from '../requests/query.ts'
import { bodyForm } from '../route.ts'
import type { BearerDemand, Rights } from '../route.ts'
import { refuseSwitch, refuseZoneHeader, requestedZoneOf } from '../zones/zone-switch.ts'
import type { EnterZone } from '../zones/zone-switch.ts'

/** Whether the request's token has one of the rights in the request's zone. */
export function hasRight({ bearer, zone }: FastifyRequest, rights: Rights, service: Service): boolean {
  if (!bearer) return false
  if (rights.scopes.some(scope => bearer.scopes.includes(scope))) return true
  return bearer.client.zoneId === service.name && inZone(rights, zone.id).some(scope => bearer.scopes.includes(scope))
}

const inZone = ({ ofDefaultZone = [] }: Partial<Rights>, zoneId: string): readonly string[] =>
  ofDefaultZone.map(scope => scope.replaceAll('{zone}', () => zoneId)) // an id may hold `$&`

/** Refusal for a token with none of the rights; lists them in `scope`. */
export const lacksRight = ({ zone }: FastifyRequest, rights: Rights): OAuthError =>
  insufficientScope([...rights.scopes, ...inZone(rights, zone.id)])

/** Refusal for a token that is not for the resource; `isScope` where the scope of that name is all that it lacks (row M12). */
function lacksResource(
  resource: string,
  { isScope }: { readonly isScope: boolean },
  { service, behaviour }: { readonly service: Service; readonly behaviour: Behaviour },
): unknown {
  const error = 'access_denied'
  const description = `Invalid token does not contain resource id (${resource})`
  if (isScope && behaviour.fullRightsChallenge) {
    return new OAuthError('insufficient_scope', description, { extra: { scope: resource } })
  }
  const details = behaviour.fullRightsChallenge ? { error, description } : undefined
  return new OAuthError(error, description, { challenge: bearerChallenge(service.oauthRealm, details) })
}

/** Whether the path parameter is the id of the token's user, in the zone that the user belongs to. */
function isSelf({ bearer, params, zone }: FastifyRequest, parameter: string, behaviour: Behaviour): boolean {
  if (!bearer?.user || bearer.user.zoneId !== zone.id || !actsAsOwner(zone, bearer.client, behaviour)) return false
  return Reflect.get(Object(params), parameter) === bearer.user.id
}

const NO_TOKEN = 'Full authentication is required to access this resource'
/** As UAA says it on some routes. See docs/compatibility.md, C6. */
const UAA_NO_TOKEN = 'An Authentication object was not found in the SecurityContext'

/** Verifies the token on routes with bearer access. */
export interface BearerGate {
  /** Sets `request.bearer`; throws an `OAuthError` with a challenge. */
  check(request: FastifyRequest, demand: BearerDemand): Promise<void>
}

/** One instance serves every bearer-protected route. */
export function createBearerGate(deps: {
  reader: TokenReader
  service: Service
  behaviour: Behaviour
  settings: TokenSettings
  enterZone: EnterZone
}): BearerGate {
  const { service, settings, enterZone, behaviour } = deps

  function parameterOf(form: Form | undefined): string | undefined {
    if (form) refuseRepeated(form, ['access_token'], behaviour) // RFC 6750 §3.1
    return form?.get('access_token')
  }

  /** RFC 6750 §2: the header or a POSTed form, or the URL if enabled; only one of them. */
  function tokenOf(request: FastifyRequest): string | undefined {
    const header = bearerHeader(request)
    const inForm = request.method === 'POST' ? parameterOf(bodyForm(request)) : undefined
    const inQuery = settings.queryString ? parameterOf(queryForm(request)) : undefined
    const tokens = [header, inForm, inQuery].filter(token => token !== undefined)
    if (tokens.length > 1) {
      throw new OAuthError('invalid_request', 'The access token must be sent in one place only')
    }
    return tokens[0]
  }

  return {
    async check(request, { resource, acrossZones, self, ownAccount, forLoginServers, ...rights }) {
      const requestedZone = requestedZoneOf(request)
      const token = tokenOf(request)
      if (token === undefined || token === '') {
        // UAA: switches zones before it asks for a token. See docs/compatibility.md, C6.
        if (requestedZone && !behaviour.bareChallenge) throw refuseSwitch()
        const description = forLoginServers && !behaviour.bareChallenge ? UAA_NO_TOKEN : NO_TOKEN
        const error = behaviour.bareChallenge ? undefined : { error: 'unauthorized', description }
        throw new OAuthError('unauthorized', description, { challenge: bearerChallenge(service.oauthRealm, error) })
      }
      const verified = await deps.reader.read(request, token).catch((error: unknown) => {
        throw inRealm(error, service)
      })
      if (resource !== undefined && !verified.audience.includes(resource)) {
        throw lacksResource(resource, { isScope: rights.scopes === undefined }, deps)
      }
      if (ownAccount && !actsAsOwner(request.zone, verified.client, behaviour)) {
        throw inRealm(new OAuthError('access_denied', 'The client may not use the account by its token alone'), service)
      }
      if (requestedZone && !acrossZones) throw refuseZoneHeader()
      request.bearer = requestedZone ? await enterZone(request, requestedZone, verified) : verified
      if (self !== undefined && isSelf(request, self, behaviour)) return
      const { scopes, ofDefaultZone } = rights
      if (!scopes && !ofDefaultZone) return
      const required = { scopes: scopes ?? [], ...(ofDefaultZone && { ofDefaultZone }) }
      if (!hasRight(request, required, service)) throw lacksRight(request, required)
    },
  }
}
