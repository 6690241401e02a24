import type { FastifyReply } from 'fastify'
import type { Urls } from '../model/urls.ts'

/** Redirects to this path below the zone's base URL. */
export const goTo = (reply: FastifyReply, path: string, urls: Pick<Urls, 'ofZone'>): FastifyReply =>
  reply.redirect(urls.ofZone(reply.request.zone) + path, 302)
