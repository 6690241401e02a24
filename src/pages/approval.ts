import { leavesDevice } from '../model/safe-uri.ts'
import { html } from '../base/html.ts'
import type { Html } from '../base/html.ts'
import { clientPicture, tick } from './parts/components.ts'
import { destination } from './parts/destination.ts'
import { isolated, plain } from './parts/foreign.ts'
import { csrfField, hiddenField, layout } from './parts/layout.ts'
import type { Chrome } from './parts/layout.ts'
import type { Texts } from './texts/texts.ts'

/** One requested scope. */
export interface ScopeChoice {
  /** `scope.0`, `scope.1`, … */
  readonly name: string
  /** `scope.` and the scope. */
  readonly value: string
  /** The zone's description of it; the scope itself if there is none. */
  readonly text: string
  /** The user's previous decision. */
  readonly state: 'undecided' | 'approved' | 'denied'
}

/** Properties of the approval page. */
interface ApprovalProps {
  readonly clientName: string
  /** Base64 PNG of the application; without one, its initial is shown. */
  readonly clientIcon?: string | undefined
  /** The redirect URI, of which the host is shown. */
  readonly redirectUri: string
  readonly userName: string
  /** The authorization request that the answer is posted to: a URL of this server. */
  readonly action: string
  readonly formRedirectUri: string
  readonly scopes: readonly ScopeChoice[]
  /** Pages of the application; only https links are shown. */
  readonly links?: Readonly<Partial<Record<'website' | 'policy' | 'terms', string | undefined>>>
  /** For an application that registered itself: all its redirect URIs. */
  readonly registeredUris?: readonly string[] | undefined
  /** For an application that is described by a document: its URL, of which only the host is verified. */
  readonly documentUrl?: string | undefined
  /** The APIs that the tokens are for, if the application names any (RFC 8707). */
  readonly resources?: readonly string[] | undefined
}

/** The page that asks the user to approve the requested scopes (RFC 6749 §4.1.1). */
export function approvalPage(chrome: Chrome, props: ApprovalProps): Html {
  const texts = chrome.texts.approval
  // Enter in a checkbox presses the first button.
  const body = html`<form id="application_authorization" action="${props.action}" method="post" accept-charset="UTF-8">
${csrfField(chrome)}${hiddenField('form_redirect_uri', props.formRedirectUri)}
<fieldset>
<legend>${chrome.texts.reference && html`<h2>${chrome.texts.reference.clientHeading(isolated(props.clientName, 80))}</h2>\n`}${texts.choose(html`<strong>${isolated(props.userName)}</strong>`)}</legend>
<ul class="choices">
${props.scopes.map(scope => (isMandatory(chrome, scope) ? mandatory(texts, scope) : choice(chrome, scope)))}</ul>
</fieldset>
<p class="note">${texts.thenReturn(html`<strong>${isolated(destination(props.redirectUri), 1000)}</strong>`)}</p>
${props.resources && resourcesNote(texts, props.resources)}${notesOnClient(texts, props)}${linksNote(texts, props.links)}<p class="note">${texts.changeLater}</p>
<div class="buttons">
<button class="button" type="submit" id="authorize" name="user_oauth_approval" value="true" data-deliberate>${texts.allow}</button>
<button class="button plain" type="submit" id="deny" name="user_oauth_approval" value="false">${texts.deny}</button>
</div>
</form>
`
  const picture = clientPicture(props.clientName, props.clientIcon)
  return layout(chrome, { title: texts.title, picture, heading: texts.heading(isolated(props.clientName, 80)), body })
}

/**
 * Whether the scope is what the request is about: without `openid` there is no sign-in (OpenID Connect Core §3.1.2.1).
 * UAA: it is a box like the others. See docs/compatibility.md, P4.
 */
const isMandatory = ({ texts }: Chrome, { value }: ScopeChoice): boolean => !texts.reference && value === 'scope.openid'

/** A scope that every approval includes; the user cannot deny it separately. */
const mandatory = (texts: Texts['approval'], { name, value, text, state }: ScopeChoice): Html =>
  html`<li class="${state} mandatory">${hiddenField(name, value)}${tick}<p>${isolated(text, 500)} <small>${texts.always}</small></p></li>
`

function choice({ texts: { approval: texts, reference } }: Chrome, { name, value, text, state }: ScopeChoice): Html {
  const decided = { undecided: undefined, approved: texts.allowedBefore, denied: texts.declinedBefore }
  const scope = value.replace(/^scope\./, '')
  const details = [text !== scope && html`<code>${isolated(scope)}</code>`, decided[state]].filter(Boolean)
  // UAA: its labels hold the bare text, which tests look for. See docs/compatibility.md, P4.
  const label = reference
    ? html`<label for="${name}" dir="auto">${plain(text, 500)}`
    : html`<label for="${name}">${isolated(text, 500)}`
  return html`<li class="${state}"><input type="checkbox" id="${name}" name="${name}" value="${value}"${
    state !== 'denied' && html` checked`
  }>${label}${
    details.length > 0 &&
    html`${!reference && ' '}<small>${details[0]}${details.length > 1 && html` · ${details[1]}`}</small>`
  }</label></li>
`
}

/** What a user must know about an application that no administrator registered. */
function notesOnClient(texts: Texts['approval'], props: ApprovalProps): Html | undefined {
  const { documentUrl, redirectUri, registeredUris } = props
  if (documentUrl !== undefined) return documentNote(texts, documentUrl, redirectUri)
  return registeredUris && registeredNote(texts, redirectUri, registeredUris)
}

/** Shows the full host of the application, and warns if it runs on the device, where any program could impersonate it. */
function documentNote(texts: Texts['approval'], documentUrl: string, redirectUri: string): Html {
  const { host } = new URL(documentUrl)
  const isHere = !leavesDevice(redirectUri)
  return html`<p class="note" id="self_registered">${texts.describedAt(html`<strong>${isolated(host, 1000)}</strong>`)}${isHere && html` ${texts.runsHere}`}</p>
`
}

/** The APIs by their full URLs: two on one host may belong to different owners. */
export function resourcesNote(texts: Texts['approval'], resources: readonly string[]): Html {
  const names = resources.map((name, index) => html`${index > 0 && ', '}<strong>${isolated(name, 1100)}</strong>`)
  return html`<p class="note" id="resources">${texts.forResources(names)}</p>
`
}

/** Warns that no administrator has vetted the application, and shows its other redirect hosts to help users judge it. */
function registeredNote(texts: Texts['approval'], redirectUri: string, uris: readonly string[]): Html {
  const others = new Set(uris.map(destination))
  others.delete(destination(redirectUri))
  const names = [...others].map((name, index) => html`${index > 0 && ', '}<strong>${isolated(name, 1000)}</strong>`)
  return html`<p class="note" id="self_registered">${texts.selfRegistered}${names.length > 0 && html` ${texts.alsoReturns(names)}`}</p>
`
}

const LINKS = ['website', 'policy', 'terms'] as const

/** Links with their hosts; they open in a new window without access to this one. */
function linksNote(texts: Texts['approval'], links: ApprovalProps['links'] = {}): Html | undefined {
  const shown = LINKS.flatMap(kind => {
    const url = links[kind]
    if (url === undefined || !URL.canParse(url) || new URL(url).protocol !== 'https:') return []
    const rel = 'noopener noreferrer nofollow'
    return html`<a href="${url}" target="_blank" rel="${rel}">${texts.links[kind]}</a> (${isolated(new URL(url).host, 1000)})`
  })
  if (shown.length === 0) return undefined
  return html`<ul class="note" id="client_links">${shown.map(link => html`<li>${link}</li>`)}</ul>
`
}
