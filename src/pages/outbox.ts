import { html } from '../base/html.ts'
import type { Html } from '../base/html.ts'
import { time } from './parts/components.ts'
import { isolated, plain } from './parts/foreign.ts'
import { layout } from './parts/layout.ts'
import type { Chrome } from './parts/layout.ts'

/** A mail in the outbox: only its text, because pages must not embed other documents. */
interface OutboxMail {
  readonly to: string
  readonly subject: string
  readonly text: string
  readonly at: Date
}

const LINK = /(https?:\/\/[^\s<>"]+)/

/** The page of `/outbox`: what the playground would have sent, newest first. */
export function outboxPage(chrome: Chrome, mails: readonly OutboxMail[]): Html {
  const texts = chrome.texts.outbox
  const body = html`<p class="lead">${texts.lead}</p>
${mails.length === 0 && html`<p class="note">${texts.empty}</p>\n`}${mails.map(
  ({ to, subject, text, at }) => html`<section class="panel">
<h2>${isolated(subject)}</h2>
<p class="note">${isolated(to)} · ${time(chrome.texts, at)}</p>
${text.split('\n\n').map(paragraph)}</section>
`,
)}`
  return layout(chrome, { title: texts.title, heading: texts.title, body, shape: 'wide' })
}

/** Makes the URLs in the text links; all of them are ours. */
const paragraph = (text: string): Html =>
  html`<p class="lead" dir="auto">${text
    .split(LINK)
    .map((part, index) => (index % 2 === 1 ? html`<a href="${part}">${part}</a>` : plain(part, 5000) + ' '))}</p>\n`
