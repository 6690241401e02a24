/** The beginning of the text, of at most so many UTF-16 units, without half a surrogate pair. */
export const beginningOf = (text: string, length: number): string =>
  text.length <= length ? text : text.slice(0, length).replace(/[\ud800-\udbff]$/, '')
