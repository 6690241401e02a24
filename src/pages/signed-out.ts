import { html } from '../base/html.ts'
import type { Html } from '../base/html.ts'
import type { Destination } from '../model/sessions/destination.ts'
import { hiddenField, layout, siteName } from './parts/layout.ts'
import type { Chrome } from './parts/layout.ts'
import { destination } from './parts/destination.ts'
import { isolated, safeLink } from './parts/foreign.ts'

/** Properties of the page after a logout. */
interface SignedOutProps {
  readonly signInUrl: string
  /** Pages of applications that end their sessions when they are loaded (OpenID Connect Front-Channel Logout §2). */
  readonly frames?: readonly string[]
  /** Where to go when the frames are loaded. */
  readonly continueUrl?: Destination | undefined
  /** Where the user may go, and the browser does not go by itself. */
  readonly offeredUrl?: string | undefined
}

/** The page for a logout without a redirect (OpenID Connect RP-Initiated Logout §2), or one that waits for applications. */
export function signedOutPage(
  chrome: Chrome,
  { signInUrl, frames = [], continueUrl, offeredUrl }: SignedOutProps,
): Html {
  const { title, heading, lead } = chrome.texts.signedOut
  const body = html`<p class="lead">${lead(html`<bdi>${siteName(chrome)}</bdi>`)}</p>
${continueUrl === undefined ? signInLink(chrome, signInUrl) : continueLink(chrome, continueUrl)}${offeredUrl !== undefined && offer(chrome, offeredUrl)}${frames.map(frame)}${
  continueUrl !== undefined && html`<script src="${chrome.assets.logoutFramesScript}"></script>\n`
}`
  return layout(chrome, { title, heading, body })
}

// The sandbox keeps an application from navigating the whole page, or opening another.
const frame = (url: string): Html =>
  html`<iframe class="logout" src="${url}" sandbox="allow-scripts allow-same-origin" title="" hidden></iframe>
`

function signInLink(chrome: Chrome, signInUrl: string): Html | false {
  const link = safeLink(signInUrl)
  return link !== undefined && html`<a class="button plain" href="${link}">${chrome.texts.signedOut.again}</a>\n`
}

const offer = ({ texts }: Chrome, url: string): Html =>
  html`<p class="below"><a id="offered" href="${url}" rel="noreferrer">${texts.signedOut.goTo(isolated(destination(url), 1000))}</a></p>
`

function continueLink({ texts }: Chrome, continueUrl: Destination): Html {
  const { submit } = texts.formPost
  if (typeof continueUrl === 'string') return html`<a class="button" id="onward" href="${continueUrl}">${submit}</a>\n`
  return html`<form id="onward" action="${continueUrl.action}" method="post" accept-charset="UTF-8">
${Object.entries(continueUrl.fields).map(([name, value]) => hiddenField(name, value))}<button class="button" type="submit">${submit}</button>
</form>
`
}
