// Where a sign-in continues after a sign-up, a new password, an invitation or a change of the e-mail address: at the
// application that requested it.
import { isRegisteredReturn } from '../../accounts/return-url.ts'
import type { On } from '../../web/deferred-routes.ts'
import { queryForm } from '../../web/requests/query.ts'
import type { AccountPage } from './account-pages.ts'
import { readRequestedReturn } from './self-service.ts'
import type { LoginDeps } from '../deps.ts'

/** `GET /continue`: to a URL that the client has registered, else to the home page. */
export function continueHandlers(on: On<AccountPage>, deps: LoginDeps): void {
  on('GET /continue', async (request, reply) => {
    const requestedReturn = readRequestedReturn(queryForm(request))
    const url = (await isRegisteredReturn(request.zone, requestedReturn, deps))
      ? requestedReturn.redirectUri
      : undefined
    return reply.redirect(url ?? `${deps.urls.ofZone(request.zone)}/home`, 302)
  })
}
