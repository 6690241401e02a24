/** Whether `If-None-Match` (RFC 9110 §13.1.2) names the tag: `*`, or a list of tags, of which weak ones count as well. */
export function namesTag(condition: string | undefined, tag: string): boolean {
  const named = condition?.split(',').map(each => each.trim().replace(/^W\//, '')) ?? []
  return named.includes(tag) || condition?.trim() === '*'
}
