// The steps of the sign-in that the zone and the request require before anything is granted. The request states the level by
// `acr_values` (OpenID Connect Core §3.1.2.1, RFC 9470 §4); the policy of its client can require one, too.
import { levelOf } from '../../model/sessions/assurance.ts'
import type { Behaviour } from '../../model/compatibility.ts'
import { OAuthError } from '../../model/oauth-error.ts'
import type { AddressedZone } from '../../model/request.ts'
import { supportsLevels } from '../../model/users/second-factor.ts'
import { SECOND_FACTOR } from '../../model/sessions/sign-in-demands.ts'
import type { SignInDemand } from '../../model/sessions/sign-in-demands.ts'
import { levelsAsked } from '../../model/sessions/step-up.ts'
import type { RequiredLevel } from '../../model/sessions/step-up.ts'
import { MFA_REQUIRED } from '../grants/resource-owner.ts'
import { lackingLevel } from '../lacking-level.ts'
import type { LevelQuestion } from '../lacking-level.ts'
import { found } from './context.ts'
import type { AuthorizeContext } from './context.ts'
import type { Step } from './next-step.ts'
import { RedirectRefusal, signInErrorMode } from './response/redirect.ts'
import { refusal } from './refusal.ts'
import type { OAuthDeps } from '../deps.ts'

/** UAA: outstanding steps of the sign-in come before every check of the request. See docs/compatibility.md, A1. */
export const meetDemandsFirst = async (context: AuthorizeContext, deps: OAuthDeps): Promise<Step | undefined> =>
  context.silent ? undefined : requireDemandsMet(context, deps)

/** Outstanding steps of the sign-in, such as a new password, come before anything is granted in a browser. */
export async function requireDemandsMet(context: AuthorizeContext, deps: OAuthDeps): Promise<Step | undefined> {
  const { request, authenticatedUser, program } = context
  if (!authenticatedUser || program) return undefined
  const { sessions, signInDemands, behaviour } = deps
  const demand = await signInDemands.open(request, found(await sessions.signedIn(request)))
  return demand && meet(demand, context, behaviour)
}

/** The step to the page of the demand; throws where no page may be shown. */
export function meet(demand: SignInDemand, { silent, asked }: AuthorizeContext, behaviour: Behaviour): Step {
  if (!silent) return { kind: 'meet-demand', demand }
  const target = found(asked.target)
  // UAA: travels as a missing sign-in does. See docs/compatibility.md, R7.
  const mode = behaviour.standardSilentErrors ? undefined : signInErrorMode(target)
  throw new RedirectRefusal(target, new OAuthError('interaction_required', demand.description), mode)
}

/** Longer than any realistic list of classes. */
const MAX_ACR_VALUES_LENGTH = 1000

/** Reads `acr_values`, which has no effect in a zone without second factors. */
export function readAcrValues(context: AuthorizeContext, deps: OAuthDeps): void {
  const { params, request } = context
  if (!supportsLevels(request.zone, deps.behaviour)) return
  const refuse = (description: string): Error => refusal(context, deps, new OAuthError('invalid_request', description))
  if (params.repeated.includes('acr_values')) throw refuse('The parameter acr_values must not be repeated')
  const acrValues = levelsAsked(params.get('acr_values'), context.asked.client)
  if (acrValues === undefined) return
  if (acrValues.length > MAX_ACR_VALUES_LENGTH) throw refuse('The parameter acr_values is too long')
  context.asked = { ...context.asked, acrValues }
}

/** The level that the sign-in lacks, with the factors that reach it, if there are any. */
export async function levelToReach(
  zone: AddressedZone,
  question: LevelQuestion,
  deps: Parameters<typeof lackingLevel>[2] & Pick<OAuthDeps, 'verifiesAttestation'>,
): Promise<RequiredLevel | undefined> {
  const lacking = await lackingLevel(zone, question, deps)
  // Requesting a hardware key is pointless without attestation, or after a passkey that is not hardware-bound.
  const isOutOfReach = lacking?.level === 'phrh' && (!deps.verifiesAttestation || levelOf(question.acr) === 'phr')
  return isOutOfReach ? { ...lacking, methods: [] } : lacking
}

/** Compares the sign-in with the requirements of request and client; `nextStep` decides what follows. */
export async function findLackingLevel(context: AuthorizeContext, deps: OAuthDeps): Promise<Step | undefined> {
  const { request, asked, program } = context
  const { user, acr } = found(context.authenticatedUser)
  const { zone } = request
  context.lacking = await levelToReach(
    zone,
    { client: found(asked.client), user, acr, acrValues: asked.acrValues },
    deps,
  )
  if (!program) return undefined
  const isOutstanding =
    program.by === 'token' && (await deps.findOutstandingDemand(zone, user, { acr }))?.name === SECOND_FACTOR.name
  if (!isOutstanding && !context.lacking) return undefined
  // Neither a token nor a password alone proves a second factor.
  if (program.by !== 'token') throw new OAuthError('mfa_required', MFA_REQUIRED)
  return { kind: 'refuse', error: 'interaction_required', description: SECOND_FACTOR.description }
}
