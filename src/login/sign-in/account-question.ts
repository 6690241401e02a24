// The sign-in page that asks for the account before a provider is chosen.
import type { FastifyReply } from 'fastify'
import type { LoginView } from '../../identity/login-policy.ts'
import { displayName } from '../../model/clients/client.ts'
import { discoveryEmailPage, originPage } from '../../pages/sign-in/idp-discovery.ts'
import { selfServiceLinksFor } from './sign-in-links.ts'
import { signInMessage } from './sign-in-input.ts'
import type { SignInPageInput } from './sign-in-input.ts'
import type { LoginDeps } from '../deps.ts'

type AccountQuestion = Extract<LoginView, { kind: 'email' | 'origin' }>

/** Shows the remembered accounts; without any, the page that asks for an e-mail address or origin. */
export async function offerAccounts(
  input: SignInPageInput,
  view: AccountQuestion,
  deps: LoginDeps,
): Promise<FastifyReply> {
  const { request, reply, query, signInTarget } = input
  const { pages, urls, chooseAccountPage } = deps
  const { client, path } = signInTarget
  const page = await chooseAccountPage(request, reply, {
    query,
    ...(path !== undefined && { formRedirectUri: urls.ofZone(request.zone) + path }),
    clientName: client && displayName(client),
    message: signInMessage(pages.texts(request), query),
  })
  return page ? pages.send(reply, page) : askForAccount(input, view, deps)
}

async function askForAccount(
  { request, reply, query, signInTarget, typedName }: SignInPageInput,
  view: AccountQuestion,
  deps: LoginDeps,
): Promise<FastifyReply> {
  const { pages, urls } = deps
  const { zone } = request
  const chrome = await pages.chrome(request, reply, { form: true })
  const { path, client } = signInTarget
  const shared = {
    message: signInMessage(chrome.texts, query),
    clientName: client && displayName(client),
    formRedirectUri: path === undefined ? undefined : urls.ofZone(zone) + path,
  }
  if (view.kind === 'origin') {
    const hasDefault = zone.config.defaultIdentityProvider !== undefined
    return pages.send(reply, originPage(chrome, { ...shared, hasDefault }))
  }
  const page = discoveryEmailPage(chrome, {
    ...shared,
    email: query.get('email') ?? query.get('username') ?? typedName ?? view.userName,
    loginHint: query.get('login_hint'),
    createAccount: (await selfServiceLinksFor(zone, client, deps)).signup,
  })
  return pages.send(reply, page)
}
