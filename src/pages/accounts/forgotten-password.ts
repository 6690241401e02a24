// A forgotten password: the page that asks for the account, and the one that the mailed link leads to.
import { html } from '../../base/html.ts'
import type { Html } from '../../base/html.ts'
import { alert, MESSAGE_ID } from '../parts/alert.ts'
import { field, submit } from '../parts/components.ts'
import { isolated } from '../parts/foreign.ts'
import { csrfField, hiddenField, layout } from '../parts/layout.ts'
import type { Chrome } from '../parts/layout.ts'
import { newPasswordFields, newPasswordProblem, newPasswordSubmit, usernameField } from './new-password.ts'
import type { NewPasswordProps } from './new-password.ts'

/** Properties of the page of `/forgot_password`. */
interface ForgottenPasswordProps {
  readonly clientId: string
  readonly redirectUri: string
  /** Whether the user followed an invalid link. */
  readonly expired?: boolean | undefined
}

/** The page of `/forgot_password`. */
export function forgottenPasswordPage(
  chrome: Chrome,
  { clientId, redirectUri, expired }: ForgottenPasswordProps,
): Html {
  const texts = chrome.texts.forgottenPassword
  const isExpired = expired === true
  // Whether there is such an account stays secret, so the answer to an empty form is that of a sent one: the browser stops it.
  const isRequired = chrome.texts.reference === undefined
  const body = html`${isExpired && alert({ kind: 'error', text: texts.expired }, 'error-message')}<p class="lead">${texts.lead}</p>
<form action="${chrome.basePath}/forgot_password.do" method="post"${!isRequired && html` novalidate="novalidate"`} accept-charset="UTF-8">
${csrfField(chrome)}${hiddenField('client_id', clientId)}${hiddenField('redirect_uri', redirectUri)}
${field({
  id: 'username',
  label: chrome.texts.discovery.account,
  placeholder: chrome.texts.reference?.userNamePlaceholder,
  autocomplete: 'username',
  describedBy: isExpired ? [MESSAGE_ID] : [],
  isRequired,
  focus: true,
})}${submit(texts.submit)}</form>
<p class="below"><a href="${chrome.basePath}/login">${chrome.texts.emailSent.back}</a></p>`
  return layout(chrome, { title: texts.title, heading: texts.heading, body })
}

/** Properties of the page of `/reset_password`. */
interface ResetPasswordProps extends NewPasswordProps {
  readonly code: string
  readonly userName: string
  readonly email: string
}

/** The page of `/reset_password`. */
export function resetPasswordPage(chrome: Chrome, props: ResetPasswordProps): Html {
  const texts = chrome.texts.forgottenPassword
  const { code, userName, email } = props
  const names = ['password', 'password_confirmation'] as const
  const body = html`<p class="lead">${texts.whose(html`<strong>${isolated(userName)}</strong>`)}</p>
${newPasswordProblem(chrome, props)}<form action="${chrome.basePath}/reset_password.do" method="post" novalidate="novalidate" accept-charset="UTF-8">
${csrfField(chrome)}${hiddenField('code', code)}${hiddenField('email', email)}${usernameField(userName)}
${newPasswordFields(chrome, { ...props, names, focus: true })}${newPasswordSubmit(chrome)}</form>
`
  return layout(chrome, { title: texts.title, heading: texts.heading, body })
}
