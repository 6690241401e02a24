import { html } from '../../base/html.ts'
import type { Html } from '../../base/html.ts'
import { plain } from './foreign.ts'
import type { Message } from './messages.ts'

/** The id by which a field refers to its message. */
export const MESSAGE_ID = 'message'

/** A message above the content; screen readers announce errors at once. */
export const alert = ({ kind, text }: Message, className?: string): Html => alertBox(kind, plain(text, 1000), className)

/** The same with a link in it. */
export function alertBox(kind: Message['kind'], content: Html | string, className?: string): Html {
  const sign = kind === 'error' ? html`<path d="M10 5.5v5.5M10 14v.5"/>` : html`<path d="m6 10.5 2.8 2.8L14.2 7.5"/>`
  return html`<div id="${MESSAGE_ID}" class="alert alert-${kind}" role="${kind === 'error' ? 'alert' : 'status'}">
<svg viewBox="0 0 20 20" width="20" height="20" aria-hidden="true" focusable="false"><circle cx="10" cy="10" r="9"/>${sign}</svg>
<p${className !== undefined && html` class="${className}"`}>${content}</p>
</div>
`
}
