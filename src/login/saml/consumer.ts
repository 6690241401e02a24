// The assertion consumer (SAML 2.0 Profiles §4.1.4.3). An answer is a form of another site, so the browser sends no cookies
// with it: the attempt that it belongs to is found when a page of ours has posted it once more.
import type { FastifyReply, FastifyRequest } from 'fastify'
import { digest } from '../../base/secrets.ts'
import { SAML_NOT_PRECREATED } from '../../model/zones/identity-provider.ts'
import { consumerPath } from '../../model/zones/saml-paths.ts'
import { userAgentIn } from '../../model/users/user-agent.ts'
import { samlEntityIdOf } from '../../model/zones/zone.ts'
import { formPostPage } from '../../pages/form-post.ts'
import { siteName } from '../../pages/layout.ts'
import type { On } from '../../web/deferred-routes.ts'
import { EMPTY_FORM } from '../../web/requests/form.ts'
import type { Form } from '../../web/requests/form.ts'
import { bodyForm } from '../../web/route.ts'
import { isState } from '../attempts.ts'
import { LOST } from '../external-failures.ts'
import type { Failure, Refused } from '../external-failures.ts'
import { isPlain } from '../returns.ts'
import { deniedUrl } from './denial.ts'
import type { SamlDeps, SamlRoute } from './saml.ts'

const UNREADABLE: Failure = {
  status: 400,
  description: 'The response of your identity provider could not be read. Please start again.',
}
const NO_PROVIDER: Failure = {
  status: 404,
  description: 'That sign-in method is not available here. Please use another one.',
}

/** Where the answer was posted first: a recipient that the assertion may name. */
const POSTED_AGAIN = 'posted_again'
const BARE_PATH = '/saml/SSO'
/** Characters of an issuer in the log. */
const MAX_LOGGED_LENGTH = 200

/** See samlEndpoints. */
export function samlConsumerHandlers(on: On<SamlRoute>, deps: SamlDeps): void {
  const { store, identity, attempts, pages, returns, urls, behaviour, log } = deps

  const fail = (request: FastifyRequest, reply: FastifyReply, failure: Failure): Promise<FastifyReply> =>
    returns.fail(request, reply, { failure, failurePath: '/saml_error' })

  async function consume(
    request: FastifyRequest,
    reply: FastifyReply,
    alias: string | undefined,
  ): Promise<FastifyReply> {
    const { zone } = request
    const form = bodyForm(request) ?? EMPTY_FORM
    const message = form.get('SAMLResponse')
    if (!message || form.all('SAMLResponse').length > 1) return fail(request, reply, UNREADABLE)
    const entityId = samlEntityIdOf(zone, deps.samlEntityId)
    const issuer = await identity.claimedIssuer('saml', message)
    const origin = issuer === undefined ? undefined : await identity.originOf(zone, 'saml', issuer)
    // The last segment may be the service provider's alias or the identity provider's.
    if (origin === undefined || (alias !== undefined && alias !== entityId && alias !== origin)) {
      const problem = issuer === undefined ? await identity.problemIn('saml', message) : undefined
      const why = problem ?? 'issuer'
      const from = issuer === undefined ? 'an unnamed issuer' : JSON.stringify(issuer.slice(0, MAX_LOGGED_LENGTH))
      log.refusal(
        problem === undefined
          ? `a SAML answer: issuer: it is from ${from}: no active provider of the zone, or not the one of this address`
          : `a SAML answer: ${problem}: it cannot be read`,
      )
      report(request, { message, why })
      return fail(request, reply, await noProvider(request, { issuer, alias }))
    }
    const shape = await returns.shapeOf(zone, origin)
    if (!isPlain(form, shape)) return fail(request, reply, UNREADABLE)
    const bare = alias === undefined || form.get(POSTED_AGAIN) === 'bare'
    const given = {
      origin,
      form,
      path: bare ? BARE_PATH : pathOf(alias),
      failurePath: '/saml_error',
      lost: () => {
        report(request, { message, why: 'in-response-to', origin })
        return 'in-response-to: this browser waits for no such answer, or not any more'
      },
      refused: (result: Refused, path: string | undefined) => explain(request, { origin, result, path }),
    } as const
    const state = form.get(shape.state) ?? ''
    if (form.get(POSTED_AGAIN) !== undefined) return returns.finishAttempt(request, reply, given)
    if (!isState(state)) {
      const refused = async (result: Refused, path: string | undefined): Promise<Failure | string | undefined> => {
        if (result.outcome !== 'no-provider') return given.refused(result, path)
        given.lost() // sign-ins must not begin at this provider, or not for the client that it leads to
        return LOST
      }
      return returns.acceptUnsolicited(request, reply, { ...given, refused, target: state })
    }
    const key = { origin, state, callback: consumerPath(entityId) }
    if (attempts.wasSent(request, key)) return returns.finishAttempt(request, reply, given)
    return postAgain(request, reply, { form, entityId, alias })
  }

  async function postAgain(
    request: FastifyRequest,
    reply: FastifyReply,
    { form, entityId, alias }: { form: Form; entityId: string; alias: string | undefined },
  ): Promise<FastifyReply> {
    const chrome = await pages.chrome(request, reply)
    // The cookie of the attempt is not sent to the path without an alias.
    const action = urls.ofZone(request.zone) + (alias === undefined ? consumerPath(entityId) : pathOf(alias))
    const fields = {
      SAMLResponse: form.get('SAMLResponse') ?? '',
      RelayState: form.get('RelayState') ?? '',
      [POSTED_AGAIN]: alias === undefined ? 'bare' : 'true',
    }
    return pages.send(reply, formPostPage(chrome, { clientName: siteName(chrome), action, fields }))
  }

  /** Reports to the audit trail an answer to no pending request, or from no provider; `identity` reports all others. */
  function report(
    { zone, ip, headers }: FastifyRequest,
    { message, why, origin }: { readonly message: string; readonly why: string; readonly origin?: string },
  ): void {
    const userAgent = userAgentIn(headers)
    deps.audit({
      type: 'IdentityProviderAuthenticationFailure',
      zoneId: zone.id,
      principal: digest(message),
      authenticationType: 'saml',
      remoteAddress: ip,
      ...(userAgent !== undefined && { userAgent }),
      ...(origin !== undefined && { origin }),
      data: why,
    })
  }

  /** UAA: names the provider that sent the answer, or whose address it was sent to. */
  async function noProvider(
    { zone }: FastifyRequest,
    { issuer, alias }: { readonly issuer: string | undefined; readonly alias: string | undefined },
  ): Promise<Failure> {
    if (behaviour.ownWords) return NO_PROVIDER
    // From the cache: anyone can ask, and the records of a zone may have megabytes.
    const all = (await store.providers.listKnown(zone.id)).filter(({ type }) => type === 'saml')
    const disabled = all.find(
      ({ active, externalKey }) => !active && externalKey !== undefined && externalKey === issuer,
    )
    if (disabled) {
      const description = `Identity Provider has been disabled by administrator for alias:${disabled.originKey}`
      return { ...NO_PROVIDER, description }
    }
    const named = all.some(({ originKey }) => originKey === alias)
    return {
      ...NO_PROVIDER,
      description: `No SAML identity provider found in zone${named ? ` for alias:${alias}` : '.'}`,
    }
  }

  /** What a refusal is answered with, where UAA has an answer of its own. */
  async function explain(
    { zone }: FastifyRequest,
    { origin, result, path }: { readonly origin: string; readonly result: Refused; readonly path: string | undefined },
  ): Promise<Failure | string | undefined> {
    if (result.outcome === 'no-provider' && !behaviour.ownWords) {
      return { ...NO_PROVIDER, description: `No SAML identity provider found in zone for alias:${origin}` }
    }
    if (result.outcome !== 'refused') return undefined
    if (result.reason === 'not-precreated') {
      const url = await deniedUrl(zone, { path, description: SAML_NOT_PRECREATED }, deps)
      return url ?? (behaviour.ownWords ? undefined : { status: 403, description: SAML_NOT_PRECREATED })
    }
    if (result.reason !== 'not-invited' || behaviour.ownWords) return undefined
    return { status: 403, description: OTHER_EMAIL }
  }

  on('GET /saml/SSO', (request, reply) => fail(request, reply, UNREADABLE))
  on('GET /saml/SSO/alias/:alias', (request, reply) => fail(request, reply, UNREADABLE))
  on('POST /saml/SSO', (request, reply) => consume(request, reply, undefined))
  on<{ Params: { alias: string } }>('POST /saml/SSO/alias/:alias', (request, reply) =>
    consume(request, reply, request.params.alias),
  )
}

const pathOf = (alias: string): string => `${BARE_PATH}/alias/${encodeURIComponent(alias)}`

const OTHER_EMAIL = "SAML User email mismatch. Authenticated email doesn't match invited email."
