// The sign-in page: which of its forms is shown, or to which provider the browser is redirected instead.
import type { FastifyReply, FastifyRequest } from 'fastify'
import { switchesIn } from '../accounts/switches.ts'
import type { Identity } from '../identity/identity.ts'
import { chooseLogin } from '../identity/login-policy.ts'
import { promptsOfOrigin } from '../identity/prompts.ts'
import { selfServiceLinksIn } from '../identity/self-service.ts'
import type { LoginForm, LoginView } from '../identity/login-policy.ts'
import { allowsProvider, displayName } from '../model/clients/client.ts'
import type { Behaviour } from '../model/compatibility.ts'
import type { IdentityProvider } from '../model/zones/identity-provider.ts'
import { parseLoginHint } from '../model/sessions/login-hint.ts'
import { offersPasskeySignIn, secondFactorPolicy } from '../model/users/second-factor.ts'
import type { Service } from '../model/service.ts'
import type { PageSettings } from '../model/zones/settings.ts'
import { linkIn } from '../model/urls.ts'
import type { Urls } from '../model/urls.ts'
import type { AddressedZone } from '../model/request.ts'
import { discoveryPath } from '../model/zones/saml-paths.ts'
import { promptsOf, samlEntityIdOf } from '../model/zones/zone.ts'
import { discoveryEmailPage, originPage } from '../pages/idp-discovery.ts'
import { loginPage } from '../pages/login.ts'
import type { Message } from '../pages/messages.ts'
import { messageFor } from '../pages/messages.ts'
import type { Texts } from '../pages/texts/texts.ts'
import type { Store } from '../store/store.ts'
import { PageError } from '../web/answers.ts'
import type { Form } from '../web/requests/form.ts'
import type { PageWriter } from '../web/pages.ts'
import type { ExternalSignIn } from './external.ts'
import { MAX_PATH_LENGTH } from './attempts.ts'
import { externalPath } from './external.ts'
import type { SignInTarget, SignInTargets } from './sign-in-target.ts'
import type { ChooseAccountPage } from './saved-accounts.ts'

/** Dependencies of `createSignInPage`. */
export interface SignInPageDeps {
  readonly store: Store
  readonly identity: Identity
  readonly pages: PageWriter
  readonly urls: Urls
  readonly service: Service
  readonly behaviour: Behaviour
  readonly signInTargets: SignInTargets
  readonly external: ExternalSignIn
  readonly chooseAccountPage: ChooseAccountPage
  readonly pageSettings: PageSettings
  /** The SAML entity id of the default zone. */
  readonly samlEntityId: string
}

/** The inputs of a sign-in page from its request. */
interface SignInPageInput {
  readonly query: Form
  readonly signInTarget: SignInTarget
  /** What was typed at a sign-in that failed; for our own fields only, not for links to other providers. */
  readonly typedName?: string | undefined
}

/** Answers with the page. */
type SignInPage = (request: FastifyRequest, reply: FastifyReply, input: SignInPageInput) => Promise<FastifyReply>

/** One instance serves every zone. */
export function createSignInPage(deps: SignInPageDeps): SignInPage {
  const { store, identity, pages, urls, signInTargets } = deps

  /** Applies the choice of a provider: redirects, or shows the page. */
  async function show(request: FastifyRequest, reply: FastifyReply, input: SignInPageInput): Promise<FastifyReply> {
    const { query, signInTarget } = input
    const { config } = request.zone
    const view = chooseLogin({
      discovery: config.idpDiscoveryEnabled === true,
      accountChooser: config.accountChooserEnabled === true,
      defaultOrigin: config.defaultIdentityProvider ?? undefined,
      providers: await identity.loginProviders(request.zone),
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
      case 'redirect': {
        const provider = await store.providers.findByOrigin(request.zone.id, view.origin)
        const start = provider && discoveryOf(request.zone, provider)
        if (start !== undefined) {
          await signInTargets.keep(request, reply, signInTarget)
          return reply.redirect(urls.ofZone(request.zone) + start, 302)
        }
        const userName = query.get('username') ?? view.userName
        const started = await deps.external.start(request, reply, { origin: view.origin, signInTarget, userName })
        return started ? reply : reply.redirect(`${urls.ofZone(request.zone)}/login?error=idp_not_found`, 302)
      }
      case 'email':
      case 'origin':
        return offerAccounts(request, reply, { ...input, view })
      case 'form':
        return showForm(request, reply, { ...input, view })
    }
  }

  /** UAA: sign-in at a SAML provider starts there, also from the page. See docs/compatibility.md, C10. */
  function discoveryOf(zone: AddressedZone, { type, originKey }: IdentityProvider): string | undefined {
    if (!deps.behaviour.samlDiscoveryLinks || type !== 'saml') return undefined
    return discoveryPath(samlEntityIdOf(zone, deps.samlEntityId), originKey)
  }

  /** Shows the remembered accounts; without any, the page that asks. */
  async function offerAccounts(
    request: FastifyRequest,
    reply: FastifyReply,
    input: SignInPageInput & { view: Extract<LoginView, { kind: 'email' | 'origin' }> },
  ): Promise<FastifyReply> {
    const { query, signInTarget } = input
    const { client, path } = signInTarget
    const page = await deps.chooseAccountPage(request, reply, {
      query,
      ...(path !== undefined && { formRedirectUri: urls.ofZone(request.zone) + path }),
      clientName: client && displayName(client),
      message: messageOf(pages.texts(request), query),
    })
    return page ? pages.send(reply, page) : askForAccount(request, reply, input)
  }

  /** Shows the page that asks for an e-mail address or origin. */
  async function askForAccount(
    request: FastifyRequest,
    reply: FastifyReply,
    {
      query,
      signInTarget,
      typedName,
      view,
    }: SignInPageInput & { view: Extract<LoginView, { kind: 'email' | 'origin' }> },
  ): Promise<FastifyReply> {
    const { zone } = request
    const chrome = await pages.chrome(request, reply, { form: true })
    const { path, client } = signInTarget
    const shared = {
      message: messageOf(chrome.texts, query),
      clientName: client && displayName(client),
      formRedirectUri: path === undefined ? undefined : urls.ofZone(zone) + path,
    }
    if (view.kind === 'origin') {
      return pages.send(
        reply,
        originPage(chrome, { ...shared, hasDefault: zone.config.defaultIdentityProvider !== undefined }),
      )
    }
    const email = query.get('email') ?? query.get('username') ?? typedName ?? view.userName
    const page = discoveryEmailPage(chrome, {
      ...shared,
      email,
      loginHint: query.get('login_hint'),
      createAccount: (await linksOf(zone, client)).signup,
    })
    return pages.send(reply, page)
  }

  async function showForm(
    request: FastifyRequest,
    reply: FastifyReply,
    { query, signInTarget, typedName, view }: SignInPageInput & { view: LoginForm },
  ): Promise<FastifyReply> {
    const { zone } = request
    const { path, client } = signInTarget
    const userName = query.get('username') ?? query.get('email') ?? typedName ?? view.userName
    const { signup, passwd } = await linksOf(zone, client)
    const hintText = signInTarget.hint ?? query.get('login_hint')
    const hint = parseLoginHint(hintText).origin === view.origin ? hintText : JSON.stringify({ origin: view.origin })
    const chrome = await pages.chrome(request, reply, { form: true })
    const page = loginPage(chrome, {
      prompts: view.takesPasswords
        ? ((await promptsOfOrigin(store, zone, query.get('origin'))) ?? promptsOf(zone))
        : [],
      message: messageOf(chrome.texts, query) ?? (view.error && messageFor(chrome.texts, 'error', view.error)),
      ...(userName !== undefined && { userName }),
      ...(path !== undefined && { formRedirectUri: urls.ofZone(zone) + path }),
      ...(view.origin !== undefined && hint !== undefined && { loginHint: hint }),
      ...(client && { clientName: displayName(client) }),
      links: {
        ...(signup !== undefined && { createAccount: signup }),
        ...(passwd !== undefined && { resetPassword: passwd }),
      },
      takesPasskeys:
        view.takesPasswords && offersPasskeySignIn(secondFactorPolicy(zone, deps.behaviour), deps.service.name),
      providers: await linksTo(zone, view.links, { path, userName: query.get('username') }),
    })
    return pages.send(reply, page)
  }

  /** Sign-up links exist for internal accounts only. */
  async function linksOf(
    zone: AddressedZone,
    client: SignInTarget['client'],
  ): Promise<{ signup: string | undefined; passwd: string | undefined }> {
    const serviceName = deps.service.name
    const { signup: configured, passwd } = await selfServiceLinksIn(zone, { ...deps, serviceName })
    const isOpen = (await switchesIn(zone, { store, serviceName })).selfService
    const signup = configured ?? (isOpen ? '/create_account' : undefined)
    const maySignUp = !client || allowsProvider(client, deps.service.name)
    const basePath = urls.pathOf(zone)
    return { signup: maySignUp ? linkIn(basePath, signup) : undefined, passwd: linkIn(basePath, passwd) }
  }

  /** Omits providers whose endpoints are not known yet; does not wait for discovery. */
  async function linksTo(
    zone: AddressedZone,
    origins: readonly string[],
    { path, userName }: { path: string | undefined; userName: string | undefined },
  ): Promise<readonly { name: string; url: string }[]> {
    const query = new URLSearchParams({
      ...(path !== undefined && path.length <= MAX_PATH_LENGTH && { form_redirect_uri: urls.ofZone(zone) + path }),
      ...(userName !== undefined && { username: userName }),
    }).toString()
    if (origins.length === 0) return []
    const [before, after] = [urls.pathOf(zone), query === '' ? '' : `?${query}`]
    const providers = new Map((await identity.loginProviders(zone)).map(each => [each.origin, each]))
    const links: { name: string; url: string }[] = []
    for (const origin of origins) {
      const { provider, linkText: name } = providers.get(origin) ?? {}
      if (!provider || name === undefined || !(await identity.isOffered(zone, provider))) continue
      const discovery = discoveryOf(zone, provider)
      const url =
        discovery === undefined
          ? `${before}${externalPath(origin)}${after}`
          : `${discovery.slice(1)}${query === '' ? '' : `&${query}`}`
      links.push({ name, url })
    }
    return links
  }

  return show
}

function messageOf(texts: Texts, query: Form): Message | undefined {
  const error = query.get('error')
  const success = query.get('success')
  if (error !== undefined) return messageFor(texts, 'error', error)
  return success === undefined ? undefined : messageFor(texts, 'success', success)
}
