// The request that a user made before being asked to sign in: kept in the session, or in a cookie where there is none.
import type { FastifyReply, FastifyRequest } from 'fastify'
import { addSeconds } from '../../base/clock.ts'
import type { Clock } from '../../base/clock.ts'
import type { Random } from '../../base/random.ts'
import { digest } from '../../base/secrets.ts'
import { formatSavedRequest, parseSavedRequest, SESSION_IDLE_SECONDS } from '../../model/sessions/session.ts'
import type { SavedRequest } from '../../model/sessions/session.ts'
import type { Store } from '../../store/store.ts'
import { PageError } from '../answers.ts'
import { createAnonymousSessions } from '../limits/anonymous-sessions.ts'
import type { AnonymousSessions } from '../limits/anonymous-sessions.ts'
import type { SettableSession } from './current-session.ts'
import { newSession } from './new-session.ts'
import type { NewSession } from './new-session.ts'
import type { SessionCookies } from './session-cookies.ts'
import type { WaitingRequests } from './waiting-request.ts'

/** Saved requests of every browser. */
export interface SavedRequests {
  /** The request that the user made before being asked to sign in; undefined after half an hour. */
  savedRequest(request: FastifyRequest): Promise<SavedRequest | undefined>
  /**
   * Saves the URL to continue with after sign-in: in the current session, else in a cookie, which avoids a database row for
   * visitors who never sign in. A URL too long for the cookie starts an anonymous session.
   */
  saveRequest(request: FastifyRequest, reply: FastifyReply, saved: SavedRequest): Promise<void>
  /** Like `saveRequest`, but always in a session, so that a sign-in at another provider can be bound to it. */
  saveInSession(request: FastifyRequest, reply: FastifyReply, saved: SavedRequest): Promise<void>
  /** Saves the path apart from the browser's session, in a row that other sign-ins of the browser do not end; returns its id. */
  savePath(request: FastifyRequest, path: string): Promise<string>
  /** The path that `savePath` saved; undefined after half an hour. */
  savedPath(request: FastifyRequest, id: string): Promise<string | undefined>
}

/** Characters; authorization requests of real clients are shorter. */
const MAX_SAVED_LENGTH = 4096

/** One instance serves every zone. */
export function createSavedRequests(deps: {
  readonly store: Store
  readonly clock: Clock
  readonly random: Random
  readonly current: SettableSession
  readonly cookies: SessionCookies
  readonly waiting: WaitingRequests
  readonly idleSeconds: number
}): SavedRequests {
  const { store, clock, current, cookies, waiting } = deps
  const anonymousSessions = createAnonymousSessions()
  const savedPaths = createAnonymousSessions() // counted apart, so that they end no session in which a sign-in is in progress

  /** Serializes the request; refuses one that is too long to be kept. */
  function textOf(saved: SavedRequest): string {
    if (saved.path.length <= MAX_SAVED_LENGTH) return formatSavedRequest(saved)
    throw new PageError(400, 'The request is too long to be kept during a sign-in.', { code: 'invalid_request' })
  }

  /** Adds an anonymous session with the request, among those that are counted. */
  async function addAnonymous(
    { zone, ip }: FastifyRequest,
    savedRequest: string,
    counted: AnonymousSessions,
  ): Promise<NewSession> {
    const anonymous = newSession(deps, { zoneId: zone.id, lifeSeconds: deps.idleSeconds })
    const session = { ...anonymous.session, savedRequest }
    await store.sessions.insert(zone.id, session)
    const oldest = counted.add(ip, session)
    if (oldest) await store.sessions.delete(oldest.zoneId, oldest.idDigest)
    return { id: anonymous.id, session }
  }

  async function saveInSession(request: FastifyRequest, reply: FastifyReply, saved: SavedRequest): Promise<void> {
    // A session lasts longer: an abandoned request must not demand or follow a sign-in of the next day.
    const savedRequest = textOf({ ...saved, savedAt: clock.now() })
    const session = await current.of(request)
    if (session) {
      await store.sessions.update(request.zone.id, session.idDigest, { savedRequest })
      return current.set(request, { ...session, savedRequest })
    }
    const anonymous = await addAnonymous(request, savedRequest, anonymousSessions)
    cookies.setId(reply, anonymous.id)
    waiting.forget(request, reply)
    return current.set(request, anonymous.session)
  }

  return {
    saveInSession,
    async savePath(request, path) {
      return (await addAnonymous(request, textOf({ path, reauthenticate: false }), savedPaths)).id
    },
    async savedPath({ zone }, id) {
      const session = await store.sessions.find(zone.id, digest(id))
      return session && session.expiresAt > clock.now() ? parseSavedRequest(session.savedRequest)?.path : undefined
    },
    async savedRequest(request) {
      await current.of(request)
      const saved = parseSavedRequest(request.waiting)
      const { savedAt } = saved ?? {}
      return savedAt && addSeconds(savedAt, SESSION_IDLE_SECONDS) <= clock.now() ? undefined : saved
    },
    async saveRequest(request, reply, saved) {
      const text = formatSavedRequest(saved)
      if ((await current.of(request)) || !waiting.write(reply, text)) return saveInSession(request, reply, saved)
      request.waiting = text
    },
  }
}
