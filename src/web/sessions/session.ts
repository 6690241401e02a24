// Browser sessions: what is kept in a row, and when it begins and ends. session-cookies.ts has the cookies; neither knows
// what users do in a session.
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Clock } from '../../base/clock.ts'
import type { Random } from '../../base/random.ts'
import type { Vault } from '../../base/secrets.ts'
import type { Behaviour } from '../../model/compatibility.ts'
import type { Service } from '../../model/service.ts'
import { MAX_CLIENTS } from '../../model/sessions/session.ts'
import type { Urls } from '../../model/urls.ts'
import type { User } from '../../model/users/user.ts'
import type { PageSettings } from '../../model/zones/settings.ts'
import type { Store } from '../../store/store.ts'
import type { Csrf } from './csrf.ts'
import { createCurrentSession } from './current-session.ts'
import type { CurrentSession } from './current-session.ts'
import { ID_LENGTH } from './new-session.ts'
import { createOwnSessions } from './own-sessions.ts'
import type { OwnSessions } from './own-sessions.ts'
import { createSavedRequests } from './saved-requests.ts'
import type { SavedRequests } from './saved-requests.ts'
import { createSessionCookies, guardedName } from './session-cookies.ts'
import { createSignInSessions } from './sign-in-sessions.ts'
import type { SignInSessions } from './sign-in-sessions.ts'
import { openedHint } from './upstream-hint.ts'
import { createWaitingRequests } from './waiting-request.ts'

/** Browser sessions of all zones; each method uses the zone of its request. */
export interface Sessions extends CurrentSession, SavedRequests, SignInSessions, OwnSessions {
  /** Whether the browser sent a session cookie; with `SameSite` it does not for a form posted by another site. */
  wasSent(request: FastifyRequest): boolean
  /** UAA: sets a session cookie without a database row if there is no session. See docs/compatibility.md, P2. */
  announce(request: FastifyRequest, reply: FastifyReply): Promise<void>
  /** Saves what is pending approval. */
  setPendingApproval(request: FastifyRequest, pending: string): Promise<void>
  /** Clears what is pending approval; false for the second of two concurrent answers. */
  takePendingApproval(request: FastifyRequest, pending: string): Promise<boolean>
  /**
   * The session's digest, if the client must still be added to the session's list of clients to notify at logout;
   * undefined if it is on the list already, or the list is full.
   */
  lacksClient(request: FastifyRequest, clientId: string): Promise<string | undefined>
  /** The hint that the session's provider needs at logout; undefined without one, and if it was too long to keep. */
  upstreamHint(request: FastifyRequest): Promise<string | undefined>
  /** Ends the session and expires its cookies. */
  end(request: FastifyRequest, reply: FastifyReply): Promise<void>
  /** Sets the readable cookie by which frames detect a change of user; undefined expires it. */
  setCurrentUser(reply: FastifyReply, userId: string | undefined): void
}

/** One instance serves every zone. */
export function createSessions(deps: {
  store: Store
  clock: Clock
  random: Random
  vault: Vault
  service: Service
  urls: Urls
  behaviour: Behaviour
  sameSite: 'lax' | 'none'
  pageSettings: PageSettings
  csrf: Csrf
  /** Called at every sign-in, before it is answered. */
  onSignIn: (request: FastifyRequest, reply: FastifyReply, user: User) => void
}): Sessions {
  const { store, clock, random, vault, urls, behaviour, csrf } = deps
  const { idleSeconds } = deps.pageSettings
  const cookies = createSessionCookies(deps)
  const waiting = createWaitingRequests({
    clock,
    urls,
    nameIn: zone => guardedName(zone, `${deps.service.name}-request`, urls),
    attributesIn: zone => ({ ...cookies.attributesIn(zone), path: `${urls.pathOf(zone)}/` }),
  })
  const current = createCurrentSession({ store, clock, cookies, waiting, idleSeconds })
  const parts = { ...deps, current, cookies, waiting, idleSeconds }

  return {
    of: request => current.of(request),
    signedIn: request => current.signedIn(request),
    forget: request => current.forget(request),
    ...createSavedRequests(parts),
    ...createSignInSessions(parts),
    ...createOwnSessions(parts),
    wasSent: request => cookies.idOf(request) !== undefined,
    async announce(request, reply) {
      if (!behaviour.noEmptySessions && !(await current.of(request))) cookies.setId(reply, random.urlSafe(ID_LENGTH))
    },
    async setPendingApproval(request, pending) {
      const session = await current.of(request)
      if (session) await store.sessions.update(request.zone.id, session.idDigest, { pendingApproval: pending })
    },
    async takePendingApproval(request, pending) {
      const session = await current.of(request)
      return session !== undefined && store.sessions.takePendingApproval(request.zone.id, session.idDigest, pending)
    },
    async lacksClient(request, clientId) {
      const session = await current.of(request)
      const clients = session?.clients ?? []
      if (!session?.signIn || clients.includes(clientId) || clients.length >= MAX_CLIENTS) return undefined
      return session.idDigest
    },
    async upstreamHint(request) {
      const here = await current.signedIn(request)
      const sealed = here && (await store.sessions.sealedLogoutHint(request.zone.id, here.session.idDigest))
      return here && sealed !== undefined ? openedHint(vault, here.session, sealed) : undefined
    },
    async end(request, reply) {
      const session = await current.of(request)
      if (session) await store.sessions.delete(request.zone.id, session.idDigest)
      cookies.clearId(reply)
      csrf.clear(reply)
      waiting.forget(request, reply)
      cookies.setCurrentUser(reply, undefined)
      current.forget(request)
    },
    setCurrentUser: (reply, userId) => cookies.setCurrentUser(reply, userId),
  }
}
