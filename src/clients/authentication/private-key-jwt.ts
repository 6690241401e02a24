// Client authentication by a JWT that the client has signed itself (RFC 7523 §2.2, OpenID Connect Core §9).
import { addSeconds } from '../../base/clock.ts'
import { digest } from '../../base/secrets.ts'
import { demandsOn } from '../../model/clients/client-demands.ts'
import type { Client } from '../../model/clients/client.ts'
import type { AddressedZone, RequestOrigin } from '../../model/request.ts'
import { StoreUnavailable, StoreUnreachable } from '../../store/store.ts'
import type { Store } from '../../store/store.ts'
import {
  carriesAssertion,
  checkAlgorithm,
  checkSignature,
  checkTimes,
  checkType,
  isForThisServer,
  readAssertion,
  refuse,
  SKEW_SECONDS,
  unauthorized,
} from './client-assertion.ts'
import type { AssertionContext, ClientAssertion } from './client-assertion.ts'
import { federatedAttempt } from './federated-jwt.ts'
import type { Attempt, ClientAuthDeps, ClientAuthMethod, ClientAuthRequest } from './method.ts'

const MAX_CLIENT_ID_LENGTH = 255
const MAX_JTI_LENGTH = 256
/** Row C4: the maximum remaining lifetime of an assertion, and so how long its id is remembered. */
const MAX_LIFETIME_SECONDS = 3600

/** The `typ` of assertions that keep to the rules of RFC 7523bis. */
const OWN_TYPE = 'client-authentication+jwt'
/** Clients sign request objects and proofs, too; libraries send no `typ`, `JWT`, or the one of RFC 7523bis. */
const TYPES: ReadonlySet<unknown> = new Set([undefined, 'jwt', OWN_TYPE])

/** A signed assertion in the form: of the client itself, or of an issuer that it trusts. */
export const privateKeyJwt: ClientAuthMethod = {
  name: 'private_key_jwt',
  recognises: carriesAssertion,
  read(request) {
    const assertion = readAssertion(request.params)
    const { issuer, subject } = assertion
    return issuer === subject ? ownAttempt(assertion, request) : federatedAttempt(assertion, request)
  },
}

type OwnAssertion = ClientAssertion & { readonly id: string }

function ownAttempt(assertion: ClientAssertion, { params, endpoint }: ClientAuthRequest): Attempt {
  const { subject: clientId, id } = assertion
  const isComplete =
    clientId.length <= MAX_CLIENT_ID_LENGTH && typeof id === 'string' && id !== '' && id.length <= MAX_JTI_LENGTH
  if (!isComplete) throw refuse('Bad credentials')
  if ((params.get('client_id') ?? clientId) !== clientId) throw refuse('Wrong client_assertion')
  return {
    clientId,
    clientAuthMethod: 'private_key_jwt',
    async verify(client, from, deps) {
      const { zone, headers } = from
      const idDigest = await usedId({ ...assertion, id }, { client, zone, endpoint }, deps)
      if (headers && idDigest !== undefined) used.set(headers, { zoneId: zone.id, idDigest })
      return true
    },
  }
}

/** The assertions that requests have used, by the headers of the request. */
const used = new WeakMap<object, { readonly zoneId: string; readonly idDigest: string }>()

/**
 * Makes the assertion of a request usable again: clients repeat a request as it was after a 503 with `Retry-After`. Does nothing
 * while the database is unavailable.
 */
export async function releaseAssertion(
  { headers }: Required<Pick<RequestOrigin, 'headers'>>,
  { assertions }: Pick<Store, 'assertions'>,
): Promise<void> {
  const { zoneId, idDigest } = used.get(headers) ?? {}
  if (zoneId === undefined || idDigest === undefined) return
  await assertions.release(zoneId, idDigest).catch((cause: unknown) => {
    if (!(cause instanceof StoreUnavailable)) throw cause
  })
}

/** Verifies and uses the assertion. Cheap checks first: no key is fetched for one that would be refused anyway. */
async function usedId(
  assertion: OwnAssertion,
  circumstances: AssertionContext,
  deps: ClientAuthDeps,
): Promise<string | undefined> {
  const { client, zone } = circumstances
  const { behaviour, clock, store } = deps
  checkType(assertion, TYPES)
  checkTimes(assertion, clock.now().getTime() / 1000, behaviour.assertionOnce ? MAX_LIFETIME_SECONDS : undefined)
  if (!isForThisServer(assertion, circumstances, deps))
    throw unauthorized('the audience of the assertion is not this server')
  // RFC 7523bis §4: no other audience, of which another server could have told the client.
  if (behaviour.assertionForIssuer && assertion.type === OWN_TYPE && !isForIssuerAlone(assertion, zone, deps))
    throw unauthorized(NOT_ISSUER_ALONE)
  if (client) checkDemands(assertion, client, zone, deps)

  // Fail early: its id could not be stored, and fetching the keys may take long.
  if (behaviour.assertionOnce && store.isUnreachable()) throw new StoreUnreachable('the database is unreachable')
  // An unknown client gets the same response as one without keys.
  await checkSignature(assertion, { jwks: client?.jwks, jwksUri: client?.jwksUri }, { ...circumstances, ...deps })
  if (!behaviour.assertionOnce) return undefined
  // After the signature: a forged assertion must not use up the id of a genuine one.
  const id = digest(JSON.stringify(['private_key_jwt', assertion.subject, assertion.id]))
  const forgetAt = addSeconds(new Date(assertion.expiresAt * 1000), SKEW_SECONDS)
  if (!(await store.assertions.use(zone.id, id, forgetAt)))
    throw unauthorized('the jti of the assertion was already used')
  return id
}

/** Requirements on assertions that the record of the client, or a profile, adds to the general ones. */
function checkDemands(
  assertion: ClientAssertion,
  client: Client,
  zone: AddressedZone,
  { urls }: Pick<ClientAuthDeps, 'urls'>,
): void {
  checkAlgorithm(assertion, client, zone)
  const { issuerAsAudience } = demandsOn(zone, client)
  if (issuerAsAudience && !(assertion.hasOneAudience && isForIssuerAlone(assertion, zone, { urls }))) {
    throw unauthorized(NOT_ISSUER_ALONE)
  }
}

const NOT_ISSUER_ALONE = 'the audience of the assertion is not the issuer alone'

const isForIssuerAlone = (
  { audience }: ClientAssertion,
  zone: AddressedZone,
  { urls }: Pick<ClientAuthDeps, 'urls'>,
): boolean => audience.length === 1 && urls.issuersOf(zone).includes(audience[0] ?? '')
