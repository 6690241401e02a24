// Client authentication by a JWT of another issuer whose subject the client trusts (`jwt_creds`; RFC 7523 §3): pipelines and
// workloads get such JWTs from their platform and need no secret. They are bearer credentials that platforms issue to be used
// more than once, so they can be replayed until they expire; audience, subject and a short lifetime limit that.
import { demandsOn } from '../../model/clients/client-demands.ts'
import type { Client } from '../../model/clients/client.ts'
import { OAuthError } from '../../model/oauth-error.ts'
import { isSameSubject } from '../../records/jwt-credential.ts'
import {
  checkAlgorithm,
  checkSignature,
  checkTimes,
  checkType,
  isForThisServer,
  refuse,
  unauthorized,
} from './client-assertion.ts'
import type { AssertionContext, ClientAssertion } from './client-assertion.ts'
import type { Attempt, ClientAuthDeps, ClientAuthRequest } from './method.ts'

/** The longest-lived workload tokens, those of cloud platforms, are valid for a day. */
const MAX_LIFETIME_SECONDS = 24 * 60 * 60

/**
 * RFC 8725 §3.11: what an issuer signs for another purpose, such as logout tokens, may have the same subject and audience.
 * Platforms issue ID tokens, access tokens (RFC 9068) and JWT-SVIDs (SPIFFE) to workloads.
 */
const TYPES: ReadonlySet<unknown> = new Set([undefined, 'jwt', 'at+jwt', 'jose', 'client-authentication+jwt'])

/** UAA: `client_id` is required, because several clients may trust the same subject. */
export function federatedAttempt(assertion: ClientAssertion, { params, endpoint }: ClientAuthRequest): Attempt {
  const clientId = params.get('client_id')
  if (clientId === undefined) throw refuse('Bad credentials', 'its iss differs from its sub, and client_id is missing')
  const { issuer: iss, subject: sub } = assertion
  return {
    clientId,
    clientAuthMethod: 'private_key_jwt',
    evidence: JSON.stringify({ iss, sub }),
    async verify(client, { zone }, deps) {
      checkTimes(assertion, deps.clock.now().getTime() / 1000, MAX_LIFETIME_SECONDS)
      checkType(assertion, TYPES)
      await checkTrust(assertion, { client, zone, endpoint }, deps).catch((cause: unknown) => {
        if (!(cause instanceof OAuthError)) throw cause
        // The same response for every failure: otherwise an unsigned JWT would reveal which issuers the client trusts.
        const detail = cause.detail ?? cause.message
        throw new OAuthError('invalid_client', 'Untrusted client_assertion', { detail, cause })
      })
      return true
    },
  }
}

/** Nothing is fetched for an issuer that the client does not name. */
async function checkTrust(
  assertion: ClientAssertion,
  circumstances: AssertionContext,
  deps: ClientAuthDeps,
): Promise<void> {
  const { client, zone } = circumstances
  const { issuer, subject, audience } = assertion
  const trusted = client?.jwtCreds?.find(each => isSameSubject(each, { iss: issuer, sub: subject }))
  if (!client || !trusted) throw unauthorized(`no jwt_creds with iss ${quoted(issuer)} and sub ${quoted(subject)}`)
  const problem = problemOf(client, issuer, circumstances, deps)
  if (problem !== undefined) throw unauthorized(problem)
  const { aud } = trusted
  const isMeant = aud === undefined ? isForThisServer(assertion, circumstances, deps) : audience.includes(aud)
  if (!isMeant)
    throw unauthorized(`the audience of the assertion is not ${aud === undefined ? 'this server' : quoted(aud)}`)
  checkAlgorithm(assertion, client, zone)
  await checkSignature(assertion, { issuer }, { ...circumstances, ...deps })
}

function problemOf(
  client: Client,
  issuer: string,
  { zone }: AssertionContext,
  { urls }: Pick<ClientAuthDeps, 'urls'>,
): string | undefined {
  // FAPI 2.0 Security Profile §5.3.2.1: the client proves that it has a key.
  const { profile } = demandsOn(zone, client)
  if (profile !== undefined) return `${profile} requires keys of the client itself`
  return urls.isOwnIssuer(zone, issuer) ? 'its issuer is this server' : undefined
}

const quoted = (text: string): string => JSON.stringify(text.slice(0, 200))
