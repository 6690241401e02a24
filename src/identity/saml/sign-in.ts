// Signs users in at a SAML identity provider (SAML 2.0 Profiles §4.1): sends the request and verifies the response.
import { stopwatch } from '../../base/clock.ts'
import type { Clock } from '../../base/clock.ts'
import { pauseToMultipleOf } from '../../base/concurrency/pause.ts'
import { digest } from '../../base/secrets.ts'
import type { Behaviour } from '../../model/compatibility.ts'
import type { Destination } from '../../model/sessions/destination.ts'
import type { IdentityProvider } from '../../model/zones/identity-provider.ts'
import type { AddressedZone } from '../../model/request.ts'
import type { UpstreamSession } from '../../model/sessions/session.ts'
import type { SamlProviderConfig } from '../../records/provider-saml.ts'
import type { Store } from '../../store/store.ts'
import { logoutSince } from '../past-logouts.ts'
import type {
  ExternalUser,
  ExternalRefusal,
  RedirectAnswer,
  RedirectRefusal,
  RedirectStart,
  RedirectSuccess,
  Presentation,
} from '../source.ts'
import { DECRYPTION_REFUSAL_MS } from './encryption.ts'
import { authnRequest } from './messages.ts'
import { createMissingAttributes } from './missing-attributes.ts'
import { externalUserOf } from './external-user.ts'
import { asProblem, SamlProblem, timeAndNow } from './problem.ts'
import type { SamlReason } from './problem.ts'
import type { SamlProvider } from './provider-metadata.ts'
import type { SamlProviders } from './providers.ts'
import { readResponse } from './response.ts'
import type { Expectation, SamlStatement } from './response.ts'
import type { ServiceProvider, ServiceProviders } from './service-provider.ts'
import { postTo, redirectTo } from './signing.ts'

/** Dependencies of `createSamlSignIn`. */
interface SamlSignInDeps {
  readonly store: Store
  readonly clock: Clock
  readonly behaviour: Behaviour
  readonly providers: SamlProviders
  readonly serviceProviders: ServiceProviders
  /** Seconds that a sign-in at a provider may be ago. */
  readonly samlMaxAuthenticationAge: number
  readonly log: { refusal(message: string): void }
}

/** The endpoint and the binding of a received message. */
interface MessageContext {
  readonly zone: AddressedZone
  /** The absolute URL that it must be meant for. */
  readonly recipient: string
}

/** Inputs for verifying a message, apart from the provider's keys. */
type Demand = Omit<Expectation, 'provider' | 'inResponseTo'>

/** Reads a message with the provider's keys; throws a `SamlProblem`. */
type Verify = (demand: Demand & Pick<Expectation, 'provider'>) => SamlStatement

/** The user that a verified message identifies. */
interface Vouched {
  readonly outcome: 'genuine'
  readonly externalUser: ExternalUser
  readonly statement: SamlStatement
}

/** Sign-ins at the providers of all zones. */
export interface SamlSignIn {
  isReady(record: IdentityProvider): Promise<boolean>
  isOffered(record: IdentityProvider): boolean
  start(record: IdentityProvider, attempt: RedirectStart, zone: AddressedZone): Promise<Destination | undefined>
  /** `inResponseTo`: the id of the request; `none`: unsolicited. */
  finish(
    record: IdentityProvider,
    answer: RedirectAnswer,
    arrival: MessageContext & Pick<Expectation, 'inResponseTo'>,
  ): Promise<RedirectSuccess | RedirectRefusal>
  /** Verifies a message, records it as used and reads its user. */
  admit(
    record: IdentityProvider,
    arrival: MessageContext & Partial<Pick<Presentation, 'undoOnFailure'>>,
    verify: Verify,
  ): Promise<Vouched | RedirectRefusal>
}

/** The reasons of a message that was signed by a key which is not known yet; an encrypted assertion has one for every failure. */
const MAY_BE_NEW_KEY: ReadonlySet<SamlReason> = new Set(['bad-signature', 'decryption'])

/** One instance serves every zone. */
export function createSamlSignIn(deps: SamlSignInDeps): SamlSignIn {
  const { store, clock, behaviour, providers, serviceProviders } = deps
  const logMissingAttributes = createMissingAttributes(deps.log)

  /** Verifies with the known keys, and retries once with freshly fetched ones: the provider may have rotated them. */
  async function verified(
    record: IdentityProvider,
    demand: Demand,
    verify: Verify,
  ): Promise<{ readonly statement: SamlStatement; readonly provider: SamlProvider }> {
    const provider = await providers.read(record, 'sign-in')
    try {
      return { statement: verify({ ...demand, provider }), provider }
    } catch (error) {
      if (!(error instanceof SamlProblem) || !MAY_BE_NEW_KEY.has(error.reason)) throw error
      const renewed = await providers.renew(record)
      if (!renewed) throw error
      return { statement: verify({ ...demand, provider: renewed }), provider: renewed }
    }
  }

  async function admit(
    record: IdentityProvider,
    { zone, recipient, undoOnFailure }: MessageContext & Partial<Pick<Presentation, 'undoOnFailure'>>,
    verify: Verify,
  ): Promise<Vouched | RedirectRefusal> {
    const { config }: { readonly config: SamlProviderConfig } = record
    const own = await serviceProviders.of(zone)
    const now = clock.now()
    const elapsed = stopwatch()
    const { authnContext } = config
    const demand: Demand = {
      ownEntityId: own.entityId,
      decryptionKeys: [own.active, ...own.others].map(({ privateKey }) => privateKey),
      recipient,
      maxAuthenticationAge: deps.samlMaxAuthenticationAge,
      ...(authnContext && authnContext.length > 0 && { authnContext }),
      now,
    }
    try {
      const { statement, provider } = await verified(record, demand, verify)
      const externalUser = externalUserOf(statement, {
        config,
        now,
        entityId: provider.entityId,
        ownEntityId: own.entityId,
        requestedFormatOnly: behaviour.requestedNameIdOnly,
      })
      const problem = await logoutProblem(zone, record, { externalUser, statement })
      if (problem) throw problem
      // The last check, so that a refused message does not consume a valid assertion.
      const id = digest(JSON.stringify(['saml', record.originKey, statement.assertionId]))
      if (!(await store.assertions.use(zone.id, id, statement.usableUntil))) {
        throw new SamlProblem('replay', 'the assertion was already used')
      }
      undoOnFailure?.(() => store.assertions.release(zone.id, id))
      logMissingAttributes(record, statement)
      return { outcome: 'genuine', externalUser, statement }
    } catch (error) {
      if (!(error instanceof SamlProblem)) throw error
      if (error.reason === 'decryption') await pauseToMultipleOf(DECRYPTION_REFUSAL_MS, elapsed())
      return refusalOf(error)
    }
  }

  /** The problem of an assertion from before a logout that the provider demanded. */
  async function logoutProblem(
    { id }: AddressedZone,
    { originKey: origin }: IdentityProvider,
    { externalUser: { externalId }, statement: { sessionIndex: sid, issuedAt } }: Omit<Vouched, 'outcome'>,
  ): Promise<SamlProblem | undefined> {
    const loggedOutAt = await logoutSince(id, { origin, externalId, sid, issuedAt }, store)
    if (!loggedOutAt) return undefined
    return new SamlProblem('expired', `the provider signed the user out at ${timeAndNow(loggedOutAt, clock.now())}`)
  }

  /** Undefined while its metadata cannot be used. */
  async function usable(record: IdentityProvider): Promise<SamlProvider | undefined> {
    const provider = await providers.read(record, 'background').catch(asProblem)
    return provider instanceof SamlProblem ? undefined : provider
  }

  return {
    admit,
    async isReady(record) {
      const provider = await usable(record)
      return provider?.signOn.preferred !== undefined
    },
    isOffered: record => !providers.isOut(record),
    async start(record, start, zone) {
      const provider = await usable(record)
      const own = await serviceProviders.of(zone)
      const allowsNewName = behaviour.allowsNewSamlNames
      return provider && requestOf(record, provider, { start, own, now: clock.now(), allowsNewName })
    },
    async finish(record, { SAMLResponse: response }, { inResponseTo, ...arrival }) {
      if (response === undefined) return refusalOf(new SamlProblem('not-xml', 'there is no SAMLResponse'))
      const admitted = await admit(record, arrival, demand => readResponse(response, { ...demand, inResponseTo }))
      if (admitted.outcome !== 'genuine') return admitted
      const { externalUser, statement } = admitted
      return {
        outcome: 'genuine',
        externalUser,
        upstream: upstreamOf(statement),
        // A logout that began after the first check may have ended the user's sessions before this one was stored.
        async loggedOut() {
          const problem = await logoutProblem(arrival.zone, record, admitted)
          return problem && refusalOf(problem)
        },
      }
    },
  }
}

/** For the logout at the provider: the name that it gave the user, and its id of the session. */
function upstreamOf({ nameId, sessionIndex, sessionEndsAt }: SamlStatement): UpstreamSession {
  return {
    logoutHint: JSON.stringify({ nameId, sessionIndex }),
    ...(sessionIndex !== undefined && { sid: sessionIndex }),
    ...(sessionEndsAt && { endsAt: sessionEndsAt }),
  }
}

/** By the binding that stands first in the metadata, as in UAA. */
function requestOf(
  { config }: { readonly config: SamlProviderConfig },
  { signOn, wantsSignedRequests }: SamlProvider,
  {
    start,
    own,
    now,
    allowsNewName,
  }: {
    readonly start: RedirectStart
    readonly own: ServiceProvider
    readonly now: Date
    readonly allowsNewName: boolean
  },
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
    allowsNewName,
    authnContext: config.authnContext ?? undefined,
    // SAML cannot say how long ago it may have been.
    forceAuthn: reauthenticate || maxAge !== undefined,
  })
  const key = own.signsRequests || wantsSignedRequests ? own.active : undefined
  const message = { kind: 'SAMLRequest', xml, relayState: state, key } as const
  return preferred === 'post' ? postTo(destination, message) : redirectTo(destination, message)
}

const STATUS = 'urn:oasis:names:tc:SAML:2.0:status:'
/** Codes of a provider that declines (SAML Core §3.2.2.2), and the errors of OpenID Connect that say the same. */
const DECLINED: ReadonlyMap<string, string> = new Map([
  [`${STATUS}AuthnFailed`, 'access_denied'],
  [`${STATUS}RequestDenied`, 'access_denied'],
  [`${STATUS}NoPassive`, 'login_required'],
])

/** The user can do nothing about an unstable name. */
const UNSTABLE = 'The identity provider did not send a permanent identifier for you. Contact your administrator.'
const UNTRUSTED = 'The message of the identity provider could not be verified.'

/** The page says little, the log what was wrong, and the audit trail the class. */
function refusalOf({ reason, message, code }: SamlProblem): RedirectRefusal {
  if (reason === 'status') {
    const error = DECLINED.get(code ?? '') ?? ''
    return { outcome: 'declined', error, detail: `status: ${message}`, audit: reason }
  }
  if (reason === 'metadata') return { outcome: 'unavailable', detail: `metadata: ${message}`, audit: reason }
  const refusal: Omit<ExternalRefusal, 'reason' | 'description'> = {
    outcome: 'refused',
    detail: `${reason}: ${message}`,
    audit: reason,
  }
  return reason === 'name-id'
    ? { ...refusal, reason: 'unusable', description: UNSTABLE }
    : { ...refusal, reason: 'untrusted', description: UNTRUSTED }
}
