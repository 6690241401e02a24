import { addSeconds } from '../../base/clock.ts'
import { isJsonRecord, memberOf, stringsIn } from '../../base/json.ts'
import { digest } from '../../base/secrets.ts'
import { foreignClasses, levelOf, withLevel } from '../../model/sessions/assurance.ts'
import type { Authorization } from '../../model/tokens/authorization.ts'
import { confirmationIn, isMet } from '../../model/tokens/confirmation.ts'
import { supportsProtocol } from '../../model/zones/protocols.ts'
import { resourcesFor } from '../../model/tokens/resources.ts'
import { concerningUser, OAuthError } from '../../model/oauth-error.ts'
import {
  hasRequiredGroups,
  lacksRequiredGroup,
  lostScopes,
  narrow,
  parseScope,
  repeatedScopes,
} from '../../model/tokens/scopes.ts'
import type { UserGroups } from '../../model/tokens/scopes.ts'
import type { User } from '../../model/users/user.ts'
import type { AddressedZone, TokenPresentation } from '../../model/request.ts'
import { AlreadyExists } from '../../store/store.ts'
import { rotatesRefreshTokens } from '../../token/issuer.ts'
import { forgetGrantAt } from '../../token/lifetimes.ts'
import type { Claims } from '../../token/claims.ts'
import type { VerifiedToken } from '../../token/token-validity.ts'
import { revocationSignature } from '../../token/revocation-signature.ts'
import { lackingLevel } from '../lacking-level.ts'
import { tokenFormatOf } from '../params.ts'
import { revocationEvent } from '../../model/tokens/revocation-event.ts'
import { approvalProblem } from '../../token/approvals.ts'
import type { DecidedRequest, DecisionDeps, Grant, GrantDeps, GrantRequest } from './grant.ts'
import { lacksFactor, requireUsableProvider } from './resource-owner.ts'
import { DEVICE_CODE } from '../../model/clients/grant-types.ts'

/** Exchanges a refresh token for a new access token (RFC 6749 §6). */
export const refreshToken: Grant = {
  type: 'refresh_token',
  caller: 'client',
  async authorize(request, deps) {
    const { zone, params } = request
    const value = params.get('refresh_token')
    if (value === undefined) throw new OAuthError('invalid_request', 'refresh_token parameter not provided')
    const token = await readRefreshToken(request, value, deps)
    const user = ownerOf(token, request, deps)
    if (isUsedUp(token, deps)) throw await reused(request, token, deps)
    const authorization = await concerningUser(user, () => authorizeByRefresh({ token, value, user }, request, deps))
    if (!authorization.refreshed.rotate) return authorization
    const undo = await useUp(zone, token, deps)
    if (!undo) throw await reused(request, token, deps)
    request.undoOnFailure(undo)
    return authorization
  },
}

/** The user of a refresh token that was issued to the client. */
export function ownerOf(
  { client, user }: VerifiedToken,
  { client: caller }: DecidedRequest,
  { behaviour }: DecisionDeps,
): User {
  if (client.clientId !== caller.clientId) {
    const description = `Wrong client for this refresh token: ${client.clientId}`
    throw new OAuthError('invalid_grant', description, { rule: 'refresh-token' })
  }
  if (user) return user
  throw new OAuthError(behaviour.badRefreshToken, 'Invalid refresh token.', { rule: 'refresh-token' })
}

/** Whether the token was rotated and cannot be retried any more. */
export const isUsedUp = ({ stored }: VerifiedToken, deps: DecisionDeps): boolean =>
  stored?.usedAt !== undefined && !isWithinRetryWindow(stored.usedAt, deps)

/** The result of a refresh for this user now; the token is not consumed yet. */
export async function authorizeByRefresh(
  { token, value, user }: { readonly token: VerifiedToken; readonly value: string; readonly user: User },
  request: DecidedRequest,
  deps: DecisionDeps,
): Promise<Authorization & Required<Pick<Authorization, 'refreshed'>>> {
  checkProof(token, request, user, deps)
  checkOfflineScope(token, deps)

  const { zone, client, params, clientAuthMethod, because } = request
  const { behaviour } = deps
  const format = tokenFormatOf(params)
  await requireUsableProvider(request, user, deps)
  const groups = await deps.groupsOf(zone, user)
  const requested = repeatedScopes({ client, requested: parseScope(params.get('scope')) }, groups, behaviour)
  const scopes = narrow(token.scopes, requested, because)
  checkStillHeld({ token, groups }, request, deps)
  const classes = classesIn(token.claims['acr'])
  if (await lackingLevel(zone, { client, user, acr: classes }, deps)) throw lacksFactor(behaviour.badRefreshToken)
  const unapproved = await approvalProblem(zone, token, scopes, deps)
  if (unapproved !== undefined) {
    throw new OAuthError(behaviour.badRefreshToken, unapproved, { rule: 'approval-missing' })
  }

  const granted = Array.isArray(token.claims['resources']) ? stringsIn(token.claims['resources']) : undefined
  const named = supportsProtocol(zone, 'resourceIndicators', behaviour) ? params.all('resource') : []
  const resources = resourcesFor(named, { granted, client, isOfUser: true })

  return {
    zone,
    client,
    subject: subjectOf(user, token.claims, classes),
    scopes,
    revocable: token.stored !== undefined,
    refreshed: {
      value,
      rotate: token.stored?.usedAt !== undefined || rotatesRefreshTokens(zone, client),
      grantedScopes: token.scopes,
      issuedAt: new Date(Number(token.claims['iat']) * 1000),
      expiresAt: token.expiresAt,
    },
    ...keptOf(token.claims, clientAuthMethod),
    ...(format && { format }),
    ...(resources && { resources, grantedResources: granted ?? resources }),
  }
}

/** The user as the grant of the token signed them in. */
function subjectOf(user: User, claims: Claims, acr: readonly string[] | undefined): Authorization['subject'] {
  const { amr, auth_time: authTime, sid } = claims
  return {
    kind: 'user',
    user,
    amr: stringsIn(amr),
    acr,
    ...(typeof authTime === 'number' && { authenticatedAt: new Date(authTime * 1000) }),
    ...(typeof sid === 'string' && { sessionId: sid }),
  }
}

/** What every token of a grant has as the first one. */
function keptOf(claims: Claims, clientAuthMethod: DecidedRequest['clientAuthMethod']) {
  const { az_attr: azAttr, act: actor, grant_id: grantId, grant_type: grantType } = claims
  const authMethod = claims['client_auth_method'] ?? clientAuthMethod
  return {
    grantType: typeof grantType === 'string' ? grantType : 'refresh_token',
    tokens: GRANTS_WITH_ID_TOKEN.has(String(grantType))
      ? (['access_token', 'refresh_token', 'id_token'] as const)
      : (['access_token', 'refresh_token'] as const),
    ...(typeof grantId === 'string' && { grantId }),
    ...(isJsonRecord(actor) && { actor }),
    ...(isStringRecord(azAttr) && { azAttr }),
    ...(typeof authMethod === 'string' && { clientAuthMethod: authMethod }),
  }
}

/** The grants in which the user signs in to this client, which is what an ID token states. */
const GRANTS_WITH_ID_TOKEN: ReadonlySet<string> = new Set(['authorization_code', 'password', 'implicit', DEVICE_CODE])

/** As refresh tokens have them: `{"level":"2","values":[…]}`. Those of older versions have the values of the provider alone. */
function classesIn(acr: unknown): readonly string[] | undefined {
  const level = levelOf(stringsIn([memberOf(acr, 'level')]))
  return withLevel(level, foreignClasses(stringsIn(memberOf(acr, 'values'))))
}

const isStringRecord = (value: unknown): value is Readonly<Record<string, string>> =>
  typeof value === 'object' && value !== null && Object.values(value).every(each => typeof each === 'string')

/** A second use within the first second is a concurrent request, not a retry. */
const RETRY_WINDOW_START_SECONDS = 1

/** Whether a used token may be used again (`refreshGraceSeconds`): its client may not have received the response. */
function isWithinRetryWindow(usedAt: Date, { clock, behaviour, settings }: DecisionDeps): boolean {
  const seconds = (clock.now().getTime() - usedAt.getTime()) / 1000
  return (
    behaviour.revokeReusedFamily && seconds >= RETRY_WINDOW_START_SECONDS && seconds <= settings.refreshGraceSeconds
  )
}

/** Translates the reader's errors into errors of this grant (row C11). */
export async function readRefreshToken(
  presentation: TokenPresentation,
  value: string,
  { reader, behaviour }: Pick<GrantDeps, 'reader' | 'behaviour'>,
): Promise<VerifiedToken> {
  try {
    return await reader.read(presentation, value, 'refresh_token')
  } catch (cause) {
    if (cause instanceof OAuthError) {
      throw new OAuthError(behaviour.badRefreshToken, cause.message, { cause, rule: cause.rule })
    }
    throw cause
  }
}

const DAY_SECONDS = 86_400

/** Marks the token as used, and returns what undoes it; undefined if another request already did. */
async function useUp(
  zone: AddressedZone,
  { stored, client, claims, expiresAt }: VerifiedToken,
  deps: GrantDeps,
): Promise<(() => Promise<void>) | undefined> {
  const { tokens } = deps.store
  const now = deps.clock.now()
  const idDigest = digest(String(claims['jti']))
  if (stored?.usedAt) {
    const { usedAt, grantId } = stored
    if (grantId === undefined) return undefined
    const replaced = await tokens.useAgain(zone.id, { idDigest, grantId, usedAt }, now)
    return replaced && (() => tokens.undoUse(zone.id, { idDigest, usedAt: now, before: { usedAt, replaced } }))
  }
  if (stored) {
    const isFirst = await tokens.use(zone.id, idDigest, now)
    return isFirst ? () => tokens.undoUse(zone.id, { idDigest, usedAt: now }) : undefined
  }
  // A JWT issued before rotation was enabled has no row. Insert one that marks it as used and, like a revocation, is
  // kept for a day after the JWT expires.
  const row = { zoneId: zone.id, idDigest, kind: 'refresh_token', format: 'jwt', clientId: client.clientId } as const
  try {
    await tokens.insert(zone.id, {
      ...row,
      claims: {},
      usedAt: now,
      issuedAt: now,
      expiresAt: addSeconds(expiresAt, DAY_SECONDS),
    })
    return async () => void (await tokens.delete(zone.id, idDigest))
  } catch (error) {
    if (error instanceof AlreadyExists) return undefined
    throw error
  }
}

/** RFC 9700 §4.14.2: a rotated token was presented again, by its client or an attacker; revoke the whole grant. */
async function reused(
  { zone, remoteAddress }: GrantRequest,
  token: VerifiedToken,
  deps: GrantDeps,
): Promise<OAuthError> {
  const { store, clock, behaviour, audit } = deps
  const grantId = token.claims['grant_id']
  if (behaviour.revokeReusedFamily && typeof grantId === 'string') {
    // Stored longer than the lifetime of the refresh token, because an access token issued shortly before its expiry outlives it.
    await store.tokens.revokeGrant(zone.id, grantId, forgetGrantAt(zone, token.client, clock.now(), behaviour))
    const { clientId } = token.client
    const reason = 'refresh token used twice'
    audit(revocationEvent(zone.id, { clientId, userId: token.user?.id, caller: clientId, remoteAddress, reason }))
  }
  return new OAuthError(behaviour.badRefreshToken, 'The token expired, was revoked, or the token ID is incorrect.', {
    rule: 'token-revoked',
  })
}

function checkProof(token: VerifiedToken, request: DecidedRequest, user: User, { behaviour }: DecisionDeps): void {
  // Stricter than for access tokens: only the newest client secret counts.
  if (token.claims['rev_sig'] !== revocationSignature(request.client, user)) {
    throw new OAuthError(behaviour.badRefreshToken, 'Invalid refresh token: revocable signature mismatch', {
      rule: 'token-outdated',
    })
  }
  if (!isMet(confirmationIn(token.claims['cnf']), request.confirmation)) {
    throw new OAuthError(behaviour.badRefreshToken, 'The refresh token is bound to another sender', {
      rule: 'sender-constrained',
    })
  }
  if (request.clientAuthMethod === 'none' && token.claims['client_auth_method'] !== 'none') {
    throw new OAuthError(behaviour.badRefreshToken, 'Refresh without client authentication not allowed.')
  }
}

/** With `restrictRefresh`, a refresh requires the scope `<service>.offline_token`. */
function checkOfflineScope({ scopes }: VerifiedToken, { behaviour, service, settings }: DecisionDeps): void {
  const scope = service.scope('offline_token')
  if (!settings.restrictRefresh || scopes.includes(scope)) return
  throw new OAuthError(behaviour.offlineScopeMissing, `Expected scope ${scope} is missing`, {
    extra: { scope },
    rule: 'offline-scope',
  })
}

function checkStillHeld(
  { token, groups }: { readonly token: VerifiedToken; readonly groups: UserGroups },
  request: DecidedRequest,
  { behaviour }: DecisionDeps,
): void {
  const lost = lostScopes(token.scopes, request, groups)
  if (lost.length > 0) {
    const description = `Some required "granted_scopes" are missing: [${lost.join(', ')}]`
    throw new OAuthError(behaviour.badRefreshToken, description, { rule: 'token-scopes' })
  }
  if (!hasRequiredGroups(request.client, groups.groups)) throw lacksRequiredGroup(behaviour.requiredGroupsLost)
}
