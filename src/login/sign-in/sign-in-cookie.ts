import type { AddressedZone } from '../../model/request.ts'
import type { Urls } from '../../model/urls.ts'
import type { CookieAttributes } from '../../web/sessions/cookies.ts'

/** The attributes of a cookie that is sent only to the sign-in page of the zone. */
export const signInCookie = (urls: Urls, zone: AddressedZone) =>
  ({
    path: `${urls.pathOf(zone)}/login`,
    httpOnly: true,
    sameSite: 'lax',
    secure: urls.isHttps,
  }) as const satisfies CookieAttributes
