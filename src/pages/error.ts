import { type Html, html } from '../base/html.ts'
import { isolated, plain, safeLink } from './foreign.ts'
import { type Chrome, layout } from './layout.ts'

/** What an error page says. */
export interface ErrorProps {
  readonly status: number
  /** The protocol's word for it, such as `invalid_request`. */
  readonly code?: string | undefined
  /** What happened, in a few words for anyone. */
  readonly title: string
  /** What is wrong and what to do about it. */
  readonly description: string
  readonly back?: { readonly text: string; readonly url: string } | undefined
}

/** The page for what cannot go on: what happened, what to do, and the words an administrator needs. */
export function errorPage(chrome: Chrome, { status, code, title, description, back }: ErrorProps): Html {
  const link = safeLink(back?.url)
  const body = html`<p class="lead">${isolated(description, 1000)}</p>
<p class="technical">Error ${status}${code !== undefined && html` · <code>${isolated(code)}</code>`}</p>
${back && link !== undefined && html`<a class="button" href="${link}">${isolated(back.text)}</a>\n`}`
  return layout(chrome, { title: plain(title), heading: isolated(title, 80), body })
}
