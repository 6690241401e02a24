// The sections of the profile about activity: where the user is signed in, and recent events.
import { html } from '../../base/html.ts'
import type { Html } from '../../base/html.ts'
import type { AccountEventType } from '../../model/users/account-event.ts'
import { isolated } from '../parts/foreign.ts'
import { csrfField } from '../parts/layout.ts'
import type { Chrome } from '../parts/layout.ts'
import { timeAgo } from '../texts/texts.ts'
import type { Texts } from '../texts/texts.ts'

/** A kind of browser and system, with the sessions that the user has there. */
export interface Device {
  /** Browser and system in words. */
  readonly name: string
  readonly sessions: readonly SignedInBrowser[]
}

/** A session of the user. */
interface SignedInBrowser {
  /** The value that the form posts to end it. */
  readonly handle: string
  /** The IP address at its start. */
  readonly address?: string | undefined
  readonly signedInAt: Date
  readonly lastSeenAt: Date
  /** Whether it is the current session. */
  readonly isCurrent: boolean
}

/** What happened to the account. */
export interface ShownEvent {
  readonly type: AccountEventType
  readonly at: Date
  readonly byOther: boolean
  /** Browser and system in words. */
  readonly device?: string | undefined
  readonly address?: string | undefined
  readonly clientName?: string | undefined
}

/** The activity to show. */
export interface ActivityProps {
  readonly devices: readonly Device[]
  /** Newest first. */
  readonly events: readonly ShownEvent[]
  /** Times are shown relative to this moment: without a script, the page does not know the user's time zone. */
  readonly now: Date
}

/** Where the user is signed in, by device. */
export function devicesSection(chrome: Chrome, { devices, now }: ActivityProps): Html {
  const texts = chrome.texts.profile
  return html`<section aria-labelledby="sessions">
<h2 id="sessions">${texts.sessions}</h2>
<p class="lead">${texts.sessionsLead}</p>
<form action="${chrome.basePath}/profile/sessions" method="post" accept-charset="UTF-8">
${csrfField(chrome)}<ul class="devices">
${devices.map(device => deviceItem(chrome.texts, device, now))}</ul>
${
  devices.some(({ sessions }) => sessions.some(each => !each.isCurrent)) &&
  html`<button class="button plain" type="submit" name="others" value="true">${texts.signOutOthers}</button>\n`
}</form>
</section>
`
}

function deviceItem(texts: Texts, { name, sessions }: Device, now: Date): Html {
  const isHere = sessions.some(({ isCurrent }) => isCurrent)
  return html`<li class="panel">
<h3>${isolated(name, 80)}${isHere && html` <span class="badge">${texts.profile.thisSession}</span>`}</h3>
<ul class="sessions">
${sessions.map(session => sessionItem(texts, { ...session, name }, now))}</ul>
</li>
`
}

function sessionItem(texts: Texts, session: SignedInBrowser & { readonly name: string }, now: Date): Html {
  const { handle, name, address, isCurrent } = session
  const { profile, account } = texts
  const signedIn = ago(texts, session.signedInAt, now)
  const lastSeen = ago(texts, session.lastSeenAt, now)
  return html`<li>
<p>${profile.times({ signedIn, lastSeen })}${address !== undefined && html`, ${account.from(isolated(address, 60))}`}</p>
${
  !isCurrent &&
  html`<button class="quiet" type="submit" name="session" value="${handle}">${profile.signOut}<span class="visually-hidden"> ${profile.whichSession({ name: isolated(name, 80), signedIn })}</span></button>\n`
}</li>
`
}

/** Number of entries shown initially. */
const EVENTS_AT_ONCE = 6

/** What happened to the account. */
export function eventsSection(chrome: Chrome, { events, now }: ActivityProps): Html {
  const { account: texts } = chrome.texts
  const items = events.map(event => eventItem(chrome.texts, event, now))
  const [first, more] = [items.slice(0, EVENTS_AT_ONCE), items.slice(EVENTS_AT_ONCE)]
  return html`<section aria-labelledby="events">
<h2 id="events">${texts.events}</h2>
${
  events.length === 0
    ? html`<p class="lead">${texts.noEvents}</p>\n`
    : html`<p class="lead">${texts.eventsLead}</p>
<ul class="events panel">
${first}</ul>
`
}${
  more.length > 0 &&
  html`<details class="older">
<summary class="quiet">${texts.olderEvents}</summary>
<ul class="events panel">
${more}</ul>
</details>
`
}</section>
`
}

function eventItem(texts: Texts, { type, at, byOther, device, address, clientName }: ShownEvent, now: Date): Html {
  const { account } = texts
  const facts = [
    ...(clientName === undefined ? [] : [isolated(clientName, 80)]),
    ...(byOther ? [html`${account.byOther}`] : []),
    ...(device === undefined ? [] : [isolated(device, 80)]),
    ...(address === undefined ? [] : [account.from(isolated(address, 60))]),
  ]
  return html`<li class="${type}"><div><strong>${account.eventTypes[type]}</strong>
<p>${facts.map((fact, index) => html`${index > 0 && ', '}${fact}`)}</p></div>${ago(texts, at, now)}</li>
`
}

/** How long ago, for users. */
export function ago(texts: Texts, moment: Date, now: Date): Html {
  const minutes = Math.max(0, Math.floor((now.getTime() - moment.getTime()) / 60_000))
  return html`<time datetime="${moment.toISOString()}">${timeAgo(texts, minutes)}</time>`
}
