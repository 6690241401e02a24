import { LOGOUT_PATH } from '../../model/sessions/logout-return.ts'

/** Paths of zones, which lie below the default zone's base URL but are not its own pages. */
const ZONE_PATH = /^\/+(?:z|%7a)(?:[/?#]|%2f|$)/i

/**
 * The path, below one of the zone's base URLs, that a URL names. Undefined for any other string, which prevents open
 * redirects, redirects to another zone, and header injection; and for the logout, so that no link has a user sign in only to be
 * signed out.
 */
export function ownPath(bases: readonly string[], text: string | undefined): string | undefined {
  const base = bases.find(each => text?.startsWith(`${each}/`) && !ZONE_PATH.test(text.slice(each.length)))
  if (text === undefined || base === undefined || !/^[\x21-\x7e]+$/.test(text) || text.includes('\\')) return undefined
  if (!URL.canParse(text)) return undefined
  const { href } = new URL(text)
  // Compared again after parsing: dot segments must not leave the base path or enter another zone's.
  const path = href.startsWith(`${base}/`) ? href.slice(base.length) : undefined
  return path === undefined || path.startsWith('//') || ZONE_PATH.test(path) || isLogout(path) ? undefined : path
}

/** Whether the path is routed to the logout: compared decoded, and without the slash that `uaa` removes. */
function isLogout(path: string): boolean {
  const [name = ''] = path.split(/[?#]/)
  try {
    return decodeURIComponent(name).replace(/\/$/, '') === LOGOUT_PATH
  } catch {
    return false // routed nowhere
  }
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
