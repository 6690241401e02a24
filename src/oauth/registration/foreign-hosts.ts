// Users judge an application by the hosts that it leads to: one that anybody can register must not use those of an
// application that an administrator registered.
import { acceptsHost } from '../../clients/redirect-uri.ts'
import type { Client } from '../../model/clients/client.ts'
import type { Behaviour } from '../../model/compatibility.ts'
import type { OAuthError } from '../../model/oauth-error.ts'
import type { Store } from '../../store/store.ts'
import { invalidMetadata } from './metadata.ts'

interface ForeignHostDeps {
  readonly store: Store
  readonly behaviour: Behaviour
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
  const refuse = (what: string): OAuthError =>
    invalidMetadata(`redirect_uris: ${what} belongs to another application`, 'invalid_redirect_uri')
  for (const host of hosts) if (await isHostTaken(zoneId, host, deps)) throw refuse(host)
  for (const scheme of schemes) {
    if (await deps.store.registrations.isSchemeTaken(zoneId, scheme)) throw refuse(scheme)
  }
}

/** The same for links, which the approval page shows with their hosts. */
export async function refuseForeignLinks(
  zoneId: string,
  links: readonly string[],
  deps: ForeignHostDeps,
): Promise<void> {
  for (const host of new Set(links.map(link => fullHost(new URL(link))))) {
    if (!(await isHostTaken(zoneId, host, deps))) continue
    throw invalidMetadata(`client_uri, policy_uri or tos_uri: ${host} belongs to another application`)
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

async function isHostTaken(zoneId: string, host: string, { store, behaviour }: ForeignHostDeps): Promise<boolean> {
  if (await store.registrations.isHostTaken(zoneId, host)) return true
  if (behaviour.exactRedirectUri) return false
  // UAA: an entry may stand for many hosts (row A15). One that fixes only the last label belongs to no one.
  const domain = host.split('.').slice(-2).join('.')
  const lists = await store.registrations.redirectUrisWith(zoneId, domain)
  return lists.flat().some(entry => entry.toLowerCase().includes(domain) && acceptsHost(entry, host))
}
