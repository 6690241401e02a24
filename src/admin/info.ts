// Public information about the server and a zone, with which a program can build a sign-in form.
import type { FastifyInstance } from 'fastify'
import type { LoginProvider } from '../identity/provider-sources.ts'
import { chooseLogin } from '../identity/login-policy.ts'
import { promptsOfOrigin } from '../identity/prompts.ts'
import { selfServiceLinksIn } from '../identity/self-service.ts'
import type { Behaviour } from '../model/compatibility.ts'
import { discoveryPath } from '../model/zones/saml-paths.ts'
import type { PageSettings } from '../model/zones/settings.ts'
import type { Urls } from '../model/urls.ts'
import type { AddressedZone } from '../model/request.ts'
import type { Prompt } from '../model/zones/zone.ts'
import { promptsOf, samlEntityIdOf } from '../model/zones/zone.ts'
import type { BuildFacts } from '../ops/build.ts'
import type { Store } from '../store/store.ts'
import type { Form } from '../web/requests/form.ts'
import { queryForm } from '../web/requests/query.ts'
import type { AdminDeps } from './deps.ts'

/** UAA: its clients refuse options to, or themselves, a server whose version is lower than the first one that had them. */
const UAA_VERSION = '77.18.0'

/** The answer of `/info`: nothing that is not on the sign-in page already (row M9). */
interface ServerInfo {
  readonly app: Readonly<Record<string, string>> & { readonly version: string }
  /** The commit that was built, and when it was made; absent if not packaged. */
  readonly commit_id?: string
  readonly timestamp?: string
  readonly zone_name: string
  readonly entityID: string
  readonly links: Readonly<Record<string, string>>
  /** By name: the type of the field, and its label. */
  readonly prompts: Readonly<Record<string, readonly [string, string]>>
  /** SAML providers that have a link, by origin, and where it leads. */
  readonly idpDefinitions: Readonly<Record<string, string>>
  /** Present when some other provider has a link. */
  readonly showLoginLinks?: true
  readonly defaultIdpName?: string
  /** The origin that the hint binds the form to, as the form sends it. */
  readonly login_hint?: string
  readonly error?: 'invalid_login_hint'
}

/** Makes the answer of `/info`, and of a program's `/login`, to a query. */
export type DescribeServer = (zone: AddressedZone, query: Form) => Promise<ServerInfo>

/** Server information of a zone. */
export function createServerInfo(deps: {
  store: { readonly providers: Pick<Store['providers'], 'findByOrigin'> }
  urls: Urls
  behaviour: Behaviour
  build: BuildFacts
  serviceName: string
  samlEntityId: string
  pageSettings: PageSettings
  /** The active providers that sign users in on a page. */
  loginProviders: (zone: AddressedZone) => Promise<readonly LoginProvider[]>
}): DescribeServer {
  const { store, urls, behaviour, build, serviceName, samlEntityId } = deps
  const { version, name, description } = build
  // UAA: always says something.
  const unknown = behaviour.knownBuildFacts ? undefined : 'UNKNOWN'
  const { commitId = unknown, timestamp = unknown } = build
  const app = {
    version: behaviour.ownVersion ? version : UAA_VERSION,
    ...(behaviour.knownBuildFacts && name !== undefined && { name, artifact: name }),
    ...(behaviour.knownBuildFacts && description !== undefined && { description }),
  }

  async function linksOf(zone: AddressedZone): Promise<Readonly<Record<string, string>>> {
    const { signup, passwd } = await selfServiceLinksIn(zone, { ...deps, serviceName })
    return {
      login: urls.ofZone(zone),
      uaa: urls.atBaseHost(zone),
      ...(passwd && { passwd }),
      ...(signup && { register: signup }),
    }
  }

  /** Every field, before unusable ones are left out. */
  async function allPrompts(zone: AddressedZone, origin: string | undefined): Promise<readonly Prompt[]> {
    const own = await promptsOfOrigin(store, zone, origin)
    if (own) return own
    const prompts = promptsOf(zone)
    return zone.config.prompts ? prompts : [...prompts, passcodePrompt(urls.ofZone(zone))]
  }

  /** The address in the text is that of the zone. */
  const inZone = (text: string, zone: AddressedZone): string =>
    zone.subdomain === '' ? text : text.replace(/https?:\/\/[^\s()]+/, url => addressIn(zone, url, urls))

  const discoveryUrl = (zone: AddressedZone, origin: string): string =>
    urls.ofZone(zone) + discoveryPath(samlEntityIdOf(zone, samlEntityId), origin)

  return async (zone, query) => {
    const providers = await deps.loginProviders(zone)
    const links = providers.filter(({ by, linkText }) => by === 'redirect' && linkText !== undefined)
    const takesPasswords = providers.some(({ provider: { type } }) => type === serviceName || type === 'ldap')
    const idle = new Set([
      ...(takesPasswords ? [] : ['username', 'password']),
      ...(links.length > 0 ? [] : ['passcode']),
    ])
    const prompts = await allPrompts(zone, query.get('origin'))
    const saml = links.filter(({ provider: { type } }) => type === 'saml')
    return {
      app,
      ...(commitId !== undefined && { commit_id: commitId }),
      ...(timestamp !== undefined && { timestamp }),
      zone_name: zone.name,
      entityID: samlEntityIdOf(zone, samlEntityId),
      links: await linksOf(zone),
      prompts: Object.fromEntries(
        prompts
          .filter(prompt => !idle.has(prompt.name))
          .map(({ name, type, text }) => [name, [type, name === 'passcode' ? inZone(text, zone) : text] as const]),
      ),
      idpDefinitions: Object.fromEntries(saml.map(({ origin }) => [origin, discoveryUrl(zone, origin)])),
      ...(links.length > 0 && { showLoginLinks: true }),
      ...(zone.config.defaultIdentityProvider && { defaultIdpName: zone.config.defaultIdentityProvider }),
      ...hintState(providers, query.get('login_hint'), behaviour),
    }
  }
}

/** What a hint makes of the sign-in page, for a program that draws its own. */
function hintState(
  providers: readonly LoginProvider[],
  hint: string | undefined,
  { hintMayBeName }: Behaviour,
): Pick<ServerInfo, 'login_hint' | 'error'> {
  const view = chooseLogin({
    discovery: false,
    accountChooser: false,
    providers,
    hint,
    hintMayBeName,
    discoveryPerformed: true,
    failed: true, // no redirect to a provider
  })
  if (view.kind !== 'form') return {}
  return {
    ...(view.origin !== undefined && { login_hint: JSON.stringify({ origin: view.origin }) }),
    ...(view.error && { error: view.error }),
  }
}

const passcodePrompt = (base: string): Prompt => ({
  name: 'passcode',
  type: 'password',
  text: `Temporary Authentication Code ( Get one at ${base}/passcode )`,
})

function addressIn(zone: AddressedZone, url: string, urls: Urls): string {
  if (urls.addressesOf(zone).some(address => url.startsWith(address))) return url
  if (url.startsWith(urls.base)) return urls.ofZone(zone) + url.slice(urls.base.length)
  return url.replace('://', `://${zone.subdomain}.`)
}

/** `/info`. UAA: by any method. See docs/compatibility.md, M9. */
export function infoEndpoint(app: FastifyInstance, { serverInfo, behaviour }: AdminDeps): void {
  app.route({
    method: behaviour.getInfoOnly ? ['GET'] : ['GET', 'POST', 'PUT', 'DELETE'],
    url: '/info',
    config: { access: { by: 'anyone', because: 'it tells what the sign-in page shows' }, audience: 'open' },
    handler: async (request, reply) =>
      reply
        .header('cache-control', 'no-store') // the settings and providers of a zone may change at any time
        .type('application/json;charset=UTF-8')
        .send(JSON.stringify(await serverInfo(request.zone, queryForm(request)))),
  })
}
