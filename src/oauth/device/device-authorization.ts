import type { FastifyRequest } from 'fastify'
import { addSeconds } from '../../base/clock.ts'
import { digest } from '../../base/secrets.ts'
import type { Client } from '../../model/clients/client.ts'
import { DEVICE_CODE_SECONDS, newUserCode, POLL_SECONDS, shownUserCode } from '../../model/tokens/device-code.ts'
import type { DeviceRequest } from '../../model/tokens/device-code.ts'
import { namedResources } from '../../model/tokens/resources.ts'
import { OAuthError } from '../../model/oauth-error.ts'
import { parseScope, requestableScopes } from '../../model/tokens/scopes.ts'
import { supportsProtocol } from '../../model/zones/protocols.ts'
import { userAgentIn } from '../../model/users/user-agent.ts'
import { AlreadyExists } from '../../store/store.ts'
import type { On } from '../../web/deferred-routes.ts'
import { sendJson } from '../../web/requests/json.ts'
import { siteKey } from '../../web/limits/limits.ts'
import { authorizationOf } from '../../web/requests/plain-basic.ts'
import { addressOf, contextOf } from '../../web/requests/request-context.ts'
import { bodyForm } from '../../web/route.ts'
import { parseParams } from '../params.ts'
import type { Params } from '../params.ts'
import { recordingRefusals } from '../refusal-event.ts'
import { requireGrantOfClient, requireGrantOfProfile } from '../token-rules.ts'
import { DEVICE_AUTHORIZATION_PATH, DEVICE_PATH, requireDeviceProtocol } from './routes.ts'
import type { DeviceRoute } from './routes.ts'
import type { OAuthDeps } from '../deps.ts'
import { DEVICE_CODE } from '../../model/clients/grant-types.ts'

const ENDPOINT = { path: DEVICE_AUTHORIZATION_PATH, allowsNone: true, allowsAssertion: true } as const

/** 256 bits. */
const CODE_LENGTH = 43

/** Longer than any client's scopes; stored with each pending code. */
const MAX_SCOPE_LENGTH = 4000

/** A collision has a probability of 1 in 25 billion, so repeated ones indicate a fault that retries do not fix. */
const MAX_ATTEMPTS = 3

interface DeviceCodes {
  readonly device: string
  readonly user: string
}

/** `POST /oauth/device_authorization` (RFC 8628 §3.1). */
export function deviceAuthorizationHandler(on: On<DeviceRoute>, deps: OAuthDeps): void {
  const { store, clock, random, urls, limits, behaviour } = deps

  on('POST /oauth/device_authorization', async (request, reply) => {
    requireDeviceProtocol(request, deps)
    const params = parseParams(bodyForm(request), behaviour)
    const context = contextOf(request)
    const credentials = { authorization: authorizationOf(request), params, endpoint: ENDPOINT }
    const { client } = await deps.authenticator.authenticate(context, credentials)
    const of = { context, client, params, endpoint: DEVICE_AUTHORIZATION_PATH }
    const codes = await recordingRefusals(of, deps, () => codesFor(request, { client, params }))
    const page = urls.ofZone(request.zone) + DEVICE_PATH
    const shown = shownUserCode(codes.user)
    return sendJson(reply, {
      device_code: codes.device,
      user_code: shown,
      verification_uri: page,
      verification_uri_complete: `${page}?user_code=${shown}`,
      expires_in: DEVICE_CODE_SECONDS,
      interval: POLL_SECONDS,
    })
  })

  /** Stores what the client asks for, if it may. */
  async function codesFor(
    request: FastifyRequest,
    { client, params }: { readonly client: Client; readonly params: Params },
  ): Promise<DeviceCodes> {
    const { zone } = request
    requireGrantOfClient(zone, { client, type: DEVICE_CODE, params }, deps)
    requireGrantOfProfile(zone, { client, type: DEVICE_CODE }, deps)
    const scope = params.get('scope')
    if (scope !== undefined && scope.length > MAX_SCOPE_LENGTH) {
      throw new OAuthError('invalid_scope', 'The scope is too long')
    }
    const scopes = parseScope(scope)
    requestableScopes({ client, requested: scopes }, behaviour)
    const resources = supportsProtocol(zone, 'resourceIndicators', behaviour)
      ? namedResources(params.all('resource'), client)
      : []
    await limits.deviceCodes.take(siteKey(contextOf(request), 'device'))
    return insert(request, { clientId: client.clientId, scopes, ...(resources.length > 0 && { resources }) })
  }

  async function insert(
    request: FastifyRequest,
    asked: Pick<DeviceRequest, 'clientId' | 'scopes' | 'resources'>,
    attempt = 1,
  ): Promise<DeviceCodes> {
    const device = random.urlSafe(CODE_LENGTH)
    const user = newUserCode(random)
    const now = clock.now()
    try {
      await store.devices.insert(request.zone.id, {
        codeDigest: digest(device),
        userCodeDigest: digest(user),
        ...asked,
        remoteAddress: addressOf(request),
        userAgent: userAgentIn(request.headers),
        requestedAt: now,
        expiresAt: addSeconds(now, DEVICE_CODE_SECONDS),
      })
      return { device, user }
    } catch (error) {
      if (!(error instanceof AlreadyExists) || attempt === MAX_ATTEMPTS) throw error
      return insert(request, asked, attempt + 1)
    }
  }
}
