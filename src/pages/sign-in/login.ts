import { html } from '../../base/html.ts'
import type { Html } from '../../base/html.ts'
import { isDefaultPrompt } from '../../model/zones/zone.ts'
import type { Prompt } from '../../model/zones/zone.ts'
import { alert, MESSAGE_ID } from '../parts/alert.ts'
import { field, passwordField, submit } from '../parts/components.ts'
import type { FieldProps } from '../parts/components.ts'
import { isolated, plain, safeLink } from '../parts/foreign.ts'
import { csrfField, hiddenField, layout } from '../parts/layout.ts'
import type { Chrome } from '../parts/layout.ts'
import type { Message } from '../parts/messages.ts'
import type { Texts } from '../texts/texts.ts'

/** Properties of the sign-in page. */
export interface LoginProps {
  /** The fields of the form; without any, there is no form. A `passcode` prompt is for programs and never rendered. */
  readonly prompts: readonly Prompt[]
  /** Pre-fills the user name. */
  readonly userName?: string | undefined
  readonly message?: Message | undefined
  readonly formRedirectUri?: string | undefined
  readonly loginHint?: string | undefined
  /** The application that the user signs in to. */
  readonly clientName?: string | undefined
  readonly links: { readonly createAccount?: string | undefined; readonly resetPassword?: string | undefined }
  /** Whether the user may sign in with a passkey alone. */
  readonly takesPasskeys?: boolean
  /** Other providers, by the text of their link. */
  readonly providers: readonly { readonly name: string; readonly url: string }[]
}

/** The page of `/login`: a form for the zone's prompts, links to other providers, or both. */
export function loginPage(chrome: Chrome, props: LoginProps): Html {
  const prompts = props.prompts.filter(prompt => prompt.name !== 'passcode')
  const { login: texts, reference } = chrome.texts
  const providers = props.providers.flatMap(({ name, url }) => {
    const link = safeLink(url)
    // UAA: clients find a link by the text that is directly in it.
    const text = reference ? plain(name) : isolated(name)
    return link === undefined ? [] : [html`<a class="saml-login-link button plain" href="${link}">${text}</a>\n`]
  })
  const takesPasskeys = props.takesPasskeys === true && prompts.length > 0
  const client = props.clientName !== undefined && html`<strong>${isolated(props.clientName)}</strong>`
  const body = html`${client && html`<p class="lead">${texts.continueTo(client)}</p>\n`}${
    props.message && alert(props.message)
  }${prompts.length > 0 && signInForm(chrome, props, prompts)}${takesPasskeys && passkeySignIn(chrome, props)}${
    prompts.length > 0 && providers.length > 0 && html`<p class="or"><span>${texts.or}</span></p>\n`
  }${providers.length > 0 && html`<div class="providers">\n${providers}</div>\n`}${
    prompts.length + providers.length === 0 && html`<p class="lead">${texts.noSignInMethod}</p>\n`
  }${createAccount(chrome, props)}`
  const welcome = reference?.welcome(chrome.isDefaultZone ? undefined : plain(chrome.zoneName, 80))
  return layout(chrome, {
    title: texts.title,
    heading: welcome ?? texts.title,
    body,
    ...(takesPasskeys && { script: chrome.assets.passkeyScript }),
  })
}

const keySign = html`<svg viewBox="0 0 24 24" width="20" height="20" aria-hidden="true" focusable="false"><circle cx="8" cy="8" r="5"/><path d="m11.7 11.7 8.3 8.3m-3.5-3.5 2.5-2.5"/></svg>`

/** The script reveals it in browsers with passkey support, and enables autofill of passkeys. */
const passkeySignIn = (chrome: Chrome, { formRedirectUri }: LoginProps): Html =>
  html`<form class="passkey" action="${chrome.basePath}/login/passkey" method="post" accept-charset="UTF-8" data-passkey="get" data-options-url="${chrome.basePath}/login/passkey/options" data-conditional hidden>
${csrfField(chrome)}${formRedirectUri !== undefined && hiddenField('form_redirect_uri', formRedirectUri)}<button class="button plain" type="submit">${keySign}${chrome.texts.login.passkey}</button>
<p class="note" role="status" data-unused="${chrome.texts.login.passkeyUnused}"></p>
</form>
`

function signInForm(chrome: Chrome, props: LoginProps, prompts: readonly Prompt[]): Html {
  const focused = prompts.findIndex(prompt => valueOf(prompt, props) === undefined)
  const reset = prompts.findIndex(prompt => prompt.type === 'password')
  const fields = prompts.map((prompt, index) =>
    promptField(chrome, prompt, {
      index,
      value: valueOf(prompt, props),
      focus: index === focused,
      described: props.message?.kind === 'error',
      resetPassword: index === reset ? safeLink(props.links.resetPassword) : undefined,
      takesPasskeys: props.takesPasskeys === true,
    }),
  )
  // UAA: the opening tag is known to clients in exactly these words.
  return html`<form action="${chrome.basePath}/login.do" method="post" novalidate="novalidate" accept-charset="UTF-8">
${csrfField(chrome)}${props.formRedirectUri !== undefined && hiddenField('form_redirect_uri', props.formRedirectUri)}${
  props.loginHint !== undefined && hiddenField('login_hint', props.loginHint)
}
${fields}${submit(chrome.texts.login.submit)}</form>
`
}

const valueOf = (prompt: Prompt, props: LoginProps): string | undefined =>
  prompt.name === 'username' && props.userName !== '' ? props.userName : undefined

interface PromptProps {
  readonly index: number
  readonly value: string | undefined
  readonly focus: boolean
  /** Whether the message belongs to the field. */
  readonly described: boolean
  readonly resetPassword: string | undefined
  readonly takesPasskeys: boolean
}

/** The input types of prompts; any other one is a text field. */
const FIELD_TYPES = ['password', 'email', 'tel'] as const
/** The `autocomplete` values for password managers. */
const AUTOCOMPLETE = new Map([
  ['username', 'username'],
  ['password', 'current-password'],
])

function promptField(
  chrome: Chrome,
  prompt: Prompt,
  { index, value, focus, described, resetPassword, takesPasskeys }: PromptProps,
): Html {
  const standard = AUTOCOMPLETE.get(prompt.name)
  const ours = prompt.name === 'password' ? chrome.texts.reference?.passwordAutocomplete : undefined
  const autocomplete = ours ?? (takesPasskeys && standard === 'username' ? 'username webauthn' : standard)
  const id = standard === undefined ? `prompt-${index}` : prompt.name // any other name may be no id, or a taken one
  const props: FieldProps = {
    id,
    name: prompt.name,
    label: isolated(labelOf(chrome.texts, prompt)),
    type: FIELD_TYPES.find(type => type === prompt.type),
    value,
    autocomplete,
    describedBy: described ? [MESSAGE_ID] : [],
    focus,
    aside: resetPassword === undefined ? undefined : { text: chrome.texts.login.resetPassword, url: resetPassword },
  }
  return props.type === 'password' ? passwordField(chrome.texts, props) : field(props)
}

/** Custom texts of the zone are not translated; the default ones are. */
function labelOf({ login, reference }: Texts, prompt: Prompt): string {
  if (!isDefaultPrompt(prompt)) return prompt.text
  if (prompt.name === 'username') return reference?.username ?? login.username
  return prompt.name === 'password' ? login.password : prompt.text
}

function createAccount({ texts }: Chrome, { links }: LoginProps): Html | undefined {
  const link = safeLink(links.createAccount)
  if (link === undefined) return undefined
  const { newHere, createAccount: words } = texts.login
  return html`<p class="below">${newHere(html`<a href="${link}">${words}</a>`)}</p>`
}
