// The sessions of a user in one zone, as the user sees and ends them.
import type { FastifyRequest } from 'fastify'
import type { Clock } from '../../base/clock.ts'
import { digest } from '../../base/secrets.ts'
import { isLive, mayContinue } from '../../model/sessions/session.ts'
import type { Session, SignIn } from '../../model/sessions/session.ts'
import type { Store } from '../../store/store.ts'
import type { CurrentSession } from './current-session.ts'

/** A session as shown to its owner. */
interface OwnSession {
  readonly session: Session & { readonly signIn: SignIn }
  /** Identifies the session in a form; cannot be used as a cookie. */
  readonly handle: string
  /** Whether it is the session of this request. */
  readonly isCurrent: boolean
}

/** Sessions of the user who makes the request. */
export interface OwnSessions {
  /** The signed-in user's live sessions in this zone, most recently seen first. */
  ownSessions(request: FastifyRequest): Promise<readonly OwnSession[]>
  /** Ends another session of the same user; false for an unknown handle, and for the current session. */
  endOther(request: FastifyRequest, handle: string): Promise<boolean>
  /** Ends every other session of the user in this zone. */
  endOthers(request: FastifyRequest): Promise<void>
}

/** One instance serves every zone. */
export function createOwnSessions({
  store,
  clock,
  current,
  idleSeconds,
}: {
  readonly store: Store
  readonly clock: Clock
  readonly current: CurrentSession
  readonly idleSeconds: number
}): OwnSessions {
  async function ownSessions(request: FastifyRequest): Promise<readonly OwnSession[]> {
    const here = await current.signedIn(request)
    if (!here) return []
    const now = clock.now()
    const all = await store.sessions.listOfUser(request.zone.id, here.user.id, now)
    return all.flatMap(session => {
      const { signIn, idDigest } = session
      if (!signIn || !isLive(session, now, idleSeconds) || !mayContinue(here.user, signIn)) return []
      const isCurrent = idDigest === here.session.idDigest
      return [{ session: { ...session, signIn }, handle: digest(`handle of ${idDigest}`), isCurrent }]
    })
  }

  return {
    ownSessions,
    async endOther(request, handle) {
      const other = (await ownSessions(request)).find(each => each.handle === handle)
      if (!other || other.isCurrent) return false
      await store.sessions.delete(request.zone.id, other.session.idDigest)
      return true
    },
    async endOthers(request) {
      const here = await current.signedIn(request)
      if (!here) return
      const of = { userId: here.user.id, kept: here.session.idDigest }
      while ((await store.sessions.deleteSomeOthers(request.zone.id, of)) > 0);
    },
  }
}
