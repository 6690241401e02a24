// Signs a user in with a form, then redirects to the saved request; usually that is /oauth/authorize, which decides the
// next step.
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { switchesIn } from '../accounts/switches.ts'
import type { Identity } from '../identity/identity.ts'
import type { SignInRefusal } from '../identity/source.ts'
import { chooseLogin } from '../identity/login-policy.ts'
import { promptsOfOrigin } from '../identity/prompts.ts'
import { selfServiceLinksIn } from '../identity/self-service.ts'
import type { LoginForm, LoginView } from '../identity/login-policy.ts'
import { allowsProvider, displayName } from '../model/clients/client.ts'
import type { Behaviour } from '../model/compatibility.ts'
import type { IdentityProvider } from '../model/zones/identity-provider.ts'
import { changesFactors, OFFER_PATH } from '../model/sessions/fresh-sign-in.ts'
import { parseLoginHint } from '../model/sessions/login-hint.ts'
import { mayBeOfferedPasskey, offersPasskeySignIn, secondFactorPolicy } from '../model/users/second-factor.ts'
import type { Service } from '../model/service.ts'
import type { PageSettings } from '../model/zones/settings.ts'
import { linkIn } from '../model/urls.ts'
import type { Urls } from '../model/urls.ts'
import type { AddressedZone } from '../model/request.ts'
import { discoveryPath } from '../model/zones/saml-paths.ts'
import type { User } from '../model/users/user.ts'
import { promptsOf, samlEntityIdOf } from '../model/zones/zone.ts'
import { discoveryEmailPage, originPage } from '../pages/idp-discovery.ts'
import { loginPage } from '../pages/login.ts'
import type { Message } from '../pages/messages.ts'
import { messageFor } from '../pages/messages.ts'
import type { Texts } from '../pages/texts/texts.ts'
import type { Store } from '../store/store.ts'
import { PageError, acceptsPage, wantsJson } from '../web/answers.ts'
import type { Csrf } from '../web/sessions/csrf.ts'
import type { Denial } from '../web/sessions/denial.ts'
import type { Form } from '../web/requests/form.ts'
import { EMPTY_FORM, parseForm } from '../web/requests/form.ts'
import { limitedSignIn } from '../web/limits/limits.ts'
import type { Limits } from '../web/limits/limits.ts'
import type { PageWriter } from '../web/pages.ts'
import type { SignInDemands } from '../web/sessions/sign-in-demands.ts'
import { queryForm } from '../web/requests/query.ts'
import { bodyForm } from '../web/route.ts'
import type { Sessions } from '../web/sessions/session.ts'
import type { ExternalSignIn } from './external.ts'
import { MAX_PATH_LENGTH } from './attempts.ts'
import { externalPath } from './external.ts'
import type { SignInTarget, SignInTargets } from './sign-in-target.ts'
import type { ChooseAccountPage } from './saved-accounts.ts'
import { createTypedNames } from './typed-name.ts'
import { contextOf } from '../web/requests/request-context.ts'

/** Dependencies of `loginEndpoints`. */
export interface LoginDeps {
  readonly store: Store
  readonly identity: Identity
  readonly sessions: Sessions
  readonly denial: Denial
  readonly csrf: Csrf
  readonly pages: PageWriter
  readonly limits: Limits
  readonly urls: Urls
  readonly service: Service
  readonly behaviour: Behaviour
  readonly signInTargets: SignInTargets
  readonly external: ExternalSignIn
  readonly chooseAccountPage: ChooseAccountPage
  readonly signInDemands: SignInDemands
  readonly pageSettings: PageSettings
  /** The SAML entity id of the default zone. */
  readonly samlEntityId: string
  /** The JSON answer of `/login`, the same as `/info`. */
  readonly serverInfo: (zone: AddressedZone, query: Form) => Promise<object>
}

/** `GET /login` and `POST /login.do`. */
export function loginEndpoints(app: FastifyInstance, deps: LoginDeps): void {
  const { store, identity, sessions, denial, csrf, pages, urls, signInTargets } = deps
  const typedNames = createTypedNames({ urls })
  const config = { access: { by: 'anyone', because: 'it is where one signs in' }, audience: 'page' } as const

  app.get('/login', { config }, async (request, reply) => {
    const query = queryForm(request)
    if (wantsJson(request)) return reply.send(await deps.serverInfo(request.zone, query))
    if (!acceptsPage(request)) throw new PageError(406, 'This address offers only HTML and JSON.')
    const signInTarget = await signInTargets.of(request, query)
    const isSignedIn = (await sessions.signedIn(request)) !== undefined
    // Only where a session outlives a sign-in that is under way can one fail beside it.
    const showsError = deps.behaviour.keepSessionUntilLogin && query.get('error') !== undefined
    if (isSignedIn && !signInTarget.saved?.reauthenticate && !showsError) {
      return reply.redirect(`${urls.ofZone(request.zone)}/home`, 302)
    }
    // UAA: forgets the name. See docs/compatibility.md, P3.
    const typedName = deps.behaviour.keepTypedName ? typedNames.take(request, reply) : undefined
    return show(request, reply, { query, signInTarget, ...(query.get('error') !== undefined && { typedName }) })
  })

  app.post('/login.do', { config }, async (request, reply) => {
    const form = bodyForm(request) ?? EMPTY_FORM
    if (!(await csrf.isGenuine(request))) return refuseForm(request, reply, form)
    const signInTarget = await signInTargets.of(request, form)
    const { path: destination, client } = signInTarget
    const userName = form.get('username') ?? ''
    const refuse = async (code: string): Promise<FastifyReply> => {
      sessions.setCurrentUser(reply, undefined)
      await signInTargets.keep(request, reply, signInTarget)
      if (deps.behaviour.keepTypedName) typedNames.keep(reply, userName)
      return reply.redirect(`${urls.ofZone(request.zone)}/login?error=${code}`, 302)
    }
    const password = form.get('password') ?? ''
    if (userName === '' || password === '') return refuse('login_failure')
    const { origin } = parseLoginHint(form.get('login_hint') || undefined)
    const context = contextOf(request)
    const signIn = { userName, password, client, origin, opensSession: true }
    const result = await limitedSignIn(deps.limits, { from: context, userName }, () =>
      identity.signInWithPassword(context, signIn),
    )
    if (result.outcome !== 'signed-in') {
      return refuse(result.outcome === 'refused' ? messageCode(result.reason) : 'login_failure')
    }
    await sessions.signIn(request, reply, result.user, result)
    const signedIn = await sessions.signedIn(request)
    const demand = signedIn && (await deps.signInDemands.open(request, signedIn))
    if (demand) return deps.signInDemands.raise(request, reply, demand, destination)
    if (signedIn && form.get('can_passkey') === 'true' && isOffered(request.zone, signedIn.user, destination)) {
      await sessions.saveRequest(request, reply, { path: destination ?? '/', reauthenticate: false })
      return reply.redirect(urls.ofZone(request.zone) + OFFER_PATH, 302)
    }
    return reply.redirect(urls.ofZone(request.zone) + (destination ?? '/'), 302)
  })

  /** Whether a passkey is offered before the user goes on: not on the way to where one is added anyway. */
  const isOffered = (zone: AddressedZone, user: User, destination = '/'): boolean =>
    mayBeOfferedPasskey(secondFactorPolicy(zone, deps.behaviour), user, deps.service.name) &&
    !changesFactors(destination) &&
    destination.length <= MAX_PATH_LENGTH

  /** Shows an expired page again with the typed values, except the password. */
  async function refuseForm(request: FastifyRequest, reply: FastifyReply, form: Form): Promise<FastifyReply> {
    if (await sessions.signedIn(request)) return denial.refuseForgery(request, reply)
    sessions.setCurrentUser(reply, undefined)
    const isStale = deps.behaviour.staleFormShownAgain && csrf.isStale(request)
    if (!isStale || wantsJson(request)) return denial.refuseForgery(request, reply)
    const fields = new URLSearchParams({ error: 'invalid_login_request' })
    for (const name of ['username', 'login_hint']) {
      const typed = form.get(name)
      if (typed !== undefined) fields.set(name, typed)
    }
    const query = parseForm(fields.toString())
    return show(request, reply.status(403), { query, signInTarget: await signInTargets.of(request, form) })
  }

  /** Applies the choice of a provider: redirects, or shows the page. */
  async function show(request: FastifyRequest, reply: FastifyReply, given: Given): Promise<FastifyReply> {
    const { query, signInTarget } = given
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
        return offerAccounts(request, reply, { ...given, view })
      case 'form':
        return showForm(request, reply, { ...given, view })
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
    given: Given & { view: Extract<LoginView, { kind: 'email' | 'origin' }> },
  ): Promise<FastifyReply> {
    const { query, signInTarget } = given
    const { client, path } = signInTarget
    const page = await deps.chooseAccountPage(request, reply, {
      query,
      ...(path !== undefined && { formRedirectUri: urls.ofZone(request.zone) + path }),
      clientName: client && displayName(client),
      message: messageOf(pages.texts(request), query),
    })
    return page ? pages.send(reply, page) : ask(request, reply, given)
  }

  /** Shows the page that asks for an e-mail address or origin. */
  async function ask(
    request: FastifyRequest,
    reply: FastifyReply,
    { query, signInTarget, typedName, view }: Given & { view: Extract<LoginView, { kind: 'email' | 'origin' }> },
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
    { query, signInTarget, typedName, view }: Given & { view: LoginForm },
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
}

/** The inputs of a sign-in page from its request. */
interface Given {
  readonly query: Form
  readonly signInTarget: SignInTarget
  /** What was typed at a sign-in that failed; for our own fields only, not for links to other providers. */
  readonly typedName?: string | undefined
}

function messageOf(texts: Texts, query: Form): Message | undefined {
  const error = query.get('error')
  const success = query.get('success')
  if (error !== undefined) return messageFor(texts, 'error', error)
  return success === undefined ? undefined : messageFor(texts, 'success', success)
}

function messageCode(reason: SignInRefusal): string {
  switch (reason) {
    case 'bad-credentials':
    case 'provider-disabled':
    case 'refused-upstream':
    case 'not-invited':
    case 'second-factor-required': // a browser is asked for it
      return 'login_failure'
    case 'account-locked':
      return 'account_locked'
    case 'account-not-precreated':
      return 'account_not_precreated'
    case 'account-not-verified':
      return 'account_not_verified'
    case 'password-change-required':
      return 'password_expired'
  }
}
