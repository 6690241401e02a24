// Anti-forgery values: signed double submit (OWASP). Each value is bound to one zone and one browser: to the session once
// signed in, before that to a cookie that only this host can set. A value that a sibling host or network attacker obtained
// from our pages and planted as a cookie is therefore not accepted from another browser.
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Random } from '../../base/random.ts'
import { digest, keyedBy, sameSecret } from '../../base/secrets.ts'
import type { Behaviour } from '../../model/compatibility.ts'
import type { Service } from '../../model/service.ts'
import type { Session } from '../../model/sessions/session.ts'
import type { Urls } from '../../model/urls.ts'
import type { AddressedZone } from '../../model/request.ts'
import type { CookieAttributes } from './cookies.ts'
import { cookieNameIn, cookieOf, setCookie } from './cookies.ts'
import { isOwnOrigin, isScript } from '../requests/request-origin.ts'
import { createVisitors, VISITOR_SECONDS } from './visitors.ts'
import { bodyForm } from '../route.ts'

/** Issues and checks anti-forgery values, which are sent in a form field and in a cookie. */
export interface Csrf {
  /** Name of the form field, and of the cookie where the zone is not addressed by path. */
  readonly fieldName: string
  /** Makes a value for a page's hidden field and sets it as the cookie. Earlier values stay valid, for parallel tabs. */
  issue(request: FastifyRequest, reply: FastifyReply): Promise<{ readonly name: string; readonly value: string }>
  /** Sets a value for a new session. */
  renew(reply: FastifyReply, session: Session): void
  /** Whether a state-changing request carries a value bound to this browser and comes from our own pages. */
  isGenuine(request: FastifyRequest): Promise<boolean>
  /** Whether a browser sent the form from our own origin: the page was probably open for too long. */
  isStale(request: FastifyRequest): boolean
  /** Whether a browser sent a form that it loaded before signing in, for example before a sign-in in another tab. */
  isFromBeforeSignIn(request: FastifyRequest): boolean
  /** Identifies this browser while it keeps the visitor cookie: for a day at least since its last page before sign-in. */
  browserOf(request: FastifyRequest): string | undefined
  /** The same; a browser without that cookie gets one. */
  browserFor(request: FastifyRequest, reply: FastifyReply): string
  /** Expires the cookie. */
  clear(reply: FastifyReply): void
}

const NONCE_LENGTH = 6
/** 95 bits of the digest, in the alphabet and length of UAA's values. */
const VALUE = /^[A-Za-z0-9]{22}$/

/** One instance serves every zone. */
export function createCsrf(deps: {
  random: Random
  service: Service
  urls: Urls
  behaviour: Behaviour
  sessionOf: (request: FastifyRequest) => Promise<Session | undefined>
}): Csrf {
  const { random, service, urls, behaviour, sessionOf } = deps
  const name = service.csrfName
  const visitors = createVisitors(deps)
  const attributesIn = (zone: AddressedZone) =>
    ({
      // Row P3: the specification says `/`; UAA the base path.
      path: behaviour.csrfCookieAtRoot && zone.address === 'host' ? '/' : `${urls.pathOf(zone)}/`,
      httpOnly: true,
      sameSite: 'lax',
      secure: urls.isHttps,
    }) as const satisfies CookieAttributes

  const set = (reply: FastifyReply, value: string, maxAge = VISITOR_SECONDS): void => {
    const { zone } = reply.request
    setCookie(reply, cookieNameIn(zone, name), value, { ...attributesIn(zone), maxAge })
  }

  function issueUnder(reply: FastifyReply, secret: string): { readonly name: string; readonly value: string } {
    const value = valueOf(random.alphanumeric(NONCE_LENGTH), secret, reply.request.zone)
    set(reply, value)
    return { name, value }
  }

  async function signedIn(request: FastifyRequest): Promise<Session | undefined> {
    const session = await sessionOf(request)
    return session?.signIn && session
  }

  /** The secret shared with this browser: its session once signed in, before that the visitor cookie. */
  async function secretOf(request: FastifyRequest): Promise<string | undefined> {
    const session = await signedIn(request)
    if (session) return underSession(session)
    const visitor = visitors.of(request)
    return visitor === undefined ? undefined : underVisit(visitor)
  }

  function sentValue(request: FastifyRequest): string | undefined {
    const header = request.headers['x-csrf-token']
    return bodyForm(request)?.get(name) ?? (typeof header === 'string' ? header : undefined)
  }

  return {
    fieldName: name,
    async issue(request, reply) {
      const session = await signedIn(request)
      if (session) return issueUnder(reply, underSession(session))
      const visitor = visitors.for(request, reply)
      const issued = issueUnder(reply, underVisit(visitor))
      // Second: UAA sends only the other one, and some scripts keep only the first cookie of a page.
      visitors.keep(reply, visitor)
      return issued
    },
    renew(reply, session) {
      issueUnder(reply, underSession(session))
    },
    async isGenuine(request) {
      const { zone } = request
      const sent = sentValue(request)
      const kept = cookieOf(request, cookieNameIn(zone, name))
      if (sent === undefined || kept === undefined || !isOwnOrigin(request, urls)) return false
      const secret = await secretOf(request)
      if (secret !== undefined) return isMadeFor(kept, secret, zone) && isMadeFor(sent, secret, zone)
      // UAA: scripts keep only this cookie. See docs/compatibility.md, P3.
      return !behaviour.visitorCookieNeeded && isScript(request) && VALUE.test(kept) && sameSecret(kept, sent)
    },
    isStale: request => !isScript(request) && isOwnOrigin(request, urls) && VALUE.test(sentValue(request) ?? ''),
    isFromBeforeSignIn(request) {
      const visitor = visitors.of(request)
      if (visitor === undefined || isScript(request) || !isOwnOrigin(request, urls)) return false
      return isMadeFor(sentValue(request), underVisit(visitor), request.zone)
    },
    browserOf(request) {
      const visitor = visitors.of(request)
      return visitor === undefined ? undefined : browserNamed(visitor)
    },
    browserFor(request, reply) {
      const visitor = visitors.for(request, reply)
      visitors.keep(reply, visitor)
      return browserNamed(visitor)
    },
    clear(reply) {
      set(reply, '', 0)
    },
  }
}

const browserNamed = (visitor: string): string => digest(`browser ${visitor}`)

const underSession = ({ idDigest }: Session): string => `session ${idDigest}`

const underVisit = (visitor: string): string => `visitor ${visitor}`

/** The nonce, followed by its MAC for the zone and secret. */
function valueOf(nonce: string, secret: string, zone: AddressedZone): string {
  const mac = keyedBy(secret, `anti-forgery ${zone.id} ${nonce}`).replace(/[-_]/g, '')
  return nonce + mac.slice(0, 22 - NONCE_LENGTH)
}

const isMadeFor = (value: string | undefined, secret: string, zone: AddressedZone): boolean =>
  value !== undefined && VALUE.test(value) && sameSecret(value, valueOf(value.slice(0, NONCE_LENGTH), secret, zone))
