/** Below the default zone's base URL, which every zone's path is, these are another zone's pages. */
const ZONE_PATH = /^\/+(?:z|%7a)(?:[/?#]|%2f|$)/i

/**
 * The path below the base URL that a URL of this zone names; undefined for any other text, so that nobody is led away from
 * here, or to another zone, and nothing that a Location header cannot carry comes back. A zone has more than one base URL.
 */
export function ownPath(bases: readonly string[], text: string | undefined): string | undefined {
  const base = bases.find(each => text?.startsWith(`${each}/`) && !ZONE_PATH.test(text.slice(each.length)))
  if (text === undefined || base === undefined || !/^[\x21-\x7e]+$/.test(text) || text.includes('\\')) return undefined
  if (!URL.canParse(text)) return undefined
  const { href } = new URL(text)
  // Compared again after parsing: dot segments must not climb out of the base path, nor into a zone's.
  const path = href.startsWith(`${base}/`) ? href.slice(base.length) : undefined
  return path === undefined || path.startsWith('//') || ZONE_PATH.test(path) ? undefined : path
}

/** Whether the URL is one of the zone's base URLs or below it, and not below another zone's. */
export const isOwnUrl = (bases: readonly string[], { origin, username, pathname }: URL): boolean =>
  username === '' &&
  bases.some(base => {
    const own = new URL(base)
    const basePath = own.pathname.replace(/\/$/, '')
    return (
      origin === own.origin &&
      `${pathname}/`.startsWith(`${basePath}/`) &&
      !ZONE_PATH.test(pathname.slice(basePath.length))
    )
  })
