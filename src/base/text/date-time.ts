const DATE_TIME = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.\d{1,9})?(?:Z|[+-]\d\d:\d\d)$/

/**
 * Milliseconds since 1970 of a date and time with its zone, as RFC 3339 and RFC 7643 §2.3.5 have it; undefined for any other
 * string, and for a day that does not exist.
 */
export function timeOf(text: string): number | undefined {
  const local = DATE_TIME.exec(text)?.[1]
  const time = Date.parse(text)
  if (local === undefined || !Number.isFinite(time)) return undefined
  // JavaScript parses February 30 as March 2.
  return new Date(Date.parse(`${local}Z`)).toISOString().startsWith(local) ? time : undefined
}
