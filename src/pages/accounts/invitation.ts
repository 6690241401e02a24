import { html } from '../../base/html.ts'
import type { Html } from '../../base/html.ts'
import { alert, MESSAGE_ID } from '../parts/alert.ts'
import { field, passwordField, submit } from '../parts/components.ts'
import { consentField } from './consent.ts'
import { isolated, plain } from '../parts/foreign.ts'
import { sentencesIn, usernameField } from './new-password.ts'
import { companyAccount, csrfField, hiddenField, layout } from '../parts/layout.ts'
import type { Chrome } from '../parts/layout.ts'

/** Why an invitation was not accepted, as codes in the page's URL. */
export const INVITATION_PROBLEMS = [
  'form_error',
  'missing_consent',
  'code_expired',
  'no_suitable_idp',
  'bad_credentials',
  'invite.email_mismatch',
] as const

/** One of them. */
export type InvitationProblem = (typeof INVITATION_PROBLEMS)[number]

/** Properties of the page. */
interface InvitationProps {
  /** The URL of this server that the form is posted to. */
  readonly action: string
  /** The problem, or a sentence about the submitted password. */
  readonly problem?: InvitationProblem | { readonly password: string } | undefined
  /** Absent if there is nothing to accept. */
  readonly invitation?: {
    readonly code: string
    readonly email: string
    readonly userName: string
    /** A new password, name and password of a directory, or one click. */
    readonly step: 'password' | 'directory' | 'agree'
    /** The zone's policy for passwords, a sentence for each rule. */
    readonly demands: readonly string[]
    /** Whether the user has agreed to the terms. */
    readonly consents: boolean
    /** The signed-in user, if it is another account. */
    readonly signedInAs?: string | undefined
  }
}

/** The page that the link of an invitation opens. */
export function invitationPage(chrome: Chrome, { action, problem, invitation }: InvitationProps): Html {
  const { texts } = chrome
  const { title, lead, agreeLead, otherAccount, problems } = texts.invitation
  const company = companyAccount(chrome)
  const heading = company?.create ?? texts.invitation.heading
  const text =
    typeof problem === 'object' ? sentencesIn(texts, problem.password) : problem === undefined ? '' : problems[problem]
  const message = problem !== undefined && alert({ kind: 'error', text }, 'error-message')
  if (!invitation) {
    const wayOn = html`<a class="button" href="${chrome.basePath}/login">${texts.login.submit}</a>\n`
    return layout(chrome, { title, heading, body: html`${message}${wayOn}` })
  }
  const { email, step, signedInAs } = invitation
  const { directory } = texts.invitation
  const name = texts.reference ? html`${plain(email)}` : html`<strong>${isolated(email)}</strong>`
  const leads = { password: lead, directory: directory.lead, agree: agreeLead }
  const forms = { password: passwordForm, directory: directoryForm, agree: () => submit(texts.invitation.agree) }
  const body = html`<p class="lead">${leads[step](name)}</p>
${message}${
  signedInAs !== undefined &&
  html`<p class="note">${otherAccount(html`<strong>${isolated(signedInAs)}</strong>`)}</p>\n`
}<form action="${action}" method="post" novalidate="novalidate" accept-charset="UTF-8">
${csrfField(chrome)}${hiddenField('code', invitation.code)}${forms[step](chrome, { problem, invitation })}</form>
`
  return layout(chrome, { title, heading: step === 'directory' ? (company?.link ?? directory.heading) : heading, body })
}

type FormProps = Required<Pick<InvitationProps, 'invitation'>> & Pick<InvitationProps, 'problem'>

/** UAA also posts the address and compares it; here it is part of the account. */
function directoryForm(chrome: Chrome, { problem, invitation }: FormProps): Html {
  const { userName, password, submit: button } = chrome.texts.invitation.directory
  const isWrong = problem === 'bad_credentials'
  const described = problem === undefined ? [] : [MESSAGE_ID]
  return html`${hiddenField('enterprise_email', invitation.email)}${field({
    id: 'enterprise_username',
    label: userName,
    autocomplete: 'username',
    describedBy: described,
    isWrong,
    focus: true,
  })}${passwordField(chrome.texts, {
    id: 'enterprise_password',
    label: password,
    autocomplete: 'current-password',
    describedBy: described,
    isWrong,
  })}${submit(button)}`
}

function passwordForm(chrome: Chrome, { problem, invitation }: FormProps): Html {
  const { texts } = chrome
  const { demands, userName } = invitation
  const isWrong = problem === 'form_error' || typeof problem === 'object'
  const message = isWrong ? [MESSAGE_ID] : []
  const described = [...message, ...(demands.length === 0 ? [] : ['demands'])]
  const { password, again, submit: button } = texts.invitation
  const both = { isWrong, autocomplete: 'new-password' } as const
  return html`${usernameField(userName)}
${
  demands.length > 0 &&
  html`<ul id="demands" class="note">${demands.map(demand => html`<li>${sentencesIn(texts, demand)}</li>`)}</ul>\n`
}${passwordField(texts, { id: 'password', label: password, describedBy: described, focus: true, ...both })}${passwordField(
  texts,
  { id: 'password_confirmation', label: again, describedBy: message, ...both },
)}${consentField(chrome, { consent: texts.invitation.consent, isGiven: invitation.consents, isWrong: problem === 'missing_consent' })}${submit(companyAccount(chrome)?.submit ?? button)}`
}
