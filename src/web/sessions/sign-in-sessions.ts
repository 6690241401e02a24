// Begins sessions of users: at a sign-in, for a new password, and after a second factor. Each has a new id, against session
// fixation.
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Clock } from '../../base/clock.ts'
import { canonicalAddress, withoutPort } from '../../base/network-address.ts'
import type { Random } from '../../base/random.ts'
import { digest } from '../../base/secrets.ts'
import type { Vault } from '../../base/secrets.ts'
import type { Behaviour } from '../../model/compatibility.ts'
import type { AddressedZone } from '../../model/request.ts'
import { levelOf, reaches, stronger, withLevel } from '../../model/sessions/assurance.ts'
import type { Level } from '../../model/sessions/assurance.ts'
import { providerSessionOf, SESSION_ABSOLUTE_SECONDS } from '../../model/sessions/session.ts'
import type { Session, SignIn, SignInMethod } from '../../model/sessions/session.ts'
import { isAbout, secondFactorPolicy } from '../../model/users/second-factor.ts'
import { keptUserAgent } from '../../model/users/user-agent.ts'
import type { User } from '../../model/users/user.ts'
import type { Store } from '../../store/store.ts'
import type { Csrf } from './csrf.ts'
import type { SettableSession, SignedInUser } from './current-session.ts'
import { ID_LENGTH, newSession } from './new-session.ts'
import type { SessionCookies } from './session-cookies.ts'
import { sealedHint } from './upstream-hint.ts'
import type { WaitingRequests } from './waiting-request.ts'

/** A second factor that was just proven. */
export interface ProvenFactor {
  readonly level: Level
  /** RFC 8176, without `mfa`. */
  readonly amr: readonly string[]
}

/** Sessions in which a user is signed in; each begins under a new id. */
export interface SignInSessions {
  /** Signs the user in under a new session id, against session fixation. */
  signIn(request: FastifyRequest, reply: FastifyReply, user: User, method: SignInMethod): Promise<void>
  /** Like `signIn`, for a user who is signed in already: records no logon, and keeps the saved request. */
  renew(request: FastifyRequest, reply: FastifyReply, signedIn: SignedInUser): Promise<void>
  /**
   * After a second factor: the same sign-in, stronger, under a new session id. Clears the user's failed sign-ins. False if
   * the session has ended meanwhile.
   */
  strengthen(
    request: FastifyRequest,
    reply: FastifyReply,
    signedIn: SignedInUser,
    factor: ProvenFactor,
  ): Promise<boolean>
}

/** Dependencies of `createSignInSessions`. */
interface SignInSessionDeps {
  readonly store: Store
  readonly clock: Clock
  readonly random: Random
  readonly vault: Vault
  readonly behaviour: Behaviour
  readonly csrf: Csrf
  readonly current: SettableSession
  readonly cookies: SessionCookies
  readonly waiting: WaitingRequests
  /** Called at every sign-in, before it is answered. */
  readonly onSignIn: (request: FastifyRequest, reply: FastifyReply, user: User) => void
}

/** One instance serves every zone. */
export function createSignInSessions(deps: SignInSessionDeps): SignInSessions {
  const { store, clock, random, vault, behaviour, csrf, current, cookies, waiting } = deps

  async function begin(
    request: FastifyRequest,
    reply: FastifyReply,
    { user, method, renewed }: { user: User; method: SignInMethod; renewed?: Session },
  ): Promise<void> {
    const { upstream } = method
    const { id, session } = newSession(deps, {
      zoneId: request.zone.id,
      lifeSeconds: SESSION_ABSOLUTE_SECONDS,
      endsAt: upstream?.endsAt ?? renewed?.expiresAt,
    })
    const old = await current.of(request)
    // Signing in again as the same user keeps the session that clients know; another user starts a new one.
    const before = old?.signIn?.userId === user.id ? old : undefined
    const signIn = signInOf(request, user, {
      method,
      authenticatedAt: method.isTimeUnknown ? undefined : (method.authenticatedAt ?? session.createdAt),
      sessionSalt: before?.signIn?.sessionSalt ?? random.urlSafe(22),
    })
    const savedRequest = renewed?.savedRequest
    const begun = {
      ...session,
      ...(renewed && { createdAt: renewed.createdAt }), // a new password proves no second factor again
      signIn,
      ...(before?.clients && { clients: before.clients }),
      ...(savedRequest !== undefined && { savedRequest }),
    }
    const { sessions } = store
    // A session is renewed for a new password, and users of providers have none.
    if (renewed) await sessions.replace(request.zone.id, old?.idDigest, begun)
    else {
      const sealedLogoutHint = upstream && sealedHint(vault, begun, upstream.logoutHint)
      const written = { ...begun, sealedLogoutHint }
      await sessions.replaceAtLogon(request.zone.id, old?.idDigest, written, {
        keepsFailures: mayGuess(request.zone, user, { signIn, behaviour }),
      })
    }
    adopt(request, reply, { id, session: begun, user })
  }

  /** Gives the browser a session of the user, which is that of the request from now on. */
  function adopt(
    request: FastifyRequest,
    reply: FastifyReply,
    { id, session, user }: { readonly id: string; readonly session: Session; readonly user: User },
  ): void {
    cookies.setId(reply, id)
    csrf.renew(reply, session)
    cookies.setCurrentUser(reply, user.id)
    current.set(request, session)
    request.user = user
  }

  return {
    async signIn(request, reply, user, method) {
      await begin(request, reply, { user, method })
      waiting.forget(request, reply)
      deps.onSignIn(request, reply, user)
    },
    async renew(request, reply, { user, session }) {
      // A new password does not prove a second factor again: the time of the sign-in stays the same.
      const { amr, acr, authenticatedAt } = session.signIn
      const time = authenticatedAt ? { authenticatedAt } : { isTimeUnknown: true }
      await begin(request, reply, { user, method: { amr, ...time, ...(acr && { acr }) }, renewed: session })
    },
    async strengthen(request, reply, { user, session }, { level, amr }) {
      const { signIn } = session
      const id = random.urlSafe(ID_LENGTH)
      const acr = withLevel(stronger(levelOf(signIn.acr), level), signIn.acr)
      const begun = {
        ...session,
        idDigest: digest(id),
        lastSeenAt: clock.now(),
        signIn: { ...signIn, amr: [...new Set([...signIn.amr, ...amr, 'mfa'])], ...(acr && { acr }) },
      }
      const { zone } = request
      const sealedLogoutHint = await store.sessions.sealedLogoutHint(zone.id, session.idDigest)
      if (!(await store.sessions.replaceAndClear(zone.id, session.idDigest, { ...begun, sealedLogoutHint })))
        return false
      adopt(request, reply, { id, session: begun, user })
      return true
    },
  }
}

/** What the row of a session keeps of a sign-in. */
function signInOf(
  request: FastifyRequest,
  user: User,
  {
    method: { amr, acr, upstream, wasDemanded },
    authenticatedAt,
    sessionSalt,
  }: { readonly method: SignInMethod; readonly authenticatedAt: Date | undefined; readonly sessionSalt: string },
): SignIn {
  const userAgent = keptUserAgent(request.headers['user-agent'])
  const remoteAddress = canonicalAddress(withoutPort(request.ip))
  const providerSession = upstream?.sid === undefined ? undefined : providerSessionOf(user.origin, upstream.sid)
  return {
    userId: user.id,
    origin: user.origin,
    ...(authenticatedAt && { authenticatedAt }),
    ...(wasDemanded && { wasDemanded }),
    amr,
    ...(acr && { acr }),
    sessionSalt,
    passwordRevision: user.passwordRevision,
    ...(userAgent !== undefined && { userAgent }),
    ...(remoteAddress !== undefined && { remoteAddress }),
    ...(providerSession !== undefined && { providerSession }),
    ...(request.zone.address === 'path' && { byPath: true as const }),
  }
}

/**
 * Whether a second factor can still be requested; its guesses count together with those of the password. In a remembered
 * browser, an application can still demand one.
 */
function mayGuess(
  zone: AddressedZone,
  user: User,
  { signIn: { acr }, behaviour }: { readonly signIn: SignIn; readonly behaviour: Behaviour },
): boolean {
  if (reaches(levelOf(acr), '2') || (user.factors?.methods ?? []).length === 0) return false
  return isAbout(secondFactorPolicy(zone, behaviour), user)
}
