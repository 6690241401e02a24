// Paths outside of /resources that browsers, old pages and old clients request. Without routes, `uaa` would redirect them to sign-in, and
// after it the browser would return to an image.
import type { FastifyInstance } from 'fastify'
import { digest } from '../base/secrets.ts'
import { pngDataUri } from '../pages/parts/foreign.ts'
import { PageError } from '../web/answers.ts'
import { namesTag } from '../web/entity-tag.ts'
import type { LoginDeps } from './deps.ts'

/** `GET /favicon.ico`, `/vendor/**` and `/square-logo.png`; GET and POST of `/password/**`. */
export function staticFileEndpoints(app: FastifyInstance, { pages, assets }: LoginDeps): void {
  const access = { by: 'anyone', because: 'files of pages are public' } as const

  const config = { access, audience: 'open', zone: false, refuses: true } as const
  for (const url of ['/favicon.ico', '/vendor/*']) {
    app.get(url, { config }, () => {
      throw new PageError(404, 'File not found.') // pages link to their icon, which a zone may have of its own
    })
  }

  app.route({
    method: ['GET', 'POST'], // uaac posts passwords to /password/score
    url: '/password/*',
    config,
    handler: () => {
      throw new PageError(404, 'Not found.')
    },
  })

  app.get('/square-logo.png', { config: { access, audience: 'open' } }, async (request, reply) => {
    const logo = pngDataUri((await pages.brandingOf(request.zone)).squareLogo)
    reply.header('cache-control', 'public, max-age=300')
    if (logo === undefined) return reply.redirect(assets.iconFile, 302)
    const tag = `"${digest(logo)}"`
    reply.header('etag', tag)
    if (namesTag(request.headers['if-none-match'], tag)) return reply.status(304).send()
    return reply.type('image/png').send(Buffer.from(logo.slice(logo.indexOf(',') + 1), 'base64'))
  })
}
