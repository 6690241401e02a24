import { type Html, html } from '../base/html.ts'
import { type Chrome, layout, siteName } from './layout.ts'
import { safeLink } from './foreign.ts'

/** What the page after a logout shows. */
export interface SignedOutProps {
  readonly signInUrl: string
}

/** The page where a logout ends that leads nowhere else (OpenID Connect RP-Initiated Logout §2). */
export function signedOutPage(chrome: Chrome, { signInUrl }: SignedOutProps): Html {
  const link = safeLink(signInUrl)
  const { title, heading, lead, again } = chrome.texts.signedOut
  const body = html`<p class="lead">${lead(html`<bdi>${siteName(chrome)}</bdi>`)}</p>
${link !== undefined && html`<a class="button plain" href="${link}">${again}</a>\n`}`
  return layout(chrome, { title, heading, body })
}
