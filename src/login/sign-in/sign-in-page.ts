// The sign-in page: chooses the form to show, or the provider to redirect to.
import type { FastifyReply } from 'fastify'
import { chooseLogin } from '../../identity/login-policy.ts'
import type { LoginView } from '../../identity/login-policy.ts'
import { PageError } from '../../web/answers.ts'
import { offerAccounts } from './account-question.ts'
import { showForm } from './sign-in-form.ts'
import type { SignInPageInput } from './sign-in-input.ts'
import { samlDiscoveryPath } from './sign-in-links.ts'
import type { LoginDeps } from '../deps.ts'

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
  const provider = await store.providers.findByOrigin(request.zone.id, view.origin)
  const start = provider && samlDiscoveryPath(request.zone, provider, deps)
  if (start !== undefined) {
    await signInTargets.keep(request, reply, signInTarget)
    return reply.redirect(urls.ofZone(request.zone) + start, 302)
  }
  const userName = query.get('username') ?? view.userName
  const started = await external.start(request, reply, { origin: view.origin, signInTarget, userName })
  return started ? reply : reply.redirect(`${urls.ofZone(request.zone)}/login?error=idp_not_found`, 302)
}
