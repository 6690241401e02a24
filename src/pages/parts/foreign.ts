// Untrusted values on pages: names chosen by clients and users, links and images of operators, descriptions with
// parameters. `html` escapes markup; this file prevents spoofing: strings cannot change the direction of surrounding text,
// links cannot run scripts, images must be PNG.
import { beginningOf } from '../../base/text/beginning.ts'
import { base64In } from '../../base/text/base64.ts'
import { html } from '../../base/html.ts'
import type { Html } from '../../base/html.ts'
import { isParsableUrl } from '../../base/text/parsable-url.ts'

/** Control characters and line separators: invisible, or harmful to the text around them. */
const CONTROLS = /[\p{Cc}\u2028\u2029]+/gu
/** Explicit embeddings, overrides and isolates: right-to-left scripts do not need them, forged names do. */
const DIRECTION = /[\u202a-\u202e\u2066-\u2069]/g

/** Text that needs no change: the common case, up to a thousand times on a page. */
const PRINTABLE = /^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/

/** The text without control and direction characters, truncated to `limit` UTF-16 units; for titles and attributes. */
export function plain(text: string, limit = 200): string {
  if (text.length <= limit && PRINTABLE.test(text)) return text
  const start = text.trimStart().slice(0, 4 * limit) // texts of a zone may have a megabyte, which every page would read
  const clean = start.replace(CONTROLS, ' ').replace(DIRECTION, '').trim()
  if (clean.length <= limit && start.length < 4 * limit) return clean
  return `${beginningOf(clean, limit).trimEnd()}…`
}

/** `plain` in an element of its own direction, so that it cannot reorder the words around it. */
export const isolated = (text: string, limit?: number): Html => html`<bdi>${plain(text, limit)}</bdi>`

/** Characters that fit into a line everywhere. */
const SHORT_LENGTH = 20

/** `isolated`, for a name or an address that may be longer than a line: it breaks at its punctuation if possible. */
export function breakable(text: string, limit?: number): Html {
  const parts = plain(text, limit).split(text.length > SHORT_LENGTH ? /(?=@)|(?<=[._-])(?=.)/ : /$/)
  return html`<bdi>${parts.map((part, index) => html`${index > 0 && html`<wbr>`}${part}`)}</bdi>`
}

const LINK_SCHEMES = new Set(['http:', 'https:', 'mailto:'])
/** Unambiguous for every browser. Avoids parsing, which is slow for a thousand links, or for a hundred with long host names. */
const PLAIN_LINK = /^(?:\/|https?:\/\/[^\s/\\])/

/** The link if it is http, https or mailto; undefined for every other scheme, such as `javascript:`. */
export function safeLink(url: string | undefined): string | undefined {
  if (url === undefined || PLAIN_LINK.test(url)) return url
  if (!isParsableUrl(url, 'https://relative.invalid')) return undefined
  return LINK_SCHEMES.has(new URL(url, 'https://relative.invalid').protocol) ? url : undefined
}

/** A base64 PNG as a data URI; undefined if it is absent or not base64. */
export function pngDataUri(base64: string | null | undefined): string | undefined {
  const digits = base64In(base64 ?? '')
  return digits ? `data:image/png;base64,${digits}` : undefined
}
