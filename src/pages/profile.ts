import { type Html, html } from '../base/html.ts'
import { alert } from './alert.ts'
import { isolated } from './foreign.ts'
import { type Chrome, csrfField, hiddenField, layout } from './layout.ts'
import { sentence } from './messages.ts'
import type { Message } from './messages.ts'
import { timeAgo } from './texts/texts.ts'
import type { Texts } from './texts/texts.ts'

/** What a client was allowed or denied. */
export interface ApprovedClient {
  readonly clientId: string
  readonly name: string
  readonly scopes: readonly ApprovedScope[]
}

/** One decision about a scope. */
export interface ApprovedScope {
  readonly scope: string
  /** What it means, in the words of the zone; the scope itself where the zone has none. */
  readonly text: string
  readonly approved: boolean
}

/** A browser in which the person is signed in. */
export interface SignedInBrowser {
  /** What the form posts to end it. */
  readonly handle: string
  /** Browser and system in words. */
  readonly name: string
  readonly signedInAt: Date
  readonly lastSeenAt: Date
  /** Whether the page is read in it. */
  readonly isCurrent: boolean
}

/** What the page of the person's own account shows. */
export interface ProfileProps {
  readonly userName: string
  readonly email: string
  readonly message?: Message | undefined
  readonly clients: readonly ApprovedClient[]
  readonly sessions: readonly SignedInBrowser[]
  /** Times are told as seen from this moment: a page without script does not know the reader's time zone. */
  readonly now: Date
}

/** The page of `/profile`: who the person is here, what clients may do, and where the person is signed in. */
export function profilePage(chrome: Chrome, props: ProfileProps): Html {
  const texts = chrome.texts.profile
  const body = html`${props.message && alert(props.message)}<dl class="facts">
<div><dt>${texts.userName}</dt><dd>${isolated(props.userName)}</dd></div>
<div><dt>${texts.email}</dt><dd>${isolated(props.email)}</dd></div>
</dl>
<section aria-labelledby="applications">
<h2 id="applications">${texts.applications}</h2>
${
  props.clients.length === 0
    ? html`<p class="lead">${texts.noApplications}</p>\n`
    : html`<p class="lead">${texts.applicationsLead}</p>
${props.clients.map((client, index) => clientForm(chrome, client, index))}`
}</section>
<section aria-labelledby="sessions">
<h2 id="sessions">${texts.sessions}</h2>
<p class="lead">${texts.sessionsLead}</p>
<ul class="sessions">
${props.sessions.map(session => sessionItem(chrome, session, props.now))}</ul>
${
  props.sessions.some(session => !session.isCurrent) &&
  html`<form action="${chrome.basePath}/profile/sessions" method="post" accept-charset="UTF-8">
${csrfField(chrome)}<button class="button plain" type="submit" name="others" value="true">${texts.signOutOthers}</button>
</form>
`
}</section>
`
  return layout(chrome, { title: texts.title, heading: texts.heading, body, shape: 'wide' })
}

// UAA: ids, classes and the words on the buttons are known to clients. See docs/compatibility.md, P4.
function clientForm(chrome: Chrome, { clientId, name, scopes }: ApprovedClient, index: number): Html {
  const texts = chrome.texts.profile
  const shown = isolated(name, 80)
  return html`<form class="panel" id="${clientId}-form" action="${chrome.basePath}/profile" method="post" accept-charset="UTF-8">
${csrfField(chrome)}${hiddenField('clientId', clientId)}
<fieldset>
<legend><h3 id="client-${index}">${shown}</h3></legend>
<ul class="choices">
${scopes.map((each, place) => scopeItem(each, { clientId, id: `client-${index}-scope-${place}` }))}</ul>
</fieldset>
<div class="buttons">
<button class="button" type="submit" name="update" value="update" aria-describedby="client-${index}">${texts.update}</button>
<a class="button plain" href="#revoke-${index}" aria-describedby="client-${index}">${texts.revoke}</a>
</div>
<div class="revocation-modal" id="revoke-${index}" tabindex="-1">
<p>${texts.sure(shown)}</p>
<div class="buttons">
<a class="revocation-cancel button plain" href="#client-${index}">${texts.cancel}</a>
<button class="revocation-confirm button danger" type="submit" name="delete" value="delete">${texts.confirm}</button>
</div>
</div>
</form>
`
}

function scopeItem({ scope, text, approved }: ApprovedScope, { clientId, id }: { clientId: string; id: string }): Html {
  return html`<li><input type="checkbox" id="${id}" name="checkedScopes" value="${clientId}-${scope}"${
    approved && html` checked`
  }><label for="${id}">${isolated(text, 500)}${
    text !== scope && html` <small><code>${isolated(scope)}</code></small>`
  }</label></li>
`
}

function sessionItem(chrome: Chrome, session: SignedInBrowser, now: Date): Html {
  const { handle, name, signedInAt, lastSeenAt, isCurrent } = session
  const texts = chrome.texts.profile
  const signedIn = ago(chrome.texts, signedInAt, now)
  const lastSeen = ago(chrome.texts, lastSeenAt, now)
  return html`<li>
<div><strong>${isolated(name)}</strong>${isCurrent && html` <span class="badge">${texts.thisSession}</span>`}
<p>${texts.times({ signedIn, lastSeen })}</p></div>
${
  !isCurrent &&
  html`<form action="${chrome.basePath}/profile/sessions" method="post" accept-charset="UTF-8">
${csrfField(chrome)}${hiddenField('session', handle)}
<button class="quiet" type="submit">${texts.signOut}<span class="spoken"> ${texts.whichSession({ name: isolated(name), signedIn })}</span></button>
</form>
`
}</li>
`
}

/** Minutes and hours are all that is needed: no session lives for a day. */
function ago(texts: Texts, moment: Date, now: Date): Html {
  const minutes = Math.max(0, Math.floor((now.getTime() - moment.getTime()) / 60_000))
  return html`<time datetime="${moment.toISOString()}">${timeAgo(texts, minutes)}</time>`
}

/** The message for a code of the page's query, which itself is never shown: an unknown one gives `Error!` or `Success!`. */
export function profileMessage(texts: Texts, kind: Message['kind'], code: string): Message {
  const { errors, successes } = texts.profile
  return kind === 'error'
    ? { kind, text: sentence(errors, code) ?? texts.errors.unknown }
    : { kind, text: sentence(successes, code) ?? texts.successes.unknown }
}
