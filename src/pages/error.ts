import { type Html, html } from '../base/html.ts'
import { isolated, plain, safeLink } from './foreign.ts'
import { type Chrome, layout } from './layout.ts'
import { translatedDescription } from './texts/texts.ts'
import type { Texts } from './texts/texts.ts'

/** What an error page says. */
export interface ErrorProps {
  /** Absent on a page that is about no answer in particular. */
  readonly status?: number | undefined
  /** The protocol's word for it, such as `invalid_request`. */
  readonly code?: string | undefined
  /** What happened, in a few words for anyone. */
  readonly title: string
  /** What is wrong and what to do about it. */
  readonly description: string
  /** Whether the description is English on a page that is not. */
  readonly isForeign?: boolean | undefined
  readonly back?: { readonly text: string; readonly url: string } | undefined
  /** Whether the page has the words by which clients of the reference system know an error page (row P4). */
  readonly knownWords?: boolean | undefined
}

/** The page for what cannot go on: what happened, what to do, and the words an administrator needs. */
export function errorPage(chrome: Chrome, props: ErrorProps): Html {
  const { status, code, title, description, isForeign = false, back, knownWords = false } = props
  const said = isForeign ? html`<bdi lang="en">${plain(description, 1000)}</bdi>` : isolated(description, 1000)
  const link = safeLink(back?.url)
  const body = html`${knownWords && html`<div class="lead"><h2>Uh oh.</h2>\n<p>Something went amiss.</p></div>\n`}<p class="lead">${said}</p>
${status !== undefined && html`<p class="technical">${chrome.texts.error.status(status)}${code !== undefined && html` · <code>${isolated(code)}</code>`}</p>\n`}${
  back && link !== undefined && html`<a class="button" href="${link}">${isolated(back.text)}</a>\n`
}`
  return layout(chrome, { title: plain(title), heading: isolated(title, 80), body })
}

/** What programs are told in English, in the person's language where it is known there. */
export function describedIn(texts: Texts, english: string): Pick<ErrorProps, 'description' | 'isForeign'> {
  const description = translatedDescription(texts, english)
  return description === undefined ? { description: english, isForeign: texts.tag !== 'en' } : { description }
}
