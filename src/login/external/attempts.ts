// Pending sign-ins at other providers. Their data is in a cookie, sealed for zone, provider and state, so that a state of
// another browser, zone or provider is not accepted. Each can be used once.
import type { FastifyReply, FastifyRequest } from 'fastify'
import { addSeconds } from '../../base/clock.ts'
import { digest } from '../../base/secrets.ts'
import type { AddressedZone } from '../../model/request.ts'
import type { User } from '../../model/users/user.ts'
import type { CookieAttributes } from '../../web/sessions/cookies.ts'
import { cookieNameIn, cookieOf, setCookie } from '../../web/sessions/cookies.ts'
import type { LoginParts } from '../parts.ts'

/** A pending sign-in. */
export interface Attempt {
  readonly nonce: string
  readonly codeVerifier: string
  /** The provider at the start: a response of another one with the same name is not accepted. */
  readonly provider: string
  /** The start, in milliseconds. */
  readonly beganAt: number
  /** Maximum age of the sign-in at the provider, in seconds; 0: it must be after the start. */
  readonly maxAge?: number
  /** Whether the client's request has a `max_age`: also where a new sign-in is required. */
  readonly hasMaxAge?: boolean
  /** Path to continue with; absent for the session's saved request. */
  readonly path?: string
  /** The code of the invitation that the user accepts by signing in. */
  readonly invitation?: string
}

/** Identifies a pending sign-in. */
interface AttemptKey {
  readonly origin: string
  readonly state: string
  /** The path of the provider's responses, below the zone's base URL. */
  readonly callback: string
}

/** A pending sign-in of a browser whose user has signed in meanwhile. */
export interface Overtaken {
  readonly attempt: Attempt
  readonly user: User
}

/** Stores pending sign-ins. */
export interface Attempts {
  /** Starts one in the current session, which must exist. */
  begin(
    request: FastifyRequest,
    reply: FastifyReply,
    to: {
      readonly origin: string
      readonly callback: string
      readonly provider: string
      readonly path?: string | undefined
      readonly invitation?: string | undefined
      readonly maxAge?: number | undefined
      readonly hasMaxAge?: boolean
    },
  ): Promise<Attempt & AttemptKey>
  /** Whether the browser sent the cookie of one; it does not with a form of another site. */
  wasSent(request: FastifyRequest, key: AttemptKey): boolean
  /** Consumes one; undefined if it is unknown to this browser's session, was already used, or has expired. */
  take(request: FastifyRequest, reply: FastifyReply, key: AttemptKey): Promise<Attempt | undefined>
  /** Makes one that was taken usable again, for a request that nothing came of. */
  giveBack(request: FastifyRequest, reply: FastifyReply, key: AttemptKey): Promise<void>
  /**
   * One that this browser began before its user signed in, in another tab, so that its session has ended. It can sign nobody
   * in, but the user can continue with what it was for.
   */
  overtaken(request: FastifyRequest, key: AttemptKey): Promise<Overtaken | undefined>
}

/** Time that a user may spend at the provider. */
const LIFE_SECONDS = 600
const STATE_LENGTH = 43 // 252 bits, after the digit of its place

/** Whether it looks like the state of a pending sign-in. */
export const isState = (text: string): boolean => text.length === STATE_LENGTH && /^[\w-]+$/.test(text)
const VERIFIER_LENGTH = 64 // RFC 7636 §4.1: 43 to 128 characters
/** Maximum number of such cookies; more, left by abandoned tabs, would exceed the size of a request head. */
const PLACES = ['0', '1', '2', '3', '4', '5', '6', '7']
/** Longer paths are stored in a row of their own. */
export const MAX_PATH_LENGTH = 500

/** The contents of the cookie. */
interface Sealed extends Attempt {
  /** The id of a long path. */
  readonly pathId?: string
  /** Digest of the id of the session that started it. */
  readonly session: string
  readonly until: number
}

/** One instance serves every zone. */
export function createAttempts(deps: LoginParts): Attempts {
  const { store, sessions, vault, clock, random } = deps
  const { nameFor, attributesIn, takePlace } = createAttemptCookies(deps)

  function open(request: FastifyRequest, key: AttemptKey): Sealed | undefined {
    const sealed = cookieOf(request, nameFor(request.zone, key.state))
    if (sealed === undefined) return undefined
    try {
      return JSON.parse(vault.open(sealed, contextOf(request.zone, key))) as Sealed // sealed by us, below
    } catch {
      return undefined // sealed for another state, or not by us
    }
  }

  /** With the path, if it is not in the cookie; without one, if the row has been removed. */
  async function withPath(request: FastifyRequest, sealed: Sealed): Promise<Attempt> {
    const { pathId } = sealed
    const path = pathId === undefined ? undefined : await sessions.savedPath(request, pathId)
    return path === undefined ? sealed : { ...sealed, path }
  }

  async function use(request: FastifyRequest, key: AttemptKey, { until, session }: Sealed): Promise<boolean> {
    if (until <= clock.now().getTime()) return false
    // Bound to the session too: a cookie planted by a sibling host belongs to another session.
    if (session !== (await sessions.of(request))?.idDigest) return false
    // Of two parallel callbacks exactly one succeeds.
    return store.assertions.use(request.zone.id, idOf(request.zone, key), new Date(until))
  }

  return {
    async begin(request, reply, { origin, callback, provider, path, invitation, maxAge, hasMaxAge }) {
      const session = await sessions.of(request)
      if (!session) throw new Error('a sign-in elsewhere is begun in a session')
      const state = takePlace(request, reply) + random.urlSafe(STATE_LENGTH - 1)
      const key = { origin, callback, state }
      const now = clock.now()
      const isLong = path !== undefined && path.length > MAX_PATH_LENGTH
      const pathId = isLong ? await sessions.savePath(request, path) : undefined
      const attempt = {
        provider,
        beganAt: now.getTime(),
        nonce: random.urlSafe(STATE_LENGTH),
        codeVerifier: random.urlSafe(VERIFIER_LENGTH),
        ...(path !== undefined && !isLong && { path }),
        ...(invitation !== undefined && { invitation }),
        ...(maxAge !== undefined && { maxAge }),
        ...(hasMaxAge && { hasMaxAge }),
      }
      const until = addSeconds(now, LIFE_SECONDS).getTime()
      const sealed: Sealed = { ...attempt, ...(pathId !== undefined && { pathId }), session: session.idDigest, until }
      const text = vault.seal(JSON.stringify(sealed), contextOf(request.zone, key))
      setCookie(reply, nameFor(request.zone, key.state), text, {
        ...attributesIn(request.zone, callback),
        maxAge: LIFE_SECONDS,
      })
      return { ...key, ...attempt }
    },
    wasSent: (request, key) => open(request, key) !== undefined,
    async take(request, reply, key) {
      const sealed = open(request, key)
      if (!sealed) return undefined
      const attempt = await withPath(request, sealed)
      const isFirst = await use(request, key, sealed)
      // Last: until then the page can be loaded again, for example after the answer of a busy database.
      setCookie(reply, nameFor(request.zone, key.state), '', { ...attributesIn(request.zone, key.callback), maxAge: 0 })
      return isFirst ? attempt : undefined
    },
    async giveBack(request, reply, key) {
      const { zone } = request
      const name = nameFor(zone, key.state)
      const [text, sealed] = [cookieOf(request, name), open(request, key)]
      if (text === undefined || !sealed) return
      await store.assertions.release(zone.id, idOf(zone, key))
      const maxAge = Math.max(0, Math.floor((sealed.until - clock.now().getTime()) / 1000))
      setCookie(reply, name, text, { ...attributesIn(zone, key.callback), maxAge })
    },
    async overtaken(request, key) {
      const sealed = open(request, key)
      const signedIn = await sessions.signedIn(request)
      if (!sealed || !signedIn || sealed.until <= clock.now().getTime()) return undefined
      const { session, user } = signedIn
      const isLater = session.idDigest !== sealed.session && session.createdAt.getTime() >= sealed.beganAt
      return isLater ? { attempt: await withPath(request, sealed), user } : undefined
    },
  }
}

/** What the cookie of an attempt is sealed for. */
const contextOf = ({ id }: AddressedZone, { origin, state }: AttemptKey): string =>
  JSON.stringify(['sign-in attempt', id, origin, state])

/** The id by which an attempt is used once. */
const idOf = (zone: AddressedZone, key: AttemptKey): string => digest(contextOf(zone, key))

/** The cookies of attempts: one for each place, of which a browser has a few, and one with the order of their use. */
function createAttemptCookies({ service, urls, random }: Pick<LoginParts, 'service' | 'urls' | 'random'>) {
  const attributesBelow = (path: string) =>
    ({
      path,
      httpOnly: true,
      sameSite: 'lax', // the provider's answer is a navigation from another site
      secure: urls.isHttps,
    }) as const satisfies CookieAttributes
  const attributesIn = (zone: AddressedZone, callback: string) =>
    attributesBelow(urls.pathOf(zone) + callback.slice(0, callback.lastIndexOf('/'))) // without the name of one provider
  const cookieName = (zone: AddressedZone, name: string): string =>
    cookieNameIn(zone, `${urls.isHttps ? '__Secure-' : ''}${service.name}-${name}`)
  const nameFor = (zone: AddressedZone, state: string): string => cookieName(zone, `sign-in-${state.slice(0, 1)}`)

  /** A free place or, where there is none, that of the oldest sign-in. Tabs that start at the same moment rarely get the same one. */
  function takePlace(request: FastifyRequest, reply: FastifyReply): string {
    const { zone } = request
    // The cookies themselves are sent to the callbacks only.
    const name = cookieName(zone, 'sign-ins')
    const used = [...new Set(cookieOf(request, name) ?? '')].filter(each => PLACES.includes(each))
    const free = PLACES.filter(each => !used.includes(each))
    const place = free[(random.bytes(1)[0] ?? 0) % free.length] ?? used[0] ?? '0'
    const order = [...used.filter(each => each !== place), place].join('')
    setCookie(reply, name, order, { ...attributesBelow(`${urls.pathOf(zone)}/`), maxAge: LIFE_SECONDS })
    return place
  }

  return { nameFor, attributesIn, takePlace }
}
