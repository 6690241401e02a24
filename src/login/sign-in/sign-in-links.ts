// The links of the sign-in page: to other providers, to sign-up and to a new password.
import { switchesIn } from '../../accounts/switches.ts'
import { selfServiceLinksIn } from '../../identity/self-service.ts'
import { allowsProvider } from '../../model/clients/client.ts'
import type { AddressedZone } from '../../model/request.ts'
import { linkIn } from '../../model/urls.ts'
import type { IdentityProvider } from '../../model/zones/identity-provider.ts'
import { discoveryPath } from '../../model/zones/saml-paths.ts'
import { samlEntityIdOf } from '../../model/zones/zone.ts'
import { MAX_LINK_LENGTH } from '../../pages/parts/layout.ts'
import { externalPath } from '../external/external.ts'
import type { SignInTarget } from './sign-in-target.ts'
import type { LoginDeps } from '../deps.ts'

/** UAA: sign-in at a SAML provider starts there, also from the page. See docs/compatibility.md, C10. */
export function samlDiscoveryPath(
  zone: AddressedZone,
  { type, originKey }: IdentityProvider,
  { behaviour, samlEntityId }: LoginDeps,
): string | undefined {
  if (!behaviour.samlDiscoveryLinks || type !== 'saml') return undefined
  return discoveryPath(samlEntityIdOf(zone, samlEntityId), originKey)
}

/** The links of self-service for users of the client; sign-up is for internal accounts only. */
export async function selfServiceLinksFor(
  zone: AddressedZone,
  client: SignInTarget['client'],
  deps: LoginDeps,
): Promise<{ readonly signup: string | undefined; readonly passwd: string | undefined }> {
  const { store, service, urls } = deps
  const serviceName = service.name
  const { signup: configured, passwd } = await selfServiceLinksIn(zone, { ...deps, serviceName })
  const isOpen = (await switchesIn(zone, { store, serviceName })).selfService
  const signup = configured ?? (isOpen ? '/create_account' : undefined)
  const maySignUp = !client || allowsProvider(client, serviceName)
  const basePath = urls.pathOf(zone)
  return { signup: maySignUp ? linkIn(basePath, signup) : undefined, passwd: linkIn(basePath, passwd) }
}

/** Characters that the target adds to a page with many providers; without it, a link continues with the most recent saved request. */
const MAX_REPEATED_LENGTH = 20_000

const mayRepeat = ({ length }: string, times: number): boolean =>
  length <= MAX_LINK_LENGTH && length * times <= MAX_REPEATED_LENGTH

/** The links to the providers. Omits those whose endpoints are not known yet; does not wait for discovery. */
export async function providerLinks(
  zone: AddressedZone,
  {
    origins,
    path,
    userName,
  }: { readonly origins: readonly string[]; readonly path: string | undefined; readonly userName: string | undefined },
  deps: LoginDeps,
): Promise<readonly { readonly name: string; readonly url: string }[]> {
  if (origins.length === 0) return []
  const { identity, urls } = deps
  const query = new URLSearchParams({
    ...(path !== undefined && mayRepeat(path, origins.length) && { form_redirect_uri: urls.ofZone(zone) + path }),
    ...(userName !== undefined && { username: userName }),
  }).toString()
  const [before, after] = [urls.pathOf(zone), query === '' ? '' : `?${query}`]
  const providers = new Map((await identity.loginProviders(zone)).map(each => [each.origin, each]))
  const links: { name: string; url: string }[] = []
  for (const origin of origins) {
    const { provider, linkText: name } = providers.get(origin) ?? {}
    if (!provider || name === undefined || !(await identity.isOffered(zone, provider))) continue
    const discovery = samlDiscoveryPath(zone, provider, deps)
    const url =
      discovery === undefined
        ? `${before}${externalPath(origin)}${after}`
        : `${discovery.slice(1)}${query === '' ? '' : `&${query}`}`
    links.push({ name, url })
  }
  return links
}
