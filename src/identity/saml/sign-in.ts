// Signs people in at a SAML identity provider (SAML 2.0 Profiles §4.1).
import type { Clock } from '../../base/clock.ts'
import type { Destination } from '../../model/destination.ts'
import type { IdentityProvider } from '../../model/identity-provider.ts'
import type { AddressedZone } from '../../model/request.ts'
import type { SamlProviderConfig } from '../../records/provider-saml.ts'
import type { RedirectStart } from '../source.ts'
import { authnRequest } from './messages.ts'
import { SamlProblem } from './problem.ts'
import type { SamlProvider } from './provider-metadata.ts'
import type { SamlProviders } from './providers.ts'
import type { ServiceProvider, ServiceProviders } from './service-provider.ts'
import { postTo, redirectTo } from './signing.ts'

/** Dependencies of `createSamlSignIn`. */
export interface SamlSignInDeps {
  readonly clock: Clock
  readonly providers: SamlProviders
  readonly serviceProviders: ServiceProviders
}

/** Sign-ins at the providers of all zones. */
export interface SamlSignIn {
  isReady(record: IdentityProvider): Promise<boolean>
  isOffered(record: IdentityProvider): boolean
  start(record: IdentityProvider, attempt: RedirectStart, zone: AddressedZone): Promise<Destination | undefined>
}

/** One instance serves every zone. */
export function createSamlSignIn(deps: SamlSignInDeps): SamlSignIn {
  const { clock, providers, serviceProviders } = deps

  return {
    async isReady(record) {
      const provider = await attempt(() => providers.read(record, 'background'))
      return provider?.signOn.preferred !== undefined
    },
    isOffered(record) {
      const provider = providers.peek(record)
      return provider === undefined || provider.signOn.preferred !== undefined
    },
    async start(record, start, zone) {
      const provider = await attempt(() => providers.read(record, 'background'))
      return provider && requestOf(record, provider, { start, own: await serviceProviders.of(zone), now: clock.now() })
    },
  }
}

/** By the binding that stands first in the metadata, as in UAA. */
function requestOf(
  { config }: { readonly config: SamlProviderConfig },
  { signOn, wantsSignedRequests }: SamlProvider,
  { start, own, now }: { readonly start: RedirectStart; readonly own: ServiceProvider; readonly now: Date },
): Destination | undefined {
  const { preferred } = signOn
  const destination = preferred && signOn[preferred]
  if (destination === undefined) return undefined
  const { reauthenticate, maxAge, state } = start
  const xml = authnRequest({
    id: `_${start.nonce}`, // an NCName
    issuedAt: now,
    destination,
    issuer: own.entityId,
    // The URL that the answer must come to, whatever `assertionConsumerIndex` says: index 1 is of the token endpoint.
    assertionConsumer: start.redirectUri,
    nameIdFormat: config.nameID || undefined,
    authnContext: config.authnContext ?? undefined,
    // SAML cannot say how long ago it may have been.
    forceAuthn: reauthenticate || maxAge !== undefined,
  })
  const key = own.signsRequests || wantsSignedRequests ? own.active : undefined
  const message = { kind: 'SAMLRequest', xml, relayState: state, key } as const
  return preferred === 'post' ? postTo(destination, message) : redirectTo(destination, message)
}

/** The result; undefined where the metadata cannot be used. */
async function attempt<T>(work: () => Promise<T>): Promise<T | undefined> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof SamlProblem) return undefined
    throw error
  }
}
