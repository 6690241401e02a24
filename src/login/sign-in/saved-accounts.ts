// The accounts that a browser remembers in cookies, if the zone enables that. The cookies are untrusted input: they only
// pre-fill a form.
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Html } from '../../base/html.ts'
import { isJsonRecord, parseJson } from '../../base/json.ts'
import type { IdentityProvider } from '../../model/zones/identity-provider.ts'
import type { Service } from '../../model/service.ts'
import type { Urls } from '../../model/urls.ts'
import type { User } from '../../model/users/user.ts'
import type { AddressedZone } from '../../model/request.ts'
import { accountChooserPage } from '../../pages/sign-in/account-chooser.ts'
import type { AccountChooserProps, ChoosableAccount } from '../../pages/sign-in/account-chooser.ts'
import { withFormRedirect } from '../../pages/parts/layout.ts'
import type { Store } from '../../store/store.ts'
import { cookieNameIn, cookiesNamed, setCookie } from '../../web/sessions/cookies.ts'
import type { Form } from '../../web/requests/form.ts'
import type { PageWriter } from '../../web/pages.ts'
import { ownPath } from '../../web/requests/own-path.ts'
import { queryForm } from '../../web/requests/query.ts'
import { bodyForm } from '../../web/route.ts'
import { signInCookie } from './sign-in-cookie.ts'

/** A remembered account; members have the names used in the cookie. */
interface SavedAccount {
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
  /** The remembered accounts, last sent first; expires the cookies beyond the limit. */
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
      for (const [userId] of all) if (!shown.some(account => account.userId === userId)) forget(reply, userId)
      return shown
    },
  }
}

const isUsable = (value: string, userId: string): boolean => parseAccount(value, userId) !== undefined

/** Parses a cookie; undefined for anything that `remember` did not write in exactly this form. */
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

/** Dependencies of `createAccountChooser`. */
interface AccountChooserDeps {
  readonly store: Store
  readonly savedAccounts: SavedAccounts
  readonly pages: PageWriter
  readonly service: Service
}

/** Creates the page that `/login` shows instead of its form; undefined if there are no accounts to choose from. */
export type ChooseAccountPage = (
  request: FastifyRequest,
  reply: FastifyReply,
  given: { readonly query: Form } & Omit<AccountChooserProps, 'accounts'>,
) => Promise<Html | undefined>

/** Offers the accounts whose provider the zone still has; see `ChooseAccountPage`. */
export function createAccountChooser({ store, savedAccounts, pages, service }: AccountChooserDeps): ChooseAccountPage {
  return async (request, reply, { query, ...shown }) => {
    if (query.get('otherAccountSignIn') === 'true' || query.get('discoveryPerformed') === 'true') return undefined
    const saved = savedAccounts.recall(request, reply)
    if (saved.length === 0) return undefined
    const active = await store.providers.listActive(request.zone.id)
    const accounts = saved.flatMap(account => {
      const provider = active.find(({ originKey }) => originKey === account.origin)
      return provider ? [choosable(account, provider, service)] : []
    })
    if (accounts.length === 0) return undefined
    return accountChooserPage(await pages.chrome(request, reply, { form: true }), { ...shown, accounts })
  }
}

function choosable(
  { userId, username, origin, email }: SavedAccount,
  provider: IdentityProvider,
  service: Service,
): ChoosableAccount {
  const isKnownByName = origin === service.name || origin === 'ldap'
  // UAA: only quotes and braces are encoded; the form encodes the text once more.
  const loginHint = `%7B%22origin%22:%22${encodeURIComponent(JSON.stringify(origin).slice(1, -1))}%22%7D`
  const providerName = origin === service.name ? undefined : provider.name
  return { userId, userName: username, origin, providerName, email: isKnownByName ? username : email, loginHint }
}

/** `/delete_saved_account`: expires an account's cookie and redirects to the sign-in page. */
export function savedAccountEndpoint(
  app: FastifyInstance,
  { savedAccounts, urls }: { savedAccounts: SavedAccounts; urls: Urls },
): void {
  app.route({
    method: ['GET', 'POST'],
    url: '/delete_saved_account',
    config: { access: { by: 'anyone', because: 'it only deletes a cookie' }, audience: 'page' },
    handler(request, reply) {
      const query = queryForm(request)
      const userId = query.get('userId') ?? bodyForm(request)?.get('userId')
      if (userId !== undefined) savedAccounts.forget(reply, userId)
      const base = urls.ofZone(request.zone)
      const path = ownPath(urls.addressesOf(request.zone), query.get('form_redirect_uri'))
      return reply.redirect(withFormRedirect(`${base}/login`, path && base + path), 302)
    },
  })
}
