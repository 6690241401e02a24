/** How long a response may be used, in seconds. */
interface FreshnessLimits {
  readonly min: number
  /** For a response that does not say it. */
  readonly usual: number
  readonly max: number
}

/** The publisher's `max-age` (RFC 9111 §5.2.2.1) within limits; the least for `no-store` and `no-cache`. */
export function freshSeconds(headers: Headers, { min, usual, max }: FreshnessLimits): number {
  const directives = headers.get('cache-control') ?? ''
  if (/(?:^|[,\s])no-(?:store|cache)(?:$|[,\s])/i.test(directives)) return min
  const maxAge = /(?:^|[,\s])max-age\s*=\s*"?(\d{1,9})/i.exec(directives)?.[1]
  return Math.min(Math.max(maxAge === undefined ? usual : Number(maxAge), min), max)
}
