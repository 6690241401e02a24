// The accounts that a browser remembers in cookies, if the zone enables that. The cookies are untrusted input: they only
// pre-fill a form.
import type { FastifyReply, FastifyRequest } from 'fastify'
import { isJsonRecord, parseJson } from '../../base/json.ts'
import type { Urls } from '../../model/urls.ts'
import type { User } from '../../model/users/user.ts'
import type { AddressedZone } from '../../model/request.ts'
import { cookieNameIn, cookiesNamed, MAX_EXPIRED, setCookie } from '../../web/sessions/cookies.ts'
import { signInCookie } from './sign-in-cookie.ts'

/** A remembered account; members have the names used in the cookie. */
export interface SavedAccount {
  readonly userId: string
  readonly username: string
  readonly origin: string
  readonly email: string
}

/** The cookies of one kind. */
export interface SavedAccounts {
  /** Sets the account's cookie, if the zone enables that. */
  remember(request: FastifyRequest, reply: FastifyReply, user: User): void
  /** Expires the account's cookie. */
  forget(reply: FastifyReply, userId: string): void
  /** The remembered accounts, last sent first; expires cookies that are invalid or beyond the limit. */
  recall(request: FastifyRequest, reply: FastifyReply): readonly SavedAccount[]
}

/** Prefix of the cookie's name, before the user id; without a dot, so that no zone's prefix starts another's. */
const prefixIn = (zone: AddressedZone): string =>
  zone.address === 'path' ? `${cookieNameIn(zone, 'Saved-Account')}.` : 'Saved-Account-'
const YEAR_SECONDS = 31_536_000
/** More do not fit on a page, and many would exceed the size of a request head. */
const MAX_ACCOUNTS = 10
const MAX_VALUE_LENGTH = 800
const MAX_NAME_LENGTH = 255
/** Ids become names of cookies and ids of forms. */
const USABLE_ID = /^[A-Za-z0-9_-]{1,64}$/

/** Whether the zone lets browsers remember accounts. */
const isWanted = (zone: AddressedZone): boolean => zone.config.accountChooserEnabled === true

/** One instance serves every zone; the cookies belong to the zone's host, or to its path there. */
export function createSavedAccounts({ urls }: { urls: Urls }): SavedAccounts {
  const forget = (reply: FastifyReply, userId: string): void => {
    const { zone } = reply.request
    if (USABLE_ID.test(userId))
      setCookie(reply, prefixIn(zone) + userId, '', { ...signInCookie(urls, zone), maxAge: 0 })
  }

  return {
    forget,
    remember({ zone }, reply, { id: userId, userName: username, origin, email }) {
      if (!isWanted(zone)) return
      const value = JSON.stringify({ userId, username, origin, email } satisfies SavedAccount)
      if (encodeURIComponent(value).length > MAX_VALUE_LENGTH || !isUsable(value, userId)) return
      setCookie(reply, prefixIn(zone) + userId, value, { ...signInCookie(urls, zone), maxAge: YEAR_SECONDS })
    },
    recall(request, reply) {
      if (!isWanted(request.zone)) return []
      const all = cookiesNamed(request, prefixIn(request.zone)).toReversed()
      const accounts = all.flatMap(([userId, value]) => parseAccount(value, userId) ?? [])
      const shown = accounts.slice(0, MAX_ACCOUNTS)
      const isStale = (id: string): boolean => USABLE_ID.test(id) && !shown.some(({ userId }) => userId === id)
      const stale = all.map(([userId]) => userId).filter(isStale)
      for (const userId of stale.slice(-MAX_EXPIRED)) forget(reply, userId)
      return shown
    },
  }
}

const isUsable = (value: string, userId: string): boolean => parseAccount(value, userId) !== undefined

/** Parses a cookie; undefined for anything that is not an account of this id. */
function parseAccount(text: string, id: string): SavedAccount | undefined {
  if (!USABLE_ID.test(id) || text.length > MAX_VALUE_LENGTH) return undefined
  const value = parseJson(text)
  const { userId, username, origin, email } = isJsonRecord(value) ? value : {} // no cookie of ours
  if (userId !== id || !isName(username) || !isName(origin) || !isName(email)) return undefined
  return { userId, username, origin, email }
}

const isName = (value: unknown): value is string =>
  typeof value === 'string' &&
  value.trim() !== '' &&
  value.length <= MAX_NAME_LENGTH &&
  value.isWellFormed() &&
  !/\p{Cc}/u.test(value)
