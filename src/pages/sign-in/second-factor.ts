// The pages of the second step of a sign-in: proving a factor, and adding the first one.
import { html } from '../../base/html.ts'
import type { Html } from '../../base/html.ts'
import { alert, MESSAGE_ID } from '../parts/alert.ts'
import { field, submit } from '../parts/components.ts'
import { plain } from '../parts/foreign.ts'
import { factorLayout } from './factor-layout.ts'
import { csrfField, hiddenField, siteName, withFormRedirect } from '../parts/layout.ts'
import type { Chrome } from '../parts/layout.ts'
import { factorTexts } from '../texts/factor-texts.ts'
import type { JsonRecord } from '../../base/json.ts'

/** A way to prove a second factor. */
export type FactorChoice = 'passkey' | 'app' | 'recovery'

/** Properties of the page that asks for a factor. */
interface ProveProps {
  /** The URL that the form is posted to. */
  readonly action: string
  readonly choice: FactorChoice
  /** The user's other methods. */
  readonly others: readonly FactorChoice[]
  /** The options for the browser's passkey request. */
  readonly options?: JsonRecord | undefined
  /** Offers to remember the browser for this many days; 0 for no offer. */
  readonly rememberDays: number
  readonly problem?: string | undefined
  /** Whether the user has no accepted factor, and must not add one. */
  readonly isStuck: boolean
  /** Whether the user has no recovery codes: only an administrator can have issued a code. */
  readonly isBypass: boolean
  /** Where to add a factor instead. */
  readonly back?: string | undefined
  /** The URL to continue with. */
  readonly formRedirectUri?: string | undefined
}

/** The page that asks for a second factor. */
export function provePage(chrome: Chrome, props: ProveProps): Html {
  const { prove: texts, enrol } = factorTexts(chrome.texts)
  const { action, choice, others, problem, rememberDays, isStuck, isBypass, back } = props
  const recoveryLead = isStuck ? texts.stuck : texts.recoveryLead
  const lead = {
    passkey: texts.passkeyLead,
    app: texts.appLead,
    recovery: isBypass ? texts.bypassLead : recoveryLead,
  }[choice]
  const recoveryCode = isBypass ? texts.bypassCode : texts.recoveryCode
  const remember =
    rememberDays > 0 &&
    html`<label class="check"><input type="checkbox" name="remember" value="true"><span>${texts.remember(rememberDays)}</span></label>\n`
  const target = targetField(props.formRedirectUri)
  const linkTo = (each: FactorChoice): string => withFormRedirect(`${action}?way=${each}`, props.formRedirectUri)
  const words = { passkey: texts.usePasskey, app: texts.useApp, recovery: texts.useRecovery }
  const body = html`${problem !== undefined && alert({ kind: 'error', text: problem })}<p class="lead">${lead}</p>
${
  choice === 'passkey'
    ? passkeyForm(chrome, {
        action,
        options: props.options ?? {},
        ceremony: 'get',
        button: texts.passkey,
        more: html`${target}${remember}`,
      })
    : html`<form action="${action}" method="post" novalidate="novalidate" accept-charset="UTF-8">
${csrfField(chrome)}${target}${hiddenField('way', choice)}${field({
  id: 'code',
  label: choice === 'app' ? texts.code : recoveryCode,
  autocomplete: choice === 'app' ? 'one-time-code' : 'off',
  isNumeric: choice === 'app',
  isInCapitals: choice === 'recovery',
  isWrong: problem !== undefined,
  describedBy: problem === undefined ? [] : [MESSAGE_ID],
  focus: true,
})}${remember}${submit(texts.submit)}</form>
`
}${others.length > 0 && html`<ul class="ways">${others.map(each => html`<li><a href="${linkTo(each)}">${words[each]}</a></li>\n`)}</ul>\n`}${back !== undefined && html`<p class="below"><a href="${back}">${enrol.another}</a></p>\n`}`
  return factorLayout(chrome, {
    title: texts.title,
    heading: texts.heading,
    body,
    ...scriptFor(chrome, choice === 'passkey'),
  })
}

const targetField = (formRedirectUri: string | undefined): Html | false =>
  formRedirectUri !== undefined && hiddenField('form_redirect_uri', formRedirectUri)

/** Properties of the page where a user adds a factor. */
interface EnrolProps {
  readonly passkey?: { readonly action: string; readonly options: JsonRecord } | undefined
  /** URL of the page for an authenticator app. */
  readonly app?: string | undefined
  /** URL of the page for a code issued by an administrator. */
  readonly code?: string | undefined
  readonly isStepUp: boolean
  readonly problem?: string | undefined
  /** The URL to continue with. */
  readonly formRedirectUri?: string | undefined
}

/** The page where a user without a factor chooses one. */
export function enrolPage(
  chrome: Chrome,
  { passkey, app, code, isStepUp, problem, formRedirectUri }: EnrolProps,
): Html {
  const { enrol: texts, prove } = factorTexts(chrome.texts)
  const body = html`${problem !== undefined && alert({ kind: 'error', text: problem })}<p class="lead">${isStepUp ? texts.stepUpLead : texts.lead}</p>
${passkey && html`${passkeyForm(chrome, { ...passkey, ceremony: 'create', button: texts.passkey, more: targetField(formRedirectUri) })}<p class="note">${texts.passkeyLead}</p>\n`}${
  app !== undefined &&
  html`<p><a class="button${passkey && ' plain'}" href="${withFormRedirect(app, formRedirectUri)}">${texts.app}</a></p>
<p class="note">${texts.appLead}</p>
`
}${code !== undefined && html`<p class="below"><a href="${withFormRedirect(code, formRedirectUri)}">${prove.useBypass}</a></p>\n`}`
  return factorLayout(chrome, {
    title: texts.title,
    heading: texts.heading,
    body,
    ...scriptFor(chrome, passkey !== undefined),
  })
}

/** A secret for an authenticator app. */
interface AppProps {
  readonly action: string
  readonly secret: {
    readonly text: string
    readonly uri: string
    readonly code: readonly (readonly boolean[])[]
    readonly sealed: string
  }
  /** URL of the page for choosing another method. */
  readonly back: string
  readonly problem?: string | undefined
  /** The URL to continue with. */
  readonly formRedirectUri?: string | undefined
}

/** The page with the secret, as a QR code and as text. */
export function appPage(chrome: Chrome, { action, secret, back, problem, formRedirectUri }: AppProps): Html {
  const { enrol: texts } = factorTexts(chrome.texts)
  // The message is above the field, which has the initial focus.
  const body = html`<p class="lead">${texts.scan}</p>
${qrCode(secret.code, texts.picture)}<p class="ways"><a href="${secret.uri}">${texts.openApp}</a></p>
<details class="ways">
<summary>${texts.type}</summary>
<samp id="secret" translate="no">${secret.text}</samp>
</details>
${problem !== undefined && alert({ kind: 'error', text: problem })}<form action="${action}" method="post" novalidate="novalidate" accept-charset="UTF-8">
${csrfField(chrome)}${targetField(formRedirectUri)}${hiddenField('secret', secret.sealed)}${field({
  id: 'code',
  label: texts.appCode,
  autocomplete: 'one-time-code',
  isNumeric: true,
  isWrong: problem !== undefined,
  describedBy: problem === undefined ? [] : [MESSAGE_ID],
  focus: true,
})}${submit(texts.confirm)}</form>
<p class="below"><a href="${back}">${texts.another}</a></p>
`
  return factorLayout(chrome, { title: texts.appHeading, heading: texts.appHeading, body })
}

/** New recovery codes, which are shown once. */
interface RecoveryCodesProps {
  readonly codes: readonly string[]
  readonly userName: string
  /** The URL to continue with. */
  readonly continueUrl: string
}

/** The page with the codes; the file to download is embedded, so that no other request contains them. */
export function recoveryCodesPage(chrome: Chrome, { codes, userName, continueUrl }: RecoveryCodesProps): Html {
  const { enrol: texts } = factorTexts(chrome.texts)
  const { copied, selected } = chrome.texts.passcode
  const heading = texts.fileHeading({ site: siteName(chrome), userName: plain(userName) })
  const file = `data:text/plain;charset=utf-8,${encodeURIComponent(`${heading}\n\n${codes.join('\n')}\n`)}`
  const body = html`<p class="lead">${texts.codesLead}</p>
<samp class="codes" id="codes" translate="no">${codes.map(code => html`<span>${code}\n</span>`)}</samp>
<div class="buttons">
<a class="button plain" href="${file}" download="recovery-codes.txt">${texts.download}</a>
<button class="button plain" type="button" data-copies="codes" data-copied="${copied}" data-copied-aloud="${texts.copiedAloud}" data-selected="${selected}" data-selected-aloud="${texts.selectedAloud}" hidden>${texts.copy}</button>
</div>
<p id="copystatus" class="visually-hidden" role="status"></p>
<a class="button" href="${continueUrl}">${texts.saved}</a>
`
  return factorLayout(chrome, { title: texts.codesHeading, heading: texts.codesHeading, body })
}

/** A form whose field the script fills with the authenticator's response; without script, the page explains why nothing happens. */
export function passkeyForm(
  chrome: Chrome,
  props: {
    readonly action: string
    readonly options: JsonRecord
    readonly ceremony: 'get' | 'create'
    readonly button: string
    readonly more?: Html | false
  },
): Html {
  const { prove: texts } = factorTexts(chrome.texts)
  return html`<form action="${props.action}" method="post" accept-charset="UTF-8" data-passkey="${props.ceremony}" data-options="${JSON.stringify(props.options)}">
${csrfField(chrome)}${hiddenField('credential', '')}${props.more}${submit(props.button)}<noscript><p class="note">${texts.needsScript}</p></noscript>
</form>
`
}

const scriptFor = ({ assets }: Chrome, isNeeded: boolean) => (isNeeded ? { script: assets.passkeyScript } : {})

/** A QR code as SVG, one path for all dark squares; on white in every theme, because readers look for dark on light. */
function qrCode(rows: readonly (readonly boolean[])[], alternative: string): Html {
  const path = rows.map((row, y) =>
    runsOf(row)
      .map(({ from, length }) => `M${from} ${y}h${length}v1h-${length}z`)
      .join(''),
  )
  return html`<svg class="qr" viewBox="0 0 ${rows.length} ${rows.length}" role="img" aria-label="${alternative}" shape-rendering="crispEdges"><path d="${path.join('')}"/></svg>\n`
}

/** Adjacent dark squares. */
function runsOf(row: readonly boolean[]): readonly { readonly from: number; readonly length: number }[] {
  return row.flatMap((isDark, from) => {
    if (!isDark || row[from - 1] === true) return []
    const end = row.indexOf(false, from)
    return [{ from, length: (end < 0 ? row.length : end) - from }]
  })
}
