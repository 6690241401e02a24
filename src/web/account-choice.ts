import type { FastifyReply } from 'fastify'
import type { Urls } from '../model/urls.ts'
import type { User } from '../model/users/user.ts'
import { accountChoicePage } from '../pages/sign-in/account-choice.ts'
import type { Exchange } from './exchange.ts'
import type { PageWriter } from './pages.ts'
import type { Sessions } from './sessions/session.ts'

/** Dependencies of `offerAccountChoice`. */
interface AccountChoiceDeps {
  readonly sessions: Sessions
  readonly pages: PageWriter
  readonly urls: Urls
}

/** Asks a signed-in user whether to continue with this account, or to sign in with another one; both lead to the path. */
export async function offerAccountChoice(
  { request, reply }: Exchange,
  { user, path }: { readonly user: User; readonly path: string },
  { sessions, pages, urls }: AccountChoiceDeps,
): Promise<FastifyReply> {
  await sessions.saveRequest(request, reply, { path, reauthenticate: true })
  const page = accountChoicePage(await pages.chrome(request, reply, { form: true }), {
    userName: user.userName,
    continueUrl: urls.ofZone(request.zone) + path,
    signInUrl: `${urls.pathOf(request.zone)}/login`,
  })
  return pages.send(reply, page)
}
