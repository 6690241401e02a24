// SAML 2.0 identity providers: sign-in by redirect or posted form. Thin: what reads and writes SAML is in ../saml/, and is
// loaded with the first message, because a page may show providers that are never used.
import { loadOnce } from '../../base/concurrency/load-once.ts'
import type { Outbound } from '../../base/outbound.ts'
import type { Random } from '../../base/random.ts'
import type { Behaviour } from '../../model/compatibility.ts'
import type { IdentityProvider } from '../../model/zones/identity-provider.ts'
import { consumerPath } from '../../model/zones/saml-paths.ts'
import type { Zone } from '../../model/zones/zone.ts'
import { samlAliasOf } from '../../model/zones/zone.ts'
import type { SamlProviderConfig } from '../../records/provider-saml.ts'
import type { SamlLogout } from '../saml/logout.ts'
import type { SamlProviders } from '../saml/providers.ts'
import type { ServiceProviders } from '../saml/service-provider.ts'
import type { SamlSignIn } from '../saml/sign-in.ts'
import type { AnswerShape, IdentitySource, IdentitySourceType, RedirectSignIn, SourceDeps } from '../source.ts'

/** The type of SAML providers. */
const SAML = 'saml'

/** Dependencies of `samlSource`. */
export interface SamlDeps extends Omit<SourceDeps, 'passwords'> {
  readonly outbound: Outbound
  readonly random: Random
  readonly serviceProviders: ServiceProviders
  /** The entity id of the default zone. */
  readonly samlEntityId: string
  /** Seconds that a sign-in at a provider may be ago. */
  readonly samlMaxAuthenticationAge: number
  readonly log: { refusal(message: string): void }
}

/** SAML 2.0 Bindings §3.5. Only posted: a response in a URL would be in logs and histories. */
const ANSWER: AnswerShape = { state: 'RelayState', fields: ['SAMLResponse'], hasTokens: true }

/** Dependencies for reading and writing the messages of all providers. */
interface Protocol {
  readonly providers: SamlProviders
  readonly signIn: SamlSignIn
  readonly peekIssuer: (message: string) => string | undefined
  readonly logout: SamlLogout
  readonly assertions: typeof import('./saml-assertion.ts')
}

/** SAML providers: sign-in that begins here or, where the record allows it, there, and assertions that clients present. */
export function samlSource(deps: SamlDeps): IdentitySourceType {
  let loaded: Protocol | undefined
  const load = loadOnce(async (): Promise<Protocol> => {
    const [{ createSamlProviders }, { createSamlSignIn }, { createSamlLogout }, { peekIssuer }, assertions] =
      await Promise.all([
        import('../saml/providers.ts'),
        import('../saml/sign-in.ts'),
        import('../saml/logout.ts'),
        import('../saml/xml.ts'),
        import('./saml-assertion.ts'),
      ])
    const providers = createSamlProviders(deps)
    const shared = { ...deps, providers }
    const signIn = createSamlSignIn(shared)
    return (loaded = { providers, signIn, logout: createSamlLogout(shared), peekIssuer, assertions })
  })

  function redirectOf(zone: Zone, record: IdentityProvider): RedirectSignIn {
    const signIn = async (): Promise<SamlSignIn> => (await load()).signIn
    return {
      answer: ANSWER,
      callbackPath: consumerPath(samlAliasOf(zone, deps.samlEntityId)),
      start: async (start, at) => (await signIn()).start(record, start, at),
      isReady: async () => (await signIn()).isReady(record),
      isOffered: () => loaded?.signIn.isOffered(record) ?? true,
      finish: async (answer, { redirectUri, nonce }, at) =>
        (await signIn()).finish(record, answer, {
          zone: at,
          recipient: redirectUri,
          inResponseTo: { id: `_${nonce}` },
        }),
      ...(mayBeginThere(record, zone, deps.behaviour) && {
        unsolicited: async (answer, { redirectUri }, at) =>
          (await signIn()).finish(record, answer, {
            zone: at,
            recipient: redirectUri,
            inResponseTo: zone.config.samlConfig?.disableInResponseToCheck === true ? 'any' : 'none',
          }),
      }),
    }
  }

  const open = (zone: Zone, record: IdentityProvider): IdentitySource => ({
    redirect: redirectOf(zone, record),
    assertion: {
      async read(assertion, presentation) {
        const { assertions, signIn } = await load()
        return assertions.readAssertion(record, { assertion, presentation }, signIn)
      },
    },
    signOut: async signOut => (await load()).logout.request(record, signOut),
    readLogoutRequest: async message => (await load()).logout.read(record, message),
    issuerInRecord: record.externalKey,
    issuerInDocument: async () => (await load()).providers.entityIdOf(record),
    hasDocumentOf: entityId => isOnHostOf(record.config, entityId),
  })

  return {
    type: SAML,
    issuerOf: async message => (await load()).peekIssuer(message),
    problemIn: async message => (await load()).assertions.problemIn(message),
    open,
  }
}

/** Many providers publish their metadata on the host of their entity id (SAML Metadata §4.1 has them at that address itself). */
function isOnHostOf({ metaDataLocation }: SamlProviderConfig, entityId: string): boolean {
  const [location, entity] = [metaDataLocation ?? '', entityId].map(text => URL.parse(text)?.host)
  return location !== undefined && location !== '' && location === entity
}

/** Whether IdP-initiated sign-ins are allowed: an attacker may distribute an unsolicited response. */
function mayBeginThere(
  { config }: { readonly config: SamlProviderConfig },
  { config: { samlConfig } }: Zone,
  { unsolicitedSignIn }: Behaviour,
): boolean {
  return config.allowIdpInitiated ?? (unsolicitedSignIn || samlConfig?.disableInResponseToCheck === true)
}
