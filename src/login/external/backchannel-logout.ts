// Logout requested by a provider (OpenID Connect Back-Channel Logout): ends the session that came from one of the provider's,
// or everything of the user. Only the provider's own users are concerned, in the zone that the request is for.
import type { FastifyInstance } from 'fastify'
import { OAuthError } from '../../model/oauth-error.ts'
import { endAccessAtProviderRequest } from '../../users/access.ts'
import { addressOf } from '../../web/requests/request-context.ts'
import { bodyForm } from '../../web/route.ts'
import { processOnce } from './logout-once.ts'
import type { LoginDeps } from '../deps.ts'

/** Bytes; a logout token has a handful of short claims. */
const MAX_BODY_BYTES = 16_384

/** `POST /login/backchannel_logout/:origin` (Back-Channel Logout §2.5). */
export function backchannelLogoutEndpoint(app: FastifyInstance, deps: LoginDeps): void {
  const { identity, log } = deps

  app.post<{ Params: { origin: string } }>(
    '/login/backchannel_logout/:origin',
    {
      bodyLimit: MAX_BODY_BYTES,
      config: { access: { by: 'anyone', because: 'the logout token is signed by the provider' }, audience: 'api' },
    },
    async (request, reply) => {
      const { zone } = request
      const { origin } = request.params
      const [token, second] = bodyForm(request)?.all('logout_token') ?? []
      if (token === undefined || second !== undefined) throw refusal('The logout_token is missing or repeated.')
      const result = await identity.readLogoutToken(zone, origin, token)
      if (result.outcome === 'no-provider') throw refusal('There is no such provider.')
      if (result.outcome === 'refused') {
        const { description, detail } = result
        log.refusal(
          `logout from ${JSON.stringify(origin)}: ${detail === undefined ? description : `${description} ${detail}`}`,
        )
        throw refusal(description)
      }
      const { id, usableUntil } = result.notice
      const by = { origin, remoteAddress: addressOf(request) }
      const work = (): Promise<void> => endAccessAtProviderRequest(zone, result.notice, by, deps) // §2.7
      const isNew = await processOnce(zone.id, { key: ['logout', origin, id], usableUntil }, work, deps)
      if (!isNew) throw refusal('The logout token was already used.')
      return reply.send()
    },
  )
}

const refusal = (description: string): OAuthError => new OAuthError('invalid_request', description)
