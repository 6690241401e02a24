// Several checks of one request parse the same text: only the first of them has to do it.

/** From this length on it takes longer to parse a text than to compare it. */
const LONG = 32 * 1024

/** The same function, which keeps the result of the latest long text. Not for functions that throw, or whose results change. */
export function keepLatest<T>(parse: (text: string) => T): (text: string) => T {
  let latest: { readonly text: string; readonly result: T } | undefined
  return text => {
    if (latest?.text === text) return latest.result
    const result = parse(text)
    if (text.length >= LONG) latest = { text, result }
    return result
  }
}
