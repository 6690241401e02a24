import { html } from '../base/html.ts'
import type { Html } from '../base/html.ts'
import { isolated } from './parts/foreign.ts'
import { csrfField, hiddenField, layout, siteName } from './parts/layout.ts'
import type { Chrome } from './parts/layout.ts'

/** Properties of the logout confirmation page. */
interface LogoutConfirmationProps {
  /** The URL of this server that the form is posted to. */
  readonly action: string
  /** The parameters of the logout request, unchanged. */
  readonly fields: Readonly<Record<string, string>>
  readonly userName: string
}

/** Asks for confirmation of a logout without a valid `id_token_hint` (OpenID Connect RP-Initiated Logout §2). */
export function logoutConfirmationPage(chrome: Chrome, props: LogoutConfirmationProps): Html {
  // The page's own anti-forgery value comes first and only once, regardless of the request's parameter names.
  const fields = Object.entries(props.fields).filter(([name]) => name !== chrome.csrf?.name)
  const texts = chrome.texts.signOut
  const who = {
    site: html`<bdi>${siteName(chrome)}</bdi>`,
    userName: html`<strong>${isolated(props.userName)}</strong>`,
  }
  const body = html`<p class="lead">${texts.signedInAs(who)}</p>
<form id="logout_confirmation" action="${props.action}" method="post" accept-charset="UTF-8">
${csrfField(chrome)}${fields.map(([name, value]) => hiddenField(name, value))}
<div class="buttons">
<button class="button" type="submit">${texts.submit}</button>
<a class="button plain" href="${chrome.basePath}/">${texts.cancel}</a>
</div>
</form>
`
  // The header would have a second button for the same action.
  return layout({ ...chrome, user: undefined }, { title: texts.title, heading: texts.heading, body })
}
