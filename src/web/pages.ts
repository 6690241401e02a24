// Sends pages: the zone's layout, the headers of a page, the anti-forgery value.
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Clock } from '../base/clock.ts'
import type { Html } from '../base/html.ts'
import type { Behaviour } from '../model/compatibility.ts'
import type { Urls } from '../model/urls.ts'
import type { User } from '../model/users/user.ts'
import type { Branding, Zone, ZoneConfig } from '../model/zones/zone.ts'
import { describedIn, errorPage } from '../pages/error.ts'
import { siteName } from '../pages/parts/layout.ts'
import type { Chrome } from '../pages/parts/layout.ts'
import type { MailFrame } from '../pages/mails/frame.ts'
import { referenceTexts, textsIn } from '../pages/texts/texts.ts'
import type { Texts } from '../pages/texts/texts.ts'
import { embeddedLogos, logoUrls } from '../pages/parts/logos.ts'
import { zoneStylesheet } from '../pages/parts/zone-stylesheet.ts'
import type { Store } from '../store/store.ts'
import type { Assets } from './assets.ts'
import type { Csrf } from './sessions/csrf.ts'
import type { CurrentSession } from './sessions/current-session.ts'
import { framePolicies, pageHeaders, securityHeaders } from './headers.ts'
import { languageOf, languageOfUser } from './language.ts'
import { zoneIfFound } from './requests/request-context.ts'

/** Sends pages in the layout of the request's zone. */
export interface PageWriter {
  /**
   * The layout of a page in the user's language; sets `Content-Language`. With `form: true` it includes the anti-forgery
   * value and sets its cookie.
   */
  chrome(request: FastifyRequest, reply: FastifyReply, options?: { form?: boolean }): Promise<Chrome>
  /** The zone's branding, with the default zone's where it has none, except for the product logo. */
  brandingOf(zone: Zone): Promise<Branding>
  /** The texts in the user's language; use the layout's own for the content of a page. */
  texts(request: FastifyRequest): Texts
  /** The frame of a mail to the user who makes the request, or in the language of another user whose account it is about. */
  mailFrame(request: FastifyRequest, to?: User): Promise<MailFrame>
  /** Sends a page; the caller sets the status. With `frames`, the URLs that it loads, and no others may be. */
  send(reply: FastifyReply, page: Html, options?: { readonly frames?: readonly string[] }): FastifyReply
  /** Sends the error page with the error's status. */
  error(
    request: FastifyRequest,
    reply: FastifyReply,
    error: { status: number; description: string; code?: string },
  ): Promise<FastifyReply>
}

const NO_BRANDING: Branding = {}

/** Heading of the error page. */
function errorTitle({ error: { titles } }: Texts, status: number): string {
  switch (status) {
    case 401:
      return titles.unauthorized
    case 403:
      return titles.forbidden
    case 404:
      return titles.notFound
    case 429:
      return titles.tooMany
    case 503:
      return titles.unavailable
    default:
      return status >= 500 ? titles.fault : titles.other
  }
}

/** One instance serves every zone. */
export function createPageWriter(deps: {
  store: Store
  clock: Clock
  csrf: Csrf
  sessions: Pick<CurrentSession, 'of' | 'forget'>
  urls: Urls
  behaviour: Behaviour
  assets: Assets
  defaultZoneId: string
  /** See `Chrome.about`. */
  about: string
}): PageWriter {
  const { store, clock, csrf, sessions, urls, behaviour, assets, defaultZoneId, about } = deps
  const headers = pageHeaders(behaviour)
  /** The same object until one of the two records changes, for what is derived from it. */
  const combined = new WeakMap<ZoneConfig, { readonly inherited: Branding; readonly branding: Branding }>()

  async function brandingOf(zone: Zone): Promise<Branding> {
    const { config } = zone
    if (zone.id === defaultZoneId) return config.branding ?? {}
    const inherited = (await store.zones.find(defaultZoneId))?.config.branding ?? NO_BRANDING
    const known = combined.get(config)
    if (known?.inherited === inherited) return known.branding
    const { productLogo: _, ...others } = inherited
    const branding = { ...others, ...config.branding }
    combined.set(config, { inherited, branding })
    return branding
  }

  const textsFor = (request: FastifyRequest): Texts =>
    behaviour.ownWords ? textsIn(languageOf(request, urls)) : referenceTexts

  /** Finds the visitor's session, which may know their language. UAA: has one language. */
  async function findVisitor(request: FastifyRequest): Promise<void> {
    if (behaviour.ownWords) await sessions.of(request)
  }

  return {
    brandingOf,
    texts: textsFor,
    async chrome(request, reply, { form = false } = {}) {
      await findVisitor(request)
      const { zone, user } = request
      const basePath = urls.pathOf(zone)
      const branding = await brandingOf(zone)
      const texts = textsFor(request)
      reply.header('content-language', texts.tag)
      const needsField = form || user !== undefined // the sign-out button in the header is a form too
      return {
        texts,
        zoneName: zone.name,
        isDefaultZone: zone.id === defaultZoneId,
        branding,
        basePath,
        assets: {
          ...assets,
          ...logoUrls(branding, basePath),
          ...(zoneStylesheet(branding) !== undefined && { zoneStylesheet: `${basePath}/zone.css` }),
        },
        ...(user && {
          user: {
            userName: user.userName,
            signOutAction: `${basePath}/logout.do`,
            lastSignIn: user.previousLogonAt,
          },
        }),
        ...(needsField && { csrf: await csrf.issue(request, reply) }),
        year: clock.now().getFullYear(),
        about,
      }
    },
    async mailFrame(request, to) {
      if (!to) await findVisitor(request)
      const { zone } = request
      const texts = to && behaviour.ownWords ? textsIn(languageOfUser(to)) : textsFor(request)
      const branding = await brandingOf(zone)
      return {
        texts,
        site: siteName({ texts, branding, zoneName: zone.name, isDefaultZone: zone.id === defaultZoneId }),
      }
    },
    send(reply, page, { frames } = {}) {
      if (frames) reply.headers({ ...headers, ...framePolicies(frames, behaviour) })
      else reply.headers(headers)
      return reply.type('text/html; charset=utf-8').send(page.toString())
    },
    async error(request, reply, { status, description, code }) {
      // An unknown host gets the default zone's layout.
      const addressed = zoneIfFound(request)
      const found = addressed ?? (await store.zones.find(defaultZoneId))
      if (!found) return reply.type('text/plain; charset=utf-8').send(description)
      const zone = addressed ?? { ...found, address: 'host' }
      request.zone = zone
      // A server that is busy or has lost its database does without. No limit applies before the zone is found.
      const mustBeCheap = status >= 500 || status === 429 || !addressed
      if (mustBeCheap && !request.visitLoaded) sessions.forget(request)
      else await findVisitor(request).catch(() => sessions.forget(request))
      // Routes that may be framed and cached send pages for errors only, which must not be.
      if (request.routeOptions.config.audience === 'open') reply.headers(securityHeaders('page', urls.isHttps))
      const ofZone = await this.chrome(request, reply)
      // An unknown host has no files of a zone.
      const chrome = addressed ? ofZone : { ...ofZone, assets: { ...ofZone.assets, ...embeddedLogos(ofZone.branding) } }
      const { texts } = chrome
      const title = errorTitle(texts, status)
      // At an unknown host the start page is the same error.
      const back = addressed && { text: texts.error.start, url: `${urls.pathOf(zone)}/` }
      return this.send(
        reply,
        errorPage(chrome, {
          ...describedIn(texts, description),
          status,
          title,
          code,
          back,
        }),
      )
    },
  }
}
