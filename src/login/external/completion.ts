// The last step of a sign-in at another provider: the answer is verified, and the user signed in or told why not.
import type { FastifyReply, FastifyRequest } from 'fastify'
import { takeInvitation } from '../../accounts/accept-invitation.ts'
import type { OpenInvitation } from '../../accounts/accept-invitation.ts'
import { returnUrl } from '../../accounts/return-url.ts'
import { addSeconds } from '../../base/clock.ts'
import type { RedirectResult, RedirectReturn } from '../../identity/redirect-sign-in.ts'
import type { AnswerShape, RedirectAnswer } from '../../identity/source.ts'
import type { IdentityProvider } from '../../model/zones/identity-provider.ts'
import { isRecent, PROVIDER_SKEW_SECONDS } from '../../model/sessions/session.ts'
import type { SignInMethod } from '../../model/sessions/session.ts'
import { goTo } from '../../web/redirect.ts'
import type { Form } from '../../web/requests/form.ts'
import { contextOf } from '../../web/requests/request-context.ts'
import type { Attempt } from './attempts.ts'
import type { FailurePath, ShowFailure } from './external-failure-page.ts'
import { detailOf, failureOf } from './external-failures.ts'
import type { Failure, Refused } from './external-failures.ts'
import type { ExternalDeps } from './returns.ts'

/** The response of a provider, as received from the browser. */
export interface Return {
  readonly origin: string
  readonly form: Form
  readonly failurePath: FailurePath
  /** The path that received it, below the zone's base URL; by default that of the provider. */
  readonly path?: string
  /** Called for a response without a pending request; returns the message for the log. */
  readonly lost?: () => string
  /** Overrides the answer to a refusal, with another text or a redirect; `path` is the target of the sign-in. */
  readonly refused?: (result: Refused, path: string | undefined) => Promise<Failure | string | undefined>
}

/** The sign-in that an answer completes. */
export interface Completion {
  readonly provider: IdentityProvider
  readonly shape: AnswerShape
  readonly redirectUri: string
  /** Absent where the sign-in began at the provider. */
  readonly attempt?: Attempt
  readonly invitation?: OpenInvitation | undefined
  /** The target, unless there is an invitation. */
  readonly path: string | undefined
}

type SignedIn = Extract<RedirectResult, { readonly outcome: 'signed-in' }>

/** Completes sign-ins. */
interface Completions {
  /** Signs the user in and continues, or shows why the provider's answer is refused. */
  complete(
    request: FastifyRequest,
    reply: FastifyReply,
    answered: { readonly given: Return; readonly to: Completion },
  ): Promise<FastifyReply>
  /** Where to continue; a sign-in without a target leads to the start page. */
  targetOf(path: string | undefined): string
}

/** The fields of the provider's answer. */
export const answerIn = (form: Form, { fields }: AnswerShape): RedirectAnswer =>
  Object.fromEntries(fields.map(name => [name, form.get(name)]))

/** One instance serves every zone. */
export function createCompletions(deps: ExternalDeps, fail: ShowFailure): Completions {
  const { identity, sessions, signInTargets, urls, log, behaviour } = deps

  function targetOf(path: string | undefined): string {
    const start = behaviour.externalSignInLeadsToStart ? '/' : '/home'
    return path === undefined || path === '/' ? start : path
  }

  /** How recent the sign-in at the provider must be; a provider that was sent `max_age` must say (OpenID Connect Core §2). */
  function recency({
    maxAge,
    hasMaxAge,
    beganAt,
  }: Attempt): Pick<RedirectReturn, 'authenticatedSince' | 'mayOmitTime'> {
    if (maxAge === undefined || !behaviour.upstreamAuthTime) return {}
    const from = maxAge === 0 ? new Date(beganAt) : addSeconds(deps.clock.now(), -maxAge)
    return {
      authenticatedSince: addSeconds(from, -PROVIDER_SKEW_SECONDS),
      mayOmitTime: maxAge === 0 && (hasMaxAge ? 'conforming' : true),
    }
  }

  /** When the user signed in at the provider: by now, if it has to obey the `prompt=login` that it was sent. */
  function timeOf(
    attempt: Attempt | undefined,
    { authenticatedAt: reported, mayHaveIgnoredDemands }: SignedIn,
  ): Pick<SignInMethod, 'authenticatedAt' | 'isTimeUnknown' | 'wasDemanded'> {
    if (reported && behaviour.upstreamAuthTime) return { authenticatedAt: reported }
    if (attempt?.maxAge === 0 && mayHaveIgnoredDemands && behaviour.upstreamAuthTime) {
      return { isTimeUnknown: true, wasDemanded: true }
    }
    const isNew = attempt?.maxAge === 0 || (reported && isRecent(reported, deps.clock.now()))
    return isNew ? {} : { isTimeUnknown: true }
  }

  return {
    targetOf,
    async complete(request, reply, { given, to }) {
      const { origin, form } = given
      const { zone } = request
      const { provider, shape, redirectUri, attempt, invitation, path } = to
      const result = await identity.finishRedirect(contextOf(request), {
        origin,
        answer: answerIn(form, shape),
        attempt: attempt ? { ...attempt, redirectUri } : { redirectUri },
        client: await signInTargets.clientOf(zone, path),
        invited: invitation?.user,
        ...(attempt && recency(attempt)),
      })
      const refuse = async (refused: Refused): Promise<FastifyReply> => {
        log.refusal(`sign-in at ${JSON.stringify(origin)}: ${detailOf(refused)}`)
        const answer = await given.refused?.(refused, path)
        if (typeof answer === 'string') return reply.redirect(answer, 302)
        const failure = answer ?? failureOf(refused, provider.name, behaviour)
        return fail(request, reply, { ...given, failure })
      }
      if (result.outcome !== 'signed-in') return refuse(result)
      // Linking the account has ended its codes; this is for one that was linked before.
      if (attempt?.invitation !== undefined) await takeInvitation(zone, attempt.invitation, deps)
      const { amr, acr, upstream } = result
      await sessions.signIn(request, reply, result.user, {
        amr,
        upstream,
        ...(acr && { acr }),
        ...timeOf(attempt, result),
      })
      const loggedOut = await result.loggedOut?.()
      if (loggedOut) {
        await sessions.end(request, reply)
        return refuse(loggedOut)
      }
      if (invitation) {
        const url = await returnUrl(zone, invitation.requestedReturn, deps)
        return reply.redirect(url ?? `${urls.ofZone(zone)}/home`, 302)
      }
      return goTo(reply, targetOf(path), urls)
    },
  }
}
