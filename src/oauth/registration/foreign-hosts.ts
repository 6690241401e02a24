// Users judge an application by its hosts: a client that anyone can register must not use those of this server,
// nor those of an application that an administrator registered.
import { isLoopbackHost } from '../../base/loopback.ts'
import { acceptsHost } from '../../clients/redirect-uri.ts'
import type { Client } from '../../model/clients/client.ts'
import type { Behaviour } from '../../model/compatibility.ts'
import type { OAuthError } from '../../model/oauth-error.ts'
import type { Urls } from '../../model/urls.ts'
import type { TokenSettings } from '../../model/zones/settings.ts'
import type { Store } from '../../store/store.ts'
import { isOwnHost } from '../../web/zones/zone.ts'
import { invalidMetadata } from './metadata.ts'

/** What tells whose a host is. */
export interface ForeignHostDeps {
  readonly store: Store
  readonly behaviour: Behaviour
  readonly urls: Urls
  readonly settings: Pick<TokenSettings, 'internalHostnames'>
}

/** Refuses redirect URIs with the host, or the scheme of its own, of another application. */
export async function refuseForeignRedirects(
  zoneId: string,
  redirectUris: readonly string[],
  deps: ForeignHostDeps,
): Promise<void> {
  const urls = redirectUris.map(uri => new URL(uri))
  const hosts = new Set(urls.filter(({ protocol }) => protocol === 'https:').map(fullHost))
  const schemes = new Set(urls.map(({ protocol }) => protocol).filter(each => each.includes('.')))
  const refuse = (what: string, owner: string): OAuthError =>
    invalidMetadata(`redirect_uris: ${what} belongs to ${owner}`, 'invalid_redirect_uri')
  for (const host of hosts) {
    const owner = await ownerOf(zoneId, host, deps)
    if (owner !== undefined) throw refuse(host, owner)
  }
  for (const scheme of schemes) {
    if (await deps.store.registrations.isSchemeTaken(zoneId, scheme)) throw refuse(scheme, ANOTHER)
  }
}

/** The same for links, which the approval page shows with their hosts. */
export async function refuseForeignLinks(
  zoneId: string,
  links: readonly string[],
  deps: ForeignHostDeps,
): Promise<void> {
  for (const host of new Set(links.map(link => fullHost(new URL(link))))) {
    const owner = await ownerOf(zoneId, host, deps)
    if (owner === undefined) continue
    throw invalidMetadata(`client_uri, policy_uri or tos_uri: ${host} belongs to ${owner}`)
  }
}

/** The links of a client on the approval page. */
export const linksOf = ({
  clientUri,
  policyUri,
  tosUri,
}: Pick<Client, 'clientUri' | 'policyUri' | 'tosUri'>): readonly string[] =>
  [clientUri, policyUri, tosUri].filter(link => link !== undefined)

/** A name with a final dot is the same host. */
const fullHost = ({ hostname }: URL): string => hostname.replace(/\.$/, '')

const ANOTHER = 'another application'

/** Whose the host is, if registrations cannot use it. */
async function ownerOf(zoneId: string, host: string, deps: ForeignHostDeps): Promise<string | undefined> {
  const { urls, settings } = deps
  // A loopback address is that of the user's own device.
  if (isOwnHost(host, [urls.hostname, ...settings.internalHostnames]) && !isLoopbackHost(host)) return 'this server'
  return (await isHostTaken(zoneId, host, deps)) ? ANOTHER : undefined
}

async function isHostTaken(zoneId: string, host: string, { store, behaviour }: ForeignHostDeps): Promise<boolean> {
  if (await store.registrations.isHostTaken(zoneId, host)) return true
  if (behaviour.exactRedirectUri) return false
  // UAA: an entry may stand for many hosts (row A15). One that fixes only the last label belongs to no one.
  const domain = host.split('.').slice(-2).join('.')
  const lists = await store.registrations.redirectUrisWith(zoneId, domain)
  return lists.flat().some(entry => entry.toLowerCase().includes(domain) && acceptsHost(entry, host))
}
