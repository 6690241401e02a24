import { html } from '../../base/html.ts'
import type { Html } from '../../base/html.ts'
import { isolated } from '../parts/foreign.ts'
import { csrfField, layout } from '../parts/layout.ts'
import type { Chrome } from '../parts/layout.ts'
import { newPasswordFields, newPasswordProblem, newPasswordSubmit, usernameField } from './new-password.ts'
import type { NewPasswordProps } from './new-password.ts'

/** Properties of the page for a new password. */
interface ForcePasswordChangeProps extends NewPasswordProps {
  /** The URL of this server that the form is posted to. */
  readonly action: string
  readonly userName: string
  readonly email: string
}

/** The page that the user cannot leave until a new password is set; the button in the header signs out instead. */
export function forcePasswordChangePage(chrome: Chrome, props: ForcePasswordChangeProps): Html {
  const { title, heading, lead } = chrome.texts.newPassword
  const names = ['password', 'password_confirmation'] as const
  const body = html`<p class="lead">${lead(html`<strong>${isolated(props.email)}</strong>`)}</p>
${newPasswordProblem(chrome, props)}<form action="${props.action}" method="post" novalidate="novalidate" accept-charset="UTF-8">
${csrfField(chrome)}${usernameField(props.userName)}
${newPasswordFields(chrome, { ...props, names, focus: true })}${newPasswordSubmit(chrome)}</form>
`
  return layout(chrome, { title, heading, body })
}
