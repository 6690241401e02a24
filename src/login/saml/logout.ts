// Single logout (SAML Profiles §4.4): a provider's logout requests, and its responses to ours, which redirect the browser
// to the target of the logout.
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { isJsonRecord, parseJson } from '../../base/json.ts'
import { rememberLogout } from '../../identity/past-logouts.ts'
import type { LogoutRequest } from '../../identity/provider-logout.ts'
import { answeredPath } from '../../model/sessions/logout-return.ts'
import { signedOutPage } from '../../pages/signed-out.ts'
import { endAccessAtProviderRequest } from '../../users/access.ts'
import { PageError } from '../../web/answers.ts'
import { leadTo } from '../../web/destination.ts'
import { queryForm, rawQuery } from '../../web/requests/query.ts'
import { addressOf } from '../../web/requests/request-context.ts'
import { postedForm } from '../../web/route.ts'
import { processOnce } from '../external/logout-once.ts'
import type { LoginDeps } from '../deps.ts'

const MESSAGES = ['SAMLRequest', 'SAMLResponse'] as const
/** A logout message is a few kilobytes, most of it certificates. */
const MAX_BODY_BYTES = 131_072
/** Characters; the standard limits it to 80 bytes (SAML Bindings §3.4.3). A longer one is not returned. */
const MAX_RELAY_STATE_LENGTH = 2048

/** The response to a request without a SAML message. */
const UNSUPPORTED = 'Unsupported request'
const UNVERIFIED =
  'Your identity provider asked to sign you out, but its request could not be verified. You may still be signed in.'

const REPLAY = { reason: 'replay', detail: 'the request was already used' }

type Route = FastifyRequest<{ Params: { alias: string } }>

/** `GET` and `POST /saml/SingleLogout/alias/:alias`: SAML's redirect and POST bindings. There is no SOAP binding. */
export function samlLogoutEndpoint(app: FastifyInstance, deps: LoginDeps): void {
  const { identity, pages, urls, log } = deps

  app.route<{ Params: { alias: string } }>({
    method: ['GET', 'POST'],
    exposeHeadRoute: false, // it would end sessions
    url: '/saml/SingleLogout/alias/:alias',
    bodyLimit: MAX_BODY_BYTES,
    config: {
      access: { by: 'anyone', because: 'requests are signed by the provider, and responses end nothing' },
      antiForgery: { by: 'nobody', because: 'providers post to it' },
      audience: 'page',
    },
    async handler(request, reply) {
      const isPost = request.method === 'POST'
      const form = isPost ? postedForm(request) : queryForm(request)
      const [message, second] = MESSAGES.flatMap(name => form.all(name).map(value => ({ name, value })))
      const [relayState, ambiguous] = form.all('RelayState')
      if (!message || second || ambiguous !== undefined) throw new PageError(400, UNSUPPORTED)
      const { documentIn, requestAnsweredBy } = await import('../../identity/saml/logout.ts')
      const xml = documentIn(message.value, { isDeflated: !isPost })
      if (xml === undefined) throw new PageError(400, UNSUPPORTED)
      if (message.name === 'SAMLRequest') return handleRequest(request, reply, { xml, relayState })
      const requestId = requestAnsweredBy(xml)
      if (requestId === undefined) throw new PageError(400, UNSUPPORTED)
      // A form posted by another site carries no cookies (`SameSite`); redirected to a GET, the browser sends them.
      return reply.redirect(urls.ofZone(request.zone) + answeredPath(requestId, returnedState(relayState)), 303)
    },
  })

  /** Never redirects for a request that is not the provider's own. */
  async function handleRequest(
    request: Route,
    reply: FastifyReply,
    { xml, relayState }: { readonly xml: string; readonly relayState: string | undefined },
  ): Promise<FastifyReply> {
    const { zone } = request
    const path = `/saml/SingleLogout/alias/${encodeURIComponent(request.params.alias)}`
    const reading = await identity.readLogoutRequest({
      zone,
      xml,
      ...(request.method === 'GET' && { query: rawQuery(request) }),
      destinations: urls.addressesOf(zone).map(base => base + path),
    })
    if (reading.outcome === 'no-provider') {
      return refuse('an unknown provider: issuer: no active provider of the zone has the entity id')
    }
    const { origin } = reading
    if (reading.outcome === 'refused') return refuse(`${JSON.stringify(origin)}: ${reading.detail ?? ''}`)
    const refused =
      reading.outcome === 'unusable' ? reading : (await endSessions(request, reply, reading, deps)) ? undefined : REPLAY
    if (refused) log.refusal(`logout from ${JSON.stringify(origin)}: ${refused.reason}: ${refused.detail}`)
    const returned = relayState === undefined || isLong(relayState) ? undefined : relayState
    const destination = reading.answer({ refused: refused?.reason, relayState: returned })
    if (destination !== undefined) return leadTo(request, reply, { destination, pages })
    if (refused) throw new PageError(400, UNVERIFIED)
    const chrome = await pages.chrome(request, reply)
    return pages.send(reply, signedOutPage(chrome, { signInUrl: `${urls.pathOf(zone)}/login` }))
  }

  function refuse(detail: string): never {
    log.refusal(`logout from ${detail}`)
    throw new PageError(400, UNVERIFIED)
  }
}

/** Ends the sessions in all browsers; false for a request that was used before. */
async function endSessions(
  request: FastifyRequest,
  reply: FastifyReply,
  { origin, request: asked }: { readonly origin: string; readonly request: LogoutRequest },
  deps: LoginDeps,
): Promise<boolean> {
  const { store, sessions } = deps
  const { zone } = request
  const { id, issuedAt, usableUntil, sids, externalId, externalIdFormat } = asked
  const subject = { externalId, ...(externalIdFormat !== undefined && { externalIdFormat }) }
  const here = await sessions.signedIn(request)
  const by = { origin, remoteAddress: addressOf(request) }
  const work = async (): Promise<void> => {
    await rememberLogout(zone.id, { origin, externalId, sids, issuedAt }, store)
    if (sids.length === 0) await endAccessAtProviderRequest(zone, subject, by, deps)
    for (const sid of sids) await endAccessAtProviderRequest(zone, { ...subject, sid }, by, deps)
  }
  if (!(await processOnce(zone.id, { key: ['SAML logout', origin, id], usableUntil }, work, deps))) return false
  // Expires the cookies of this browser, if its session was among them.
  if (here && !(await store.sessions.find(zone.id, here.session.idDigest))) await sessions.end(request, reply)
  return true
}

const isLong = (relayState: string): boolean => relayState.length > MAX_RELAY_STATE_LENGTH

/** UAA: the parameters of the logout, as sent to the provider; they are validated again. */
function returnedState(relayState: string | undefined): Readonly<Record<string, string>> {
  const given = relayState === undefined || isLong(relayState) ? undefined : parseJson(relayState)
  if (!isJsonRecord(given)) return {}
  return Object.fromEntries(
    Object.entries(given).filter((entry): entry is [string, string] => typeof entry[1] === 'string'),
  )
}
