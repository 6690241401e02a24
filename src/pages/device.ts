// The pages of the device grant (RFC 8628 §3.3): a code is entered, a user decides, and goes back to the device.
import { html } from '../base/html.ts'
import type { Html } from '../base/html.ts'
import { resourcesNote } from './approval.ts'
import { alertBox, MESSAGE_ID } from './parts/alert.ts'
import { clientPicture, field, submit, tick, time } from './parts/components.ts'
import { isolated, plain } from './parts/foreign.ts'
import { csrfField, hiddenField, layout } from './parts/layout.ts'
import type { Chrome } from './parts/layout.ts'

/** Why a code is not accepted. */
export type DeviceProblem =
  | { readonly kind: 'unknown' }
  /** The user may not use the application, at all or with this sign-in. */
  | { readonly kind: 'refused'; readonly clientName: string }

/** Properties of the code form. */
interface DeviceCodeProps {
  /** From a link: only prefilled. */
  readonly userCode?: string | undefined
  readonly problem?: DeviceProblem | undefined
}

/** Asks for the code that the device shows. */
export function deviceCodePage(chrome: Chrome, { userCode, problem }: DeviceCodeProps): Html {
  const texts = chrome.texts.device
  const isWrong = problem !== undefined
  const body = html`${problem && alertBox('error', problemText(chrome, problem))}<p class="lead">${texts.lead}</p>
<form id="device" action="${chrome.basePath}/device" method="post" novalidate="novalidate" accept-charset="UTF-8">
${csrfField(chrome)}${field({ id: 'user_code', label: texts.code, value: userCode, isInCapitals: true, describedBy: isWrong ? [MESSAGE_ID] : [], isWrong, focus: true })}${submit(texts.next)}</form>
`
  return layout(chrome, { title: texts.title, heading: texts.heading, body })
}

const problemText = ({ texts: { device } }: Chrome, problem: DeviceProblem): Html | string =>
  problem.kind === 'unknown' ? device.unknown : device.refused(isolated(problem.clientName, 80))

/** Properties of the approval page. */
interface DeviceDecisionProps {
  readonly clientName: string
  readonly userCode: string
  readonly userName: string
  /** The IP address of the device. */
  readonly address?: string | undefined
  /** The device's description of itself. */
  readonly program?: string | undefined
  readonly requestedAt: Date
  readonly isSelfRegistered: boolean
  /** The APIs that the tokens are for, if the device names any (RFC 8707). */
  readonly resources?: readonly string[] | undefined
  /** Each scope with its description. The form contains them, so that the user approves exactly these. */
  readonly scopes: readonly { readonly scope: string; readonly text: string }[]
}

/** Shows the client, the device's address and the scopes; and the code, to be compared with the one on the device. */
export function deviceDecisionPage(chrome: Chrome, props: DeviceDecisionProps): Html {
  const { device: texts, approval } = chrome.texts
  const body = html`<p class="lead">${texts.compare(html`<strong>${isolated(props.userName)}</strong>`)}</p>
<samp id="device_code" translate="no">${plain(props.userCode)}</samp>
<dl class="asked">
${fact(texts.requested, time(chrome.texts, props.requestedAt))}${props.address !== undefined && fact(texts.address, isolated(props.address, 100))}${props.program !== undefined && fact(texts.program, isolated(props.program, 80))}</dl>
<form id="device_decision" action="${chrome.basePath}/device/decision" method="post" accept-charset="UTF-8">
${csrfField(chrome)}${hiddenField('user_code', props.userCode)}${hiddenField('scopes', JSON.stringify(props.scopes.map(({ scope }) => scope)))}
<h2>${texts.asks}</h2>
<ul class="choices">
${props.scopes.map(({ text }) => html`<li class="mandatory">${tick}<p>${isolated(text, 500)}</p></li>\n`)}</ul>
${props.resources && resourcesNote(approval, props.resources)}${props.isSelfRegistered && html`<p class="note" id="self_registered">${approval.selfRegistered}</p>\n`}<p class="note">${texts.warning}</p>
<p class="note">${approval.changeLater}</p>
<div class="buttons">
<button class="button" type="submit" id="authorize" name="user_oauth_approval" value="true" data-deliberate>${approval.allow}</button>
<button class="button plain" type="submit" id="deny" name="user_oauth_approval" value="false">${approval.deny}</button>
</div>
</form>
`
  const heading = texts.decide(isolated(props.clientName, 80))
  return layout(chrome, { title: approval.title, picture: clientPicture(props.clientName), heading, body })
}

const fact = (name: string, value: Html): Html => html`<div><dt>${name}</dt><dd>${value}</dd></div>\n`

/** Properties of the last page. */
interface DeviceDoneProps {
  readonly clientName: string
  readonly isAllowed: boolean
}

/** Sends the user back to the device. */
export function deviceDonePage(chrome: Chrome, { clientName, isAllowed }: DeviceDoneProps): Html {
  const texts = chrome.texts.device
  const { title, heading, lead } = isAllowed ? texts.allowed : texts.denied
  const body = html`<p class="lead">${lead(html`<strong>${isolated(clientName, 80)}</strong>`)}</p>\n`
  return layout(chrome, { title, heading, body })
}
