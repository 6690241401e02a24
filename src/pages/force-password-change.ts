import { type Html, html } from '../base/html.ts'
import { alert, MESSAGE_ID } from './alert.ts'
import { passwordField, submit } from './components.ts'
import { isolated } from './foreign.ts'
import { type Chrome, csrfField, layout } from './layout.ts'
import { translatedDescription } from './texts/texts.ts'
import type { Texts } from './texts/texts.ts'

/** Properties of the page for a new password. */
export interface ForcePasswordChangeProps {
  /** Where the form is posted to: a URL of this server. */
  readonly action: string
  readonly userName: string
  readonly email: string
  /** What the policy of the zone asks of a password, a sentence each. */
  readonly demands: readonly string[]
  /** Why the password that was just sent is not taken. */
  readonly problem?: string | undefined
}

/** The page where everything ends until a new password is chosen; the button in the header signs out instead. */
export function forcePasswordChangePage(chrome: Chrome, props: ForcePasswordChangeProps): Html {
  const texts = chrome.texts.newPassword
  const { problem, demands } = props
  const isWrong = problem !== undefined
  const described = [...(isWrong ? [MESSAGE_ID] : []), ...(demands.length === 0 ? [] : ['demands'])]
  const body = html`<p class="lead">${texts.lead(html`<strong>${isolated(props.email)}</strong>`)}</p>
${isWrong && alert({ kind: 'error', text: sentencesIn(chrome.texts, problem) }, 'error-message')}${
  demands.length > 0 &&
  html`<ul id="demands" class="note">${demands.map(demand => html`<li>${sentencesIn(chrome.texts, demand)}</li>`)}</ul>\n`
}<form action="${props.action}" method="post" novalidate="novalidate" accept-charset="UTF-8">
${csrfField(chrome)}${usernameField(props.userName)}
${passwordField(chrome.texts, { id: 'password', label: texts.password, describedBy: described, isWrong, focus: true, ...NEW })}${passwordField(
  chrome.texts,
  { id: 'password_confirmation', label: texts.again, describedBy: isWrong ? [MESSAGE_ID] : [], isWrong, ...NEW },
)}${submit(texts.submit)}</form>
`
  return layout(chrome, { title: texts.title, heading: texts.heading, body })
}

const NEW = { autocomplete: 'new-password' } as const

/** English sentences of the password rules, which programs are told as well, each in the language of the page. */
export const sentencesIn = (texts: Texts, english: string): string =>
  english
    .split(/(?<=\.) /)
    .map(each => translatedDescription(texts, each) ?? each)
    .join(' ')

/** Tells a password manager whose entry is to be changed; one of type `hidden` would tell it nothing. */
export const usernameField = (userName: string): Html =>
  html`<input type="text" name="username" value="${userName}" autocomplete="username" readonly hidden>`
