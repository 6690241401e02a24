import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Destination } from '../model/sessions/destination.ts'
import { outboundPostPage } from '../pages/form-post.ts'
import type { PageWriter } from './pages.ts'

/** Sends the browser there: by a redirect, or by a page that posts the form. */
export async function leadTo(
  request: FastifyRequest,
  reply: FastifyReply,
  { destination, pages }: { readonly destination: Destination; readonly pages: PageWriter },
): Promise<FastifyReply> {
  if (typeof destination === 'string') return reply.redirect(destination, 302)
  return pages.send(reply, outboundPostPage(await pages.chrome(request, reply), destination))
}
