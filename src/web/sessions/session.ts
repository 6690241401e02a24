// Browser sessions: what is kept in a row, and when it begins and ends. session-cookies.ts has the cookies; neither knows
// what users do in a session.
import type { FastifyReply, FastifyRequest } from 'fastify'
import { addSeconds } from '../../base/clock.ts'
import type { Clock } from '../../base/clock.ts'
import { canonicalAddress, withoutPort } from '../../base/network-address.ts'
import type { Random } from '../../base/random.ts'
import { digest } from '../../base/secrets.ts'
import type { Vault } from '../../base/secrets.ts'
import { levelOf, reaches, stronger, withLevel } from '../../model/sessions/assurance.ts'
import type { Level } from '../../model/sessions/assurance.ts'
import type { Behaviour } from '../../model/compatibility.ts'
import { sealContexts } from '../../model/seal-contexts.ts'
import { secondFactorPolicy } from '../../model/users/second-factor.ts'
import type { Service } from '../../model/service.ts'
import {
  MAX_CLIENTS,
  SESSION_ABSOLUTE_SECONDS,
  formatSavedRequest,
  isLive,
  mayContinue,
  parseSavedRequest,
  providerSessionOf,
} from '../../model/sessions/session.ts'
import type { SavedRequest, Session, SignIn, SignInMethod } from '../../model/sessions/session.ts'
import type { PageSettings } from '../../model/zones/settings.ts'
import type { Urls } from '../../model/urls.ts'
import { keptUserAgent } from '../../model/users/user-agent.ts'
import type { User } from '../../model/users/user.ts'
import type { AddressedZone } from '../../model/request.ts'
import type { Store } from '../../store/store.ts'
import { createAnonymousSessions } from '../limits/anonymous-sessions.ts'
import { PageError } from '../answers.ts'
import type { Csrf } from './csrf.ts'
import { createSessionCookies, guardedName } from './session-cookies.ts'
import { createWaitingRequests } from './waiting-request.ts'

/** Browser sessions of all zones; each method uses the zone of its request. */
export interface Sessions {
  /** The live session of the cookie, or undefined; looked up once per request. */
  of(request: FastifyRequest): Promise<Session | undefined>
  /** The signed-in user and session, or undefined; the account is read once per request. */
  signedIn(request: FastifyRequest): Promise<SignedInUser | undefined>
  /** Whether the browser sent a session cookie; with `SameSite` it does not for a form posted by another site. */
  wasSent(request: FastifyRequest): boolean
  /** The request that the user made before being asked to sign in. */
  savedRequest(request: FastifyRequest): Promise<SavedRequest | undefined>
  /**
   * Saves the URL to continue with after sign-in: in the current session, else in a cookie, which avoids a database row for
   * visitors who never sign in. A URL too long for the cookie starts an anonymous session.
   */
  saveRequest(request: FastifyRequest, reply: FastifyReply, saved: SavedRequest): Promise<void>
  /** UAA: sets a session cookie without a database row if there is no session. See docs/compatibility.md, P2. */
  announce(request: FastifyRequest, reply: FastifyReply): Promise<void>
  /** Like `saveRequest`, but always in a session, so that a sign-in at another provider can be bound to it. */
  saveInSession(request: FastifyRequest, reply: FastifyReply, saved: SavedRequest): Promise<void>
  /** Saves the authorization request that is pending approval; undefined clears it. */
  setPendingApproval(request: FastifyRequest, query: string | undefined): Promise<void>
  /** Treats the request as one of a browser without a session: what follows neither reads nor replaces an older one. */
  forget(request: FastifyRequest): void
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
  /**
   * The session's digest, if the client must still be added to the session's list of clients to notify at logout;
   * undefined if it is on the list already, or the list is full.
   */
  lacksClient(request: FastifyRequest, clientId: string): Promise<string | undefined>
  /** The signed-in user's live sessions in this zone, most recently seen first. */
  ownSessions(request: FastifyRequest): Promise<readonly OwnSession[]>
  /** Ends another session of the same user; false for an unknown handle, and for the current session. */
  endOther(request: FastifyRequest, handle: string): Promise<boolean>
  /** Ends every other session of the user in this zone. */
  endOthers(request: FastifyRequest): Promise<void>
  /** The hint that the session's provider needs at logout; undefined without one, and if it was too long to keep. */
  upstreamHint(request: FastifyRequest): Promise<string | undefined>
  /** Ends the session and expires its cookies. */
  end(request: FastifyRequest, reply: FastifyReply): Promise<void>
  /** Sets the readable cookie by which frames detect a change of user; undefined expires it. */
  setCurrentUser(reply: FastifyReply, userId: string | undefined): void
}

/** A signed-in user with the session. */
export interface SignedInUser {
  readonly session: Session & { readonly signIn: SignIn }
  readonly user: User
}

/** A second factor that was just proven. */
export interface ProvenFactor {
  readonly level: Level
  /** RFC 8176, without `mfa`. */
  readonly amr: readonly string[]
}

/** A session as shown to its owner. */
interface OwnSession {
  readonly session: Session & { readonly signIn: SignIn }
  /** Identifies the session in a form; cannot be used as a cookie. */
  readonly handle: string
  /** Whether it is the session of this request. */
  readonly isCurrent: boolean
}

const ID_LENGTH = 43
const TOUCH_SECONDS = 60
/** Characters; authorization requests of real clients are shorter. */
const MAX_SAVED_LENGTH = 4096
/** Characters; with a longer one, the URL of the logout there would be longer than many servers accept. */
const MAX_HINT_LENGTH = 4096

/** The context of a sealed hint. */
const sealOf = ({ zoneId, signIn }: SignedInUser['session']): string =>
  sealContexts.idTokenOfSession(zoneId, signIn.sessionSalt)

/** One instance serves every zone. Rows are found by zone and id, so a cookie of another zone is not accepted. */
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
  // Short enough that a session in use cannot expire between two writes.
  const touchMilliseconds = Math.min(TOUCH_SECONDS, idleSeconds / 4) * 1000
  const anonymousSessions = createAnonymousSessions()
  const waiting = createWaitingRequests({
    clock,
    urls,
    nameIn: zone => guardedName(zone, `${deps.service.name}-request`, urls),
    attributesIn: zone => ({ ...cookies.attributesIn(zone), path: `${urls.pathOf(zone)}/` }),
  })

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
    if (now.getTime() - session.lastSeenAt.getTime() > touchMilliseconds) {
      await store.sessions.update(request.zone.id, session.idDigest, { lastSeenAt: now })
    }
    return session
  }

  async function of(request: FastifyRequest): Promise<Session | undefined> {
    if (!request.visitLoaded) {
      remember(request, await load(request))
    }
    return request.visit
  }

  function newSession(zoneId: string, lifeSeconds: number, endsAt?: Date): { id: string; session: Session } {
    const id = random.urlSafe(ID_LENGTH)
    const now = clock.now()
    const latest = addSeconds(now, lifeSeconds)
    const expiresAt = endsAt && endsAt < latest ? endsAt : latest
    return { id, session: { zoneId, idDigest: digest(id), createdAt: now, lastSeenAt: now, expiresAt } }
  }

  function remember(request: FastifyRequest, session: Session | undefined): void {
    request.visit = session
    request.visitLoaded = true
    request.waiting = session === undefined ? waiting.read(request) : session.savedRequest
  }

  async function saveInSession(request: FastifyRequest, reply: FastifyReply, saved: SavedRequest): Promise<void> {
    const savedRequest = formatSavedRequest(saved)
    if (savedRequest.length > MAX_SAVED_LENGTH) {
      throw new PageError(400, 'The request is too long to wait for a sign-in.', { code: 'invalid_request' })
    }
    const session = await of(request)
    if (session) {
      await store.sessions.update(request.zone.id, session.idDigest, { savedRequest })
      return remember(request, { ...session, savedRequest })
    }
    const anonymous = newSession(request.zone.id, idleSeconds)
    await store.sessions.insert(request.zone.id, { ...anonymous.session, savedRequest })
    const oldest = anonymousSessions.add(request.ip, anonymous.session)
    if (oldest) await store.sessions.delete(oldest.zoneId, oldest.idDigest)
    cookies.setId(reply, anonymous.id)
    waiting.forget(request, reply)
    return remember(request, { ...anonymous.session, savedRequest })
  }

  async function begin(
    request: FastifyRequest,
    reply: FastifyReply,
    { user, method, renewed }: { user: User; method: SignInMethod; renewed?: Session },
  ): Promise<void> {
    const { upstream } = method
    const { id, session } = newSession(request.zone.id, SESSION_ABSOLUTE_SECONDS, upstream?.endsAt)
    const old = await of(request)
    // Signing in again as the same user keeps the session that clients know; another user starts a new one.
    const before = old?.signIn?.userId === user.id ? old : undefined
    const userAgent = keptUserAgent(request.headers['user-agent'])
    const remoteAddress = canonicalAddress(withoutPort(request.ip))
    const providerSession = upstream?.sid === undefined ? undefined : providerSessionOf(user.origin, upstream.sid)
    const signIn = {
      userId: user.id,
      origin: user.origin,
      authenticatedAt: method.authenticatedAt ?? session.createdAt,
      amr: method.amr,
      ...(method.acr && { acr: method.acr }),
      sessionSalt: before?.signIn?.sessionSalt ?? random.urlSafe(22),
      passwordRevision: user.passwordRevision,
      ...(userAgent !== undefined && { userAgent }),
      ...(remoteAddress !== undefined && { remoteAddress }),
      ...(providerSession !== undefined && { providerSession }),
      ...(request.zone.address === 'path' && { byPath: true as const }),
    }
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
      const isKept = upstream && upstream.logoutHint.length <= MAX_HINT_LENGTH
      const sealedLogoutHint = isKept ? vault.seal(upstream.logoutHint, sealOf(begun)) : undefined
      const written = { ...begun, sealedLogoutHint }
      await sessions.replaceAtLogon(request.zone.id, old?.idDigest, written, {
        keepsFailures: mayGuess(request.zone, user, signIn),
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
    remember(request, session)
    request.user = user
  }

  /**
   * Whether a second factor can still be asked for, whose guesses count with those of the password. In a remembered
   * browser, an application can still demand one.
   */
  function mayGuess(zone: AddressedZone, user: User, { acr }: Pick<SignIn, 'acr'>): boolean {
    if (reaches(levelOf(acr), '2') || (user.factors?.methods ?? []).length === 0) return false
    return secondFactorPolicy(zone, behaviour).requirement !== 'off'
  }

  async function signedIn(request: FastifyRequest): Promise<SignedInUser | undefined> {
    const session = await of(request)
    if (!session?.signIn || !request.user) return undefined
    return { session: { ...session, signIn: session.signIn }, user: request.user }
  }

  async function ownSessions(request: FastifyRequest): Promise<readonly OwnSession[]> {
    const here = await signedIn(request)
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
    of,
    signedIn,
    ownSessions,
    wasSent: request => cookies.idOf(request) !== undefined,
    async savedRequest(request) {
      await of(request)
      return parseSavedRequest(request.waiting)
    },
    async saveRequest(request, reply, saved) {
      const text = formatSavedRequest(saved)
      if ((await of(request)) || !waiting.write(reply, text)) return saveInSession(request, reply, saved)
      request.waiting = text
    },
    async announce(request, reply) {
      if (!behaviour.noEmptySessions && !(await of(request))) cookies.setId(reply, random.urlSafe(ID_LENGTH))
    },
    saveInSession,
    async setPendingApproval(request, query) {
      const session = await of(request)
      if (session) await store.sessions.update(request.zone.id, session.idDigest, { pendingApproval: query })
    },
    forget(request) {
      remember(request, undefined)
      request.user = undefined
    },
    async signIn(request, reply, user, method) {
      await begin(request, reply, { user, method })
      waiting.forget(request, reply)
      deps.onSignIn(request, reply, user)
    },
    async renew(request, reply, { user, session }) {
      // A new password proves no second factor again: the sign-in is as old as it was.
      const { amr, acr, authenticatedAt } = session.signIn
      await begin(request, reply, { user, method: { amr, authenticatedAt, ...(acr && { acr }) }, renewed: session })
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
    async lacksClient(request, clientId) {
      const session = await of(request)
      const clients = session?.clients ?? []
      if (!session?.signIn || clients.includes(clientId) || clients.length >= MAX_CLIENTS) return undefined
      return session.idDigest
    },
    async endOther(request, handle) {
      const other = (await ownSessions(request)).find(each => each.handle === handle)
      if (!other || other.isCurrent) return false
      await store.sessions.delete(request.zone.id, other.session.idDigest)
      return true
    },
    async endOthers(request) {
      const here = await signedIn(request)
      if (!here) return
      const of = { userId: here.user.id, kept: here.session.idDigest }
      while ((await store.sessions.deleteSomeOthers(request.zone.id, of)) > 0);
    },
    async upstreamHint(request) {
      const here = await signedIn(request)
      const sealed = here && (await store.sessions.sealedLogoutHint(request.zone.id, here.session.idDigest))
      if (!here || sealed === undefined) return undefined
      try {
        return vault.open(sealed, sealOf(here.session))
      } catch {
        return undefined // damaged: a logout must work without it
      }
    },
    async end(request, reply) {
      const session = await of(request)
      if (session) await store.sessions.delete(request.zone.id, session.idDigest)
      cookies.clearId(reply)
      csrf.clear(reply)
      waiting.forget(request, reply)
      cookies.setCurrentUser(reply, undefined)
      remember(request, undefined)
      request.user = undefined
    },
    setCurrentUser: (reply, userId) => cookies.setCurrentUser(reply, userId),
  }
}
