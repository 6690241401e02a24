// The session of a request: found by the cookie once, and kept with the request. Rows are found by zone and id, so a cookie of
// another zone is not accepted.
import type { FastifyRequest } from 'fastify'
import type { Clock } from '../../base/clock.ts'
import { digest } from '../../base/secrets.ts'
import { isLive, mayContinue } from '../../model/sessions/session.ts'
import type { Session, SignIn } from '../../model/sessions/session.ts'
import type { User } from '../../model/users/user.ts'
import type { Store } from '../../store/store.ts'
import { ID_LENGTH } from './new-session.ts'
import type { SessionCookies } from './session-cookies.ts'
import type { WaitingRequests } from './waiting-request.ts'

/** A signed-in user with the session. */
export interface SignedInUser {
  readonly session: Session & { readonly signIn: SignIn }
  readonly user: User
}

/** Finds the session of a request. */
export interface CurrentSession {
  /** The live session of the cookie, or undefined; looked up once per request. */
  of(request: FastifyRequest): Promise<Session | undefined>
  /** The signed-in user and session, or undefined; the account is read once per request. */
  signedIn(request: FastifyRequest): Promise<SignedInUser | undefined>
  /** Treats the request as one of a browser without a session: what follows neither reads nor replaces an older one. */
  forget(request: FastifyRequest): void
}

/** Also sets it. */
export interface SettableSession extends CurrentSession {
  /** Makes it the session of the request from now on; undefined for none. */
  set(request: FastifyRequest, session: Session | undefined): void
}

const TOUCH_SECONDS = 60

/** One instance serves every zone. */
export function createCurrentSession({
  store,
  clock,
  cookies,
  waiting,
  idleSeconds,
}: {
  readonly store: Store
  readonly clock: Clock
  readonly cookies: SessionCookies
  readonly waiting: WaitingRequests
  readonly idleSeconds: number
}): SettableSession {
  // Short enough that a session in use cannot expire between two writes.
  const touchMilliseconds = Math.min(TOUCH_SECONDS, idleSeconds / 4) * 1000

  async function load(request: FastifyRequest): Promise<Session | undefined> {
    const id = cookies.idOf(request)
    if (id === undefined || id.length !== ID_LENGTH) return undefined
    const found = await store.sessions.findWithUser(request.zone.id, digest(id))
    const now = clock.now()
    if (!found || !isLive(found.session, now, idleSeconds)) return undefined
    const { session, user } = found
    if (session.signIn) {
      const { providers } = store // cached: this costs no read
      const isAllowed =
        user && mayContinue(user, session.signIn) && (await providers.isActive(request.zone.id, user.origin))
      if (!isAllowed) {
        await store.sessions.delete(request.zone.id, session.idDigest)
        return undefined
      }
      request.user = user
    }
    // Also where it seems to be later, after the clock was set back: it would stay usable until then.
    if (Math.abs(now.getTime() - session.lastSeenAt.getTime()) > touchMilliseconds) {
      await store.sessions.update(request.zone.id, session.idDigest, { lastSeenAt: now })
    }
    return session
  }

  async function of(request: FastifyRequest): Promise<Session | undefined> {
    if (!request.visitLoaded) set(request, await load(request))
    return request.visit
  }

  function set(request: FastifyRequest, session: Session | undefined): void {
    request.visit = session
    request.visitLoaded = true
    request.waiting = session === undefined ? waiting.read(request) : session.savedRequest
  }

  return {
    of,
    set,
    async signedIn(request) {
      const session = await of(request)
      if (!session?.signIn || !request.user) return undefined
      return { session: { ...session, signIn: session.signIn }, user: request.user }
    },
    forget(request) {
      set(request, undefined)
      request.user = undefined
    },
  }
}
