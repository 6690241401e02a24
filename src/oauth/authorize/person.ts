// Who an authorization request is for: the person in front of the browser, or the one whose token a program has; and what
// is known of them.
import type { Clock } from '../../base/clock.ts'
import type { Behaviour } from '../../model/compatibility.ts'
import { OAuthError } from '../../model/oauth-error.ts'
import { isAutoApproved, userScopes, withinToken } from '../../model/scopes.ts'
import type { UserGroups } from '../../model/scopes.ts'
import type { User } from '../../model/user.ts'
import type { Zone } from '../../model/zone.ts'
import type { Store } from '../../store/store.ts'
import type { TokenReader } from '../../token/reader.ts'
import type { Sessions } from '../../web/session.ts'
import type { Approvals } from './approve.ts'
import type { AuthorizationRequest } from './request.ts'
import type { Passage, Resolved } from './response.ts'
import type { SignedIn } from './next-step.ts'
import { wasAskedForHint } from './demands.ts'
import { RedirectRefusal } from './respond.ts'
import { sessionIdFor } from '../session-state.ts'

/** What finding people needs. */
export interface PeopleDeps {
  readonly store: Store
  readonly sessions: Sessions
  readonly reader: TokenReader
  readonly clock: Clock
  readonly behaviour: Behaviour
  readonly groupsOf: (zone: Zone, user: User) => Promise<UserGroups>
  readonly approvals: Approvals
}

/** Finds and describes the person of a request. */
export interface People {
  /** Whoever signed in with this browser, or the person that the token stands for. */
  find(passage: Passage): Promise<Resolved | undefined>
  /** The id of the person that the request means (row A12); throws `invalid_request` for a hint that is not ours. */
  hinted(authorization: AuthorizationRequest, passage: Passage): Promise<string | undefined>
  /** What is known of the person, once their answer is stored. */
  describe(
    authorization: AuthorizationRequest,
    who: { readonly person: Resolved; readonly hinted: string | undefined },
    passage: Passage,
  ): Promise<SignedIn>
}

/** One instance serves every zone. */
export function createPeople(deps: PeopleDeps): People {
  const { store, sessions, reader, clock, behaviour, approvals } = deps

  /** Who is there: whoever signed in with this browser, or the person that the token stands for. */
  async function find({ request, form, bearer }: Passage): Promise<Resolved | undefined> {
    if (bearer) {
      if (!bearer.user) throw new Error('the token stands for nobody')
      // A token outlives its provider; it begins nothing new.
      if (!(await store.providers.isActive(request.zone.id, bearer.user.origin))) return undefined
      // A token of a passcode tells no sign-in; then its own age is all that is known.
      const at = bearer.claims['auth_time'] ?? bearer.claims['iat']
      return { user: bearer.user, authenticatedAt: new Date(Number(at) * 1000), amr: [] }
    }
    const visitor = await sessions.visitor(request)
    if (!visitor) return undefined
    const { signIn } = visitor.session
    return {
      user: visitor.user,
      authenticatedAt: signIn.authenticatedAt,
      amr: signIn.amr,
      sessionId: sessionIdFor(signIn, form.get('client_id') ?? ''),
    }
  }

  /** The id of the person that the request means (row A12); throws `invalid_request` for a hint that is not ours. */
  async function hinted({ target }: AuthorizationRequest, { request, form }: Passage): Promise<string | undefined> {
    const hint = form.get('id_token_hint')
    if (!hint || !behaviour.honourIdTokenHint) return undefined
    try {
      const { sub } = await reader.readHint(request.zone, hint)
      if (typeof sub === 'string') return sub
    } catch (cause) {
      if (!(cause instanceof OAuthError)) throw cause
    }
    const description = 'The id_token_hint was not issued by this server.'
    throw new RedirectRefusal(target, new OAuthError('invalid_request', description))
  }

  /** What is known of the person, once their answer is stored. */
  async function describe(
    authorization: AuthorizationRequest,
    { person, hinted }: { person: Resolved; hinted: string | undefined },
    { request, form, answer, bearer }: Passage,
  ): Promise<SignedIn> {
    const { client, requestedScopes } = authorization
    const { user, authenticatedAt } = person
    const { zone } = request
    const groups = await deps.groupsOf(zone, user)
    const scopes = refusable(() => {
      const held = userScopes(client, requestedScopes, groups, behaviour)
      return bearer && behaviour.codeWithinToken ? withinToken(held, bearer.scopes) : held
    })
    if (answer && !(scopes instanceof OAuthError))
      await approvals.record(user, authorization, { asked: scopes, answer, remoteAddress: request.ip })
    // Where the client approves everything by itself nobody decided anything, and nothing is looked up.
    const isAutomatic =
      !authorization.forceConsent &&
      (scopes instanceof OAuthError || scopes.every(scope => isAutoApproved(client, scope)))
    return {
      origin: user.origin,
      authenticatedAt,
      scopes,
      approvals: isAutomatic ? [] : await store.approvals.list(zone.id, user.id, client.clientId, clock.now()),
      justApproved: answer !== undefined,
      ...(hinted !== undefined && hinted !== user.id && { isAnother: { wasAsked: wasAskedForHint(form) } }),
    }
  }

  return { find, hinted, describe }
}

function refusable<T>(decide: () => T): T | OAuthError {
  try {
    return decide()
  } catch (error) {
    if (error instanceof OAuthError) return error
    throw error
  }
}
