// Text of the report: Markdown that can also be read as it is.

/** Stands where there is no value. */
export const DASH = '–'

const MEGABYTE = 1e6

/** A Markdown table whose columns also line up as plain text; numbers stand to the right. A failed row ends early. */
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

/** With so many digits after the point; a dash for what was not measured. */
export function number(value: number | undefined, digits: number): string {
  return value === undefined || !Number.isFinite(value) ? DASH : value.toFixed(digits)
}

/** Small values have a digit after the point. */
export function digitsOf(value: number | undefined): number {
  return value !== undefined && value < 100 ? 1 : 0
}

/** The smallest and the greatest. */
export function range(values: readonly number[]): string {
  if (values.length === 0) return DASH
  const ends = [Math.min(...values), Math.max(...values)]
  return ends.map(value => number(value, digitsOf(value))).join(' – ')
}

/** What fits into a cell of a table. */
export function oneLine(text: string): string {
  return text.replace(/\s+/g, ' ').replaceAll('|', '/').slice(0, 200)
}

/** Of 10^6 bytes. */
export function inMegabytes(bytes: number | undefined): number | undefined {
  return bytes === undefined ? undefined : bytes / MEGABYTE
}
