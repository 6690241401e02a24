// The pages that determine the provider of an account before asking for a password.
import { html } from '../../base/html.ts'
import type { Html } from '../../base/html.ts'
import { alert, MESSAGE_ID } from '../parts/alert.ts'
import { field, passwordField, submit } from '../parts/components.ts'
import { isolated, plain, safeLink } from '../parts/foreign.ts'
import { csrfField, hiddenField, layout, withFormRedirect } from '../parts/layout.ts'
import type { Chrome } from '../parts/layout.ts'
import type { Message } from '../parts/messages.ts'

/** Properties of all of them. */
interface DiscoveryProps {
  /** The application that the user signs in to. */
  readonly clientName?: string | undefined
  readonly message?: Message | undefined
  readonly formRedirectUri?: string | undefined
}

/** Properties of the address form. */
interface DiscoveryEmailProps extends DiscoveryProps {
  readonly email?: string | undefined
  readonly loginHint?: string | undefined
  readonly createAccount?: string | undefined
}

/** Asks for the address or name whose domain determines the provider. */
export function discoveryEmailPage(chrome: Chrome, props: DiscoveryEmailProps): Html {
  const { discovery: texts, login } = chrome.texts
  const link = safeLink(props.createAccount)
  // UAA: programs look for the button within this class.
  const marked = chrome.texts.reference && html` class="form-group"`
  const body = html`${head(props)}<form action="${chrome.basePath}/login/idp_discovery" method="post" novalidate="novalidate" accept-charset="UTF-8"${marked}>
${csrfField(chrome)}${wayOn(props)}${props.loginHint !== undefined && hiddenField('login_hint', props.loginHint)}
${field({ id: 'email', label: texts.account, placeholder: chrome.texts.reference?.discoveryPlaceholder, value: props.email, autocomplete: 'username', describedBy: messageOf(props), focus: true })}${submit(texts.next, 'commit')}</form>
${link !== undefined && html`<p class="below">${login.newHere(html`<a href="${link}">${login.createAccount}</a>`)}</p>`}`
  return layout(chrome, { title: login.title, heading: heading(chrome, props), body })
}

/** Properties of the password form. */
interface DiscoveryPasswordProps extends DiscoveryProps {
  readonly userName: string
  readonly loginHint: string
  readonly resetPassword?: string | undefined
}

/** Asks for the password of the account. */
export function discoveryPasswordPage(chrome: Chrome, props: DiscoveryPasswordProps): Html {
  const { discovery: texts, login } = chrome.texts
  const reset = safeLink(props.resetPassword)
  const body = html`${head(props)}<form action="${chrome.basePath}/login.do" method="post" novalidate="novalidate" accept-charset="UTF-8">
${csrfField(chrome)}${wayOn(props)}${hiddenField('login_hint', props.loginHint)}
${field({ id: 'username', label: texts.account, value: props.userName, autocomplete: 'username', focus: props.userName === '' })}${passwordField(
  chrome.texts,
  {
    id: 'password',
    label: login.password,
    autocomplete: 'current-password',
    focus: props.userName !== '',
    aside: reset === undefined ? undefined : { text: login.resetPassword, url: reset },
  },
)}${submit(login.submit, 'commit')}</form>
<a class="button plain" href="${withFormRedirect(`${chrome.basePath}/login`, props.formRedirectUri)}">${texts.back}</a>
`
  return layout(chrome, { title: login.title, heading: heading(chrome, props), body })
}

/** Properties of the provider form. */
interface OriginProps extends DiscoveryProps {
  /** Whether the zone has a default provider. */
  readonly hasDefault: boolean
}

/** Asks for the provider by its origin key. */
export function originPage(chrome: Chrome, props: OriginProps): Html {
  const { discovery: texts, login } = chrome.texts
  const action = `${chrome.basePath}/origin-chooser`
  const byDefault = html`<form action="${action}" method="post" accept-charset="UTF-8">
${csrfField(chrome)}${wayOn(props)}${hiddenField('login_hint', '')}
<input class="button" type="submit" value="${texts.byDefault}">
</form>
<p class="or"><span>${login.or}</span></p>
`
  const body = html`${head(props)}${props.hasDefault && byDefault}<form action="${action}" method="post" accept-charset="UTF-8">
${csrfField(chrome)}${wayOn(props)}
${field({ id: 'login_hint', label: texts.origin, describedBy: messageOf(props), focus: true })}<input class="${props.hasDefault ? 'button plain' : 'button'}" type="submit" value="${texts.byOrigin}">
</form>
`
  return layout(chrome, { title: login.title, heading: heading(chrome, props), body })
}

/** Whether the message belongs to the field. */
const messageOf = ({ message }: DiscoveryProps): readonly string[] => (message?.kind === 'error' ? [MESSAGE_ID] : [])

// UAA: programs look for the words with the name directly behind them.
const heading = ({ texts: { discovery, reference } }: Chrome, { clientName }: DiscoveryProps): Html | string => {
  if (clientName === undefined) return discovery.heading
  return discovery.headingFor(reference ? html`${plain(clientName, 80)}` : isolated(clientName, 80))
}

const head = ({ message }: DiscoveryProps): Html | undefined => message && alert(message)

const wayOn = ({ formRedirectUri }: DiscoveryProps): Html | undefined =>
  formRedirectUri === undefined ? undefined : hiddenField('form_redirect_uri', formRedirectUri)
