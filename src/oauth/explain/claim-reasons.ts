// Where each claim comes from. What is missing is found by planning the same tokens with one change: a further scope, nothing
// excluded, a client with full ID tokens. A claim that appears only then is missing for that reason.
import { CONTACT_SCOPES, storedScopes } from '../../model/tokens/scopes.ts'
import type { Claims } from '../../token/claims.ts'
import { idBarrier, plannedAccessClaims, plannedIdClaims } from '../../token/plan.ts'
import type { PlanDeps, TokenPlan } from '../../token/plan.ts'
import type { ExplainedClaim, ExplainedKind, Reason } from './explanation.ts'

type Source = 'server' | 'account' | 'client' | 'sign-in' | 'request'

/** The source of every claim that a token can have. */
const SOURCES: Readonly<Record<string, readonly [rule: Source, detail: string]>> = {
  jti: ['server', 'The id of the token.'],
  iss: ['server', 'The issuer of the zone, as the request addresses it.'],
  zid: ['server', 'The id of the zone.'],
  iat: ['server', 'When the token is issued.'],
  exp: ['server', 'From the token lifetime of the client, the zone or the server, in this order.'],
  rev_sig: [
    'server',
    'A hash of the values whose change invalidates the token: secret, password, user name, e-mail address, salts.',
  ],
  revocable: ['server', 'The token is stored, by the policy of the zone, its format or its refresh token.'],
  at_hash: ['server', 'A hash of the access token.'],
  c_hash: ['server', 'A hash of the code.'],
  s_hash: ['server', 'A hash of the state.'],
  grant_id: ['server', 'The id of the grant, which ends all of its tokens.'],
  aud: ['server', 'The resources of the request; otherwise the client, and each scope up to its last dot.'],
  grant_type: ['request', 'The grant.'],
  nonce: ['request', 'From the request.'],
  az_attr: ['request', 'From the request (az_attr).'],
  scope: ['request', 'The scopes that are granted; in ID tokens of UAA always openid.'],
  client_id: ['client', 'The id of the client.'],
  cid: ['client', 'The id of the client.'],
  azp: ['client', 'The id of the client.'],
  authorities: ['client', 'The authorities of the client, in tokens of its own.'],
  client_auth_method: ['client', 'How the client authenticates, if not by a secret.'],
  cnf: ['request', 'The key or the certificate of the request.'],
  act: ['request', 'Who acts for the user, by the rule of the exchange.'],
  exchanged_from: [
    'server',
    'The clients whose tokens it was exchanged for, one after the other; what ends those ends it.',
  ],
  approved_client: ['server', 'The client of the first token, for which the user must still approve the scopes.'],
  sub: [
    'account',
    'The id of the user, or of a client that acts for itself; for a pairwise client an identifier of its sector.',
  ],
  user_id: ['account', 'The id of the user.'],
  user_name: ['account', 'The user name.'],
  origin: ['account', 'The identity provider of the user.'],
  email: ['account', 'The e-mail address of the user.'],
  email_verified: ['account', 'Whether the address is verified.'],
  previous_logon_time: ['account', 'The sign-in before the last one.'],
  roles: ['account', 'From the provider, at the last sign-in.'],
  user_attributes: ['account', 'The attributes of the organization in the profile.'],
  auth_time: ['sign-in', 'When the user signed in.'],
  amr: ['sign-in', 'By which methods the user signed in.'],
  acr: ['sign-in', 'The level of the sign-in, or what the provider calls it.'],
  granted_scopes: ['request', 'The scopes that were granted, which a refresh can give again.'],
  resources: ['request', 'The resources that the token may be used for.'],
  sid: ['sign-in', 'The session in the browser, for this client.'],
}

/** Claims of OpenID Connect Core §5.1 come from the profile. */
const FROM_PROFILE = 'From the profile of the user.'

/** Where a claim of a token of ours comes from. */
export function sourceOfClaim(claim: string): Reason {
  const [rule, detail] = SOURCES[claim] ?? ['account' as const, FROM_PROFILE]
  return { rule, detail }
}

/** Made for one token, or hashes of what is secret. */
const HIDDEN: ReadonlySet<string> = new Set([
  'jti',
  'rev_sig',
  'at_hash',
  'c_hash',
  's_hash',
  'grant_id',
  'sid',
  'nonce',
  'exchanged_from',
])

/** The value, where it may be shown. */
export const shownValue = (claim: string, value: unknown): { readonly value?: unknown } =>
  HIDDEN.has(claim) ? {} : { value }

/** Scopes that add claims about a user to tokens. */
const CLAIM_SCOPES: readonly string[] = ['profile', ...CONTACT_SCOPES, 'roles', 'user_attributes']

/** The claims of the tokens to come, and those that are missing. */
export function explainClaims(plan: TokenPlan, deps: PlanDeps): readonly ExplainedClaim[] {
  const { authorization } = plan.facts
  const access = authorization.tokens.includes('access_token')
    ? explain('access_token', plan, { deps, claimsOf: plannedAccessClaims })
    : []
  const id = idBarrier(authorization) === undefined ? explain('id_token', plan, { deps, claimsOf: idClaimsOf }) : []
  return [...access, ...id]
}

/** An ID token has the hash of the access token that comes with it. */
const idClaimsOf = (plan: TokenPlan, deps: PlanDeps): Claims => plannedIdClaims(plan, { accessTokenHash: '' }, deps)

interface Making {
  readonly deps: PlanDeps
  readonly claimsOf: (plan: TokenPlan, deps: PlanDeps) => Claims
}

function explain(token: ExplainedKind, plan: TokenPlan, { deps, claimsOf }: Making): readonly ExplainedClaim[] {
  const claims = claimsOf(plan, deps)
  const present = namesIn(claims).map(
    (claim): ExplainedClaim => ({
      claim,
      token,
      outcome: 'present',
      ...shownValue(claim, claims[claim]),
      because: [sourceOfClaim(claim)],
    }),
  )
  const explained = new Set(namesIn(claims))
  const absent: ExplainedClaim[] = []
  for (const { reason, plan: other, deps: otherDeps } of variants(plan, deps)) {
    for (const claim of namesIn(claimsOf(other, otherDeps))) {
      if (explained.has(claim)) continue
      explained.add(claim)
      absent.push({ claim, token, outcome: 'absent', because: [reason, sourceOfClaim(claim)] })
    }
  }
  return [...present, ...absent]
}

const namesIn = (claims: Claims): readonly string[] => Object.keys(claims).filter(name => claims[name] !== undefined)

interface Variant {
  readonly reason: Reason
  readonly plan: TokenPlan
  readonly deps: PlanDeps
}

/** The same plan with one thing changed. */
function variants(plan: TokenPlan, deps: PlanDeps): readonly Variant[] {
  const { authorization } = plan.facts
  const { client, scopes } = authorization
  const withChange = (change: Partial<typeof authorization>): TokenPlan => ({
    ...plan,
    facts: { ...plan.facts, authorization: { ...authorization, ...change } },
  })
  const missing = CLAIM_SCOPES.filter(scope => !scopes.includes(scope))
  return [
    {
      reason: { rule: 'excluded-claim', detail: 'The configuration excludes it (jwt.token.claims.exclude).' },
      plan,
      deps: { ...deps, settings: { ...deps.settings, excludedClaims: [] } },
    },
    ...missing.map(scope => ({
      reason: { rule: 'scope-of-claim' as const, detail: `It needs the scope ${scope}, which is not granted.` },
      plan: withChange({ scopes: storedScopes([...scopes, scope]) }),
      deps,
    })),
    {
      reason: {
        rule: 'id-token-minimal',
        detail: `ID tokens of ${client.clientId} are minimal (idTokenMinimal): userinfo has the rest.`,
      },
      plan: withChange({ client: { ...client, idTokenMinimal: false } }),
      deps,
    },
  ]
}
