// Formats the report as Markdown that is also readable as plain text.

/** Replaces a missing value. */
export const DASH = '–'

const MEGABYTE = 1e6

/** A Markdown table with aligned columns, numbers to the right. Rows of failures may be shorter. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const whole = rows.filter(row => row.length === head.length)
  const columns = head.map((title, index) => {
    const texts = whole.map(row => row[index] ?? '')
    const width = Math.max(title.length, ...texts.map(text => text.length))
    return { width, isNumeric: texts.every(text => /^[\d –.]*$/.test(text)) }
  })
  const pad = (text: string, index: number): string => {
    const { width, isNumeric } = columns[index] ?? { width: 0, isNumeric: false }
    return isNumeric ? text.padStart(width) : text.padEnd(width)
  }
  const line = (row: readonly string[]): string => `| ${row.map(pad).join(' | ')} |`
  const rule = columns.map(({ width, isNumeric }) => (isNumeric ? `${'-'.repeat(width - 1)}:` : '-'.repeat(width)))
  return [line(head), line(rule), ...rows.map(line)].join('\n')
}

/** A number with fixed decimals; a dash if undefined. */
export function number(value: number | undefined, digits: number): string {
  return value === undefined || !Number.isFinite(value) ? DASH : value.toFixed(digits)
}

/** Decimals for a value: one below 100, else none. */
export function digitsOf(value: number | undefined): number {
  return value !== undefined && value < 100 ? 1 : 0
}

/** The smallest and the largest value. */
export function range(values: readonly number[]): string {
  if (values.length === 0) return DASH
  const ends = [Math.min(...values), Math.max(...values)]
  return ends.map(value => number(value, digitsOf(value))).join(' – ')
}

/** Shortens and escapes text for a table cell. */
export function oneLine(text: string): string {
  return text.replace(/\s+/g, ' ').replaceAll('|', '/').slice(0, 200)
}

/** Megabytes of 10^6 bytes. */
export function inMegabytes(bytes: number | undefined): number | undefined {
  return bytes === undefined ? undefined : bytes / MEGABYTE
}
