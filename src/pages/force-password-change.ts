import { type Html, html } from '../base/html.ts'
import { alert, MESSAGE_ID } from './alert.ts'
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
  const described = [...(problem === undefined ? [] : [MESSAGE_ID]), ...(demands.length === 0 ? [] : ['demands'])]
  const body = html`<p class="lead">${texts.lead(html`<strong>${isolated(props.email)}</strong>`)}</p>
${problem !== undefined && alert({ kind: 'error', text: sentencesIn(chrome.texts, problem) }, 'error-message')}${
  demands.length > 0 &&
  html`<ul id="demands" class="note">${demands.map(demand => html`<li>${sentencesIn(chrome.texts, demand)}</li>`)}</ul>\n`
}<form action="${props.action}" method="post" novalidate="novalidate" accept-charset="UTF-8">
${csrfField(chrome)}${usernameField(props.userName)}
${passwordField('password', texts.password, { described, focus: true })}${passwordField('password_confirmation', texts.again, { described: described.slice(0, problem === undefined ? 0 : 1) })}<input class="button" type="submit" value="${texts.submit}">
</form>
`
  return layout(chrome, { title: texts.title, heading: texts.heading, body })
}

/** English sentences of the password rules, which programs are told as well, each in the language of the page. */
const sentencesIn = (texts: Texts, english: string): string =>
  english
    .split(/(?<=\.) /)
    .map(each => translatedDescription(texts, each) ?? each)
    .join(' ')

/** Tells a password manager whose entry is to be changed; one of type `hidden` would tell it nothing. */
const usernameField = (userName: string): Html =>
  html`<input type="text" name="username" value="${userName}" autocomplete="username" readonly hidden>`

function passwordField(
  name: string,
  label: string,
  { described, focus = false }: { described: readonly string[]; focus?: boolean },
): Html {
  return html`<div class="field">
<label for="${name}">${label}</label>
<input id="${name}" type="password" name="${name}" autocomplete="new-password" autocapitalize="none" autocorrect="off" spellcheck="false"${
    described.length > 0 && html` aria-describedby="${described.join(' ')}"`
  }${focus && html` autofocus`}>
</div>
`
}
