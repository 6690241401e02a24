// The pages for changing the e-mail address: the form, the page of the mailed link, and the confirmation that a mail was sent.
import { html } from '../../base/html.ts'
import type { Html } from '../../base/html.ts'
import { alert, MESSAGE_ID } from '../parts/alert.ts'
import { field, submit } from '../parts/components.ts'
import { isolated } from '../parts/foreign.ts'
import { csrfField, hiddenField, layout } from '../parts/layout.ts'
import type { Chrome } from '../parts/layout.ts'
import { profileLink } from './profile-link.ts'
import type { SentEmail } from '../texts/texts.ts'

/** Properties of the form. */
export interface ChangeEmailProps {
  readonly current: string
  readonly newEmail: string
  readonly clientId: string
  readonly redirectUri: string
  readonly problem?: 'invalid' | 'taken' | undefined
}

/** The page of `/change_email`. */
export function changeEmailPage(chrome: Chrome, props: ChangeEmailProps): Html {
  const { emailChange, signUp, descriptions } = chrome.texts
  const { problem } = props
  const isWrong = problem !== undefined
  const text = problem === 'taken' ? descriptions.emailTaken : signUp.problems.invalid_email
  const body = html`${isWrong && alert({ kind: 'error', text })}<p class="lead email-display">${emailChange.current(
    html`<strong>${isolated(props.current)}</strong>`,
  )}</p>
<form action="${chrome.basePath}/change_email.do" method="post" novalidate="novalidate" accept-charset="UTF-8">
${csrfField(chrome)}${hiddenField('client_id', props.clientId)}${hiddenField('redirect_uri', props.redirectUri)}
${field({
  id: 'newEmail',
  type: 'email',
  label: emailChange.newEmail,
  value: props.newEmail,
  autocomplete: 'email',
  describedBy: isWrong ? [MESSAGE_ID] : [],
  isWrong,
  focus: true,
})}${submit(emailChange.submit)}</form>
${profileLink(chrome)}`
  return layout(chrome, { title: emailChange.title, heading: emailChange.heading, body })
}

/** Properties of the page of a mailed link. */
interface VerifyEmailProps {
  readonly code: string
  readonly userName: string
  readonly email: string
  /** The signed-in user, if it is another account. */
  readonly other?: string | undefined
}

/** The page of `/verify_email`: one button, so that a program that opens links changes nothing. */
export function verifyEmailPage(chrome: Chrome, { code, userName, email, other }: VerifyEmailProps): Html {
  const texts = chrome.texts.emailChange
  const strong = (text: string): Html => html`<strong>${isolated(text)}</strong>`
  const body = html`<p class="lead">${texts.verifyLead({ userName: strong(userName), email: strong(email) })}</p>
${other !== undefined && html`<p class="note">${texts.otherAccount(strong(other))}</p>\n`}<form action="${chrome.basePath}/verify_email" method="post" accept-charset="UTF-8">
${csrfField(chrome)}${hiddenField('code', code)}
${submit(texts.verify)}</form>
`
  return layout(chrome, { title: texts.title, heading: texts.verifyHeading, body })
}

/** What the page knows about a mail. */
interface EmailSentProps {
  readonly code: string | undefined
  /** The name or address that was typed. */
  readonly typed: string | undefined
}

/** The page of `/email_sent`; without a lead for a code that is not known. */
export function emailSentPage(chrome: Chrome, { code, typed }: EmailSentProps): Html {
  const { title, heading, leads, leadsTo, back } = chrome.texts.emailSent
  const sent = code !== undefined && Object.hasOwn(leads, code) ? (code as SentEmail) : undefined // one of its keys
  const lead = sent && (typed === undefined ? leads[sent] : leadsTo[sent](html`<strong>${isolated(typed)}</strong>`))
  const body = html`${lead !== undefined && html`<p class="lead instructions-sent">${lead}</p>\n`}${
    chrome.user ? profileLink(chrome) : html`<p class="below"><a href="${chrome.basePath}/login">${back}</a></p>`
  }`
  return layout(chrome, { title, heading, body })
}
