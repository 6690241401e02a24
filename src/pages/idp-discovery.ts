// The pages that find out where an account is before anybody asks for its password.
import { type Html, html } from '../base/html.ts'
import { alert, MESSAGE_ID } from './alert.ts'
import { isolated, safeLink } from './foreign.ts'
import { type Chrome, csrfField, hiddenField, layout, wayLink } from './layout.ts'
import type { Message } from './messages.ts'

/** What all of them show. */
interface DiscoveryProps {
  /** The application that the person is on the way to. */
  readonly clientName?: string | undefined
  readonly message?: Message | undefined
  readonly formRedirectUri?: string | undefined
}

/** What the question for an address shows. */
export interface DiscoveryEmailProps extends DiscoveryProps {
  readonly email?: string | undefined
  readonly loginHint?: string | undefined
  readonly createAccount?: string | undefined
}

/** Asks for the address or name whose domain chooses the provider. */
export function discoveryEmailPage(chrome: Chrome, props: DiscoveryEmailProps): Html {
  const { discovery: texts, login } = chrome.texts
  const link = safeLink(props.createAccount)
  const body = html`${head(props)}<form action="${chrome.basePath}/login/idp_discovery" method="post" novalidate="novalidate" accept-charset="UTF-8">
${csrfField(chrome)}${wayOn(props)}${props.loginHint !== undefined && hiddenField('login_hint', props.loginHint)}
<div class="field">
<label for="email">${texts.account}</label>
${textField({ id: 'email', name: 'email', placeholder: texts.placeholder, value: props.email, described: isError(props) })}
</div>
<input class="button" type="submit" name="commit" value="${texts.next}">
</form>
${link !== undefined && html`<p class="below">${login.newHere(html`<a href="${link}">${login.createAccount}</a>`)}</p>`}`
  return layout(chrome, { title: login.title, heading: heading(chrome, props), body })
}

/** What the question for the password shows. */
export interface DiscoveryPasswordProps extends DiscoveryProps {
  readonly userName: string
  readonly loginHint: string
  readonly resetPassword?: string | undefined
}

/** Asks for the password of the account that the address led to. */
export function discoveryPasswordPage(chrome: Chrome, props: DiscoveryPasswordProps): Html {
  const { discovery: texts, login } = chrome.texts
  const reset = safeLink(props.resetPassword)
  const body = html`${head(props)}<form action="${chrome.basePath}/login.do" method="post" novalidate="novalidate" accept-charset="UTF-8">
${csrfField(chrome)}${wayOn(props)}${hiddenField('login_hint', props.loginHint)}
<div class="field">
<label for="username">${texts.account}</label>
${textField({ id: 'username', name: 'username', value: props.userName, focus: props.userName === '' })}
</div>
<div class="field">
<label for="password">${login.password}</label>
<input id="password" type="password" name="password" autocomplete="current-password"${props.userName !== '' && html` autofocus`}>
${reset !== undefined && html`<a class="aside" href="${reset}">${login.resetPassword}</a>\n`}</div>
<input class="button" type="submit" name="commit" value="${login.submit}">
</form>
<a class="button plain" href="${wayLink(`${chrome.basePath}/login`, props.formRedirectUri)}">${texts.back}</a>
`
  return layout(chrome, { title: login.title, heading: heading(chrome, props), body })
}

/** What the question for the provider shows. */
export interface OriginProps extends DiscoveryProps {
  /** Whether the zone has a provider for whoever names none. */
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
<div class="field">
<label for="login_hint">${texts.origin}</label>
${textField({ id: 'login_hint', name: 'login_hint', described: isError(props) })}
</div>
<input class="${props.hasDefault ? 'button plain' : 'button'}" type="submit" value="${texts.byOrigin}">
</form>
`
  return layout(chrome, { title: login.title, heading: heading(chrome, props), body })
}

const isError = ({ message }: DiscoveryProps): boolean => message?.kind === 'error'

const heading = ({ texts: { discovery } }: Chrome, { clientName }: DiscoveryProps): Html | string =>
  clientName === undefined ? discovery.heading : discovery.headingFor(isolated(clientName, 80))

const head = ({ message }: DiscoveryProps): Html | undefined => message && alert(message)

const wayOn = ({ formRedirectUri }: DiscoveryProps): Html | undefined =>
  formRedirectUri === undefined ? undefined : hiddenField('form_redirect_uri', formRedirectUri)

interface TextField {
  readonly id: string
  readonly name: string
  readonly value?: string | undefined
  readonly placeholder?: string
  readonly focus?: boolean
  /** Whether the message above belongs to the field. */
  readonly described?: boolean
}

const textField = ({ id, name, value, placeholder, focus = true, described = false }: TextField): Html =>
  html`<input id="${id}" type="text" name="${name}"${value !== undefined && value !== '' && html` value="${value}"`}${
    placeholder !== undefined && html` placeholder="${placeholder}"`
  } autocomplete="${id === 'login_hint' ? 'off' : 'username'}" autocapitalize="none" autocorrect="off" spellcheck="false"${
    described && html` aria-describedby="${MESSAGE_ID}"`
  }${focus && html` autofocus`}>`
