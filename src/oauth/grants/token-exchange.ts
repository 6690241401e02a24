import { isJsonRecord } from '../../base/json.ts'
import type { Authorization } from '../../model/tokens/authorization.ts'
import type { Client } from '../../model/clients/client.ts'
import type { Behaviour } from '../../model/compatibility.ts'
import { concerningUser, OAuthError } from '../../model/oauth-error.ts'
import { spellingAmong } from '../../model/tokens/resources.ts'
import { hasRequiredGroups, lacksRequiredGroup, lostScopes, narrow, parseScope } from '../../model/tokens/scopes.ts'
import type { GrantedScopes } from '../../model/tokens/scopes.ts'
import { isPairwiseIn } from '../../model/tokens/subject.ts'
import type { User } from '../../model/users/user.ts'
import type { ExchangeRule } from '../../records/token-exchange.ts'
import type { VerifiedToken } from '../../token/token-validity.ts'
import { signInOf } from '../presented-sign-in.ts'
import { tokenFormatOf } from '../params.ts'
import type { Params } from '../params.ts'
import { approvalProblem, approvedClientOf } from '../../token/approvals.ts'
import type { DecidedRequest, DecisionDeps, Grant } from './grant.ts'
import { requireFactorOfToken, requireUsableProvider } from './resource-owner.ts'
import { TOKEN_EXCHANGE } from '../../model/clients/grant-types.ts'

const ACCESS_TOKEN = 'urn:ietf:params:oauth:token-type:access_token'
const JWT = 'urn:ietf:params:oauth:token-type:jwt'

/** Nesting depth of `act` (RFC 8693 §4.1); refuses longer chains, which are probably circular. */
const MAX_ACTORS = 5

type Actor = Readonly<Record<string, unknown>>

/**
 * Exchanges a user's access token for one for another audience (RFC 8693), by a rule of the calling client. The new token has
 * no further scopes and no longer lifetime, and none is issued for a revoked token.
 */
export const tokenExchange: Grant = {
  type: TOKEN_EXCHANGE,
  caller: 'client',
  async authorize(request, deps) {
    const { zone, client, remoteAddress } = request
    const { authorization, user, from, rule } = await authorizeByExchange(request, deps)
    const { scopes, actor: act } = authorization
    request.onIssued(() =>
      deps.audit({
        type: 'TokenExchangedEvent',
        zoneId: zone.id,
        principal: user.id,
        clientId: client.clientId,
        remoteAddress,
        data: JSON.stringify({ from, for: rule.audience, mode: rule.mode, scopes, act }),
      }),
    )
    return authorization
  },
}

/** What an exchange grants. */
interface Exchange {
  readonly authorization: Authorization
  readonly user: User
  /** The client of the token that is exchanged. */
  readonly from: string
  readonly rule: ExchangeRule
}

/** Decides what an exchange grants, and by which rule. Changes and reports nothing. */
export async function authorizeByExchange(request: DecidedRequest, deps: DecisionDeps): Promise<Exchange> {
  // Self-asserted values must not turn one token into another.
  if (request.clientAuthMethod === 'none') {
    const refusal = { error: 'unauthorized_client', status: 400 } as const // RFC 6749 §5.2
    throw new OAuthError(refusal, 'This client must authenticate', { rule: 'client-authentication' })
  }
  const issuedTokenType = issuedTypeOf(request, deps.behaviour)
  const subject = await readToken(request, 'subject_token', deps)
  const { user } = subject
  if (!user) {
    throw new OAuthError('invalid_request', 'The subject_token is not a token of a user', { rule: 'subject-token' })
  }
  return concerningUser(user, () => exchangeOf({ subject, user, issuedTokenType }, request, deps))
}

async function exchangeOf(
  { subject, user, issuedTokenType }: { subject: VerifiedToken; user: User; issuedTokenType: string },
  request: DecidedRequest,
  deps: DecisionDeps,
): Promise<Exchange> {
  const { zone, client, params, clientAuthMethod } = request
  requireBound(subject, request)
  const rule = ruleFor(client, subject, params)
  const actor = await actorOf(request, { rule, subject }, deps)
  await requireUsableProvider(request, user, deps)
  const signIn = signInOf(subject.claims, zone, deps.behaviour)
  await requireFactorOfToken(zone, { user, acr: signIn.acr }, deps)
  const scopes = await scopesFor(request, { rule, subject, user }, deps)

  const { auth_time: authTime, grant_id: named, exchanged_from: before, rev_sig: signature } = subject.claims
  const grantId = typeof named === 'string' ? named : subject.stored?.grantId
  const format = tokenFormatOf(params)
  const authorization: Authorization = {
    zone,
    client,
    grantType: TOKEN_EXCHANGE,
    subject: {
      kind: 'user',
      user,
      ...signIn,
      ...(typeof authTime === 'number' && { authenticatedAt: new Date(authTime * 1000) }),
    },
    scopes,
    tokens: ['access_token'],
    resources: [rule.audience],
    expiresBefore: subject.expiresAt,
    issuedTokenType,
    ...(actor && { actor }),
    approvedClient: approvedClientOf(subject),
    exchangedFrom: { ...(isJsonRecord(before) && before), [subject.client.clientId]: String(signature) },
    // Both belong to the same grant, so whatever ends the grant ends both.
    ...(grantId !== undefined && { grantId }),
    ...(format && { format }),
    ...(clientAuthMethod !== undefined && { clientAuthMethod }),
  }
  return { authorization, user, from: subject.client.clientId, rule }
}

/** RFC 8693 §3: a JWT is an access token that others can read. Throws `invalid_request` if that is not what the client gets. */
function issuedTypeOf({ zone, client, params }: DecidedRequest, behaviour: Behaviour): string {
  const wanted = params.get('requested_token_type') ?? ACCESS_TOKEN
  if (wanted !== ACCESS_TOKEN && wanted !== JWT) {
    throw new OAuthError('invalid_request', 'The requested_token_type is not supported')
  }
  const isOpaque = tokenFormatOf(params) === 'opaque' || isPairwiseIn(zone, client, behaviour)
  if (wanted === JWT && isOpaque) {
    throw new OAuthError('invalid_request', 'The requested_token_type is not supported: the new token is opaque')
  }
  return wanted
}

/** An access token that was meant for the calling client: issued to it, or with it as an audience. */
async function readToken(
  { zone, client, params }: DecidedRequest,
  name: 'subject_token' | 'actor_token',
  deps: DecisionDeps,
): Promise<VerifiedToken> {
  const text = params.get(name)
  const type = params.get(`${name}_type`)
  if (text === undefined)
    throw new OAuthError('invalid_request', `The ${name} is missing`, {
      rule: 'missing-parameter',
    })
  if (type === undefined) throw new OAuthError('invalid_request', `The ${name}_type is missing`)
  if (type !== ACCESS_TOKEN && type !== JWT) {
    throw new OAuthError('invalid_request', `The ${name}_type is not supported: only access tokens are`)
  }
  const token = await deps.reader.read({ zone, inspected: true }, text).catch((cause: unknown) => {
    if (!(cause instanceof OAuthError)) throw cause
    throw new OAuthError('invalid_request', `The ${name} is not a valid access token`, {
      detail: cause.message, // RFC 8693 §2.2.2
      rule: cause.rule,
      cause,
    })
  })
  if (type === JWT && token.stored?.format === 'opaque') {
    throw new OAuthError('invalid_request', `The ${name} is not a JWT`)
  }
  // Introspection reports such a token as inactive, and it cannot be exchanged either.
  const unapproved = await approvalProblem(zone, token, token.scopes, deps)
  if (unapproved !== undefined) {
    throw new OAuthError('invalid_request', `The ${name} is not a valid access token`, {
      detail: unapproved,
      rule: 'approval-missing',
    })
  }
  if (token.client.clientId === client.clientId || token.audience.includes(client.clientId)) return token
  throw new OAuthError('invalid_request', `The ${name} is not meant for this client`, { rule: 'subject-token' })
}

/** A stolen token of the new kind must not be worth more than a stolen one of the old kind. */
function requireBound({ claims }: VerifiedToken, { confirmation }: DecidedRequest): void {
  if (claims['cnf'] === undefined || confirmation) return
  const description =
    'The subject_token is bound to its sender: the new one must be bound too, by DPoP or a certificate'
  throw new OAuthError('invalid_request', description, { rule: 'sender-constrained' })
}

/** RFC 8693 §2.1: a token is for all named audiences, but a rule allows only one. In the spelling of the rules. */
function audienceIn(params: Params, known: readonly string[]): string | undefined {
  const sent = [...params.all('audience'), ...params.all('resource')].filter(one => one !== '')
  const [named, another] = new Set(sent.map(one => spellingAmong(known, one) ?? one))
  if (another === undefined) return named
  throw new OAuthError('invalid_target', 'A token can be exchanged for one audience only')
}

/** The rule for the audience; without one in the request, the only rule for tokens of that client. */
function ruleFor(client: Client, subject: VerifiedToken, params: Params): ExchangeRule {
  const rules = (client.tokenExchange ?? []).filter(rule => rule.subjects.includes(subject.client.clientId))
  const audience = audienceIn(
    params,
    rules.map(rule => rule.audience),
  )
  const fitting = audience === undefined ? rules : rules.filter(rule => rule.audience === audience)
  const [rule, another] = fitting
  if (rule && !another) return rule
  const description = rule ? 'The audience is missing' : 'This client may not exchange the token for this audience'
  throw new OAuthError('invalid_target', description, { rule: 'token-exchange-rule' })
}

/** The actors: earlier ones, and with delegation the calling client. */
async function actorOf(
  request: DecidedRequest,
  { rule, subject }: { readonly rule: ExchangeRule; readonly subject: VerifiedToken },
  deps: DecisionDeps,
): Promise<Actor | undefined> {
  const { client, params } = request
  const { act } = subject.claims
  const before = isJsonRecord(act) ? act : undefined
  const isNamed = params.get('actor_token') !== undefined
  if (!isNamed && params.get('actor_token_type') !== undefined) {
    throw new OAuthError('invalid_request', 'The actor_token is missing')
  }
  // Earlier actors stay in the token: this client must not hide them.
  if (rule.mode === 'impersonation') {
    if (isNamed) throw new OAuthError('invalid_request', 'The rule for this exchange does not allow an actor')
    return before
  }
  const named = isNamed ? await readToken(request, 'actor_token', deps) : undefined
  const own: Actor = named?.user
    ? { sub: named.user.id, client_id: named.client.clientId }
    : { sub: (named?.client ?? client).clientId }
  const actor = before ? { ...own, act: before } : own
  if (depthOf(actor) > MAX_ACTORS) throw new OAuthError('invalid_request', 'The chain of actors is too long')
  return actor
}

const depthOf = ({ act }: Actor): number => 1 + (isJsonRecord(act) ? depthOf(act) : 0)

/** The scopes of the token that the rule, the calling client and the user's groups still allow, or fewer. */
async function scopesFor(
  { zone, client, params, because }: DecidedRequest,
  { rule, subject, user }: { readonly rule: ExchangeRule; readonly subject: VerifiedToken; readonly user: User },
  deps: DecisionDeps,
): Promise<GrantedScopes> {
  const held = await deps.groupsOf(zone, user)
  if (!hasRequiredGroups(client, held.groups)) throw lacksRequiredGroup('invalid_scope')
  const within = subject.scopes.filter(scope => {
    const isWithin = rule.scopes.includes(scope)
    if (!isWithin) because?.(scope, 'token-exchange-rule')
    return isWithin
  })
  if (within.length === 0) {
    const description = `The subject_token has no scope of the rule: ${rule.scopes.join(' ')}`
    throw new OAuthError('invalid_scope', description, { rule: 'token-exchange-rule' })
  }
  const lost = lostScopes(within, { client, because }, held)
  const scopes = narrow(
    within.filter(scope => !lost.includes(scope)),
    parseScope(params.get('scope')),
    because,
  )
  if (scopes.length > 0) return scopes
  throw new OAuthError('invalid_scope', 'The client or the user may not have these scopes', { rule: 'no-scope-left' })
}
