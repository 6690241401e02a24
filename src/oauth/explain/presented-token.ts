// Explains a token: whether it is valid here, where its scopes and claims come from, and what the records would give today. Nothing
// is revealed about a token that this zone has not signed or stored.
import { isJsonRecord } from '../../base/json.ts'
import { digest } from '../../base/secrets.ts'
import { OAuthError } from '../../model/oauth-error.ts'
import type { AddressedZone } from '../../model/request.ts'
import type { Rule } from '../../model/rules.ts'
import type { User } from '../../model/users/user.ts'
import type { Client } from '../../model/clients/client.ts'
import { clientIdOf, scopesOf } from '../../token/claims.ts'
import type { Claims } from '../../token/claims.ts'
import type { IssuedToken } from '../../token/reader.ts'
import { isCurrentSignature } from '../../token/revocation-signature.ts'
import { isRevoked } from '../../token/token-validity.ts'
import { approvalProblem } from '../../token/approvals.ts'
import { shownValue, sourceOfClaim } from './claim-reasons.ts'
import type { ExplainDeps } from './deps.ts'
import { endingEvents } from './ending-events.ts'
import { emptyExplanation } from './explanation.ts'
import type { ExplainedClaim, ExplainedRefusal, ExplainedScope, Explanation } from './explanation.ts'
import { explainPlanned } from './planned.ts'
import type { PlannedRequest } from './planned-request.ts'
import { explainRefusal } from './refusal-details.ts'
import { TOKEN_EXCHANGE } from '../../model/clients/grant-types.ts'

/** Finds a token by its value, or by its id if it is stored. */
export async function explainToken(zone: AddressedZone, token: string, deps: ExplainDeps): Promise<Explanation> {
  try {
    const issued = await findToken(zone, token, deps)
    return await explainIssued(zone, { issued, token }, deps)
  } catch (error) {
    if (!(error instanceof OAuthError)) throw error
    return { ...emptyExplanation('invalid'), refusals: [await explainRefusal(zone, error, { parties: {}, deps })] }
  }
}

/** The token that the zone has signed or stored. */
async function findToken(zone: AddressedZone, token: string, { reader, store }: ExplainDeps): Promise<IssuedToken> {
  try {
    return await reader.readIssued(zone, token)
  } catch (error) {
    // The id of a stored JWT is not the token itself.
    const stored = token.includes('.') ? undefined : await store.tokens.find(zone.id, digest(token))
    if (!stored) throw error
    return { kind: stored.kind, claims: stored.claims, expiresAt: stored.expiresAt, stored }
  }
}

async function explainIssued(
  zone: AddressedZone,
  { issued, token }: { readonly issued: IssuedToken; readonly token: string },
  deps: ExplainDeps,
): Promise<Explanation> {
  const { kind, claims, stored, expiresAt } = issued
  const { store } = deps
  const client = await store.clients.find(zone.id, clientIdOf(claims) ?? '')
  const userId = claims['user_id'] ?? (kind === 'id_token' ? claims['sub'] : undefined)
  const user = typeof userId === 'string' ? await store.users.findWithGroups(zone.id, userId) : undefined
  const today = await planToday(zone, { issued, token, user }, deps)
  const refusal =
    (await refusalOf(zone, { issued, client, user, isOfUser: userId !== undefined }, deps)) ??
    (kind === 'refresh_token' ? today?.refusals.find(({ rule }) => OF_SCOPES.has(rule)) : undefined)
  const events = refusal && (await endingEvents(zone, { claims, clientId: client?.clientId, userId: user?.id }, deps))
  return {
    decision: refusal ? 'invalid' : 'valid',
    request: {
      token: kind,
      format: stored?.format ?? 'jwt',
      stored: stored !== undefined,
      expires_at: timeOf(expiresAt),
      client_id: clientIdOf(claims),
      grant_type: claims['grant_type'],
      ...(user && { user_id: user.id, username: user.userName, origin: user.origin }),
    },
    scopes: kind === 'id_token' ? [] : scopesIn(scopesOf(claims, kind), today),
    tokens: [],
    claims: claimsIn(issued, today),
    refusals: refusal ? [refusal] : [],
    outstanding: [],
    not_checked: notChecked(claims),
    ...(today && {
      today: {
        decision: today.decision,
        refusals: today.refusals,
        outstanding: today.outstanding,
        not_checked: today.not_checked,
      },
    }),
    ...(events && { events }),
  }
}

/** What the scopes of a token no longer meet, checked in a refresh only after the token itself. */
const OF_SCOPES: ReadonlySet<Rule> = new Set(['token-scopes', 'required-group'])

const timeOf = (time: Date): string | undefined => (Number.isNaN(time.getTime()) ? undefined : time.toISOString())

interface Presented {
  readonly issued: IssuedToken
  readonly client: Client | undefined
  readonly user: User | undefined
  readonly isOfUser: boolean
}

/** Why the token is invalid, by the checks of the reader and of introspection. */
async function refusalOf(
  zone: AddressedZone,
  presented: Presented,
  deps: ExplainDeps,
): Promise<ExplainedRefusal | undefined> {
  const { issued, client, user } = presented
  try {
    if (issued.kind === 'id_token') await checkIdToken(zone, presented, deps)
    else {
      const verified = await deps.reader.verifyIssued(zone, issued, issued.kind)
      const unapproved = await approvalProblem(zone, verified, verified.scopes, deps)
      if (unapproved !== undefined) {
        throw new OAuthError('invalid_token', unapproved, {
          rule: 'approval-missing',
          detail: `Introspection, exchange and refresh refuse it: ${unapproved}.`,
        })
      }
    }
    return undefined
  } catch (error) {
    if (!(error instanceof OAuthError)) throw error
    const detail = detailOf(error, presented)
    const detailed = detail === undefined ? error : withDetail(error, detail)
    return explainRefusal(zone, detailed, { parties: { client, user }, deps })
  }
}

const withDetail = ({ error, status, message, rule }: OAuthError, detail: string): OAuthError =>
  new OAuthError({ error, status }, message, { rule, detail })

/** An ID token identifies who signed in; the server accepts it as a hint, and as an assertion while these checks pass. */
async function checkIdToken(
  zone: AddressedZone,
  { issued, client, user }: Presented,
  { clock, store }: ExplainDeps,
): Promise<void> {
  const { claims, expiresAt } = issued
  const refuse = (rule: Rule, description: string): OAuthError => new OAuthError('invalid_token', description, { rule })
  if (!(expiresAt > clock.now())) throw refuse('token-expired', 'The token expired')
  if (!client) throw refuse('unknown-client', 'The token refers to a non-existent client')
  if (claims['user_id'] !== undefined && !user?.active)
    throw refuse('unknown-user', 'The account no longer exists or is inactive')
  const signature = claims['rev_sig']
  if (typeof signature === 'string' && !isCurrentSignature(signature, client, user)) {
    throw refuse('token-outdated', 'revocable signature mismatch')
  }
  if (await isRevoked(zone, issued, store)) throw refuse('token-revoked', 'The token has been revoked')
}

/** What the records show about a token that is no longer valid. */
function detailOf({ rule, message }: OAuthError, { issued, client, user, isOfUser }: Presented): string | undefined {
  const { claims, expiresAt } = issued
  switch (rule) {
    case 'token-expired':
      return `It expired at ${timeOf(expiresAt) ?? 'an unknown time'}.`
    case 'token-unknown':
      return 'It was stored and no longer is: it was revoked, its session ended, or its user was deleted.'
    case 'token-revoked':
      return 'A revocation of the token, its grant or its session is stored.'
    case 'token-outdated':
      return outdatedBy(claims, user)
    case 'token-scopes':
      return `${message}.`
    case 'unknown-user':
      return isOfUser && user ? `The account ${user.userName} is not active.` : 'The account was deleted.'
    case 'unknown-client':
      return client ? undefined : 'The client was deleted, or it is described by a document, which is not fetched here.'
    default:
      return undefined
  }
}

/** Which of the values that `rev_sig` covers have changed since; for secrets and salts that is unknown. */
function outdatedBy(claims: Claims, user: User | undefined): string {
  const issuedAt = new Date(Number(claims['iat']) * 1000)
  const changes = [
    user && claims['user_name'] !== undefined && claims['user_name'] !== user.userName && 'the user name has changed',
    user && claims['email'] !== undefined && claims['email'] !== user.email && 'the e-mail address has changed',
    user && user.passwordChangedAt > issuedAt && `the password was changed at ${user.passwordChangedAt.toISOString()}`,
  ].filter(each => typeof each === 'string')
  const known =
    changes.length > 0 ? changes.join('; ') : 'name, address and password of the user are older than the token'
  const from = claims['exchanged_from']
  const others = isJsonRecord(from)
    ? ` So do those of the clients that it came through: ${Object.keys(from).join(', ')}.`
    : ''
  return `Since it was issued ${known}. A new secret of the client, and a revocation of all tokens of client or user, end it too.${others}`
}

/** What a new token of the same grant would be; undefined for a grant that cannot be planned from the contents of the token. */
async function planToday(
  zone: AddressedZone,
  { issued, token, user }: { readonly issued: IssuedToken; readonly token: string; readonly user: User | undefined },
  deps: ExplainDeps,
): Promise<Explanation | undefined> {
  const planned = plannedFrom(issued, token, user)
  return planned && explainPlanned(zone, planned, deps)
}

function plannedFrom(
  { claims, kind, stored }: IssuedToken,
  token: string,
  user: User | undefined,
): PlannedRequest | undefined {
  const clientId = clientIdOf(claims)
  const { grant_type: grantType } = claims
  if (clientId === undefined || typeof grantType !== 'string') return undefined
  const about = kind === 'id_token' ? [] : scopesOf(claims, kind)
  // An id is not the value, without which there is no refresh.
  const isValue = stored?.format !== 'jwt' || token.includes('.')
  if (kind === 'refresh_token' && isValue) return { clientId, grantType: 'refresh_token', refreshToken: token, about }
  if (grantType === 'implicit' || grantType === TOKEN_EXCHANGE) return undefined
  return { clientId, grantType, about, ...(user && { user: { id: user.id } }) }
}

/** The scopes of the token, and those that a new one would have in addition. */
function scopesIn(held: readonly string[], today: Explanation | undefined): readonly ExplainedScope[] {
  const now = new Map(today?.scopes.map(each => [each.scope, each]))
  const own = held.map((scope): ExplainedScope => {
    const found = now.get(scope)
    return {
      scope,
      outcome: 'granted',
      because: found?.because ?? [],
      ...(found && found.outcome !== 'absent' && { today: found.outcome }),
    }
  })
  const others = [...now.values()].flatMap(({ scope, outcome, because }): ExplainedScope[] =>
    held.includes(scope) || outcome === 'absent' ? [] : [{ scope, outcome: 'absent', because, today: outcome }],
  )
  return [...own, ...others]
}

/** Differ from token to token. */
const OF_ONE_TOKEN: ReadonlySet<string> = new Set([
  'iat',
  'exp',
  'auth_time',
  'jti',
  'at_hash',
  'c_hash',
  's_hash',
  'grant_id',
])
const MAX_VALUE_LENGTH = 4000

function claimsIn({ claims, kind }: IssuedToken, today: Explanation | undefined): readonly ExplainedClaim[] {
  const now = new Map(today?.claims.flatMap(each => (each.token === kind ? [[each.claim, each] as const] : [])))
  return Object.keys(claims)
    .filter(claim => claims[claim] !== undefined)
    .map((claim): ExplainedClaim => {
      const value = claims[claim]
      const isLong = (JSON.stringify(value) ?? '').length > MAX_VALUE_LENGTH
      const planned = now.get(claim)
      const isSame = JSON.stringify(planned?.value) === JSON.stringify(value)
      const isCompared = now.size > 0 && 'value' in shownValue(claim, value) && !OF_ONE_TOKEN.has(claim)
      return {
        claim,
        token: kind,
        outcome: 'present',
        ...(isLong ? {} : shownValue(claim, value)),
        because: [sourceOfClaim(claim)],
        ...(isCompared && !isSame && { today: planned?.value ?? null }),
      }
    })
}

function notChecked(claims: Claims): readonly string[] {
  const bound = claims['cnf'] === undefined ? [] : ['Whether the sender proves the key that the token is bound to.']
  return ['Whether the API that is called is in its audience.', ...bound]
}
