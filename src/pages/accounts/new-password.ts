// Pages with a new password: the fields and rules that they share.
import { html } from '../../base/html.ts'
import type { Html } from '../../base/html.ts'
import { alert, MESSAGE_ID } from '../parts/alert.ts'
import { passwordField, submit } from '../parts/components.ts'
import type { Chrome } from '../parts/layout.ts'
import { translatedDescription } from '../texts/texts.ts'
import type { Texts } from '../texts/texts.ts'

/** The rules and problem of a new password. */
export interface NewPasswordProps {
  /** The zone's policy for passwords, a sentence for each rule. */
  readonly demands: readonly string[]
  /** Why the submitted password is refused. */
  readonly problem?: string | undefined
}

/** The message above the form, if there is one. */
export const newPasswordProblem = ({ texts }: Chrome, { problem }: Pick<NewPasswordProps, 'problem'>): Html =>
  html`${problem !== undefined && alert({ kind: 'error', text: sentencesIn(texts, problem) }, 'error-message')}`

/** The names of the two fields, and whether the first has the initial focus. */
interface NewPasswordFields extends NewPasswordProps {
  readonly names: readonly [password: string, again: string]
  readonly focus: boolean
}

/** The rules, and the two fields for the password. */
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

/** Translates the English sentences of the password rules, which programs get as well, to the language of the page. */
export const sentencesIn = (texts: Texts, english: string): string =>
  english
    .split(/(?<=\.) /)
    .map(each => translatedDescription(texts, each) ?? each)
    .join(' ')

/** Identifies the account for password managers; they ignore fields of type `hidden`. */
export const usernameField = (userName: string): Html =>
  html`<input type="text" name="username" value="${userName}" autocomplete="username" readonly hidden>`

/** The button of a form with a new password. */
export const newPasswordSubmit = ({ texts }: Chrome): Html => submit(texts.newPassword.submit)
