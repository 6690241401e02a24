// Sign-up: the form, the confirmation, and the page of the mailed link.
import { html } from '../../base/html.ts'
import type { Html } from '../../base/html.ts'
import { alert, alertBox, MESSAGE_ID } from '../parts/alert.ts'
import { consentField } from './consent.ts'
import { field, passwordField, submit } from '../parts/components.ts'
import { isolated } from '../parts/foreign.ts'
import { companyAccount, csrfField, hiddenField, layout } from '../parts/layout.ts'
import type { Chrome } from '../parts/layout.ts'
import { sentencesIn } from './new-password.ts'
import type { SignUpProblem } from '../texts/texts.ts'

/** Properties of the form. */
export interface CreateAccountProps {
  readonly email: string
  readonly clientId: string
  readonly redirectUri: string
  /** The zone's policy for passwords, a sentence for each rule. */
  readonly demands: readonly string[]
  /** Whether the user has agreed to the terms. */
  readonly consents: boolean
  /** Why the sign-up failed: one of the known problems, or sentences about the password. */
  readonly problem?: SignUpProblem | { readonly text: string } | undefined
}

/** The page of `/create_account`. */
export function createAccountPage(chrome: Chrome, props: CreateAccountProps): Html {
  const { texts, basePath } = chrome
  const { signUp } = texts
  const { problem, demands } = props
  const isAbout = (...names: readonly SignUpProblem[]): boolean =>
    typeof problem === 'string' && names.includes(problem)
  const aboutEmail = isAbout('invalid_email', 'other_idp')
  const aboutPassword = typeof problem === 'object'
  const rules = demands.length > 0 ? ['demands'] : []
  const described = aboutPassword ? [MESSAGE_ID] : []
  const message = typeof problem === 'string' ? signUp.problems[problem] : problem && sentencesIn(texts, problem.text)
  const body = html`${message !== undefined && alert({ kind: 'error', text: message })}${
    problem === 'other_idp' && otherProvider(chrome, props.email)
  }<form action="${basePath}/create_account.do" method="post" novalidate="novalidate" accept-charset="UTF-8">
${csrfField(chrome)}${hiddenField('client_id', props.clientId)}${hiddenField('redirect_uri', props.redirectUri)}
${field({
  id: 'email',
  type: 'email',
  label: signUp.email,
  value: props.email,
  placeholder: texts.reference?.emailPlaceholder,
  autocomplete: 'username',
  describedBy: aboutEmail ? [MESSAGE_ID] : [],
  isWrong: aboutEmail,
  focus: !aboutPassword,
})}${demands.length > 0 && html`<ul id="demands" class="note">${demands.map(demand => html`<li>${sentencesIn(texts, demand)}</li>`)}</ul>\n`}${passwordField(
  texts,
  {
    id: 'password',
    label: signUp.password,
    describedBy: [...described, ...rules],
    isWrong: aboutPassword,
    focus: aboutPassword,
    ...NEW,
  },
)}${passwordField(texts, { id: 'password_confirmation', label: signUp.again, describedBy: described, isWrong: aboutPassword, ...NEW })}${consentField(
  chrome,
  { consent: signUp.consent, isGiven: props.consents, isWrong: isAbout('missing_consent') },
)}${submit(signUp.submit)}</form>
<p class="below"><a href="${basePath}/login">${signUp.joined}</a></p>`
  return layout(chrome, { title: signUp.title, heading: headingOf(chrome), body })
}

const headingOf = (chrome: Chrome): string => companyAccount(chrome)?.create ?? chrome.texts.signUp.heading

const NEW = { autocomplete: 'new-password' } as const

/** The link to the provider that the address belongs to. */
const otherProvider = (chrome: Chrome, email: string): Html =>
  html`<form action="${chrome.basePath}/login/idp_discovery" method="post" accept-charset="UTF-8">
${csrfField(chrome)}${hiddenField('email', email)}
${submit(chrome.texts.signUp.otherProvider)}</form>
`

/** The page of `/accounts/email_sent`, the same whether or not there was an account; the address if it is known. */
export function activationSentPage(chrome: Chrome, email: string | undefined): Html {
  const { signUp, reference } = chrome.texts
  const { activationSent } = reference ?? {}
  const body = html`<p class="lead instructions-sent">${email === undefined ? signUp.sent : signUp.sentTo(html`<strong>${isolated(email)}</strong>`)}</p>
${
  activationSent !== undefined &&
  html`<div class="field"><input type="text" disabled="disabled" value="${activationSent}" aria-label="${activationSent}"></div>
`
}<p class="note">${signUp.sentNote}</p>
<p class="below"><a href="${chrome.basePath}/create_account">${signUp.resend}</a></p>`
  return layout(chrome, { title: signUp.title, heading: headingOf(chrome), body })
}

/** Properties of the page of a mailed link. */
interface VerifyAccountProps {
  readonly code: string
  readonly email: string
  /** Whether the password of the sign-up has to be entered, because this is another browser. */
  readonly needsPassword: boolean
  readonly isWrong?: boolean
}

/** The page of `/verify_user`: one button, so that a program that opens links verifies nothing. */
export function verifyAccountPage(
  chrome: Chrome,
  { code, email, needsPassword, isWrong = false }: VerifyAccountProps,
): Html {
  const { texts } = chrome
  const { signUp } = texts
  const body = html`${isWrong && alert({ kind: 'error', text: signUp.problems.wrong_password })}<p class="lead">${
    needsPassword ? signUp.passwordLead : signUp.verifyLead(html`<strong>${isolated(email)}</strong>`)
  }</p>
<form action="${chrome.basePath}/verify_user" method="post" novalidate="novalidate" accept-charset="UTF-8">
${csrfField(chrome)}${hiddenField('code', code)}
${
  needsPassword &&
  html`<input type="text" name="username" value="${email}" autocomplete="username" readonly hidden>
${passwordField(texts, {
  id: 'password',
  label: signUp.password,
  describedBy: isWrong ? [MESSAGE_ID] : [],
  isWrong,
  focus: true,
  autocomplete: 'current-password',
})}`
}${submit(signUp.verify)}</form>
`
  return layout(chrome, { title: signUp.verifyHeading, heading: signUp.verifyHeading, body })
}

/** The page of an invalid link. */
export function activationExpiredPage(chrome: Chrome): Html {
  const { signUp } = chrome.texts
  const link = html`<a href="${chrome.basePath}/create_account">${signUp.here}</a>`
  const body = html`${alertBox('error', signUp.expired(link))}<p class="below"><a href="${chrome.basePath}/login">${signUp.joined}</a></p>`
  return layout(chrome, { title: signUp.title, heading: signUp.heading, body })
}
