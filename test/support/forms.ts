// Parses pages and responses for tests: fields of forms as a browser would send them, cookies with their attributes.
import type { TestAnswer } from './server.ts'

const ENTITIES: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', '#39': "'", '#96': '`' }

/** Text of a page with its entities resolved. */
export const unescaped = (text: string): string =>
  text.replace(/&(amp|lt|gt|quot|#39|#96);/g, (whole, name: string) => ENTITIES[name] ?? whole)

/** Names and values of the hidden inputs of a page, except mandatory scopes of the approval page. */
export function hiddenFields(page: string): Record<string, string> {
  const fields = [...page.matchAll(/<input type="hidden" name="(?!scope\.)([^"]*)" value="([^"]*)">/g)]
  return Object.fromEntries(fields.map(([, name = '', value = '']) => [unescaped(name), unescaped(value)]))
}

/** A checkbox of the approval page. */
export interface Checkbox {
  readonly name: string
  readonly value: string
  readonly checked: boolean
  /** Class of the list item: undecided, approved or denied. */
  readonly state: string
}

/** The checkboxes of a page, in their order, and what is ticked without one. */
export function checkboxes(page: string): readonly Checkbox[] {
  const items = [
    ...page.matchAll(
      /<li class="(\w+)(?: mandatory)?"><input type="(checkbox|hidden)"(?: id="[^"]*")? name="([^"]*)" value="([^"]*)"( checked)?>/g,
    ),
  ]
  return items.map(([, state = '', type, name = '', value = '', checked]) => ({
    name,
    value: unescaped(value),
    checked: checked !== undefined || type === 'hidden',
    state,
  }))
}

/** The `Set-Cookie` headers of an answer, as they were sent, by the name of the cookie. */
export function setCookies(answer: Pick<TestAnswer, 'headers'>): Record<string, string> {
  const header = answer.headers['set-cookie'] ?? []
  const lines = typeof header === 'string' ? [header] : header
  return Object.fromEntries(lines.map(line => [line.slice(0, line.indexOf('=')), line]))
}
