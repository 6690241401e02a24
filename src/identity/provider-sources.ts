// The providers of a zone with their sources: opened by the type of each, and found by origin or by issuer.
import { isDeepStrictEqual } from 'node:util'
import { addSeconds } from '../base/clock.ts'
import { OutboundBusy } from '../base/outbound/error.ts'
import { emailDomains, linkTextOf } from '../model/zones/identity-provider.ts'
import type { IdentityProvider } from '../model/zones/identity-provider.ts'
import type { Zone } from '../model/zones/zone.ts'
import type { Candidate } from './login-policy.ts'
import type { IdentitySource, IdentitySourceType, RedirectSignIn, SourceDeps } from './source.ts'

/** A provider that signs users in on a page, with the properties that the choice among several depends on. */
export interface LoginProvider extends Candidate {
  readonly provider: IdentityProvider
}

/** An active provider with its source. */
interface OpenedProvider {
  readonly provider: IdentityProvider
  readonly source: IdentitySource
}

/** Opens and finds providers. */
export interface ProviderSources {
  /** The source of the provider; one without abilities for an unknown type. */
  readonly open: (zone: Zone, provider: IdentityProvider) => Promise<IdentitySource>
  /** The active providers of the zone that sign users in on a page, whatever clients allow. */
  readonly loginProviders: (zone: Zone) => Promise<readonly LoginProvider[]>
  /** The active provider of the origin, if it signs in by redirect. */
  readonly redirectOf: (
    zone: Zone,
    origin: string,
  ) => Promise<{ readonly provider: IdentityProvider; readonly redirect: RedirectSignIn } | undefined>
  /** The issuer that a message of this type names, unverified. */
  readonly claimedIssuer: (type: string, message: string) => Promise<string | undefined>
  /** One word for why a message of this type names no issuer, for the audit trail. */
  readonly problemIn: (type: string, message: string) => Promise<string | undefined>
  /**
   * The one active provider of this type with this issuer; of several whose documents say so, the one whose document is at the
   * address of the issuer. Throws `OutboundBusy` if it is none of those whose documents are
   * known.
   */
  readonly providerOf: (zone: Zone, type: string, issuer: string) => Promise<OpenedProvider | undefined>
  /** The same where there may be several: a provider of the caller's choice is to verify what names the issuer. */
  readonly providersOf: (zone: Zone, type: string, issuer: string) => Promise<readonly OpenedProvider[]>
  /**
   * Whether the record in the database is still the same: while the provider responded, its origin may have been given to
   * another provider, possibly by another process.
   */
  readonly isUnchanged: (provider: IdentityProvider) => Promise<boolean>
}

/** The limit of concurrent requests to one host (`base/outbound/slots.ts`). */
const DOCUMENTS_AT_ONCE = 4
/** Anyone can name an issuer that no provider has. What was fetched, or could not be, is cached, so the next message gets further. */
const MAX_WAIT_SECONDS = 10

/** `types` by their names; each is loaded with the first provider of its type. */
export function createProviderSources(
  types: Readonly<Record<string, () => Promise<IdentitySourceType>>>,
  deps: SourceDeps,
): ProviderSources {
  const { store, clock } = deps

  const typeOf = async (name: string): Promise<IdentitySourceType | undefined> =>
    Object.hasOwn(types, name) ? types[name]?.() : undefined

  async function open(zone: Zone, provider: IdentityProvider): Promise<IdentitySource> {
    return (await typeOf(provider.type))?.open(zone, provider, deps) ?? {}
  }

  async function redirectOf(
    zone: Zone,
    origin: string,
  ): Promise<{ readonly provider: IdentityProvider; readonly redirect: RedirectSignIn } | undefined> {
    const provider = await store.providers.findByOrigin(zone.id, origin)
    const redirect = provider?.active === true ? (await open(zone, provider)).redirect : undefined
    return provider && redirect && { provider, redirect }
  }

  /** The issuer that the message names, unverified. */
  const claimedIssuer = async (type: string, message: string): Promise<string | undefined> =>
    (await typeOf(type))?.issuerOf?.(message)

  /** The one active provider of the issuer; for one who can prove that it is. */
  const providerOf = async (zone: Zone, type: string, issuer: string): Promise<OpenedProvider | undefined> =>
    onlyOne(await providersOf(zone, type, issuer))

  async function providersOf(zone: Zone, type: string, issuer: string): Promise<readonly OpenedProvider[]> {
    const active = (await store.providers.listActive(zone.id)).filter(provider => provider.type === type)
    const opened = await Promise.all(active.map(async provider => ({ provider, source: await open(zone, provider) })))
    const found = opened.filter(({ source }) => source.issuerInRecord === issuer)
    // A provider cannot block another one by claiming its issuer in its document, or delay it by not publishing one.
    if (found.length > 0) return found
    const unnamed = opened.filter(({ source }) => source.issuerInRecord === undefined)
    const inDocuments = await issuersInDocuments(unnamed)
    const named = unnamed.filter((_, index) => inDocuments[index] === issuer)
    const busy = inDocuments.find(each => each instanceof OutboundBusy)
    if (named.length === 0 && busy) throw busy
    const own = named.filter(({ source }) => source.hasDocumentOf?.(issuer) === true)
    return own.length > 0 ? own : named
  }

  /** The issuers, in the order of the providers; those that are left after a while are not among them. */
  async function issuersInDocuments(
    opened: readonly OpenedProvider[],
  ): Promise<readonly (string | OutboundBusy | undefined)[]> {
    const until = addSeconds(clock.now(), MAX_WAIT_SECONDS)
    const found: (string | OutboundBusy | undefined)[] = []
    for (let start = 0; start < opened.length && clock.now() < until; start += DOCUMENTS_AT_ONCE) {
      const some = opened.slice(start, start + DOCUMENTS_AT_ONCE)
      found.push(...(await Promise.all(some.map(({ source }) => issuerInDocument(source)))))
    }
    return found
  }

  async function issuerInDocument(source: IdentitySource): Promise<string | OutboundBusy | undefined> {
    try {
      return await source.issuerInDocument?.()
    } catch (error) {
      if (error instanceof OutboundBusy) return error
      throw error
    }
  }

  /** By the list of the store, which is another one after every change. */
  const candidates = new WeakMap<readonly IdentityProvider[], readonly LoginProvider[]>()

  async function candidateOf(zone: Zone, provider: IdentityProvider): Promise<LoginProvider | undefined> {
    const { redirect, password, relay } = await open(zone, provider)
    if (!redirect && !password && relay?.onPages !== true) return undefined
    const by = redirect ? 'redirect' : 'form'
    const { originKey: origin } = provider
    return { provider, origin, by, emailDomains: emailDomains(provider), linkText: linkTextOf(provider) }
  }

  return {
    open,
    async loginProviders(zone) {
      const active = await store.providers.listActive(zone.id)
      const listed =
        candidates.get(active) ??
        (await Promise.all(active.map(provider => candidateOf(zone, provider)))).filter(each => each !== undefined)
      candidates.set(active, listed)
      return listed
    },
    redirectOf,
    claimedIssuer,
    problemIn: async (type, message) => (await typeOf(type))?.problemIn?.(message),
    providerOf,
    providersOf,
    isUnchanged: async provider =>
      isDeepStrictEqual(await store.providers.findStored(provider.zoneId, provider.originKey), provider),
  }
}

const onlyOne = <T>([first, second]: readonly T[]): T | undefined => (second === undefined ? first : undefined)
