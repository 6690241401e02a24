// Determines the second step of a sign-in, again at each request, from the account, the session, the
// zone's policy and the requesting application.
import type { FastifyRequest } from 'fastify'
import type { FactorOwner } from '../../accounts/factor-changes.ts'
import type { Enrolment } from '../../factors/one-time-passwords.ts'
import { levelOf, reaches, stronger } from '../../model/sessions/assurance.ts'
import { hasFactor, needsProof } from '../../model/sessions/fresh-sign-in.ts'
import {
  asksForSecondFactor,
  countingMethods,
  isAbout,
  methodsFor,
  secondFactorPolicy,
} from '../../model/users/second-factor.ts'
import { SECOND_FACTOR_PATH } from '../../model/sessions/sign-in-demands.ts'
import { levelsAsked, requiredLevel } from '../../model/sessions/step-up.ts'
import type { Urls } from '../../model/urls.ts'
import { describeUserAgent, userAgentIn } from '../../model/users/user-agent.ts'
import { siteName } from '../../pages/parts/layout.ts'
import type { Chrome } from '../../pages/parts/layout.ts'
import type { FactorChoice } from '../../pages/sign-in/second-factor.ts'
import { factorTexts } from '../../pages/texts/factor-texts.ts'
import type { FactorTexts } from '../../pages/texts/factor-texts.ts'
import type { Texts } from '../../pages/texts/texts.ts'
import type { FactorMethod } from '../../records/user.ts'
import { EMPTY_FORM } from '../../web/requests/form.ts'
import type { Form } from '../../web/requests/form.ts'
import type { PageWriter } from '../../web/pages.ts'
import { originOf } from '../../web/requests/request-context.ts'
import type { SignedInUser } from '../../web/sessions/current-session.ts'
import type { LoginDeps } from '../deps.ts'

/** The page for setting up an authenticator app. */
export const APP_PATH = `${SECOND_FACTOR_PATH}/app`
/** The path that a new passkey is posted to. */
export const PASSKEY_PATH = `${SECOND_FACTOR_PATH}/passkey`

/** A message for the user, in the language of the page. */
export type Problem = (texts: FactorTexts, shared: Texts) => string

/** A page to show, and what went wrong before. */
export interface Shown {
  readonly task: Task
  readonly form: Form
  readonly problem?: Problem
}

/** The second step that a user has to complete. */
export interface Task {
  readonly signedIn: SignedInUser
  /** Whether the user has proven one factor only so far. */
  readonly isFirstStep: boolean
  /** The sufficient factors. */
  readonly reaching: readonly FactorMethod[]
  /** What the user can prove now. */
  readonly provable: readonly FactorMethod[]
  /** Whether a factor may be added: by users who have none, and by users who have proven one. */
  readonly mayAdd: boolean
  /** Whether the application requires it, not the zone. */
  readonly isStepUp: boolean
  /** How long the browser may be remembered; 0 for never. */
  readonly rememberDays: number
}

/** Determines the task. */
export interface Tasks {
  /** Undefined if nothing is required. The form or query may name the target of its own tab. */
  of(request: FastifyRequest, form?: Form): Promise<Task | undefined>
  /** The path to continue with: that of the form, or of the newest request that waits. */
  continueUrl(request: FastifyRequest, form?: Form): Promise<string>
  /** The same as a URL, which forms and links of this tab name; undefined for the start page. */
  formRedirectUri(request: FastifyRequest, form: Form): Promise<string | undefined>
}

const OWN_PATH = new RegExp(`^${SECOND_FACTOR_PATH}(?![^/?#])`)

/** One instance serves every zone. */
export function createTasks(deps: LoginDeps): Tasks {
  const { sessions, signInDemands, signInTargets, groupsOf, urls, behaviour } = deps

  async function continueUrl(request: FastifyRequest, form = EMPTY_FORM): Promise<string> {
    const { path } = await signInTargets.of(request, form)
    // Not back to this page, which has nothing left to ask.
    return path === undefined || OWN_PATH.test(path) ? '/' : path
  }

  return {
    continueUrl,
    async formRedirectUri(request, form) {
      const path = await continueUrl(request, form)
      return path === '/' ? undefined : urls.ofZone(request.zone) + path
    },
    async of(request, form = EMPTY_FORM) {
      const signedIn = await sessions.signedIn(request)
      if (!signedIn) return undefined
      const { zone } = request
      const { user, session } = signedIn
      const policy = secondFactorPolicy(zone, behaviour)
      const isOutstanding = (await signInDemands.open(request, signedIn))?.name === 'second-factor'
      const { client, query, path } = await signInTargets.of(request, form)
      const groupNames = (await groupsOf(zone, user)).groups
      const acrValues = query && levelsAsked(query.get('acr_values'), client)
      const asked =
        requiredLevel(policy, { acrValues, client: client?.secondFactor, user, groupNames }) ??
        // Also in a browser that is remembered.
        (isAbout(policy, user) && needsProof(path) && hasFactor(user)
          ? ({ level: '2', methods: policy.methods } as const)
          : undefined)
      const level = levelOf(session.signIn.acr)
      const isAsked = asked !== undefined && asked.methods.length > 0 && !reaches(level, asked.level)
      if (!isOutstanding && !isAsked) return undefined
      const reaching = isAsked ? asked.methods : methodsFor(stronger(level, '2'), policy)
      const counting = countingMethods(policy, user)
      const isFirstStep = level === '1'
      return {
        signedIn,
        isFirstStep,
        reaching,
        // A factor that is too weak for the application still proves who the user is, and lets them add a stronger one.
        provable: isFirstStep ? counting : counting.filter(method => reaching.includes(method)),
        mayAdd: !isFirstStep || !hasFactor(user),
        isStepUp: !isOutstanding || !asksForSecondFactor(policy, user, groupNames),
        rememberDays: policy.rememberDays,
      }
    },
  }
}

/** Whether the task is to add a factor. */
export const addsFactor = ({ provable, mayAdd }: Task): boolean => provable.length === 0 && mayAdd

/** The user's methods, the strongest first. Codes reach at most level 2. */
export const choicesOf = ({ provable, isFirstStep }: Task): readonly FactorChoice[] => [
  ...(provable.includes('passkey') ? (['passkey'] as const) : []),
  ...(provable.includes('totp') ? (['app'] as const) : []),
  ...(isFirstStep ? (['recovery'] as const) : []),
]

/** Where a signed-in user adds or uses a passkey. */
export const ceremonyOf = (request: FastifyRequest, { session }: SignedInUser, urls: Urls) => ({
  zoneId: request.zone.id,
  baseUrl: urls.ofZone(request.zone),
  browser: `session ${session.idDigest}`,
})

/** Whose new authenticator app it is. */
export const enrolmentOf = ({ zone }: FastifyRequest, { user, session }: SignedInUser, chrome: Chrome): Enrolment => ({
  zoneId: zone.id,
  userId: user.id,
  session: session.idDigest,
  issuer: siteName(chrome),
  userName: user.userName,
})

/** The user, for changes of the factors. */
export const ownerOf = async (
  request: FastifyRequest,
  { user }: SignedInUser,
  pages: Pick<PageWriter, 'mailFrame'>,
): Promise<FactorOwner> => ({
  zone: request.zone,
  user,
  from: originOf(request),
  frame: await pages.mailFrame(request),
})

/** The browser that makes the passkey, or asks for it: where most users look for it later. */
export function nameOfBrowser({ headers }: FastifyRequest, { texts }: Pick<Chrome, 'texts'>): string {
  const userAgent = userAgentIn(headers)
  return userAgent === undefined ? factorTexts(texts).enrol.passkeyName : describeUserAgent(userAgent, texts.browsers)
}
