// Finds a user's provider by e-mail address or by origin.
import { discover } from '../../identity/login-policy.ts'
import { selfServiceLinksIn } from '../../identity/self-service.ts'
import { displayName } from '../../model/clients/client.ts'
import { linkIn } from '../../model/urls.ts'
import { discoveryPasswordPage } from '../../pages/sign-in/idp-discovery.ts'
import { PageError } from '../../web/answers.ts'
import type { On } from '../../web/deferred-routes.ts'
import { goTo } from '../../web/redirect.ts'
import type { Form } from '../../web/requests/form.ts'
import { postedForm } from '../../web/route.ts'
import type { LoginDeps } from '../deps.ts'

/** The routes of these steps. */
type DiscoveryRoute = 'POST /login/idp_discovery' | 'POST /origin-chooser'

/** Characters; the value becomes part of a URL. */
const MAX_PARAMETER_LENGTH = 255

/** `POST /login/idp_discovery` and `POST /origin-chooser`. */
export function discoveryHandlers(on: On<DiscoveryRoute>, deps: LoginDeps): void {
  const { identity, external, signInTargets, pages, urls, service } = deps

  on('POST /login/idp_discovery', async (request, reply) => {
    const form = postedForm(request)
    const email = short(form, 'email')?.trim()
    const username = short(form, 'username')
    const loginHint = short(form, 'login_hint')
    if (email === undefined) throw new PageError(400, 'The email is missing.', { code: 'invalid_request' })
    const { zone } = request
    const signInTarget = await signInTargets.of(request, form)
    const providers = await identity.loginProviders(zone)
    const situation = { providers, allowed: signInTarget.client?.allowedProviders, hint: loginHint }
    const found = discover(situation, email, service.name)
    if (found.kind === 'redirect' && !form.get('skipDiscovery')) {
      const userName = username || email
      const started = await external.start(request, reply, { origin: found.origin, signInTarget, userName })
      if (started) return reply
    }
    if (found.kind === 'password' && !form.get('skipDiscovery')) {
      const { path, client } = signInTarget
      const page = discoveryPasswordPage(await pages.chrome(request, reply, { form: true }), {
        userName: email,
        loginHint: JSON.stringify({ origin: found.origin }),
        clientName: client && displayName(client),
        formRedirectUri: path === undefined ? undefined : urls.ofZone(zone) + path,
        resetPassword: linkIn(
          urls.pathOf(zone),
          (await selfServiceLinksIn(zone, { ...deps, serviceName: service.name })).passwd,
        ),
      })
      return pages.send(reply, page)
    }
    await signInTargets.keep(request, reply, signInTarget)
    const query = queryOf({ email, username, login_hint: loginHint })
    return goTo(reply, `/login?${query}`, urls)
  })

  on('POST /origin-chooser', async (request, reply) => {
    const form = postedForm(request)
    const origin = short(form, 'login_hint')?.trim()
    await signInTargets.keep(request, reply, await signInTargets.of(request, form))
    const query = queryOf({ login_hint: origin && JSON.stringify({ origin }) })
    return goTo(reply, `/login?${query}`, urls)
  })
}

function short(form: Form, name: string): string | undefined {
  const value = form.get(name)
  if (value !== undefined && value.length > MAX_PARAMETER_LENGTH) {
    throw new PageError(400, `The ${name} is too long.`, { code: 'invalid_request' })
  }
  return value
}

/** The query for the sign-in page after discovery; omits empty values. */
function queryOf(values: Readonly<Record<string, string | undefined>>): string {
  const given = Object.entries(values).filter((entry): entry is [string, string] => Boolean(entry[1]))
  return ['discoveryPerformed=true', ...given.map(([name, value]) => `${name}=${encodeURIComponent(value)}`)].join('&')
}
