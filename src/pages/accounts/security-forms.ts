// The pages where users add, name and remove a second factor, and the one that offers a passkey after a sign-in with a password.
import { html } from '../../base/html.ts'
import type { Html } from '../../base/html.ts'
import type { JsonRecord } from '../../base/json.ts'
import type { Passkey } from '../../model/users/passkey.ts'
import { alert, MESSAGE_ID } from '../parts/alert.ts'
import { field, submit } from '../parts/components.ts'
import { isolated } from '../parts/foreign.ts'
import { factorLayout } from '../sign-in/factor-layout.ts'
import { csrfField, hiddenField } from '../parts/layout.ts'
import type { Chrome } from '../parts/layout.ts'
import { passkeyForm } from '../sign-in/second-factor.ts'
import { factorTexts } from '../texts/factor-texts.ts'
import { securityTexts } from '../texts/security-texts.ts'

/** Properties of the page for a new passkey. */
interface NewPasskeyProps {
  readonly action: string
  readonly options: JsonRecord
  readonly name: string
  readonly back: string
  readonly problem?: string | undefined
  /** Whether the problem is the name. */
  readonly isNameWrong?: boolean | undefined
}

/** The page of `/profile/security/passkey`. */
export function newPasskeyPage(chrome: Chrome, props: NewPasskeyProps): Html {
  const { action, options, name, back, problem, isNameWrong = false } = props
  const texts = securityTexts(chrome.texts)
  const { enrol } = factorTexts(chrome.texts)
  const body = html`${problem !== undefined && alert({ kind: 'error', text: problem })}<p class="lead">${enrol.passkeyLead}</p>
${passkeyForm(chrome, { action, options, ceremony: 'create', button: texts.add, more: nameField(chrome, name, isNameWrong) })}${below(back, texts.back)}`
  return factorLayout(chrome, {
    title: enrol.passkey,
    heading: enrol.passkey,
    body,
    script: chrome.assets.passkeyScript,
  })
}

/** Properties of the page for renaming a passkey. */
interface RenameProps {
  readonly action: string
  readonly id: string
  readonly name: string
  readonly back: string
  readonly problem?: string | undefined
}

/** The page of `/profile/security/rename`. */
export function renamePasskeyPage(chrome: Chrome, { action, id, name, back, problem }: RenameProps): Html {
  const texts = securityTexts(chrome.texts)
  const body = html`${problem !== undefined && alert({ kind: 'error', text: problem })}<form action="${action}" method="post" accept-charset="UTF-8">
${csrfField(chrome)}${hiddenField('passkey', id)}${nameField(chrome, name, problem !== undefined)}${submit(texts.save)}</form>
${below(back, texts.cancel)}`
  return factorLayout(chrome, { title: texts.renameHeading, heading: texts.renameHeading, body })
}

const nameField = ({ texts }: Chrome, name: string, isWrong: boolean): Html => {
  const words = securityTexts(texts)
  return field({
    id: 'name',
    label: words.name,
    value: name,
    hint: words.nameHint,
    isWrong,
    describedBy: isWrong ? [MESSAGE_ID] : [],
  })
}

/** Properties of the page for removing a factor. */
interface RemoveProps {
  readonly action: string
  /** The passkey, or the authenticator app. */
  readonly passkey?: Pick<Passkey, 'id' | 'name'> | undefined
  /** The consequence of removal: none, no second factor left, or not allowed because it is required. */
  readonly leaves: 'others' | 'none' | 'too few'
  readonly back: string
}

/** The page of `/profile/security/remove`. */
export function removeFactorPage(chrome: Chrome, { action, passkey, leaves, back }: RemoveProps): Html {
  const texts = securityTexts(chrome.texts)
  const question = passkey ? texts.removePasskey : texts.removeApp
  const heading = leaves === 'too few' ? texts.title : question // there is nothing to ask
  const lead = passkey
    ? texts.removePasskeyLead(html`<strong>${isolated(passkey.name, 80)}</strong>`)
    : texts.removeAppLead
  const body =
    leaves === 'too few'
      ? html`${alert({ kind: 'error', text: texts.lastNeeded })}${below(back, texts.back)}`
      : html`<p class="lead">${lead}</p>
${leaves === 'none' && html`<p class="note">${texts.lastLead}</p>\n`}<form action="${action}" method="post" accept-charset="UTF-8">
${csrfField(chrome)}${passkey ? hiddenField('passkey', passkey.id) : hiddenField('factor', 'app')}<input class="button danger" type="submit" value="${texts.remove}">
</form>
${below(back, texts.cancel)}`
  return factorLayout(chrome, { title: heading, heading, body })
}

/** The page of `/profile/security/codes`. */
export function renewCodesPage(
  chrome: Chrome,
  { action, back }: { readonly action: string; readonly back: string },
): Html {
  const texts = securityTexts(chrome.texts)
  const body = html`<p class="lead">${texts.renewLead}</p>
<form action="${action}" method="post" accept-charset="UTF-8">${csrfField(chrome)}${submit(texts.renew)}</form>
${below(back, texts.cancel)}`
  return factorLayout(chrome, { title: texts.renewHeading, heading: texts.renewHeading, body })
}

/** The page that offers a passkey to a user who signed in with a password. */
export function offerPage(
  chrome: Chrome,
  props: {
    readonly add: string
    readonly options: JsonRecord
    readonly name: string
    readonly decline: string
    readonly problem?: string | undefined
  },
): Html {
  const { offer } = securityTexts(chrome.texts)
  const { enrol } = factorTexts(chrome.texts)
  const { problem } = props
  const body = html`${problem !== undefined && alert({ kind: 'error', text: problem })}<p class="lead">${offer.lead}</p>
${passkeyForm(chrome, {
  action: props.add,
  options: props.options,
  ceremony: 'create',
  button: enrol.passkey,
  more: html`${hiddenField('name', props.name)}${hiddenField('offered', 'true')}`,
})}<form action="${props.decline}" method="post" accept-charset="UTF-8">${csrfField(chrome)}<button class="button plain" type="submit">${offer.decline}</button></form>
<p class="note">${offer.later}</p>
`
  return factorLayout(chrome, { title: offer.title, heading: offer.heading, body, script: chrome.assets.passkeyScript })
}

const below = (url: string, text: string): Html => html`<p class="below"><a href="${url}">${text}</a></p>\n`
