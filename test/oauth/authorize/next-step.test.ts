import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Approval } from '../../../src/model/users/approval.ts'
import type { Client } from '../../../src/model/clients/client.ts'
import { behaviourOf } from '../../../src/model/compatibility.ts'
import type { CompatibilityMode } from '../../../src/model/compatibility.ts'
import { OAuthError } from '../../../src/model/oauth-error.ts'
import { storedScopes } from '../../../src/model/tokens/scopes.ts'
import type { SignedIn, Step } from '../../../src/oauth/authorize/next-step.ts'
import { nextStep } from '../../../src/oauth/authorize/next-step.ts'
import type { Demands } from '../../../src/oauth/authorize/context.ts'
import { parseResponseType } from '../../../src/oauth/authorize/response/response-type.ts'
import { bareClient } from '../../support/bare-client.ts'

const NOW = new Date('2026-01-15T12:00:00Z')
const secondsAgo = (seconds: number): Date => new Date(NOW.getTime() - seconds * 1000)

const CLIENT = bareClient({
  authorizedGrantTypes: ['authorization_code'],
  redirectUris: ['https://app.example/cb'],
  scope: ['openid', 'cloud.read', 'cloud.write', 'password.write'],
})

const decided = (status: Approval['status'], ...scopes: readonly string[]): readonly Approval[] =>
  scopes.map(scope => ({
    zoneId: 'svc',
    userId: 'marissa',
    clientId: 'app',
    scope,
    status,
    expiresAt: NOW,
    updatedAt: NOW,
  }))

interface Case {
  readonly name: string
  /** Differences from a plain request of a client without autoapprove. */
  readonly request?: Partial<Demands> & { responseType?: string }
  readonly client?: Partial<Client>
  /** Differences from a user who has just signed in, without stored approvals; null: anonymous. */
  readonly user?: (Partial<Omit<SignedIn, 'scopes'>> & { scopes?: readonly string[] | OAuthError }) | null
  readonly mode?: CompatibilityMode
  /** Short form of the step: its kind with the error, or the scopes with the initial of their state. */
  readonly want: string
}

function stepOf({ request = {}, client = {}, user = {}, mode = 'standard' }: Case): Step {
  const { scopes = ['openid', 'cloud.read'], ...rest } = user ?? {}
  const signedIn: SignedIn = {
    origin: 'svc',
    authenticatedAt: NOW,
    approvals: [],
    justApproved: false,
    ...rest,
    scopes: scopes instanceof OAuthError ? scopes : storedScopes(scopes),
  }
  return nextStep(
    {
      client: { ...CLIENT, ...client },
      silent: false,
      forceLogin: false,
      forceConsent: false,
      chooseAccount: false,
      ...request,
      responseType: parseResponseType(request.responseType ?? 'code') ?? new Set(),
    },
    user === null ? undefined : signedIn,
    { now: NOW, behaviour: behaviourOf(mode) },
  )
}

function summary(step: Step): string {
  switch (step.kind) {
    case 'sign-in':
    case 'choose-account':
    case 'switch-provider':
      return step.kind
    case 'meet-demand':
      return step.demand.name
    case 'refuse':
      return `refuse ${step.error}`
    case 'respond':
      return ['respond', ...step.scopes].join(' ')
    case 'approve':
      return ['approve', ...step.scopes.map(({ scope, state }) => `${scope}:${state}`)].join(' ')
  }
}

function table(title: string, cases: readonly Case[]): void {
  describe(title, () => {
    for (const each of cases) it(each.name, () => assert.equal(summary(stepOf(each)), each.want))
  })
}

const ALL = { autoapprove: true } as const

table('nextStep: authentication level', [
  {
    name: 'requires the second factor before approval',
    user: { lacking: { level: '2', methods: ['totp'] } },
    want: 'second-factor',
  },
  {
    name: 'requires a fresh sign-in before the second factor',
    user: { lacking: { level: '2', methods: ['totp'] } },
    request: { maxAge: 0 },
    want: 'sign-in',
  },
  {
    name: 'refuses a level that no method can reach, also with prompt=none',
    user: { lacking: { level: 'phr', methods: [] } },
    request: { silent: true },
    want: 'refuse unmet_authentication_requirements',
  },
  {
    name: 'refuses an invalid scope before requiring the second factor',
    user: { lacking: { level: '2', methods: ['totp'] }, scopes: new OAuthError('invalid_scope', '') },
    want: 'refuse invalid_scope',
  },
])

table('nextStep: user', [
  { name: 'requires sign-in of an anonymous user', user: null, want: 'sign-in' },
  {
    name: 'returns login_required for an anonymous user with prompt=none',
    user: null,
    request: { silent: true },
    want: 'refuse login_required',
  },
  {
    name: 'requires sign-in of an anonymous user before approval',
    user: null,
    client: ALL,
    want: 'sign-in',
  },
  {
    name: 'requires sign-in of an anonymous user instead of account selection',
    user: null,
    request: { chooseAccount: true },
    want: 'sign-in',
  },
  { name: 'offers account selection', request: { chooseAccount: true }, client: ALL, want: 'choose-account' },
  {
    name: 'requires a fresh sign-in instead of account selection',
    request: { chooseAccount: true, forceLogin: true },
    client: ALL,
    want: 'sign-in',
  },
  {
    name: 'requires sign-in if the user is not the hinted one',
    user: { isAnother: { wasAsked: false } },
    client: ALL,
    want: 'sign-in',
  },
  {
    name: 'refuses a user other than the hinted one with prompt=none',
    user: { isAnother: { wasAsked: false } },
    request: { silent: true },
    client: ALL,
    want: 'refuse login_required',
  },
  {
    name: 'refuses a user other than the hinted one after a sign-in',
    user: { isAnother: { wasAsked: true } },
    client: ALL,
    want: 'refuse login_required',
  },
  {
    name: 'refuses an ID token without openid',
    user: { scopes: ['cloud.read'] },
    request: { responseType: 'code id_token' },
    client: ALL,
    want: 'refuse invalid_scope',
  },
  {
    name: 'omits an ID token without openid in uaa',
    user: { scopes: ['cloud.read'] },
    request: { responseType: 'code id_token' },
    client: ALL,
    mode: 'uaa',
    want: 'respond cloud.read',
  },
  { name: 'requires a fresh sign-in on demand', request: { forceLogin: true }, client: ALL, want: 'sign-in' },
  {
    name: 'refuses a required fresh sign-in with prompt=none',
    request: { forceLogin: true, silent: true },
    client: ALL,
    want: 'refuse login_required',
  },
])

const aged = (seconds: number) => ({ authenticatedAt: secondsAgo(seconds) })

table('nextStep: max_age', [
  {
    name: 'accepts a sign-in of any age without max_age',
    client: ALL,
    user: aged(43_200),
    want: 'respond openid cloud.read',
  },
  {
    name: 'accepts a sign-in exactly max_age ago',
    client: ALL,
    request: { maxAge: 60 },
    user: aged(60),
    want: 'respond openid cloud.read',
  },
  {
    name: 'requires sign-in one millisecond later',
    client: ALL,
    request: { maxAge: 60 },
    user: aged(60.001),
    want: 'sign-in',
  },
  {
    name: 'accepts a sign-in by the clock of a provider that is a minute ahead',
    client: ALL,
    request: { maxAge: 60 },
    user: aged(-60),
    want: 'respond openid cloud.read',
  },
  {
    name: 'requires sign-in after one that seems to be still to come, because the clock was set back',
    client: ALL,
    request: { maxAge: 3600 },
    user: aged(-60.001),
    want: 'sign-in',
  },
  {
    name: 'requires sign-in for max_age=0, even after a sign-in in the same instant',
    client: ALL,
    request: { maxAge: 0 },
    user: aged(0),
    want: 'sign-in',
  },
  {
    name: 'refuses max_age=0 with prompt=none, even if the clock was set back',
    client: ALL,
    request: { maxAge: 0, silent: true },
    user: aged(-60),
    want: 'refuse login_required',
  },
  { name: 'requires sign-in for max_age=0', client: ALL, request: { maxAge: 0 }, user: aged(1), want: 'sign-in' },
  {
    name: 'refuses an older sign-in with prompt=none',
    client: ALL,
    request: { maxAge: 60, silent: true },
    user: aged(61),
    want: 'refuse login_required',
  },
  {
    name: 'accepts a recent sign-in with prompt=none',
    client: ALL,
    request: { maxAge: 60, silent: true },
    user: aged(59),
    want: 'respond openid cloud.read',
  },
  {
    name: 'requires sign-in if max_age passed during approval',
    request: { maxAge: 60 },
    user: { ...aged(61), justApproved: true },
    want: 'sign-in',
  },
])

table('nextStep: provider of the user', [
  {
    name: 'accepts any provider if the client lists none',
    client: ALL,
    user: { origin: 'ldap' },
    want: 'respond openid cloud.read',
  },
  {
    name: 'accepts a listed provider',
    client: { ...ALL, allowedProviders: ['ldap', 'svc'] },
    want: 'respond openid cloud.read',
  },
  {
    name: 'offers another sign-in for an unlisted provider',
    client: { ...ALL, allowedProviders: ['ldap'] },
    want: 'switch-provider',
  },
  {
    name: 'offers another sign-in for an unlisted provider in uaa',
    client: { ...ALL, allowedProviders: ['ldap'] },
    mode: 'uaa',
    want: 'switch-provider',
  },
  {
    name: 'refuses an unlisted provider with prompt=none',
    client: { ...ALL, allowedProviders: ['ldap'] },
    request: { silent: true },
    want: 'refuse login_required',
  },
  {
    name: 'offers another sign-in even with prompt=none in uaa',
    client: { ...ALL, allowedProviders: ['ldap'] },
    request: { silent: true },
    mode: 'uaa',
    want: 'switch-provider',
  },
  {
    name: 'requires a fresh sign-in before checking the provider',
    client: { ...ALL, allowedProviders: ['ldap'] },
    request: { forceLogin: true },
    want: 'sign-in',
  },
  {
    name: 'checks the provider before scopes',
    client: { ...ALL, allowedProviders: ['ldap'] },
    user: { scopes: new OAuthError('invalid_scope', 'none') },
    want: 'switch-provider',
  },
])

table('nextStep: scopes of the user', [
  {
    name: 'returns the error of the scope rules',
    user: { scopes: new OAuthError('invalid_scope', 'none') },
    want: 'refuse invalid_scope',
  },
  {
    name: 'returns it with prompt=none',
    user: { scopes: new OAuthError('invalid_scope', 'none') },
    request: { silent: true },
    want: 'refuse invalid_scope',
  },
  {
    name: 'returns it with prompt=none for a client without scopes',
    client: { scope: [] },
    user: { scopes: new OAuthError('invalid_scope', 'none') },
    request: { silent: true },
    want: 'refuse invalid_scope',
  },
  {
    name: 'returns server_error instead with prompt=none in uaa',
    client: { scope: [] },
    user: { scopes: new OAuthError('invalid_scope', 'none') },
    request: { silent: true },
    mode: 'uaa',
    want: 'refuse server_error',
  },
  {
    name: 'returns it without prompt=none for a client without scopes in uaa',
    client: { scope: [] },
    user: { scopes: new OAuthError('invalid_scope', 'none') },
    mode: 'uaa',
    want: 'refuse invalid_scope',
  },
  {
    name: 'returns it after approval',
    user: { scopes: new OAuthError('invalid_scope', 'none'), justApproved: true },
    want: 'refuse invalid_scope',
  },
])

table('nextStep: autoapprove', [
  // Covers GET /oauth/authorize: rule: autoapprove for all scopes
  { name: 'requires no approval if all scopes are auto-approved', client: ALL, want: 'respond openid cloud.read' },
  {
    name: 'requires no approval if each scope is listed',
    client: { autoapprove: ['openid', 'cloud.read'] },
    want: 'respond openid cloud.read',
  },
  // Covers GET /oauth/authorize: rule: autoapprove wildcards
  {
    name: 'requires no approval if wildcards match each scope',
    client: { autoapprove: ['openid', 'cloud.*'] },
    want: 'respond openid cloud.read',
  },
  {
    name: 'requires approval of unlisted scopes only',
    client: { autoapprove: ['openid'] },
    want: 'approve cloud.read:undecided',
  },
  {
    name: 'does not match a dot with a wildcard',
    client: { autoapprove: ['*'] },
    want: 'approve cloud.read:undecided',
  },
  {
    name: 'requires approval of all scopes if the list is empty',
    want: 'approve openid:undecided cloud.read:undecided',
  },
  {
    name: 'overrides a stored denial',
    client: ALL,
    user: { approvals: decided('DENIED', 'openid') },
    want: 'respond openid cloud.read',
  },
  {
    name: 'responds with prompt=none if all scopes are auto-approved',
    client: ALL,
    request: { silent: true },
    want: 'respond openid cloud.read',
  },
])

table('nextStep: stored decisions', [
  {
    name: 'requires no approval if all scopes were approved',
    user: { approvals: decided('APPROVED', 'openid', 'cloud.read') },
    want: 'respond openid cloud.read',
  },
  {
    name: 'omits denied scopes without asking',
    user: { approvals: [...decided('APPROVED', 'openid'), ...decided('DENIED', 'cloud.read')] },
    want: 'respond openid',
  },
  {
    name: 'requires approval if one scope has no unexpired decision',
    user: { approvals: decided('APPROVED', 'openid') },
    want: 'approve cloud.read:undecided openid:approved',
  },
  {
    name: 'lists denied scopes last',
    user: {
      scopes: ['openid', 'cloud.read', 'cloud.write'],
      approvals: [...decided('DENIED', 'openid'), ...decided('APPROVED', 'cloud.write')],
    },
    want: 'approve cloud.read:undecided cloud.write:approved openid:denied',
  },
  {
    name: 'lists password and openid scopes first, the others by name',
    user: { scopes: ['cloud.write', 'cloud.read', 'password.write', 'openid'] },
    want: 'approve openid:undecided password.write:undecided cloud.read:undecided cloud.write:undecided',
  },
  {
    name: 'combines autoapprove and stored decisions',
    client: { autoapprove: ['openid'] },
    user: { approvals: decided('APPROVED', 'cloud.read') },
    want: 'respond openid cloud.read',
  },
  {
    name: 'returns access_denied if all scopes were denied',
    user: { approvals: decided('DENIED', 'openid', 'cloud.read') },
    want: 'refuse access_denied',
  },
  {
    name: 'responds without scopes if all were denied in uaa',
    user: { approvals: decided('DENIED', 'openid', 'cloud.read') },
    mode: 'uaa',
    want: 'respond',
  },
  {
    name: 'ignores decisions about other scopes',
    user: { approvals: decided('APPROVED', 'openid', 'cloud.write') },
    want: 'approve cloud.read:undecided openid:approved',
  },
  { name: 'returns consent_required with prompt=none', request: { silent: true }, want: 'refuse consent_required' },
  {
    name: 'returns interaction_required with prompt=none in uaa',
    request: { silent: true },
    mode: 'uaa',
    want: 'refuse interaction_required',
  },
  {
    name: 'responds with prompt=none if all scopes were approved',
    request: { silent: true },
    user: { approvals: decided('APPROVED', 'openid', 'cloud.read') },
    want: 'respond openid cloud.read',
  },
  {
    name: 'returns access_denied with prompt=none if all scopes were denied',
    request: { silent: true },
    user: { approvals: decided('DENIED', 'openid', 'cloud.read') },
    want: 'refuse access_denied',
  },
])

table('nextStep: decision just made', [
  {
    name: 'does not ask twice',
    user: { justApproved: true, approvals: decided('APPROVED', 'openid', 'cloud.read') },
    want: 'respond openid cloud.read',
  },
  {
    name: 'grants only ticked scopes',
    user: { justApproved: true, approvals: [...decided('APPROVED', 'openid'), ...decided('DENIED', 'cloud.read')] },
    want: 'respond openid',
  },
  {
    name: 'does not grant a scope added after the approval page',
    user: { justApproved: true, approvals: decided('APPROVED', 'openid') },
    want: 'respond openid',
  },
  {
    name: 'returns access_denied if nothing was ticked',
    user: { justApproved: true, approvals: decided('DENIED', 'openid', 'cloud.read') },
    want: 'refuse access_denied',
  },
])

table('nextStep: prompt=consent', [
  {
    name: 'requires approval despite autoapprove',
    client: ALL,
    request: { forceConsent: true },
    want: 'approve openid:undecided cloud.read:undecided',
  },
  {
    name: 'requires approval despite stored approvals',
    request: { forceConsent: true },
    user: { approvals: decided('APPROVED', 'openid', 'cloud.read') },
    want: 'approve openid:approved cloud.read:approved',
  },
  {
    name: 'requires approval once',
    client: ALL,
    request: { forceConsent: true },
    user: { justApproved: true, approvals: decided('APPROVED', 'openid', 'cloud.read') },
    want: 'respond openid cloud.read',
  },
  {
    name: 'respects a denial despite autoapprove',
    client: ALL,
    request: { forceConsent: true },
    user: { justApproved: true, approvals: [...decided('APPROVED', 'openid'), ...decided('DENIED', 'cloud.read')] },
    want: 'respond openid',
  },
  {
    name: 'requires a fresh sign-in before approval',
    request: { forceConsent: true, forceLogin: true },
    want: 'sign-in',
  },
])
