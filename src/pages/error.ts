import { html } from '../base/html.ts'
import type { Html } from '../base/html.ts'
import { alert } from './parts/alert.ts'
import { isolated, plain, safeLink } from './parts/foreign.ts'
import { layout } from './parts/layout.ts'
import type { Chrome } from './parts/layout.ts'
import { nameOfDescription, translatedDescription } from './texts/texts.ts'
import type { TranslatedDescription, TranslatedPattern, Texts } from './texts/texts.ts'

/** The content of an error page. */
interface ErrorProps {
  /** Absent on a page about no particular response. */
  readonly status?: number | undefined
  /** The error code of the protocol, such as `invalid_request`. */
  readonly code?: string | undefined
  /** What happened, in a few words without technical terms. */
  readonly title: string
  /** What is wrong and what to do about it. */
  readonly description: string
  /** Whether the description is English on a page that is not. */
  readonly isForeign?: boolean | undefined
  readonly back?: { readonly text: string; readonly url: string } | undefined
  /** The key of the description, if it is a known one. */
  readonly known?: ReturnType<typeof nameOfDescription>
  /** What users read in place of a description for developers; it depends on status and description by default. */
  readonly explanation?: string | undefined
}

/** Descriptions that help developers only. */
const FOR_DEVELOPERS: ReadonlySet<string> = new Set<TranslatedDescription | TranslatedPattern>([
  'badUrl',
  'longUrl',
  'badEncoding',
  'longBody',
  'longRequest',
  'notAcceptable',
  'missingClient',
  'nothingToApprove',
  'changedRequest',
  'unregisteredLogoutRedirect',
  'invalidHint',
  'foreignHint',
  'noRedirect',
  'malicious',
  'unsupportedRequest',
  'fault',
  'unknownClient',
  'unregisteredRedirect',
  'unknownZone',
  'databaseUnavailable',
  'repeatedParameter',
])

/** Whether the description is for the visitor; an English one outside the catalogues was written for programs. */
const isForUsers = ({ isForeign, known }: ErrorProps): boolean =>
  known === undefined ? isForeign === undefined : !FOR_DEVELOPERS.has(known)

/** The error page: what happened, what to do, and the details for an administrator. */
export function errorPage(chrome: Chrome, props: ErrorProps): Html {
  const { status, code, title, description, isForeign = false, back, known } = props
  const descriptionText = isForeign
    ? html`<bdi lang="en">${plain(description, 1000)}</bdi>`
    : isolated(description, 1000)
  const link = safeLink(back?.url)
  const texts = chrome.texts.error
  const numbers =
    status !== undefined &&
    html`<p class="technical">${texts.status(status)}${code !== undefined && html` · <code>${isolated(code)}</code>`}</p>\n`
  const wayOn = back && link !== undefined && html`<a class="button" href="${link}">${isolated(back.text)}</a>\n`
  const explanation = (): string => {
    if (props.explanation !== undefined) return props.explanation
    if (status !== undefined && status >= 500) return chrome.texts.descriptions.ownFault
    if (known === 'unknownZone') return texts.unknownAddress
    return known === 'nothingToApprove' || known === 'changedRequest' ? texts.answered : texts.malformed
  }
  const content = (): Html => {
    const { reference } = chrome.texts
    if (reference) return html`${refusal(description, reference.subheading(known))}\n${numbers}${wayOn}`
    if (isForUsers(props)) return html`<p class="lead">${descriptionText}</p>\n${wayOn}${numbers}`
    return html`<p class="lead">${explanation()}</p>
${wayOn}<details class="technical">
<summary>${texts.details}</summary>
<p>${descriptionText}</p>
${numbers}</details>
`
  }
  return layout(chrome, { title: plain(title), heading: isolated(title, 80), body: content() })
}

/** The English description for programs, translated to the user's language if the catalogue has it. */
export function describedIn(texts: Texts, english: string): Pick<ErrorProps, 'description' | 'isForeign' | 'known'> {
  const description = translatedDescription(texts, english)
  if (description === undefined) return { description: english, isForeign: texts.tag !== 'en' }
  return { description, known: nameOfDescription(english) }
}

/** The description as an alert, and below it the text of the reference system if that differs. */
const refusal = (description: string, subheading: string): Html =>
  html`${description !== subheading && alert({ kind: 'error', text: description })}<h2>${subheading}</h2>`
