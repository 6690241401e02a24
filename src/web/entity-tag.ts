/** Whether `If-None-Match` (RFC 9110 §13.1.2) matches the tag: `*`, or a list of strong or weak tags. */
export function namesTag(condition: string | undefined, tag: string): boolean {
  const named = condition?.split(',').map(each => each.trim().replace(/^W\//, '')) ?? []
  return named.includes(tag) || condition?.trim() === '*'
}
