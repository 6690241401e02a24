import { html } from '../base/html.ts'
import type { Html } from '../base/html.ts'
import { plain } from './parts/foreign.ts'
import { layout, siteName } from './parts/layout.ts'
import type { Chrome } from './parts/layout.ts'

/** Properties of the passcode page. */
interface PasscodeProps {
  readonly passcode: string
}

/** The page of `/passcode`: a code to select, or to copy with the button that the script reveals. */
export function passcodePage(chrome: Chrome, { passcode }: PasscodeProps): Html {
  const texts = chrome.texts.passcode
  const body = html`<p class="lead">${texts.lead}</p>
<samp id="passcode" translate="no">${inGroups(passcode)}</samp>
<button class="button" type="button" id="copybutton" data-copies="passcode" data-copied="${texts.copied}" data-copied-aloud="${texts.copiedAloud}" data-selected="${texts.selected}" data-selected-aloud="${texts.selectedAloud}" hidden>${texts.copy}</button>
<p id="copystatus" class="visually-hidden" role="status"></p>
<p class="note">${texts.warning}</p>
<p class="below"><a href="${chrome.basePath}/passcode">${texts.another}</a></p>
`
  return layout(chrome, { title: texts.title, heading: texts.heading, body })
}

/** Lines may break only between groups. */
function inGroups(passcode: string): Html | string {
  if (!/^\w{4}(?:-\w{4})+$/.test(passcode)) return plain(passcode)
  return html`${passcode.split(/(?<=-)/).map(group => html`<span>${group}</span><wbr>`)}`
}

/** The page for visitors from another site: creates a code only after confirmation. */
export function passcodeOfferPage(chrome: Chrome): Html {
  const texts = chrome.texts.passcode
  const body = html`<p class="lead">${texts.offer(html`<bdi>${siteName(chrome)}</bdi>`)}</p>
<p class="note">${texts.offerWarning}</p>
<a class="button" href="${chrome.basePath}/passcode">${texts.get}</a>
`
  return layout(chrome, { title: texts.title, heading: texts.heading, body })
}
