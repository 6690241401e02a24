// Components that forms of several pages share. `assets/latchkey.css` styles them, and `assets/latchkey.js` adds
// optional behavior; they work without it.
import { html } from '../../base/html.ts'
import type { Html } from '../../base/html.ts'
import { plain, pngDataUri } from './foreign.ts'
import { moment } from '../texts/texts.ts'
import type { Texts } from '../texts/texts.ts'

/** A text field. */
export interface FieldProps {
  readonly id: string
  /** The posted name; by default the id. */
  readonly name?: string | undefined
  readonly label: Html | string
  readonly type?: 'text' | 'email' | 'tel' | 'password' | undefined
  readonly value?: string | undefined
  readonly placeholder?: string | undefined
  /** What password managers and browsers fill in (HTML, autofill); `off` unless given. */
  readonly autocomplete?: string | undefined
  /** Ids of elements that describe the field: the message above the form, the rules of a password. */
  readonly describedBy?: readonly string[] | undefined
  /** Whether a phone shows a numeric keyboard. */
  readonly isNumeric?: boolean | undefined
  /** Whether a phone writes capitals, as the code is shown that is typed. */
  readonly isInCapitals?: boolean | undefined
  /** Whether the submitted value is wrong. */
  readonly isWrong?: boolean | undefined
  /** Whether the browser refuses to send the form without it. */
  readonly isRequired?: boolean | undefined
  /** Whether it has the initial focus. */
  readonly focus?: boolean | undefined
  /** A sentence below the label. */
  readonly hint?: Html | string | undefined
  /** A link next to the label; its address is safe (`safeLink`). */
  readonly aside?: { readonly text: string; readonly url: string } | undefined
}

/** A label with its input. Spelling is not corrected: what users type here are names and addresses. */
export function field(props: FieldProps): Html {
  return fieldWith(props)
}

/** A password field, with a button that reveals the password, which the script makes visible. */
export function passwordField(texts: Texts, props: FieldProps): Html {
  const { show, shown, concealed } = texts.form
  const button = html`<button class="reveal" type="button" aria-controls="${props.id}" aria-label="${show}" aria-pressed="false" data-shown="${shown}" data-concealed="${concealed}" title="${show}" hidden><svg viewBox="0 0 24 24" width="24" height="24" aria-hidden="true" focusable="false"><path d="M2.5 12S6 5.5 12 5.5 21.5 12 21.5 12 18 18.5 12 18.5 2.5 12 2.5 12Z"/><circle cx="12" cy="12" r="3"/><path class="slash" d="m4 4 16 16"/></svg></button>
<span class="visually-hidden" role="status"></span>
`
  return fieldWith({ ...props, type: 'password', value: undefined }, button) // never sent back
}

function fieldWith(props: FieldProps, more?: Html): Html {
  const { id, name = id, label, type = 'text', value, placeholder, autocomplete = 'off', hint, aside } = props
  const described = [...(hint === undefined ? [] : [`${id}-hint`]), ...(props.describedBy ?? [])].join(' ')
  return html`<div class="field">
<label for="${id}">${label}</label>
${hint !== undefined && html`<p class="hint" id="${id}-hint">${hint}</p>\n`}<input id="${id}" type="${type}" name="${name}"${
    value !== undefined && value !== '' && html` value="${value}"`
  }${placeholder !== undefined && html` placeholder="${placeholder}"`} autocomplete="${autocomplete}" autocapitalize="${props.isInCapitals === true ? 'characters' : 'none'}" autocorrect="off" spellcheck="false"${
    described !== '' && html` aria-describedby="${described}"`
  }${props.isNumeric === true && html` inputmode="numeric"`}${props.isWrong === true && html` aria-invalid="true"`}${props.isRequired === true && html` required`}${props.focus === true && html` autofocus`}>
${more}${aside && html`<a class="aside" href="${aside.url}">${aside.text}</a>\n`}</div>
`
}

/** The submit button of a form; `name` is posted with its label, if needed. */
export const submit = (text: string, name?: string): Html =>
  html`<input class="button" type="submit"${name !== undefined && html` name="${name}"`} value="${text}">\n`

/** A moment in the user's language: in UTC, and by the script in the time of the user's own clock. */
export const time = (texts: Texts, at: Date): Html =>
  html`<time datetime="${at.toISOString()}" data-moment>${moment(texts, at)}</time>`

/** The icon for removing something. */
export const cross = html`<svg viewBox="0 0 20 20" width="20" height="20" aria-hidden="true" focusable="false"><path d="m5.5 5.5 9 9m0-9-9 9"/></svg>`

/** The check mark icon. */
export const tick = html`<svg class="tick" viewBox="0 0 20 20" width="20" height="20" aria-hidden="true" focusable="false"><path d="m4.5 10.5 3.6 3.6 7.4-8.2"/></svg>`

let letters: Intl.Segmenter | undefined

/** The first letter, or emoji, of a name, in place of a picture. */
export function initial(name: string): Html {
  letters ??= new Intl.Segmenter('en', { granularity: 'grapheme' }) // its tables are loaded with the first one
  const [first] = letters.segment(plain(name))
  return html`<span class="initial" aria-hidden="true">${first?.segment.toUpperCase()}</span>`
}

/** The icon of an application, a PNG in base64, or the initial of its name. The name itself is shown next to it. */
export function clientPicture(name: string, icon?: string): Html {
  const picture = pngDataUri(icon)
  if (picture === undefined) return initial(name)
  return html`<img class="logo" src="${picture}" alt="" width="44" height="44">`
}
