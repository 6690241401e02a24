import type { FastifyReply } from 'fastify'
import type { LoginForm } from '../../identity/login-policy.ts'
import { promptsOfOrigin } from '../../identity/prompts.ts'
import { displayName } from '../../model/clients/client.ts'
import { parseLoginHint } from '../../model/sessions/login-hint.ts'
import { offersPasskeySignIn, secondFactorPolicy } from '../../model/users/second-factor.ts'
import { promptsOf } from '../../model/zones/zone.ts'
import { loginPage } from '../../pages/sign-in/login.ts'
import { messageFor } from '../../pages/parts/messages.ts'
import { signInMessage } from './sign-in-input.ts'
import type { SignInPageInput } from './sign-in-input.ts'
import { providerLinks, selfServiceLinksFor } from './sign-in-links.ts'
import type { LoginDeps } from '../deps.ts'

/** Shows the fields for a password, and the links to other providers. */
export async function showForm(
  { request, reply, query, signInTarget, typedName }: SignInPageInput,
  view: LoginForm,
  deps: LoginDeps,
): Promise<FastifyReply> {
  const { store, pages, urls, service, behaviour } = deps
  const { zone } = request
  const { path, client } = signInTarget
  const userName = query.get('username') ?? query.get('email') ?? typedName ?? view.userName
  const { signup, passwd } = await selfServiceLinksFor(zone, client, deps)
  const hintText = signInTarget.hint ?? query.get('login_hint')
  const hint = parseLoginHint(hintText).origin === view.origin ? hintText : JSON.stringify({ origin: view.origin })
  const chrome = await pages.chrome(request, reply, { form: true })
  const page = loginPage(chrome, {
    prompts: view.takesPasswords ? ((await promptsOfOrigin(store, zone, query.get('origin'))) ?? promptsOf(zone)) : [],
    message: signInMessage(chrome.texts, query) ?? (view.error && messageFor(chrome.texts, 'error', view.error)),
    ...(userName !== undefined && { userName }),
    ...(path !== undefined && { formRedirectUri: urls.ofZone(zone) + path }),
    ...(view.origin !== undefined && hint !== undefined && { loginHint: hint }),
    ...(client && { clientName: displayName(client) }),
    links: {
      ...(signup !== undefined && { createAccount: signup }),
      ...(passwd !== undefined && { resetPassword: passwd }),
    },
    takesPasskeys: view.takesPasswords && offersPasskeySignIn(secondFactorPolicy(zone, behaviour), service.name),
    providers: await providerLinks(zone, { origins: view.links, path, userName: query.get('username') }, deps),
  })
  return pages.send(reply, page)
}
