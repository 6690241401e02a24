// The assertion consumer (SAML 2.0 Profiles §4.1.4.3). A response is a form of another site, so the browser sends no cookies
// with it: the attempt that it belongs to is found after one of our pages has posted it again.
import type { FastifyReply, FastifyRequest } from 'fastify'
import { consumerPath } from '../../model/zones/saml-paths.ts'
import { samlAliasOf } from '../../model/zones/zone.ts'
import { formPostPage } from '../../pages/form-post.ts'
import { siteName } from '../../pages/parts/layout.ts'
import type { On } from '../../web/deferred-routes.ts'
import type { Exchange } from '../../web/exchange.ts'
import type { Form } from '../../web/requests/form.ts'
import { postedForm } from '../../web/route.ts'
import { isState } from '../external/attempts.ts'
import { LOST } from '../external/external-failures.ts'
import type { Failure, Refused } from '../external/external-failures.ts'
import { isPlain } from '../external/returns.ts'
import { failureOf, noProvider, reportAnswer, UNREADABLE } from './consumer-failures.ts'
import type { SamlRoute } from './saml.ts'
import type { LoginDeps } from '../deps.ts'

/** The URL that first received the response: a valid recipient of the assertion. */
const POSTED_AGAIN = 'posted_again'
const BARE_PATH = '/saml/SSO'
/** Characters of an issuer in the log. */
const MAX_LOGGED_LENGTH = 200

/** The handlers of `/saml/SSO` and below. */
export function samlConsumerHandlers(on: On<SamlRoute>, deps: LoginDeps): void {
  on('GET /saml/SSO', (request, reply) => fail({ request, reply }, UNREADABLE, deps))
  on('GET /saml/SSO/alias/:alias', (request, reply) => fail({ request, reply }, UNREADABLE, deps))
  on('POST /saml/SSO', (request, reply) => consume({ request, reply }, undefined, deps))
  on<{ Params: { alias: string } }>('POST /saml/SSO/alias/:alias', (request, reply) =>
    consume({ request, reply }, request.params.alias, deps),
  )
}

const fail = ({ request, reply }: Exchange, failure: Failure, { returns }: LoginDeps): Promise<FastifyReply> =>
  returns.fail(request, reply, { failure, failurePath: '/saml_error' })

async function consume(
  { request, reply }: Exchange,
  alias: string | undefined,
  deps: LoginDeps,
): Promise<FastifyReply> {
  const { identity, attempts, returns } = deps
  const { zone } = request
  const form = postedForm(request)
  const message = form.get('SAMLResponse')
  if (!message || form.all('SAMLResponse').length > 1) return fail({ request, reply }, UNREADABLE, deps)
  const own = samlAliasOf(zone, deps.samlEntityId)
  const issuer = await identity.claimedIssuer('saml', message)
  const all = issuer === undefined ? [] : await identity.originsOf(zone, 'saml', issuer)
  // The last segment may be the service provider's alias or the identity provider's.
  const origins = alias === undefined || alias === own ? all : all.filter(each => each === alias)
  const unknown = async (): Promise<FastifyReply> => {
    await reportUnknownIssuer(request, { message, issuer }, deps)
    return fail({ request, reply }, await noProvider(request, { issuer, alias }, deps), deps)
  }
  const [first, second] = origins
  if (first === undefined) return unknown()
  const shape = await returns.shapeOf(zone, first) // the same for all SAML providers
  if (!isPlain(form, shape)) return fail({ request, reply }, UNREADABLE, deps)
  const state = form.get(shape.state) ?? ''
  const keyOf = (origin: string) => ({ origin, state, callback: consumerPath(own) })
  const begun = origins.find(origin => attempts.wasSent(request, keyOf(origin)))
  const isAgain = form.get(POSTED_AGAIN) !== undefined
  if (begun === undefined && !isAgain && isState(state))
    return postAgain({ request, reply }, { form, own, alias }, deps)
  // Where the metadata of several providers claim one entity id, only a sign-in that began here shows whose answer it is.
  const origin = begun ?? (second === undefined ? first : undefined)
  if (origin === undefined) return unknown()
  return accept({ request, reply }, { origin, hasBegun: begun !== undefined, message, state, form, alias }, deps)
}

/** The answer of a provider, whose sign-in may have begun here. */
interface Arrived {
  readonly origin: string
  readonly hasBegun: boolean
  readonly message: string
  readonly state: string
  readonly form: Form
  readonly alias: string | undefined
}

async function accept(
  { request, reply }: Exchange,
  { origin, hasBegun, message, state, form, alias }: Arrived,
  deps: LoginDeps,
): Promise<FastifyReply> {
  const { returns } = deps
  const postedAgain = form.get(POSTED_AGAIN)
  const given = {
    origin,
    form,
    path: alias === undefined || postedAgain === 'bare' ? BARE_PATH : consumerPath(alias),
    failurePath: '/saml_error',
    lost: () => {
      reportAnswer(request, { message, why: 'in-response-to', origin }, deps)
      return 'in-response-to: this browser has no such pending sign-in, or it has expired'
    },
    refused: (result: Refused, path: string | undefined) => failureOf(request, { origin, result, path }, deps),
  } as const
  // A relay state of the provider's own may look like one of ours.
  const isForUs = hasBegun || (postedAgain !== undefined && (await mayAnswerRequest(message)))
  if (isForUs) return returns.finishAttempt(request, reply, given)
  const refused = async (result: Refused, path: string | undefined): Promise<Failure | string | undefined> => {
    if (result.outcome !== 'no-provider') return given.refused(result, path)
    given.lost() // sign-ins must not begin at this provider, or not for the client that it leads to
    return LOST
  }
  return returns.acceptUnsolicited(request, reply, { ...given, refused, target: state })
}

/** The code that reads SAML is loaded with the first message. */
const mayAnswerRequest = async (message: string): Promise<boolean> =>
  (await import('../../identity/saml/response.ts')).mayAnswerRequest(message)

/** Logs and reports a response whose issuer is not a provider here. */
async function reportUnknownIssuer(
  request: FastifyRequest,
  { message, issuer }: { readonly message: string; readonly issuer: string | undefined },
  deps: LoginDeps,
): Promise<void> {
  const problem = issuer === undefined ? await deps.identity.problemIn('saml', message) : undefined
  const from = issuer === undefined ? 'an unnamed issuer' : JSON.stringify(issuer.slice(0, MAX_LOGGED_LENGTH))
  deps.log.refusal(
    problem === undefined
      ? `a SAML response: issuer: it is from ${from}: not an active provider of the zone, or not the one of this URL`
      : `a SAML response: ${problem}: it cannot be parsed`,
  )
  reportAnswer(request, { message, why: problem ?? 'issuer' }, deps)
}

/** Makes the browser post the response again from one of our pages, with the cookies. */
async function postAgain(
  { request, reply }: Exchange,
  { form, own, alias }: { readonly form: Form; readonly own: string; readonly alias: string | undefined },
  { pages, urls }: LoginDeps,
): Promise<FastifyReply> {
  const chrome = await pages.chrome(request, reply)
  // The cookie of the attempt is not sent to the path without an alias.
  const action = urls.ofZone(request.zone) + consumerPath(alias ?? own)
  const fields = {
    SAMLResponse: form.get('SAMLResponse') ?? '',
    RelayState: form.get('RelayState') ?? '',
    [POSTED_AGAIN]: alias === undefined ? 'bare' : 'true',
  }
  return pages.send(reply, formPostPage(chrome, { clientName: siteName(chrome), action, fields }))
}
