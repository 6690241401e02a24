// Untrusted values on pages: names chosen by clients and users, links and images of operators, descriptions with
// parameters. `html` escapes markup; this file prevents spoofing: strings cannot change the direction of surrounding text,
// links cannot run scripts, images must be PNG.
import { base64In } from '../base/base64.ts'
import { type Html, html } from '../base/html.ts'
import { isParsableUrl } from '../base/parsable-url.ts'

/** Control characters and line separators: they show nothing, or break what is beside them. */
const CONTROLS = /[\p{Cc}\u2028\u2029]+/gu
/** Explicit embeddings, overrides and isolates: right-to-left scripts read well without, forged names do not. */
const DIRECTION = /[\u202a-\u202e\u2066-\u2069]/g

/** Text that stays as it is: most of what pages show, a thousand times on some. */
const PRINTABLE = /^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/

/** The text without control and direction characters, cut after `limit` units of UTF-16; for titles and attributes. */
export function plain(text: string, limit = 200): string {
  if (text.length <= limit && PRINTABLE.test(text)) return text
  const clean = text.replace(CONTROLS, ' ').replace(DIRECTION, '').trim()
  if (clean.length <= limit) return clean
  const half = /[\ud800-\udbff]$/ // a cut through a pair leaves its first half
  return `${clean.slice(0, limit).replace(half, '').trimEnd()}…`
}

/** `plain` in an element of its own direction, so that it cannot reorder the words around it. */
export const isolated = (text: string, limit?: number): Html => html`<bdi>${plain(text, limit)}</bdi>`

const LINK_SCHEMES = new Set(['http:', 'https:', 'mailto:'])
/** No browser takes it for anything else. Parsing a thousand links takes long, and a hundred with long names of hosts too. */
const PLAIN_LINK = /^(?:\/|https?:\/\/[^\s/\\])/

/** The link when it leads to a page or a mailbox; undefined for every other scheme, `javascript:` above all. */
export function safeLink(url: string | undefined): string | undefined {
  if (url === undefined || PLAIN_LINK.test(url)) return url
  if (!isParsableUrl(url, 'https://relative.invalid')) return undefined
  return LINK_SCHEMES.has(new URL(url, 'https://relative.invalid').protocol) ? url : undefined
}

/** A base64 PNG as a data URI; undefined when it is absent or no base64. */
export function pngDataUri(base64: string | null | undefined): string | undefined {
  const digits = base64In(base64 ?? '')
  return digits ? `data:image/png;base64,${digits}` : undefined
}
