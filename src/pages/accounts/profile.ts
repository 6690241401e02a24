import { html } from '../../base/html.ts'
import type { Html } from '../../base/html.ts'
import { alert } from '../parts/alert.ts'
import { isolated } from '../parts/foreign.ts'
import { csrfField, hiddenField, layout } from '../parts/layout.ts'
import type { Chrome } from '../parts/layout.ts'
import { sentence } from '../parts/messages.ts'
import type { Message } from '../parts/messages.ts'
import { devicesSection, eventsSection } from './profile-activity.ts'
import type { ActivityProps } from './profile-activity.ts'
import { detailsSection, providerSection } from './profile-details.ts'
import type { DetailsProps } from './profile-details.ts'
import { securitySection } from './security.ts'
import type { Texts } from '../texts/texts.ts'

/** The approvals and denials of a client. */
export interface ApprovedClient {
  readonly clientId: string
  readonly name: string
  readonly scopes: readonly ApprovedScope[]
}

/** One decision about a scope. */
interface ApprovedScope {
  readonly scope: string
  /** The zone's description of it; the scope itself if there is none. */
  readonly text: string
  readonly approved: boolean
}

/** Properties of the page of the user's own account. */
export interface ProfileProps extends DetailsProps, ActivityProps {
  readonly message?: Message | undefined
  /** The page of second factors, and which the user has; absent if there are none. */
  readonly security?: Parameters<typeof securitySection>[1] | undefined
  readonly clients: readonly ApprovedClient[]
}

/** The page of `/profile`: the user's details, approvals of clients, sessions, and the history of the account. */
export function profilePage(chrome: Chrome, props: ProfileProps): Html {
  const { profile: texts } = chrome.texts
  const body = html`${props.message && alert(props.message)}${detailsSection(chrome, props)}${props.security && securitySection(chrome, props.security)}<section aria-labelledby="applications">
<h2 id="applications">${texts.applications}</h2>
${
  props.clients.length === 0
    ? html`<p class="lead">${texts.noApplications}</p>\n`
    : html`<p class="lead">${texts.applicationsLead}</p>
${props.clients.map((client, index) => clientForm(chrome, client, index))}`
}</section>
${devicesSection(chrome, props)}${providerSection(chrome, props)}${eventsSection(chrome, props)}`
  return layout(chrome, { title: texts.title, heading: texts.heading, body, shape: 'wide' })
}

// UAA: ids, classes and the words on the buttons are known to clients. See docs/compatibility.md, P4.
function clientForm(chrome: Chrome, { clientId, name, scopes }: ApprovedClient, index: number): Html {
  const texts = chrome.texts.profile
  const shown = isolated(name, 80)
  return html`<form class="panel" id="${clientId}-form" action="${chrome.basePath}/profile" method="post" accept-charset="UTF-8">
${csrfField(chrome)}${hiddenField('clientId', clientId)}${hiddenField('listedScopes', scopes.map(({ scope }) => scope).join(' '))}
<fieldset>
<legend><h3 id="client-${index}">${shown}</h3></legend>
<ul class="choices">
${scopes.map((each, scopeIndex) => scopeItem(each, { clientId, id: `client-${index}-scope-${scopeIndex}` }))}</ul>
</fieldset>
<div class="buttons">
<button class="button plain when-changed" type="submit" name="update" value="update" aria-describedby="client-${index}">${texts.update}</button>
<a class="button plain dangerous" href="#revoke-${index}" aria-describedby="client-${index}">${texts.revoke}</a>
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

/** The message for a code of the page's query, which itself is never shown: an unknown one gives `Error!` or `Success!`. */
export function profileMessage(texts: Texts, kind: Message['kind'], code: string): Message {
  const { errors, successes } = texts.profile
  return kind === 'error'
    ? { kind, text: sentence(errors, code) ?? texts.errors.unknown }
    : { kind, text: sentence(successes, code) ?? texts.successes.unknown }
}
