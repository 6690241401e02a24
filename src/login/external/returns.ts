// The return of a browser from another provider: what it must prove, and which attempt it completes; completion.ts signs the user
// in. Does not know the provider's protocol. See docs/decisions/0014-upstream-sign-in.md.
import type { FastifyReply, FastifyRequest } from 'fastify'
import { mayBeLinked, openInvitation } from '../../accounts/accept-invitation.ts'
import type { OpenInvitation } from '../../accounts/accept-invitation.ts'
import { OutboundBusy } from '../../base/outbound/error.ts'
import { digest } from '../../base/secrets.ts'
import type { AnswerShape } from '../../identity/source.ts'
import type { IdentityProvider } from '../../model/zones/identity-provider.ts'
import type { Zone } from '../../model/zones/zone.ts'
import { offerAccountChoice } from '../../web/account-choice.ts'
import type { Exchange } from '../../web/exchange.ts'
import { goTo } from '../../web/redirect.ts'
import type { Form } from '../../web/requests/form.ts'
import { ownPath } from '../../web/requests/own-path.ts'
import type { Attempts, Overtaken } from './attempts.ts'
import { answerIn, createCompletions } from './completion.ts'
import type { Completion, Return } from './completion.ts'
import { createFailurePage } from './external-failure-page.ts'
import type { ShowFailure } from './external-failure-page.ts'
import { LOST } from './external-failures.ts'
import type { LoginParts } from '../parts.ts'
import type { SamlFailures } from '../saml/failures.ts'
import type { SignInTargets } from '../sign-in/sign-in-target.ts'

/** What is needed to send users to other providers and to receive them back. */
export interface ExternalDeps extends LoginParts {
  readonly signInTargets: SignInTargets
  readonly attempts: Attempts
  readonly samlFailures: SamlFailures
}

/** Completes sign-ins at other providers. */
export interface Returns {
  /** The fields of the provider's responses. */
  shapeOf(zone: Zone, origin: string): Promise<AnswerShape>
  /** Signs the user in and continues, if this browser started the sign-in. */
  finishAttempt(request: FastifyRequest, reply: FastifyReply, given: Return): Promise<FastifyReply>
  /** Signs the user in who started at the provider, regardless of the browser's session and its pending sign-ins. */
  acceptUnsolicited(
    request: FastifyRequest,
    reply: FastifyReply,
    given: Return & { readonly target?: string },
  ): Promise<FastifyReply>
  readonly fail: ShowFailure
}

/** The path of a provider's responses, below the zone's base URL, unless its protocol has another one. */
export const callbackPath = (origin: string): string => `/login/callback/${encodeURIComponent(origin)}`

/** Settings that identify the provider and our client there. */
const ADDRESSES = [
  'issuer',
  'relyingPartyId',
  'authUrl',
  'tokenUrl',
  'tokenKeyUrl',
  'userInfoUrl',
  'discoveryUrl',
  'responseType',
  'metaDataLocation',
] as const

/** Changes if another provider gets this name, or the record points to another server. */
export const fingerprint = ({ id, config }: IdentityProvider): string =>
  digest(JSON.stringify([id, ...ADDRESSES.map(name => config[name])]))

/** For a deleted provider, so that its response is refused like any other without a pending request. */
const NO_ANSWER: AnswerShape = { state: 'state', fields: [] }

/** Every field of the response. */
export const namesOf = ({ state, fields }: AnswerShape): readonly string[] => [state, ...fields]

/** Whether no field was sent twice (RFC 6749 §3.1). */
export const isPlain = (form: Form, shape: AnswerShape): boolean =>
  namesOf(shape).every(name => form.all(name).length <= 1)

/** One instance serves every zone. */
export function createReturns(deps: ExternalDeps): Returns {
  const { store, identity, sessions, attempts, urls, log } = deps
  const fail = createFailurePage(deps)
  const completions = createCompletions(deps, fail)

  async function finishAttempt(request: FastifyRequest, reply: FastifyReply, given: Return): Promise<FastifyReply> {
    const { origin, form } = given
    const { zone } = request
    const answers = await identity.answersOf(zone, origin)
    const shape = answers?.shape ?? NO_ANSWER
    const callback = answers?.path ?? callbackPath(origin)
    const state = form.get(shape.state)
    const key = isPlain(form, shape) && state ? { origin, state, callback } : undefined
    const provider = await store.providers.findByOrigin(zone.id, origin)
    const attempt = key && (await attempts.take(request, reply, key))
    const overtaken = key && !attempt ? await attempts.overtaken(request, key) : undefined
    const redirectUri = urls.ofZone(zone) + (given.path ?? callback)
    // Not if the sign-in had to be for an invitation, or of now.
    if (overtaken && overtaken.attempt.invitation === undefined && overtaken.attempt.maxAge === undefined) {
      return continueSignedIn({ request, reply }, { given, overtaken, provider, shape, redirectUri })
    }
    if (!key || !attempt || !provider || attempt.provider !== fingerprint(provider)) {
      log.refusal(`sign-in at ${JSON.stringify(origin)}: ${given.lost?.() ?? 'no such attempt'}`)
      return fail(request, reply, { ...given, failure: LOST })
    }
    const invitation = attempt.invitation === undefined ? undefined : await findOpen(zone, attempt.invitation, provider)
    if (attempt.invitation !== undefined && !invitation) {
      log.refusal(`sign-in at ${JSON.stringify(origin)}: the invitation is no longer valid`)
      return fail(request, reply, { ...given, failure: LOST })
    }
    const path = invitation ? undefined : (attempt.path ?? (await sessions.savedRequest(request))?.path)
    const to = { provider, shape, redirectUri, attempt, invitation, path }
    return completions.complete(request, reply, { given, to }).catch(async (cause: unknown) => {
      // The page says to try again in a few seconds: loaded again, it must not be that of another browser's sign-in.
      if (cause instanceof OutboundBusy) await attempts.giveBack(request, reply, key)
      throw cause
    })
  }

  /** The invitation of this code; undefined if it no longer holds for the provider. */
  async function findOpen(zone: Zone, code: string, provider: IdentityProvider): Promise<OpenInvitation | undefined> {
    const invitation = await openInvitation(zone, code, deps)
    const isOpen = invitation?.user.origin === provider.originKey && (await mayBeLinked(invitation, provider, deps))
    return isOpen ? invitation : undefined
  }

  /** Continues if the response is about the user who is signed in; otherwise asks with which account to continue. */
  async function continueSignedIn(
    { request, reply }: Exchange,
    {
      given: { origin, form },
      overtaken: { attempt, user },
      provider,
      shape,
      redirectUri,
    }: Pick<Completion, 'shape' | 'redirectUri'> & {
      readonly given: Return
      readonly overtaken: Overtaken
      readonly provider: IdentityProvider | undefined
    },
  ): Promise<FastifyReply> {
    const { zone } = request
    const path = completions.targetOf(attempt.path)
    const answer = answerIn(form, shape)
    const isTheirs =
      provider !== undefined &&
      attempt.provider === fingerprint(provider) &&
      (await identity.confirmsUser(zone, { origin, answer, attempt: { ...attempt, redirectUri }, user }))
    if (isTheirs) return goTo(reply, path, urls)
    log.refusal(`sign-in at ${JSON.stringify(origin)}: the browser is signed in with another account meanwhile`)
    return offerAccountChoice({ request, reply }, { user, path }, deps)
  }

  async function acceptUnsolicited(
    request: FastifyRequest,
    reply: FastifyReply,
    given: Return & { readonly target?: string },
  ): Promise<FastifyReply> {
    const { origin, form, target } = given
    const { zone } = request
    const answers = await identity.answersOf(zone, origin)
    const provider = await store.providers.findByOrigin(zone.id, origin)
    if (!answers || !provider || !isPlain(form, answers.shape)) return fail(request, reply, { ...given, failure: LOST })
    // A form of another site sends no cookies anyway, and a pending request of this browser may belong to another user.
    sessions.forget(request)
    const redirectUri = urls.ofZone(zone) + (given.path ?? answers.path ?? callbackPath(origin))
    const to = { provider, shape: answers.shape, redirectUri, path: ownPath(urls.addressesOf(zone), target) }
    return completions.complete(request, reply, { given, to })
  }

  return {
    shapeOf: async (zone, origin) => (await identity.answersOf(zone, origin))?.shape ?? NO_ANSWER,
    finishAttempt,
    acceptUnsolicited,
    fail,
  }
}
