import { html } from '../../base/html.ts'
import type { Html } from '../../base/html.ts'
import { MESSAGE_ID } from '../parts/alert.ts'
import { plain, safeLink } from '../parts/foreign.ts'
import type { Chrome } from '../parts/layout.ts'

/** What a zone asks users to agree to before they get an account (`config.branding.consent`); nothing without it. */
export function consentField(
  { branding }: Pick<Chrome, 'branding'>,
  {
    consent: words,
    isGiven,
    isWrong,
  }: {
    readonly consent: (terms: Html) => Html
    /** Whether the user ticked it before something else was refused. */
    readonly isGiven: boolean
    readonly isWrong: boolean
  },
): Html {
  const { text: wanted, link: address } = branding.consent ?? {}
  if (wanted === undefined) return html``
  const text = plain(wanted, 1000)
  const link = safeLink(address)
  const terms = link === undefined ? html`${text}` : html`<a href="${link}" target="_blank" rel="noopener">${text}</a>`
  return html`<p class="consent"><input type="checkbox" id="does_user_consent" name="does_user_consent" value="true"${isGiven && html` checked`}${
    isWrong && html` aria-invalid="true" aria-describedby="${MESSAGE_ID}"`
  }> <label for="does_user_consent">${words(terms)}</label></p>\n`
}
