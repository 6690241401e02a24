// What an authorization request demands of the person's sign-in: prompt, max_age, id_token_hint (OpenID Connect Core
// §3.1.2.1).
import type { Behaviour } from '../../model/compatibility.ts'
import type { OAuthErrorCode } from '../../model/oauth-error.ts'
import type { Form } from '../../web/form.ts'
import { encodeForm } from '../../web/query.ts'
import type { Params } from '../params.ts'

/** The demands, once they were understood. */
export interface Demands {
  /** No page may be shown. */
  readonly silent: boolean
  readonly forceLogin: boolean
  readonly forceConsent: boolean
  /** The person is to say with which account to go on. */
  readonly chooseAccount: boolean
  /** Seconds. */
  readonly maxAge?: number
}

/** Makes the refusal of a request, in whatever way it is told. */
export type Refuse = (error: OAuthErrorCode, description: string) => Error

/** Whether no page may be shown, which can be told before the request is checked. */
export function isSilent(params: Pick<Params, 'get'>, behaviour: Behaviour): boolean {
  const prompt = params.get('prompt') ?? ''
  return behaviour.promptWords ? wordsOf(prompt).has('none') : prompt.startsWith('none')
}

/** Reads the demands; `none` stands alone, unknown words are ignored. */
export function readDemands(params: Params, behaviour: Behaviour, refuse: Refuse): Demands {
  const prompt = params.get('prompt') ?? ''
  const silent = isSilent(params, behaviour)
  const maxAge = readMaxAge(params, refuse)
  if (!behaviour.promptWords) {
    return { silent, forceLogin: prompt === 'login', forceConsent: false, chooseAccount: false, ...maxAge }
  }
  const words = wordsOf(prompt)
  if (silent && words.size > 1) throw refuse('invalid_request', 'prompt=none cannot be combined with another prompt')
  return {
    silent,
    forceLogin: words.has('login'),
    forceConsent: words.has('consent'),
    chooseAccount: words.has('select_account'),
    ...maxAge,
  }
}

function readMaxAge(params: Params, refuse: Refuse): { maxAge?: number } {
  const text = params.get('max_age')
  if (text === undefined) return {}
  if (!/^\d{1,10}$/.test(text)) throw refuse('invalid_request', 'The max_age must be a number of seconds')
  return { maxAge: Number(text) }
}

const MET_BY_SIGN_IN = ['login', 'select_account']

/** Whether the request has demands that a new sign-in meets; whoever signs in has chosen an account. */
export const hasSignInDemand = (form: Form): boolean =>
  demandsAge(form) || MET_BY_SIGN_IN.some(word => wordsOf(form.get('prompt') ?? '').has(word))

/** The query of the request without those. */
export const withoutSignInDemand = (form: Form): string =>
  without(form, MET_BY_SIGN_IN, demandsAge(form) ? ['max_age'] : [])

/** The query of the request without the question which account is meant. */
export const withoutAccountChoice = (form: Form): string => without(form, ['select_account'], [])

function without(form: Form, words: readonly string[], parameters: readonly string[]): string {
  const left = [...wordsOf(form.get('prompt') ?? '')].filter(word => !words.includes(word))
  const rest = encodeForm(form, ['prompt', ...parameters])
  return left.length > 0 ? `${rest}&prompt=${encodeURIComponent(left.join(' '))}` : rest
}

const demandsAge = (form: Form): boolean => /^\d+$/.test(form.get('max_age') ?? '')

const wordsOf = (prompt: string): ReadonlySet<string> => new Set(prompt.split(' ').filter(word => word !== ''))

/** Marks a request whose `id_token_hint` led to a sign-in already: whoever is there now is not asked once more. */
const HINT_WAS_ASKED = 'hint_was_asked'

/** Whether the person was asked to sign in because of the hint. */
export const wasAskedForHint = (form: Form): boolean => form.get(HINT_WAS_ASKED) !== undefined

/** The query with that mark. */
export const markAskedForHint = (query: string): string => `${query}&${HINT_WAS_ASKED}=true`
