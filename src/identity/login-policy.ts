// Decides what `/login` shows and which provider it chooses. Pure; the handlers read the inputs and act on the result.
import { domainMatcher, emailDomainOf } from '../model/zones/identity-provider.ts'
import { parseLoginHint } from '../model/sessions/login-hint.ts'

/** The properties of a provider that the choice depends on. */
export interface Candidate {
  readonly origin: string
  /** Whether its users sign in with the form here or are redirected to the provider. */
  readonly by: 'form' | 'redirect'
  /** `emailDomain` of the provider; undefined matches no domain. */
  readonly emailDomains?: readonly string[] | undefined
  /** The text of its link; undefined if it has no link. */
  readonly linkText?: string | undefined
}

/** The inputs of the choice. */
export interface LoginSituation {
  /** `idpDiscoveryEnabled`, `accountChooserEnabled` and `defaultIdentityProvider` of the zone. */
  readonly discovery: boolean
  readonly accountChooser: boolean
  readonly defaultOrigin?: string | undefined
  /** The active providers of the zone that sign users in on a page. */
  readonly providers: readonly Candidate[]
  /** `allowedproviders` of the client that the user signs in for; undefined allows all. */
  readonly allowed?: readonly string[] | undefined
  /** The `login_hint` as sent. */
  readonly hint?: string | undefined
  /** Whether a hint that names no provider is a user name (row A13). */
  readonly hintMayBeName: boolean
  /** Whether the user has already completed the discovery pages. */
  readonly discoveryPerformed: boolean
  /** Whether the page shows an error, which a redirect would hide. */
  readonly failed: boolean
}

/** The decision. */
export type LoginView =
  /** Redirect to the provider; `userName` comes from the hint. */
  | { readonly kind: 'redirect'; readonly origin: string; readonly userName?: string }
  /** The sign-in page: a form, links, or both. */
  | LoginForm
  /** The page that asks for an e-mail address. */
  | { readonly kind: 'email'; readonly userName?: string }
  /** The page that asks for the origin of the account. */
  | { readonly kind: 'origin' }
  /** The hint matches several providers, which the operator has to correct. */
  | { readonly kind: 'misconfigured' }

/** The sign-in page. */
export interface LoginForm {
  readonly kind: 'form'
  readonly takesPasswords: boolean
  /** Origins of the links, ordered by their texts. */
  readonly links: readonly string[]
  /** The only origin that the form signs in to. */
  readonly origin?: string
  readonly userName?: string
  readonly error?: 'invalid_login_hint'
}

/** Chooses what `/login` shows. The order of the checks matters. */
export function chooseLogin(situation: LoginSituation): LoginView {
  const { failed, discoveryPerformed, allowed } = situation
  const candidates = allowedCandidates(situation)
  const hint = readHint(situation, candidates)
  const name = hint.userName === undefined ? {} : { userName: hint.userName }
  const [first, second] = candidates
  // A client that allows one provider with a form binds the form to it.
  const isBound = allowed?.length === 1 && first?.by === 'form'
  const form: LoginForm = { ...formOf(candidates), ...(isBound && { origin: first.origin }), ...name }
  if (hint.kind === 'invalid') return { ...form, error: 'invalid_login_hint' }
  if (hint.kind === 'provider' && hint.candidate.by === 'form') return boundForm(hint.candidate, name)
  if (failed) return form
  if (hint.kind === 'misconfigured') return { kind: 'misconfigured' }
  if (hint.kind === 'provider') return { kind: 'redirect', origin: hint.candidate.origin, ...name }
  const asksFirst = (situation.discovery || situation.accountChooser) && !discoveryPerformed
  const preferred = asksFirst ? undefined : candidates.find(({ origin }) => origin === situation.defaultOrigin)
  if (preferred?.by === 'form') return boundForm(preferred, name)
  const chosen = preferred ?? (second ? undefined : first)
  if (chosen?.by === 'redirect') return { kind: 'redirect', origin: chosen.origin, ...name }
  if (asksFirst && first) return situation.discovery ? { kind: 'email', ...name } : { kind: 'origin' }
  return form
}

/** Where an e-mail address leads: to a provider, or back to the page with all of them. */
type Discovery =
  | { readonly kind: 'password'; readonly origin: string }
  | { readonly kind: 'redirect'; readonly origin: string }
  | { readonly kind: 'page' }

/**
 * The one provider of the address's domain; text that is not an address matches every provider. None if the hint is the origin of
 * another one, as that of a saved account may be: the sign-in page follows it. Only `internalOrigin` has a password page of its
 * own; users of a directory sign in on the sign-in page.
 */
export function discover(
  { providers, allowed, hint }: Pick<LoginSituation, 'providers' | 'allowed' | 'hint'>,
  email: string,
  internalOrigin: string,
): Discovery {
  const domain = emailDomainOf(email)
  const matches = domain === undefined ? () => true : domainMatcher(domain)
  const candidates = allowedCandidates({ providers, allowed })
  const [found, second] = candidates.filter(({ emailDomains }) => matches(emailDomains))
  if (!found || second) return { kind: 'page' }
  const { origin } = parseLoginHint(hint)
  if (origin !== found.origin && candidates.some(each => each.origin === origin)) return { kind: 'page' }
  if (found.by === 'redirect') return { kind: 'redirect', origin: found.origin }
  return found.origin === internalOrigin ? { kind: 'password', origin: found.origin } : { kind: 'page' }
}

const allowedCandidates = ({
  providers,
  allowed,
}: Pick<LoginSituation, 'providers' | 'allowed'>): readonly Candidate[] =>
  allowed === undefined ? providers : providers.filter(({ origin }) => allowed.includes(origin))

type Hint =
  | { readonly kind: 'none'; readonly userName?: string }
  | { readonly kind: 'provider'; readonly candidate: Candidate; readonly userName?: string }
  | { readonly kind: 'invalid'; readonly userName?: never }
  | { readonly kind: 'misconfigured'; readonly userName?: never }

function readHint({ hint, hintMayBeName }: LoginSituation, candidates: readonly Candidate[]): Hint {
  const { origin, text = '' } = parseLoginHint(hint)
  if (origin !== undefined) {
    const candidate = candidates.find(each => each.origin === origin)
    return candidate ? { kind: 'provider', candidate } : { kind: 'invalid' }
  }
  if (text === '') return { kind: 'none' }
  const address = emailDomainOf(text)
  const matches = domainMatcher(address ?? text)
  const named = candidates.filter(({ emailDomains }) => matches(emailDomains))
  const [candidate, second] = named
  if (second && !hintMayBeName) return { kind: 'misconfigured' }
  // A bare domain that matches a provider is not a user name.
  const isName = hintMayBeName && (address !== undefined || !candidate || second !== undefined)
  const userName = isName ? { userName: text } : {}
  return candidate && !second ? { kind: 'provider', candidate, ...userName } : { kind: 'none', ...userName }
}

/** The form of one provider, without links. */
const boundForm = ({ origin }: Candidate, more: { readonly userName?: string }): LoginForm => ({
  kind: 'form',
  takesPasswords: true,
  links: [],
  origin,
  ...more,
})

/** The forms of lists that were sorted before: without a client's choice, a zone has the same list until it changes. */
const forms = new WeakMap<readonly Candidate[], LoginForm>()

function formOf(candidates: readonly Candidate[]): LoginForm {
  const form = forms.get(candidates) ?? sortedForm(candidates)
  forms.set(candidates, form)
  return form
}

function sortedForm(candidates: readonly Candidate[]): LoginForm {
  const links = candidates
    .flatMap(({ origin, by, linkText }) => (by === 'redirect' && linkText !== undefined ? [{ origin, linkText }] : []))
    .toSorted((a, b) => compare(a.linkText.toLowerCase(), b.linkText.toLowerCase()))
  return {
    kind: 'form',
    takesPasswords: candidates.some(({ by }) => by === 'form'),
    links: links.map(({ origin }) => origin),
  }
}

const compare = (a: string, b: string): number => (a === b ? 0 : a < b ? -1 : 1)
