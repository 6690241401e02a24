// The images of a zone's branding. Each may have a megabyte, so pages link to them instead of containing them.
import type { Branding } from '../../model/zones/zone.ts'
import { pngDataUri } from './foreign.ts'

/** An image of the branding. */
export type LogoName = 'squareLogo' | 'productLogo' | 'bannerLogo'

/** The paths of the images below the zone's URL. */
export const LOGO_PATHS: Readonly<Record<LogoName, string>> = {
  squareLogo: '/square-logo.png',
  productLogo: '/product-logo.png',
  bannerLogo: '/banner-logo.png',
}

const NAMES = Object.keys(LOGO_PATHS) as readonly LogoName[] // as it is written above

const givenAs = ({ squareLogo, productLogo, banner }: Branding, name: LogoName): string =>
  ({ squareLogo, productLogo, bannerLogo: banner?.logo })[name] ?? ''

/** The image as a `data:` URL; undefined if it is absent or no base64. */
export const logoOf = (branding: Branding, name: LogoName): string | undefined => pngDataUri(givenAs(branding, name))

/** Characters of an image in a page: anyone can request any number of pages at unknown hosts. */
const MAX_EMBEDDED = 65_536

/** The images as `data:` URLs, for a page that has no files; undefined for those that are absent, large or no base64. */
export const embeddedLogos = (branding: Branding): Partial<Record<LogoName, string | undefined>> =>
  forEach(NAMES, name => (givenAs(branding, name).length > MAX_EMBEDDED ? undefined : logoOf(branding, name)))

/** The valid images of a branding: looking at a megabyte takes a millisecond, and every page needs to know. */
const valid = new WeakMap<Branding, readonly LogoName[]>()

/** The URLs at which the zone's images are. */
export function logoUrls(branding: Branding, basePath: string): Partial<Record<LogoName, string>> {
  const names = valid.get(branding) ?? NAMES.filter(name => logoOf(branding, name) !== undefined)
  valid.set(branding, names)
  return forEach(names, name => basePath + LOGO_PATHS[name])
}

const forEach = <T>(names: readonly LogoName[], urlOf: (name: LogoName) => T): Partial<Record<LogoName, T>> =>
  Object.fromEntries(names.map(name => [name, urlOf(name)]))
