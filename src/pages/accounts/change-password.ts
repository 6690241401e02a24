import { html } from '../../base/html.ts'
import type { Html } from '../../base/html.ts'
import { MESSAGE_ID } from '../parts/alert.ts'
import { passwordField, submit } from '../parts/components.ts'
import { csrfField, layout } from '../parts/layout.ts'
import type { Chrome } from '../parts/layout.ts'
import { profileLink } from './profile-link.ts'
import { newPasswordFields, newPasswordProblem, usernameField } from './new-password.ts'
import type { NewPasswordProps } from './new-password.ts'

/** Properties of the page of `/change_password`. */
interface ChangePasswordProps extends NewPasswordProps {
  readonly userName: string
  /** Whether the problem is the current password, not the new one. */
  readonly isCurrentWrong?: boolean | undefined
}

/** The page of `/change_password`. */
export function changePasswordPage(chrome: Chrome, props: ChangePasswordProps): Html {
  const { title, heading, current, submit: words } = chrome.texts.changePassword
  const { isCurrentWrong = false } = props
  const problem = isCurrentWrong ? undefined : props.problem
  const names = ['new_password', 'confirm_password'] as const
  const body = html`${newPasswordProblem(chrome, props)}<form action="${chrome.basePath}/change_password.do" method="post" novalidate="novalidate" accept-charset="UTF-8">
${csrfField(chrome)}${usernameField(props.userName)}
${passwordField(chrome.texts, {
  id: 'current_password',
  label: current,
  autocomplete: 'current-password',
  describedBy: isCurrentWrong ? [MESSAGE_ID] : [],
  isWrong: isCurrentWrong,
  focus: true,
})}${newPasswordFields(chrome, { ...props, problem, names, focus: false })}${submit(words)}</form>
${profileLink(chrome)}`
  return layout(chrome, { title, heading, body })
}
