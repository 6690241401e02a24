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

/** The images as `data:` URLs; those that are absent or no base64 are left out. */
export function logosOf({ squareLogo, productLogo, banner }: Branding): Partial<Record<LogoName, string>> {
  const logos = { squareLogo, productLogo, bannerLogo: banner?.logo }
  return withUrls(name => pngDataUri(logos[name]))
}

/** The URLs at which the zone's images are. */
export function logoUrls(branding: Branding, basePath: string): Partial<Record<LogoName, string>> {
  const logos = logosOf(branding)
  return withUrls(name => (logos[name] === undefined ? undefined : basePath + LOGO_PATHS[name]))
}

const NAMES = Object.keys(LOGO_PATHS) as readonly LogoName[] // as it is written above

const withUrls = (urlOf: (name: LogoName) => string | undefined): Partial<Record<LogoName, string>> =>
  Object.fromEntries(
    NAMES.flatMap(name => {
      const url = urlOf(name)
      return url === undefined ? [] : [[name, url]]
    }),
  )
