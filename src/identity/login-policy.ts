// What `/login` shows or does: the whole choice of a provider in one decision. Pure; the handlers look up what it asks for
// and do what it says.
import { emailDomainOf, matchesEmailDomain } from '../model/identity-provider.ts'
import { parseLoginHint } from '../model/login-hint.ts'

/** A provider as far as the choice depends on it. */
export interface Candidate {
  readonly origin: string
  /** Whether its people sign in by the form here, or are sent to it. */
  readonly by: 'form' | 'redirect'
  /** `emailDomain` of its record; undefined matches no domain. */
  readonly emailDomains?: readonly string[] | undefined
  /** The text of its link; undefined for a provider that has none. */
  readonly linkText?: string | undefined
}

/** Everything that the choice depends on. */
export interface LoginSituation {
  /** `idpDiscoveryEnabled`, `accountChooserEnabled` and `defaultIdentityProvider` of the zone. */
  readonly discovery: boolean
  readonly accountChooser: boolean
  readonly defaultOrigin?: string | undefined
  /** The active providers of the zone that sign people in on a page. */
  readonly providers: readonly Candidate[]
  /** `allowedproviders` of the client that the person is on the way to; undefined allows all. */
  readonly allowed?: readonly string[] | undefined
  /** The login hint as it came. */
  readonly hint?: string | undefined
  /** Whether a hint that names no provider is a user name (row A13). */
  readonly hintMayBeName: boolean
  /** Whether the discovery pages were answered already. */
  readonly discoveryPerformed: boolean
  /** Whether a message says that something failed: then nobody is sent away before reading it. */
  readonly failed: boolean
}

/** What happens. */
export type LoginView =
  /** The browser is sent to the provider; `userName` is what the hint tells of it. */
  | { readonly kind: 'redirect'; readonly origin: string; readonly userName?: string }
  /** The sign-in page: a form, links, or both. */
  | LoginForm
  /** The page that asks for an e-mail address. */
  | { readonly kind: 'email'; readonly userName?: string }
  /** The page that asks for the origin of the account. */
  | { readonly kind: 'origin' }
  /** The hint fits several providers; only an operator can help. */
  | { readonly kind: 'misconfigured' }

/** The sign-in page. */
export interface LoginForm {
  readonly kind: 'form'
  readonly takesPasswords: boolean
  /** Origins of the links, in the order of their texts. */
  readonly links: readonly string[]
  /** The origin that the form is bound to. */
  readonly origin?: string
  readonly userName?: string
  readonly error?: 'invalid_login_hint'
}

/** The choice for a page; the questions in the order in which they are decided. */
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

/** What an e-mail address leads to: a provider, or back to the page where all of them are. */
export type Discovery =
  | { readonly kind: 'password'; readonly origin: string }
  | { readonly kind: 'redirect'; readonly origin: string }
  | { readonly kind: 'page' }

/**
 * The one provider of the address's domain; what is no address is of no domain, and fits all. A directory is asked on the
 * sign-in page, which is where `internalOrigin` alone does not go.
 */
export function discover(
  { providers, allowed }: Pick<LoginSituation, 'providers' | 'allowed'>,
  email: string,
  internalOrigin: string,
): Discovery {
  const domain = emailDomainOf(email)
  const [found, second] = allowedCandidates({ providers, allowed }).filter(
    ({ emailDomains }) => domain === undefined || matchesEmailDomain(emailDomains, domain),
  )
  if (!found || second) return { kind: 'page' }
  if (found.by === 'redirect') return { kind: 'redirect', origin: found.origin }
  return found.origin === internalOrigin ? { kind: 'password', origin: found.origin } : { kind: 'page' }
}

const allowedCandidates = ({
  providers,
  allowed,
}: Pick<LoginSituation, 'providers' | 'allowed'>): readonly Candidate[] =>
  providers.filter(({ origin }) => allowed === undefined || allowed.includes(origin))

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
  const named = candidates.filter(({ emailDomains }) => matchesEmailDomain(emailDomains, address ?? text))
  const [candidate, second] = named
  if (second && !hintMayBeName) return { kind: 'misconfigured' }
  // A bare domain that leads somewhere is nobody's name.
  const isName = hintMayBeName && (address !== undefined || !candidate || second !== undefined)
  const userName = isName ? { userName: text } : {}
  return candidate && !second ? { kind: 'provider', candidate, ...userName } : { kind: 'none', ...userName }
}

/** The form for people of one provider, and nothing beside it. */
const boundForm = ({ origin }: Candidate, more: { readonly userName?: string }): LoginForm => ({
  kind: 'form',
  takesPasswords: true,
  links: [],
  origin,
  ...more,
})

function formOf(candidates: readonly Candidate[]): LoginForm {
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
