// The page where users see their second factors.
import { html } from '../../base/html.ts'
import type { Html } from '../../base/html.ts'
import type { FactorCodesLeft, Passkey, Totp } from '../../model/users/passkey.ts'
import type { FactorMethod } from '../../records/user.ts'
import { alert } from '../parts/alert.ts'
import { isolated } from '../parts/foreign.ts'
import { factorLayout } from '../sign-in/factor-layout.ts'
import { csrfField } from '../parts/layout.ts'
import type { Chrome } from '../parts/layout.ts'
import type { Message } from '../parts/messages.ts'
import { ago } from './profile-activity.ts'
import { profileLink } from './profile-link.ts'
import { factorTexts } from '../texts/factor-texts.ts'
import { securityTexts } from '../texts/security-texts.ts'

/** Properties of the list of factors. */
export interface SecurityProps {
  /** URL of the page; the others are below it. */
  readonly path: string
  readonly passkeys: readonly Passkey[]
  readonly totp: Totp | undefined
  readonly codes: FactorCodesLeft
  /** Number of recovery codes in a set. */
  readonly codesInSet: number
  /** The factors that count in the zone. */
  readonly counting: readonly FactorMethod[]
  /** Whether another passkey can be added. */
  readonly mayAddPasskey: boolean
  readonly remembersDevices: boolean
  readonly message?: Message | undefined
  readonly now: Date
}

/** The page of `/profile/security`. */
export function securityPage(chrome: Chrome, props: SecurityProps): Html {
  const texts = securityTexts(chrome.texts)
  const { path, message, passkeys, totp, remembersDevices } = props
  const hasFactor = passkeys.length > 0 || totp !== undefined
  const body = html`<p class="lead">${texts.lead}</p>
${message && alert(message)}${passkeysSection(chrome, props)}${appSection(chrome, props)}${hasFactor && codesSection(chrome, props)}${
  hasFactor &&
  remembersDevices &&
  html`<section class="security" aria-labelledby="devices">
<h2 id="devices">${texts.devices}</h2>
<p class="lead">${texts.devicesLead}</p>
<form action="${path}/devices" method="post" accept-charset="UTF-8">${csrfField(chrome)}<button class="button plain" type="submit">${texts.forget}</button></form>
</section>
`
}${profileLink(chrome)}`
  return factorLayout(chrome, { title: texts.title, heading: texts.title, body, shape: 'wide' })
}

function passkeysSection(chrome: Chrome, props: SecurityProps): Html | false {
  const { path, passkeys, counting, mayAddPasskey } = props
  const texts = securityTexts(chrome.texts)
  const counts = counting.includes('passkey')
  if (!counts && passkeys.length === 0) return false
  return html`<section class="security" aria-labelledby="passkeys">
<h2 id="passkeys">${texts.passkeys}</h2>
<p class="lead">${texts.passkeysLead}</p>
${
  passkeys.length > 0 &&
  html`<ul class="factors panel">
${passkeys.map(passkey => {
  const name = isolated(passkey.name, 80)
  const query = `passkey=${encodeURIComponent(passkey.id)}`
  return factorItem(chrome, {
    ...props,
    name,
    counts,
    usedAt: passkey.lastUsedAt,
    createdAt: passkey.createdAt,
    actions: [
      { text: texts.rename, url: `${path}/rename?${query}` },
      { text: texts.remove, url: `${path}/remove?${query}` },
    ],
  })
})}</ul>
`
}${
  counts &&
  (mayAddPasskey
    ? html`<a class="button${passkeys.length > 0 && ' plain'}" href="${path}/passkey">${factorTexts(chrome.texts).enrol.passkey}</a>\n`
    : html`<p class="note">${texts.tooMany}</p>\n`)
}</section>
`
}

function appSection(chrome: Chrome, props: SecurityProps): Html | false {
  const { path, totp, counting } = props
  const texts = securityTexts(chrome.texts)
  const { enrol } = factorTexts(chrome.texts)
  const counts = counting.includes('totp')
  if (!counts && !totp) return false
  return html`<section class="security" aria-labelledby="app">
<h2 id="app">${texts.app}</h2>
<p class="lead">${enrol.appLead}</p>
${
  totp
    ? html`<ul class="factors panel">
${factorItem(chrome, {
  ...props,
  name: html`${texts.app}`,
  counts,
  usedAt: totp.lastUsedAt,
  createdAt: totp.createdAt,
  actions: [
    ...(counts ? [{ text: texts.replace, url: `${path}/app` }] : []),
    { text: texts.remove, url: `${path}/remove?factor=app` },
  ],
})}</ul>
`
    : html`<a class="button plain" href="${path}/app">${enrol.app}</a>\n`
}</section>
`
}

function codesSection(chrome: Chrome, { path, codes, codesInSet, now }: SecurityProps): Html {
  const texts = securityTexts(chrome.texts)
  const { recovery, recoveryCreatedAt } = codes
  return html`<section class="security" aria-labelledby="codes">
<h2 id="codes">${texts.codes}</h2>
<p class="lead">${texts.codesLead}</p>
<ul class="factors panel">
<li${recovery < 3 && html` class="few"`}><div><strong>${texts.codesLeft(recovery, codesInSet)}</strong>${recoveryCreatedAt && html`\n<p>${texts.made(ago(chrome.texts, recoveryCreatedAt, now))}</p>`}</div><div class="actions"><a class="quiet" href="${path}/codes">${texts.renewCodes}</a></div></li>
</ul>
</section>
`
}

/** One factor with its actions. */
interface FactorItem {
  readonly name: Html
  readonly counts: boolean
  readonly createdAt: Date
  readonly usedAt: Date | undefined
  readonly actions: readonly { readonly text: string; readonly url: string }[]
  readonly now: Date
}

function factorItem({ texts }: Chrome, { name, counts, createdAt, usedAt, actions, now }: FactorItem): Html {
  const words = securityTexts(texts)
  const used = usedAt ? words.lastUsed(ago(texts, usedAt, now)) : words.neverUsed
  return html`<li><div><strong>${name}</strong>${!counts && html` <span class="badge">${words.ignored}</span>`}
<p>${words.added(ago(texts, createdAt, now))}, ${used}</p></div><div class="actions">${actions.map(
    ({ text, url }) => html`<a class="quiet" href="${url}">${text}<span class="visually-hidden"> ${name}</span></a>`,
  )}</div></li>
`
}

/** The section of the profile that links here. */
export function securitySection(
  chrome: Chrome,
  { path, methods }: { readonly path: string; readonly methods: readonly FactorMethod[] },
): Html {
  const texts = securityTexts(chrome.texts)
  const names = { passkey: texts.passkeys, totp: texts.app }
  const state = methods.length === 0 ? texts.off : methods.map(method => names[method]).join(', ')
  return html`<section aria-labelledby="security">
<h2 id="security">${texts.title}</h2>
<p class="lead">${texts.lead}</p>
<dl class="facts panel">
<div><dt>${texts.secondStep}</dt><dd>${state}</dd><dd class="change"><a href="${path}">${texts.manage}</a></dd></div>
</dl>
</section>
`
}
