import type { Texts } from '../texts/texts.ts'

/** A sentence above a form. */
export interface Message {
  readonly kind: 'error' | 'success'
  readonly text: string
}

/** The sentence of a table's own property for a code, which is untrusted input. */
export const sentence = (table: Readonly<Record<string, string>>, code: string): string | undefined =>
  Object.hasOwn(table, code) ? table[code] : undefined

/** The message for a code of `/login`, which itself is never shown: an unknown one gives `Error!` or `Success!`. */
export function messageFor(texts: Texts, kind: Message['kind'], code: string): Message {
  const table = kind === 'error' ? texts.errors : texts.successes
  return { kind, text: sentence(table, code) ?? table.unknown }
}
