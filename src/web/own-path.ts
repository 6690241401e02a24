/**
 * The path below the base URL that a URL of this zone names; undefined for any other text, so that nobody is led away from
 * here and nothing that a Location header cannot carry comes back.
 */
export function ownPath(base: string, text: string | undefined): string | undefined {
  if (text === undefined || !text.startsWith(`${base}/`) || !/^[\x21-\x7e]+$/.test(text) || text.includes('\\'))
    return undefined
  if (!URL.canParse(text)) return undefined
  const { href } = new URL(text)
  // Compared again after parsing: dot segments must not climb out of the base path.
  const path = href.startsWith(`${base}/`) ? href.slice(base.length) : undefined
  return path?.startsWith('//') ? undefined : path
}
