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
  /** Differences from a plain request of a client without autoapproval. */
  readonly request?: Partial<Demands> & { responseType?: string }
  readonly client?: Partial<Client>
  /** Differences from a user who signed in just now and decided nothing yet; null without a user. */
  readonly user?: (Partial<Omit<SignedIn, 'scopes'>> & { scopes?: readonly string[] | OAuthError }) | null
  readonly mode?: CompatibilityMode
  /** The step, short: its kind with the error, or the scopes with their first letters of the state. */
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

table('nextStep, how strong the sign-in must be', [
  {
    name: 'asks for the second factor before it asks for approval',
    user: { lacking: { level: '2', methods: ['totp'] } },
    want: 'second-factor',
  },
  {
    name: 'asks for a new sign-in first, which would end what is proven',
    user: { lacking: { level: '2', methods: ['totp'] } },
    request: { maxAge: 0 },
    want: 'sign-in',
  },
  {
    name: 'refuses what nothing can reach, also in silence',
    user: { lacking: { level: 'phr', methods: [] } },
    request: { silent: true },
    want: 'refuse unmet_authentication_requirements',
  },
  {
    name: 'refuses what may not be granted at all before it asks for more',
    user: { lacking: { level: '2', methods: ['totp'] }, scopes: new OAuthError('invalid_scope', '') },
    want: 'refuse invalid_scope',
  },
])

table('nextStep, who is there', [
  { name: 'asks an anonymous visitor to sign in', user: null, want: 'sign-in' },
  {
    name: 'refuses an anonymous visitor in silence',
    user: null,
    request: { silent: true },
    want: 'refuse login_required',
  },
  {
    name: 'asks an anonymous visitor to sign in before it asks for approval',
    user: null,
    client: ALL,
    want: 'sign-in',
  },
  {
    name: 'asks an anonymous visitor to sign in rather than to choose',
    user: null,
    request: { chooseAccount: true },
    want: 'sign-in',
  },
  { name: 'asks which account is meant', request: { chooseAccount: true }, client: ALL, want: 'choose-account' },
  {
    name: 'asks for a new sign-in rather than for a choice',
    request: { chooseAccount: true, forceLogin: true },
    client: ALL,
    want: 'sign-in',
  },
  {
    name: 'asks another than the hinted one to sign in',
    user: { isAnother: { wasAsked: false } },
    client: ALL,
    want: 'sign-in',
  },
  {
    name: 'refuses another than the hinted one in silence',
    user: { isAnother: { wasAsked: false } },
    request: { silent: true },
    client: ALL,
    want: 'refuse login_required',
  },
  {
    name: 'refuses another than the hinted one who was asked already',
    user: { isAnother: { wasAsked: true } },
    client: ALL,
    want: 'refuse login_required',
  },
  {
    name: 'refuses an ID token when openid is not granted',
    user: { scopes: ['cloud.read'] },
    request: { responseType: 'code id_token' },
    client: ALL,
    want: 'refuse invalid_scope',
  },
  {
    name: 'leaves out an ID token when openid is not granted, in UAA',
    user: { scopes: ['cloud.read'] },
    request: { responseType: 'code id_token' },
    client: ALL,
    mode: 'uaa',
    want: 'respond cloud.read',
  },
  { name: 'lets a new sign-in be demanded', request: { forceLogin: true }, client: ALL, want: 'sign-in' },
  {
    name: 'refuses the demand for a new sign-in in silence',
    request: { forceLogin: true, silent: true },
    client: ALL,
    want: 'refuse login_required',
  },
])

const aged = (seconds: number) => ({ authenticatedAt: secondsAgo(seconds) })

table('nextStep, max_age', [
  {
    name: 'accepts a sign-in without a limit, however old',
    client: ALL,
    user: aged(43_200),
    want: 'respond openid cloud.read',
  },
  {
    name: 'accepts a sign-in of exactly that age',
    client: ALL,
    request: { maxAge: 60 },
    user: aged(60),
    want: 'respond openid cloud.read',
  },
  {
    name: 'asks again a millisecond later',
    client: ALL,
    request: { maxAge: 60 },
    user: aged(60.001),
    want: 'sign-in',
  },
  {
    name: 'asks again for max_age=0 after a sign-in of this very moment',
    client: ALL,
    request: { maxAge: 0 },
    user: aged(0),
    want: 'sign-in',
  },
  {
    name: 'refuses max_age=0 in silence, also when the clock was set back since',
    client: ALL,
    request: { maxAge: 0, silent: true },
    user: aged(-60),
    want: 'refuse login_required',
  },
  { name: 'asks again for max_age=0', client: ALL, request: { maxAge: 0 }, user: aged(1), want: 'sign-in' },
  {
    name: 'refuses in silence what is too old',
    client: ALL,
    request: { maxAge: 60, silent: true },
    user: aged(61),
    want: 'refuse login_required',
  },
  {
    name: 'responds without a page if the sign-in is recent enough',
    client: ALL,
    request: { maxAge: 60, silent: true },
    user: aged(59),
    want: 'respond openid cloud.read',
  },
  {
    name: 'asks again after an approval that took too long',
    request: { maxAge: 60 },
    user: { ...aged(61), justApproved: true },
    want: 'sign-in',
  },
])

table('nextStep, provider of the user', [
  {
    name: 'takes every provider when the client names none',
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
    name: 'offers another sign-in for a provider that is not listed',
    client: { ...ALL, allowedProviders: ['ldap'] },
    want: 'switch-provider',
  },
  {
    name: 'offers it in the other mode too',
    client: { ...ALL, allowedProviders: ['ldap'] },
    mode: 'uaa',
    want: 'switch-provider',
  },
  {
    name: 'refuses in silence a provider that is not listed',
    client: { ...ALL, allowedProviders: ['ldap'] },
    request: { silent: true },
    want: 'refuse login_required',
  },
  {
    name: 'offers another sign-in even in silence, as UAA does',
    client: { ...ALL, allowedProviders: ['ldap'] },
    request: { silent: true },
    mode: 'uaa',
    want: 'switch-provider',
  },
  {
    name: 'asks for a demanded sign-in before it looks at the provider',
    client: { ...ALL, allowedProviders: ['ldap'] },
    request: { forceLogin: true },
    want: 'sign-in',
  },
  {
    name: 'looks at the provider before the scopes',
    client: { ...ALL, allowedProviders: ['ldap'] },
    user: { scopes: new OAuthError('invalid_scope', 'none') },
    want: 'switch-provider',
  },
])

table('nextStep, scopes of the user', [
  {
    name: 'hands on what the scope rules refuse',
    user: { scopes: new OAuthError('invalid_scope', 'none') },
    want: 'refuse invalid_scope',
  },
  {
    name: 'hands it on in silence',
    user: { scopes: new OAuthError('invalid_scope', 'none') },
    request: { silent: true },
    want: 'refuse invalid_scope',
  },
  {
    name: 'hands on in silence that the client has no scopes',
    client: { scope: [] },
    user: { scopes: new OAuthError('invalid_scope', 'none') },
    request: { silent: true },
    want: 'refuse invalid_scope',
  },
  {
    name: 'takes that for a fault in silence, as UAA does',
    client: { scope: [] },
    user: { scopes: new OAuthError('invalid_scope', 'none') },
    request: { silent: true },
    mode: 'uaa',
    want: 'refuse server_error',
  },
  {
    name: 'hands it on aloud in UAA too',
    client: { scope: [] },
    user: { scopes: new OAuthError('invalid_scope', 'none') },
    mode: 'uaa',
    want: 'refuse invalid_scope',
  },
  {
    name: 'hands it on although everything was just approved',
    user: { scopes: new OAuthError('invalid_scope', 'none'), justApproved: true },
    want: 'refuse invalid_scope',
  },
])

table('nextStep, autoapproval', [
  // Covers GET /oauth/authorize: rule: autoapprove for all scopes
  { name: 'asks nothing when everything is approved automatically', client: ALL, want: 'respond openid cloud.read' },
  {
    name: 'asks nothing when each scope is listed',
    client: { autoapprove: ['openid', 'cloud.read'] },
    want: 'respond openid cloud.read',
  },
  // Covers GET /oauth/authorize: rule: autoapprove wildcards
  {
    name: 'asks nothing when wildcards fit each scope',
    client: { autoapprove: ['openid', 'cloud.*'] },
    want: 'respond openid cloud.read',
  },
  {
    name: 'asks only for the scopes that are not listed',
    client: { autoapprove: ['openid'] },
    want: 'approve cloud.read:undecided',
  },
  {
    name: 'does not stretch a wildcard over a dot',
    client: { autoapprove: ['*'] },
    want: 'approve cloud.read:undecided',
  },
  { name: 'asks for everything when the list is empty', want: 'approve openid:undecided cloud.read:undecided' },
  {
    name: 'overrules a stored denial',
    client: ALL,
    user: { approvals: decided('DENIED', 'openid') },
    want: 'respond openid cloud.read',
  },
  {
    name: 'responds without a page if the approval is automatic',
    client: ALL,
    request: { silent: true },
    want: 'respond openid cloud.read',
  },
])

table('nextStep, stored decisions', [
  {
    name: 'asks nothing when everything was approved',
    user: { approvals: decided('APPROVED', 'openid', 'cloud.read') },
    want: 'respond openid cloud.read',
  },
  {
    name: 'leaves out without a question what was denied',
    user: { approvals: [...decided('APPROVED', 'openid'), ...decided('DENIED', 'cloud.read')] },
    want: 'respond openid',
  },
  {
    name: 'asks again when one scope has no decision, which an expired one is',
    user: { approvals: decided('APPROVED', 'openid') },
    want: 'approve cloud.read:undecided openid:approved',
  },
  {
    name: 'shows denied scopes last',
    user: {
      scopes: ['openid', 'cloud.read', 'cloud.write'],
      approvals: [...decided('DENIED', 'openid'), ...decided('APPROVED', 'cloud.write')],
    },
    want: 'approve cloud.read:undecided cloud.write:approved openid:denied',
  },
  {
    name: 'shows password and openid scopes first, the rest by name',
    user: { scopes: ['cloud.write', 'cloud.read', 'password.write', 'openid'] },
    want: 'approve openid:undecided password.write:undecided cloud.read:undecided cloud.write:undecided',
  },
  {
    name: 'mixes lists and decisions',
    client: { autoapprove: ['openid'] },
    user: { approvals: decided('APPROVED', 'cloud.read') },
    want: 'respond openid cloud.read',
  },
  {
    name: 'refuses when everything was denied',
    user: { approvals: decided('DENIED', 'openid', 'cloud.read') },
    want: 'refuse access_denied',
  },
  {
    name: 'answers without scopes when everything was denied, as UAA does',
    user: { approvals: decided('DENIED', 'openid', 'cloud.read') },
    mode: 'uaa',
    want: 'respond',
  },
  {
    name: 'ignores decisions about scopes that are not asked for',
    user: { approvals: decided('APPROVED', 'openid', 'cloud.write') },
    want: 'approve cloud.read:undecided openid:approved',
  },
  { name: 'says consent_required in silence', request: { silent: true }, want: 'refuse consent_required' },
  {
    name: 'says interaction_required in silence, as UAA does',
    request: { silent: true },
    mode: 'uaa',
    want: 'refuse interaction_required',
  },
  {
    name: 'responds without a page if everything was approved',
    request: { silent: true },
    user: { approvals: decided('APPROVED', 'openid', 'cloud.read') },
    want: 'respond openid cloud.read',
  },
  {
    name: 'refuses in silence when everything was denied',
    request: { silent: true },
    user: { approvals: decided('DENIED', 'openid', 'cloud.read') },
    want: 'refuse access_denied',
  },
])

table('nextStep, just approved', [
  {
    name: 'does not ask twice',
    user: { justApproved: true, approvals: decided('APPROVED', 'openid', 'cloud.read') },
    want: 'respond openid cloud.read',
  },
  {
    name: 'grants what was ticked only',
    user: { justApproved: true, approvals: [...decided('APPROVED', 'openid'), ...decided('DENIED', 'cloud.read')] },
    want: 'respond openid',
  },
  {
    name: 'grants no scope that came up after the question',
    user: { justApproved: true, approvals: decided('APPROVED', 'openid') },
    want: 'respond openid',
  },
  {
    name: 'refuses when nothing was ticked',
    user: { justApproved: true, approvals: decided('DENIED', 'openid', 'cloud.read') },
    want: 'refuse access_denied',
  },
])

table('nextStep, prompt=consent', [
  {
    name: 'asks although everything is approved automatically',
    client: ALL,
    request: { forceConsent: true },
    want: 'approve openid:undecided cloud.read:undecided',
  },
  {
    name: 'asks although everything was approved before',
    request: { forceConsent: true },
    user: { approvals: decided('APPROVED', 'openid', 'cloud.read') },
    want: 'approve openid:approved cloud.read:approved',
  },
  {
    name: 'asks once',
    client: ALL,
    request: { forceConsent: true },
    user: { justApproved: true, approvals: decided('APPROVED', 'openid', 'cloud.read') },
    want: 'respond openid cloud.read',
  },
  {
    name: 'respects a denial of what is approved automatically otherwise',
    client: ALL,
    request: { forceConsent: true },
    user: { justApproved: true, approvals: [...decided('APPROVED', 'openid'), ...decided('DENIED', 'cloud.read')] },
    want: 'respond openid',
  },
  {
    name: 'asks to sign in first when both are demanded',
    request: { forceConsent: true, forceLogin: true },
    want: 'sign-in',
  },
])
