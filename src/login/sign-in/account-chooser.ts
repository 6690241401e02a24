// The choice among the accounts that the browser remembers.
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Html } from '../../base/html.ts'
import type { IdentityProvider } from '../../model/zones/identity-provider.ts'
import type { Service } from '../../model/service.ts'
import { accountChooserPage } from '../../pages/sign-in/account-chooser.ts'
import type { AccountChooserProps, ChoosableAccount } from '../../pages/sign-in/account-chooser.ts'
import { withFormRedirect } from '../../pages/parts/layout.ts'
import type { Form } from '../../web/requests/form.ts'
import { ownPath } from '../../web/requests/own-path.ts'
import { queryForm } from '../../web/requests/query.ts'
import { bodyForm } from '../../web/route.ts'
import { open, otherSitesMayPost } from '../access.ts'
import type { LoginParts } from '../parts.ts'
import type { SavedAccount } from './saved-accounts.ts'

/** Creates the page that `/login` shows instead of its form; undefined if there are no accounts to choose from. */
export type ChooseAccountPage = (
  request: FastifyRequest,
  reply: FastifyReply,
  given: { readonly query: Form } & Omit<AccountChooserProps, 'accounts'>,
) => Promise<Html | undefined>

/** Offers the accounts whose provider the zone still has; see `ChooseAccountPage`. */
export function createAccountChooser({ store, savedAccounts, pages, service }: LoginParts): ChooseAccountPage {
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
export function savedAccountEndpoint(app: FastifyInstance, { savedAccounts, urls }: LoginParts): void {
  app.route({
    method: ['GET', 'POST'],
    url: '/delete_saved_account',
    config: { ...open('it only deletes a cookie'), ...otherSitesMayPost('links work as well, as in UAA') },
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
