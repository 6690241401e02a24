import { html } from '../../base/html.ts'
import type { Html } from '../../base/html.ts'
import { isolated } from '../parts/foreign.ts'
import { layout } from '../parts/layout.ts'
import type { Chrome } from '../parts/layout.ts'

/** Properties of the account choice page. */
interface AccountChoiceProps {
  readonly userName: string
  /** Continues with the current account. */
  readonly continueUrl: string
  /** Signs in with another account, and then continues. */
  readonly signInUrl: string
}

/** Asks a signed-in user with which account to continue, also for `prompt=select_account` (OpenID Connect Core §3.1.2.1). */
export function accountChoicePage(chrome: Chrome, { userName, continueUrl, signInUrl }: AccountChoiceProps): Html {
  const { title, heading, signedInAs, another, continueAs } = chrome.texts.accountChoice
  const body = html`<p class="lead">${signedInAs(html`<strong>${isolated(userName)}</strong>`)}</p>
<div class="buttons stacked">
<a class="button" id="this_account" href="${continueUrl}"><span>${continueAs(isolated(userName, 40))}</span></a>
<a class="button plain" id="other_account" href="${signInUrl}">${another}</a>
</div>
`
  return layout(chrome, { title, heading, body })
}
