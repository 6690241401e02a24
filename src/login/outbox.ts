// The mails that the playground would send. No other server has this page: mails hold links that sign users in.
import type { FastifyInstance } from 'fastify'
import { isLoopbackHost } from '../base/loopback.ts'
import { openMail } from '../mail/mailer.ts'
import { outboxPage } from '../pages/outbox.ts'
import { PageError } from '../web/answers.ts'
import { addressOf } from '../web/requests/request-context.ts'
import type { LoginDeps } from './deps.ts'

const MAX_SHOWN = 50

/** `GET /outbox`, in the playground only: the zone's mails, newest first. */
export function outboxEndpoint(app: FastifyInstance, { store, vault, pages }: LoginDeps): void {
  const access = { by: 'anyone', because: 'everything in the playground is public, on loopback only' } as const
  app.get('/outbox', { config: { access, audience: 'page' } }, async (request, reply) => {
    // The playground listens on loopback only; a forwarded port is detected here.
    if (!isLoopbackHost(addressOf(request))) throw new PageError(404, 'Not found.')
    const newest = await store.mails.newest(MAX_SHOWN)
    const mails = newest
      .filter(({ zoneId }) => zoneId === request.zone.id)
      .map(mail => ({ ...openMail(vault, mail), at: mail.createdAt }))
    return pages.send(reply, outboxPage(await pages.chrome(request, reply), mails))
  })
}
