import { type Html, html } from '../base/html.ts'
import { plain } from './foreign.ts'
import { type Chrome, layout, siteName } from './layout.ts'

/** What the passcode page shows. */
export interface PasscodeProps {
  readonly passcode: string
}

/** The title that is known to clients. */
const TITLE = 'Temporary Authentication Code'

/** The page of `/passcode`: a code to select by hand, or to copy by the button that the script uncovers. */
export function passcodePage(chrome: Chrome, { passcode }: PasscodeProps): Html {
  const body = html`<p class="lead">Enter this code in the program that asks for it. It works once, within five minutes.</p>
<samp id="passcode" translate="no">${plain(passcode)}</samp>
<button class="button" type="button" id="copybutton" data-copies="passcode" hidden>Copy code</button>
<p id="copystatus" class="spoken" role="status"></p>
<p class="note">Whoever has the code can sign in as you. Give it to no person and no web page, only to a program that you started yourself.</p>
<p class="below"><a href="${chrome.basePath}/passcode">Get a new code</a></p>
<script src="${chrome.assets.copyScript}" defer></script>
`
  return layout(chrome, { title: TITLE, heading: TITLE, body })
}

/** The page for whom another site sent: a code is made only when the person asks for it here. */
export function passcodeOfferPage(chrome: Chrome): Html {
  const body = html`<p class="lead">You came here from somewhere else. With a code, a program can sign in to <bdi>${siteName(chrome)}</bdi> as you.</p>
<p class="note">Go on only if you are using such a program yourself right now.</p>
<a class="button" href="${chrome.basePath}/passcode">Get a code</a>
`
  return layout(chrome, { title: TITLE, heading: TITLE, body })
}
