// The sections of the profile about the user's identity: names, address, language, and the provider of the account.
import { html } from '../../base/html.ts'
import type { Html } from '../../base/html.ts'
import { LANGUAGES, LANGUAGE_NAMES } from '../../model/language.ts'
import type { Language } from '../../model/language.ts'
import { MAX_NAME_LENGTH, OWN_NAMES } from '../../model/users/user.ts'
import { breakable, isolated } from '../parts/foreign.ts'
import { csrfField } from '../parts/layout.ts'
import type { Chrome } from '../parts/layout.ts'
import type { Texts } from '../texts/texts.ts'
import { ago } from './profile-activity.ts'

/** The provider of the account, if it is not this server. */
export interface OtherProvider {
  readonly name: string
  readonly origin: string
  /** The user's id there. */
  readonly externalId?: string | undefined
}

/** The user's details, and which of them the user may change. */
export interface DetailsProps {
  readonly userName: string
  readonly email: string
  readonly names: Readonly<Record<(typeof OWN_NAMES)[number], string>>
  /** Undefined for the browser's language. */
  readonly language?: Language | undefined
  /** What the user may change. */
  readonly mayChange: { readonly names: boolean; readonly language: boolean }
  /** URL of its page; undefined if there is none for this user. */
  readonly changeEmail?: string | undefined
  readonly changePassword?: string | undefined
  readonly passwordChangedAt: Date
  readonly provider?: OtherProvider | undefined
  /** Whether the user has a passkey, and may sign in with it alone. */
  readonly signsInWithPasskey: boolean
  /** Times are shown relative to this moment. */
  readonly now: Date
}

/** The user's details, with forms for what they may change. */
export function detailsSection(chrome: Chrome, props: DetailsProps): Html {
  const { profile, account: texts, reference } = chrome.texts
  const shown = reference ? isolated : breakable // UAA: scripts look for the address
  const { names, mayChange, changeEmail, changePassword, provider } = props
  const shownNames = mayChange.names ? [] : OWN_NAMES.filter(name => names[name] !== '')
  const isForm = mayChange.names || (mayChange.language && !reference)
  const elsewhere = provider && texts.keptElsewhere(isolated(provider.name, 80))
  return html`<section aria-labelledby="details">
<h2 id="details">${texts.details}</h2>
${!mayChange.names && html`<p class="lead">${elsewhere ?? texts.keptByAdministrators}</p>\n`}<dl class="profile facts panel">
<div><dt>${profile.userName}</dt><dd>${shown(props.userName)}</dd></div>
<div><dt>${profile.email}</dt><dd class="email">${shown(props.email)}</dd>${changeLink(changeEmail, texts.changeEmail)}</div>
${changePassword !== undefined && html`<div><dt>${texts.password}</dt><dd>********${passwordAge(chrome.texts, props)}</dd>${changeLink(changePassword, texts.changePassword)}</div>\n`}${shownNames.map(name => html`<div><dt>${texts[name]}</dt><dd>${isolated(names[name], 120)}</dd></div>\n`)}</dl>
${
  isForm &&
  html`<form class="panel details" action="${chrome.basePath}/profile/details" method="post" accept-charset="UTF-8">
${csrfField(chrome)}<div class="fields">
${mayChange.names && OWN_NAMES.map(name => nameField(chrome, name, names[name]))}${
  mayChange.language && !reference && languageField(chrome, props.language)
}</div>
<div class="buttons"><button class="button plain when-changed" type="submit">${texts.save}</button></div>
</form>
`
}</section>
`
}

/** Of the first password as well: the account may never have had another. */
const passwordAge = (texts: Texts, { passwordChangedAt, now }: DetailsProps): Html | undefined =>
  texts.reference ? undefined : html`<small>${texts.account.passwordSet(ago(texts, passwordChangedAt, now))}</small>`

const changeLink = (url: string | undefined, text: string): Html | undefined =>
  url === undefined ? undefined : html`<dd class="change"><a href="${url}">${text}</a></dd>`

/** The `autocomplete` values of HTML. */
const AUTOCOMPLETE = { givenName: 'given-name', familyName: 'family-name', displayName: 'nickname' } as const

const nameField = ({ texts }: Chrome, name: (typeof OWN_NAMES)[number], value: string): Html =>
  html`<div class="field">
<label for="${name}">${texts.account[name]}</label>
<input id="${name}" type="text" name="${name}" value="${value}" maxlength="${MAX_NAME_LENGTH}" autocomplete="${AUTOCOMPLETE[name]}" dir="auto">
</div>
`

function languageField({ texts }: Chrome, chosen: Language | undefined): Html {
  const selected = (isChosen: boolean): Html | false => isChosen && html` selected`
  return html`<div class="field">
<label for="language">${texts.account.language}</label>
<select id="language" name="language">
<option value="browser"${selected(chosen === undefined)}>${texts.account.browserLanguage}</option>
${LANGUAGES.map(each => html`<option value="${each}" lang="${each}"${selected(each === chosen)}>${LANGUAGE_NAMES[each]}</option>\n`)}</select>
</div>
`
}

/** How the user signs in. */
export function providerSection(
  { texts }: Chrome,
  { provider, signsInWithPasskey }: Pick<DetailsProps, 'provider' | 'signsInWithPasskey'>,
): Html {
  const { account } = texts
  return html`<section aria-labelledby="provider">
<h2 id="provider">${account.signInMethods}</h2>
${
  provider
    ? html`<dl class="facts panel">
<div><dt>${account.provider}</dt><dd>${isolated(provider.name, 80)}</dd></div>
<div><dt>${account.origin}</dt><dd>${isolated(provider.origin, 36)}</dd></div>
${provider.externalId !== undefined && html`<div><dt>${account.externalId}</dt><dd>${isolated(provider.externalId, 120)}</dd></div>\n`}</dl>
`
    : html`<p class="panel">${signsInWithPasskey ? account.ownPasskey : account.ownPassword}</p>\n`
}</section>
`
}
