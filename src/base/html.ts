// Markup that is escaped by construction: only `html` makes it, and every interpolated value is escaped unless `html`
// made it. There is no way to mark a string as trusted.

/** Markup made by `html`. */
export class Html {
  readonly #markup: string
  private constructor(markup: string) {
    this.#markup = markup
  }
  /** Used by `html` only; the constructor is private so that no other code can skip the escaping. */
  static fromTemplate(strings: TemplateStringsArray, values: readonly HtmlValue[]): Html {
    let markup = strings[0] ?? ''
    values.forEach((value, index) => {
      markup += render(value) + (strings[index + 1] ?? '')
    })
    return new Html(markup)
  }
  toString(): string {
    return this.#markup
  }
}

/** A template value: markup is kept, strings and numbers are escaped, lists are joined, null and false render nothing. */
export type HtmlValue = Html | string | number | null | undefined | false | readonly HtmlValue[]

const ESCAPES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
  '`': '&#96;',
}

const SPECIAL = /[&<>"'`]/
const EACH_SPECIAL = /[&<>"'`]/g

function escape(text: string): string {
  return SPECIAL.test(text) ? text.replace(EACH_SPECIAL, character => ESCAPES[character] ?? '') : text
}

function render(value: HtmlValue): string {
  if (value === null || value === undefined || value === false) return ''
  if (value instanceof Html) return value.toString()
  if (typeof value === 'object') return value.map(render).join('')
  return escape(String(value))
}

/** A template literal for HTML; attribute values must stand in double quotes. */
export function html(strings: TemplateStringsArray, ...values: HtmlValue[]): Html {
  return Html.fromTemplate(strings, values)
}
