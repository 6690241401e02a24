// prompt and max_age (OpenID Connect Core §3.1.2.1): what a request requires of the sign-in, and the redirect to it.
import { addSeconds } from '../../../base/clock.ts'
import { leavesDevice } from '../../../model/safe-uri.ts'
import type { FastifyReply } from 'fastify'
import type { Behaviour } from '../../../model/compatibility.ts'
import { OAuthError } from '../../../model/oauth-error.ts'
import { BEGUN_SECONDS } from '../../../model/tokens/pushed-request.ts'
import { offerAccountChoice } from '../../../web/account-choice.ts'
import { goTo } from '../../../web/redirect.ts'
import type { Form } from '../../../web/requests/form.ts'
import { ACCOUNT_WAS_CHOSEN, ASKED_AT, ASKED_FOR_AGE, ASKED_FOR_HINT, carriedQuery } from '../carried.ts'
import { AUTHORIZE_PATH, found, isMarked, signedInSince } from '../context.ts'
import type { AuthorizeContext } from '../context.ts'
import { refusal } from '../refusal.ts'
import type { OAuthDeps } from '../../deps.ts'

/** Whether no page may be shown; known before the request is checked. */
export function isSilent(form: Pick<Form, 'get'>, { promptWords }: Behaviour): boolean {
  const prompt = form.get('prompt') ?? ''
  return promptWords ? wordsOf(prompt).has('none') : prompt.startsWith('none')
}

/** Reads `prompt` and `max_age`; `none` cannot be combined, unknown values are ignored. */
export function readPrompt(context: AuthorizeContext, deps: OAuthDeps): void {
  const { params, program } = context
  const refuse = (description: string): Error => refusal(context, deps, new OAuthError('invalid_request', description))
  const prompt = params.get('prompt') ?? ''
  const silent = isSilent(params, deps.behaviour)
  const age = params.get('max_age')
  if (age !== undefined && !/^\d{1,10}$/.test(age)) throw refuse('The max_age must be a number of seconds')
  // The session shows whether the sign-in met the request: another tab may have begun it, for a request that demanded less.
  const { request, source } = context
  const asked = { request, begunAt: source ? source.begunAt : askedAt(context, deps) }
  const wasDemanded = request.visit?.signIn?.wasDemanded === true && signedInSince(asked, deps.behaviour)
  const isNewLogin = wasDemanded || signedInSince(asked, deps.behaviour, 0)
  const requestedAge = age === undefined ? defaultAge(context) : Number(age)
  // The age that the client's record requires cannot be removed from a URL, so a mark there does not meet it.
  const isMet = (source !== undefined || age !== undefined) && signedInSince(asked, deps.behaviour, requestedAge)
  const maxAge = isMet ? undefined : requestedAge
  if (!deps.behaviour.promptWords) {
    const forceLogin = prompt === 'login' && !isNewLogin
    context.asked = {
      ...context.asked,
      silent,
      forceLogin,
      forceConsent: asksAlways(context),
      chooseAccount: false,
      maxAge,
    }
    return
  }
  const words = wordsOf(prompt)
  if (silent && words.size > 1) throw refuse('prompt=none cannot be combined with another prompt')
  context.asked = {
    ...context.asked,
    silent,
    forceLogin: words.has('login') && !isNewLogin,
    forceConsent: words.has('consent') || asksAlways(context),
    // A token or password already identifies the account.
    chooseAccount:
      words.has('select_account') &&
      program === undefined &&
      !(source && signedInSince(asked, deps.behaviour)) &&
      !isMarked(context, ACCOUNT_WAS_CHOSEN),
    maxAge,
  }
}

/** When the request asked for the sign-in, if that was not long ago. */
function askedAt({ form }: AuthorizeContext, { clock }: OAuthDeps): Date | undefined {
  const text = form.get(ASKED_AT) ?? ''
  if (!/^\d{1,15}$/.test(text)) return undefined
  const at = new Date(Number(text))
  return clock.now() < addSeconds(at, BEGUN_SECONDS) ? at : undefined
}

/**
 * RFC 8252 §8.6: any program on the user's device could say that it is this application, whose document any program may name
 * and which proves nothing. So a former approval does not count.
 */
function asksAlways({ asked: { client, target } }: AuthorizeContext): boolean {
  const isUnproven = client?.registration?.byDocument === true && client.tokenEndpointAuthMethod === 'none'
  return isUnproven && !leavesDevice(target?.redirectUri ?? '')
}

/** The `default_max_age` of the client. A sign-in that it led to meets it for as long as the approval page may stay open. */
function defaultAge(context: AuthorizeContext): number | undefined {
  const age = context.asked.client?.defaultMaxAge
  return age !== undefined && isMarked(context, ASKED_FOR_AGE) ? Math.max(age, MET_SECONDS) : age
}

/** Any caller can add a mark to a URL, so it can only extend an age below this limit. */
const MET_SECONDS = 600

/**
 * Sends the browser to sign in. The sign-in meets `select_account`, so that the request that waits continues without it. It keeps
 * `login` and `max_age`, which the time of the sign-in has to meet. UAA: continues without them, too (rows A10, A12).
 */
export async function signIn(
  context: AuthorizeContext,
  { sessions, denial, urls, behaviour, clock }: OAuthDeps,
): Promise<FastifyReply> {
  const { request, reply, form, query, hinted, asked, source } = context
  const isRewritten = !source && isMetBySignIn(form)
  const rest = isRewritten ? waitingQuery(form, behaviour, clock.now()) : query()
  const isNew = hinted !== undefined && !wasAskedForHint(context)
  const isDefault = asked.maxAge !== undefined && context.params.get('max_age') === undefined
  const marks = [isNew && ASKED_FOR_HINT, isDefault && !isMarked(context, ASKED_FOR_AGE) && ASKED_FOR_AGE]
  const path = `${AUTHORIZE_PATH}?${[rest, ...marks.filter(Boolean).map(mark => `${mark}=true`)].join('&')}`
  const reauthenticate = (await sessions.signedIn(request)) !== undefined
  if (reauthenticate && !behaviour.keepSessionUntilLogin) {
    await sessions.end(request, reply)
    return goTo(reply, path, urls)
  }
  // Neither a session here nor one at the provider satisfies the request.
  const isDemanded = behaviour.upstreamAuthTime && (asked.forceLogin === true || asked.maxAge === 0)
  const maxAge = behaviour.upstreamAuthTime ? asked.maxAge : undefined
  return denial.askToSignIn(request, reply, {
    path,
    reauthenticate: reauthenticate || isDemanded,
    ...(maxAge !== undefined && { maxAge }),
  })
}

/** Shows `prompt=select_account`: continue with the current account, or sign in with another one. */
export async function chooseAccount(
  { request, reply, form, query, source, authenticatedUser }: AuthorizeContext,
  deps: OAuthDeps,
): Promise<FastifyReply> {
  const { user } = found(authenticatedUser)
  const rest = source ? `${query()}&${ACCOUNT_WAS_CHOSEN}=true` : without(form, ['select_account'], [])
  return offerAccountChoice({ request, reply }, { user, path: `${AUTHORIZE_PATH}?${rest}` }, deps)
}

const MET_BY_SIGN_IN = ['login', 'select_account']

const isMetBySignIn = (form: Form): boolean =>
  asksForAge(form) || MET_BY_SIGN_IN.some(word => wordsOf(form.get('prompt') ?? '').has(word))

/** The query with which a request continues that requires a sign-in. */
function waitingQuery(form: Form, { upstreamAuthTime }: Behaviour, now: Date): string {
  if (!upstreamAuthTime) return without(form, MET_BY_SIGN_IN, asksForAge(form) ? ['max_age'] : [])
  return `${without(form, ['select_account'], [ASKED_AT])}&${ASKED_AT}=${now.getTime()}`
}

/** The query of the request without these values of `prompt` and without these parameters. */
function without(form: Form, words: readonly string[], parameters: readonly string[]): string {
  const left = [...wordsOf(form.get('prompt') ?? '')].filter(word => !words.includes(word))
  const rest = carriedQuery(form, ['prompt', ...parameters])
  return left.length > 0 ? `${rest}&prompt=${encodeURIComponent(left.join(' '))}` : rest
}

const asksForAge = (form: Form): boolean => /^\d+$/.test(form.get('max_age') ?? '')

const wordsOf = (prompt: string): ReadonlySet<string> => new Set(prompt.split(' ').filter(word => word !== ''))

/** Whether the user was already asked to sign in because of `id_token_hint`. */
export const wasAskedForHint = (context: Pick<AuthorizeContext, 'form' | 'source'>): boolean =>
  isMarked(context, ASKED_FOR_HINT)
