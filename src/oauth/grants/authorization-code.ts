import { digest } from '../../base/secrets.ts'
import type { Authorization } from '../../model/tokens/authorization.ts'
import type { Client } from '../../model/clients/client.ts'
import type { Behaviour } from '../../model/compatibility.ts'
import { concerningUser, OAuthError } from '../../model/oauth-error.ts'
import { isWellFormed } from '../../model/tokens/pkce.ts'
import { PROOF_USED } from '../../model/tokens/token.ts'
import type { AuthorizationCode } from '../../model/tokens/token.ts'
import type { User } from '../../model/users/user.ts'
import { withoutDenied } from '../../token/approvals.ts'
import { forgetGrantAt } from '../../token/lifetimes.ts'
import { isCurrentSignature } from '../../token/revocation-signature.ts'
import { tokenFormatOf } from '../params.ts'
import type { Params } from '../params.ts'
import { verifierMatches } from '../pkce.ts'
import { revocationEvent } from '../../model/tokens/revocation-event.ts'
import type { DecidedRequest, DecisionDeps, Grant, GrantDeps, GrantRequest } from './grant.ts'
import { stillGranted } from './still-granted.ts'

/** Exchanges an authorization code for tokens (RFC 6749 §4.1.3, RFC 7636 §4.5). */
export const authorizationCode: Grant = {
  type: 'authorization_code',
  caller: 'client',
  usesProof: true,
  async authorize(request, deps) {
    const { client, params, clientAuthMethod } = request
    const { behaviour } = deps
    const value = params.get('code')
    if (value === undefined) throw new OAuthError('invalid_request', 'An authorization code must be supplied.')
    // A malformed verifier reveals nothing about the code, so it does not consume the code.
    checkVerifierSyntax(params)
    // Consume the code before comparing anything, so that each code allows one attempt.
    const { code, user } = await consume(request, value, deps)
    if (code.clientId !== client.clientId) throw new OAuthError(behaviour.foreignCode, 'Client ID mismatch')
    if (!fitsRequest(code, client, params.get('redirect_uri'))) {
      throw new OAuthError('invalid_grant', 'Redirect URI mismatch.')
    }
    checkProof(code, params, { client, clientAuthMethod, behaviour })
    if (code.jkt !== undefined && code.jkt !== request.confirmation?.jkt) {
      throw new OAuthError('invalid_grant', 'The authorization code is bound to another key') // RFC 9449 §10
    }

    if (!user?.active)
      throw new OAuthError('invalid_grant', 'The account of the authorization code no longer exists or is inactive.')
    const { revocationSignature } = code
    // A new password, a new e-mail address or a revocation invalidates pending codes as it invalidates tokens.
    if (revocationSignature !== undefined && !isCurrentSignature(revocationSignature, client, user)) {
      throw invalidCode(
        'the password or e-mail address of the user changed, or tokens were revoked, after it was issued',
      )
    }
    // The user may have changed the decision on the account page.
    const scopes = await withoutDenied(request.zone, { user, client }, code.scopes, deps)
    return concerningUser(user, () => authorizeByCode({ code: { ...code, scopes }, user }, request, deps))
  },
}

/** What the tokens of a code depend on. */
type GrantedByCode = Pick<
  AuthorizationCode,
  | 'scopes'
  | 'authenticatedAt'
  | 'amr'
  | 'acr'
  | 'sessionId'
  | 'grantId'
  | 'tokenFormat'
  | 'resources'
  | 'nonce'
  | 'azAttr'
>

/** The result of redeeming a code of this user now. */
export async function authorizeByCode(
  { code, user }: { readonly code: GrantedByCode; readonly user: User },
  request: DecidedRequest,
  deps: DecisionDeps,
): Promise<Authorization> {
  const { zone, client, params, clientAuthMethod } = request
  const scopes = await stillGranted({ scopes: code.scopes, user }, request, deps)
  const format = tokenFormatOf(params) ?? code.tokenFormat
  return {
    zone,
    client,
    grantType: 'authorization_code',
    subject: {
      kind: 'user',
      user,
      ...(code.authenticatedAt && { authenticatedAt: code.authenticatedAt }),
      amr: code.amr,
      acr: code.acr,
      ...(code.sessionId !== undefined && { sessionId: code.sessionId }),
    },
    scopes,
    tokens: ['access_token', 'refresh_token', 'id_token'],
    grantId: code.grantId,
    ...(format && { format }),
    ...(code.resources && { resources: code.resources }),
    ...(code.nonce !== undefined && { nonce: code.nonce }),
    ...(code.azAttr && { azAttr: code.azAttr }),
    ...(clientAuthMethod !== undefined && { clientAuthMethod }),
  }
}

async function consume(
  { zone, client, remoteAddress, proof, undoOnFailure }: GrantRequest,
  value: string,
  deps: GrantDeps,
): Promise<{ readonly code: AuthorizationCode; readonly user: User | undefined }> {
  const { store, clock, behaviour, audit } = deps
  const now = clock.now()
  const codeDigest = digest(value)
  const redemption = await store.codes.redeem(zone.id, codeDigest, now, proof)
  if (redemption.outcome === 'replayed') throw new OAuthError('invalid_dpop_proof', PROOF_USED)
  if (redemption.outcome === 'redeemed') {
    undoOnFailure(() => store.codes.undoRedemption(zone.id, codeDigest, now))
    if (redemption.code.expiresAt > now) return redemption
    const detail = `authorization code: it expired at ${redemption.code.expiresAt.toISOString()}`
    throw new OAuthError('invalid_grant', 'Authorization code expired', { detail })
  }
  if (redemption.outcome === 'used' && behaviour.revokeReusedCode) {
    const { grantId, clientId, userId } = redemption.code
    // RFC 6749 §4.1.2: a second use indicates that the code was stolen; revoke all tokens issued from it.
    const owner = (await store.clients.find(zone.id, clientId)) ?? client // another client may present the code
    await store.tokens.revokeGrant(zone.id, grantId, forgetGrantAt(zone, owner, now, behaviour))
    const reason = 'authorization code used twice'
    audit(revocationEvent(zone.id, { clientId, userId, caller: client.clientId, remoteAddress, reason }))
  }
  throw invalidCode(redemption.outcome === 'used' ? 'it was used before' : UNKNOWN)
}

/** Expired codes are purged after ten minutes. */
const UNKNOWN = 'it is unknown: never issued in this zone, ended with its session, or expired more than ten minutes ago'

/** One answer for all: only the log and the audit trail have the reason. */
const invalidCode = (reason: string): OAuthError =>
  new OAuthError('invalid_grant', 'Invalid authorization code', { detail: `authorization code: ${reason}` })

/** RFC 6749 §4.1.3: the redirect URI of the authorization request, or the client's only one if the request had none. */
function fitsRequest({ redirectUri }: AuthorizationCode, client: Client, sent: string | undefined): boolean {
  if (redirectUri === sent) return true
  return redirectUri === undefined && client.redirectUris.length === 1 && client.redirectUris[0] === sent
}

function checkVerifierSyntax(params: Params): void {
  const verifier = params.get('code_verifier')
  if (verifier !== undefined && !isWellFormed(verifier)) {
    throw new OAuthError(
      'invalid_request',
      'Code verifier length must between 43 and 128 and use only [A-Z],[a-z],[0-9],_,.,-,~ characters.',
    )
  }
}

/** A client that may be public must use S256 whenever it uses PKCE, and must use PKCE whenever it has no secret. */
function checkProof(
  code: AuthorizationCode,
  params: Params,
  { client, clientAuthMethod, behaviour }: Pick<GrantRequest, 'client' | 'clientAuthMethod'> & { behaviour: Behaviour },
): void {
  const verifier = params.get('code_verifier')
  const { codeChallenge, codeChallengeMethod = 'plain' } = code
  const mayBePublic = behaviour.strictPkce ? client.allowPublic === true : client.allowPublic !== undefined
  const demandsS256 = mayBePublic && (codeChallenge !== undefined || clientAuthMethod === 'none')
  if (demandsS256 && (codeChallenge === undefined || codeChallengeMethod !== 'S256')) {
    throw new OAuthError('invalid_grant', 'Public client must use code challange method S256')
  }
  if (codeChallenge === undefined) {
    if (verifier === undefined) return
    throw new OAuthError('invalid_grant', 'PKCE error: Code verifier not required for this authorization code.')
  }
  if (verifier === undefined) {
    throw new OAuthError('invalid_grant', 'PKCE error: Code verifier must be provided for this authorization code.')
  }
  if (!verifierMatches(verifier, codeChallenge, codeChallengeMethod)) {
    throw new OAuthError('invalid_grant', 'Invalid code verifier')
  }
}
