// The sign-in page: chooses the form to show, or the provider to redirect to.
import type { FastifyReply } from 'fastify'
import { chooseLogin } from '../../identity/login-policy.ts'
import type { LoginView, LoginForm } from '../../identity/login-policy.ts'
import { PageError } from '../../web/answers.ts'
import { goTo } from '../../web/redirect.ts'
import type { SignInPageInput } from './sign-in-input.ts'
import { samlDiscoveryPath, providerLinks, selfServiceLinksFor } from './sign-in-links.ts'
import type { LoginDeps } from '../deps.ts'
import { promptsOfOrigin } from '../../identity/prompts.ts'
import { displayName } from '../../model/clients/client.ts'
import { parseLoginHint } from '../../model/sessions/login-hint.ts'
import { offersPasskeySignIn, secondFactorPolicy } from '../../model/users/second-factor.ts'
import { promptsOf } from '../../model/zones/zone.ts'
import { loginPage } from '../../pages/sign-in/login.ts'
import { messageFor } from '../../pages/parts/messages.ts'
import { signInMessage } from './sign-in-input.ts'
import { discoveryEmailPage, originPage } from '../../pages/sign-in/idp-discovery.ts'

/** Applies the choice of a provider: shows the page, or redirects. */
export async function showSignInPage(input: SignInPageInput, deps: LoginDeps): Promise<FastifyReply> {
  const { request, query, signInTarget } = input
  const { config } = request.zone
  const view = chooseLogin({
    discovery: config.idpDiscoveryEnabled === true,
    accountChooser: config.accountChooserEnabled === true,
    defaultOrigin: config.defaultIdentityProvider ?? undefined,
    providers: await deps.identity.loginProviders(request.zone),
    allowed: signInTarget.client?.allowedProviders,
    hint: signInTarget.hint ?? query.get('login_hint'),
    hintMayBeName: deps.behaviour.hintMayBeName,
    discoveryPerformed: query.get('discoveryPerformed') === 'true',
    failed: query.get('error') !== undefined,
  })
  switch (view.kind) {
    case 'misconfigured':
      throw new PageError(
        500,
        'There is a misconfiguration with the identity provider(s). Please contact your system administrator.',
      )
    case 'redirect':
      return goToProvider(input, view, deps)
    case 'email':
    case 'origin':
      return offerAccounts(input, view, deps)
    case 'form':
      return showForm(input, view, deps)
  }
}

async function goToProvider(
  { request, reply, query, signInTarget }: SignInPageInput,
  view: Extract<LoginView, { kind: 'redirect' }>,
  deps: LoginDeps,
): Promise<FastifyReply> {
  const { store, urls, signInTargets, external } = deps
  if (request.method === 'HEAD') return reply.send() // starts no sign-in
  const provider = await store.providers.findByOrigin(request.zone.id, view.origin)
  const start = provider && samlDiscoveryPath(request.zone, provider, deps)
  if (start !== undefined) {
    await signInTargets.keep(request, reply, signInTarget)
    return goTo(reply, start, urls)
  }
  const userName = query.get('username') ?? view.userName
  const started = await external.start(request, reply, { origin: view.origin, signInTarget, userName })
  return started ? reply : goTo(reply, '/login?error=idp_not_found', urls)
}

/** Shows the fields for a password, and the links to other providers. */
async function showForm(
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

type AccountQuestion = Extract<LoginView, { kind: 'email' | 'origin' }>

/** Shows the remembered accounts; without any, the page that asks for an e-mail address or origin. */
async function offerAccounts(input: SignInPageInput, view: AccountQuestion, deps: LoginDeps): Promise<FastifyReply> {
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
