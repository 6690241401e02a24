import { html } from '../../base/html.ts'
import type { Html } from '../../base/html.ts'
import { alert } from '../parts/alert.ts'
import { cross, initial } from '../parts/components.ts'
import { isolated, plain } from '../parts/foreign.ts'
import { csrfField, hiddenField, layout, withFormRedirect } from '../parts/layout.ts'
import type { Chrome } from '../parts/layout.ts'
import type { Message } from '../parts/messages.ts'
import type { Texts } from '../texts/texts.ts'

/** An account that was used to sign in with this browser. */
export interface ChoosableAccount {
  readonly userId: string
  readonly userName: string
  readonly origin: string
  /** The provider at which the account signs in, unless that is this server. */
  readonly providerName?: string | undefined
  /** The input of identity provider discovery: the user name where that is known here, else the address. */
  readonly email: string
  /** The origin in the form that the sign-in page accepts. */
  readonly loginHint: string
}

/** Properties of the choice of an account. */
export interface AccountChooserProps {
  readonly accounts: readonly ChoosableAccount[]
  /** The application that the user signs in to. */
  readonly clientName?: string | undefined
  readonly message?: Message | undefined
  /** The URL of this server to continue with. */
  readonly formRedirectUri?: string | undefined
}

/** The page of `/login` for a browser that remembers accounts: one form for each, and a link to use another one. */
export function accountChooserPage(chrome: Chrome, props: AccountChooserProps): Html {
  const { accounts, clientName, message, formRedirectUri } = props
  const texts = chrome.texts.accountChooser
  const client = clientName !== undefined && html`<strong>${isolated(clientName)}</strong>`
  const body = html`${client && html`<p class="lead">${chrome.texts.login.continueTo(client)}</p>\n`}${
    message && alert(message)
  }<ul class="accounts">
${accounts.map(account => item(chrome, account, formRedirectUri))}</ul>
<div class="below action"><a href="${withFormRedirect(`${chrome.basePath}/login?otherAccountSignIn=true`, formRedirectUri)}">${texts.another}</a></div>
`
  return layout(chrome, { title: texts.title, heading: texts.heading, body })
}

function item(chrome: Chrome, account: ChoosableAccount, formRedirectUri: string | undefined): Html {
  const { userId, userName, email, loginHint } = account
  const texts = chrome.texts.accountChooser
  const detail = detailOf(chrome.texts, account)
  const shown = isolated(userName)
  // UAA: programs look for the name directly in an element of this class.
  const { reference } = chrome.texts
  const [marked, name] = reference ? [html` class="email-address"`, plain(userName)] : [undefined, shown]
  const remove = `${chrome.basePath}/delete_saved_account?userId=${encodeURIComponent(userId)}`
  return html`<li>
<form id="${userId}" action="${chrome.basePath}/login/idp_discovery" method="post" accept-charset="UTF-8">
${csrfField(chrome)}${hiddenField('email', email)}${hiddenField('username', userName)}${hiddenField('login_hint', loginHint)}${
  formRedirectUri !== undefined && hiddenField('form_redirect_uri', formRedirectUri)
}
<button class="account" type="submit">${initial(userName)}<span${marked}>${name}${detail && html` <small>${detail}</small>`}</span></button>
</form>
<a class="remove" href="${withFormRedirect(remove, formRedirectUri)}" title="${texts.remove}">${cross}<span class="visually-hidden">${texts.remove} ${shown}</span></a>
</li>
`
}

/** The text that distinguishes accounts of the same name. UAA: the origin always. See docs/compatibility.md, P4. */
function detailOf(texts: Texts, { origin, providerName }: ChoosableAccount): Html | undefined {
  if (texts.reference) return texts.reference.origin(isolated(origin))
  return providerName === undefined ? undefined : texts.accountChooser.via(isolated(providerName, 80))
}
