// Pages with a new password: the fields and rules that they share.
import { type Html, html } from '../base/html.ts'
import { alert, MESSAGE_ID } from './alert.ts'
import { passwordField, submit } from './components.ts'
import type { Chrome } from './layout.ts'
import { translatedDescription } from './texts/texts.ts'
import type { Texts } from './texts/texts.ts'

/** What is said of a new password. */
export interface NewPasswordProps {
  /** What the policy of the zone asks of a password, a sentence each. */
  readonly demands: readonly string[]
  /** Why the password that was just sent is not taken. */
  readonly problem?: string | undefined
}

/** The message above the form, where there is one. */
export const newPasswordProblem = ({ texts }: Chrome, { problem }: Pick<NewPasswordProps, 'problem'>): Html =>
  html`${problem !== undefined && alert({ kind: 'error', text: sentencesIn(texts, problem) }, 'error-message')}`

/** The names of the two fields, and whether the page opens with the cursor in the first. */
export interface NewPasswordFields extends NewPasswordProps {
  readonly names: readonly [password: string, again: string]
  readonly focus: boolean
}

/** What the password must be like, the password, and once more. */
export function newPasswordFields(
  { texts }: Chrome,
  { demands, problem, names: [name, again], focus }: NewPasswordFields,
): Html {
  const words = texts.newPassword
  const isWrong = problem !== undefined
  const message = isWrong ? [MESSAGE_ID] : []
  const describedBy = [...message, ...(demands.length === 0 ? [] : ['demands'])]
  return html`${
    demands.length > 0 &&
    html`<ul id="demands" class="note">${demands.map(demand => html`<li>${sentencesIn(texts, demand)}</li>`)}</ul>\n`
  }${passwordField(texts, { id: name, label: words.password, describedBy, isWrong, focus, ...NEW })}${passwordField(
    texts,
    { id: again, label: words.again, describedBy: message, isWrong, ...NEW },
  )}`
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

/** The button of a form with a new password. */
export const newPasswordSubmit = ({ texts }: Chrome): Html => submit(texts.newPassword.submit)
