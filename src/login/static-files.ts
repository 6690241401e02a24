// Paths outside of /resources that browsers, old pages and old clients request. Without routes, `uaa` would redirect them to sign-in, and
// after it the browser would return to an image.
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { digest } from '../base/secrets.ts'
import { LOGO_PATHS, logoOf } from '../pages/parts/logos.ts'
import type { LogoName } from '../pages/parts/logos.ts'
import { PageError } from '../web/answers.ts'
import { namesTag } from '../web/entity-tag.ts'
import type { LoginDeps } from './deps.ts'

/** `GET /favicon.ico`, `/vendor/**` and the logos of a zone; GET and POST of `/password/**`. */
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

  const sendLogo = async (request: FastifyRequest, reply: FastifyReply, name: LogoName): Promise<FastifyReply> => {
    const logo = logoOf(await pages.brandingOf(request.zone), name)
    if (logo === undefined && name !== 'squareLogo') throw new PageError(404, 'File not found.')
    reply.header('cache-control', 'public, max-age=300')
    // UAA has an icon at this path in every zone.
    if (logo === undefined) return reply.redirect(assets.iconFile, 302)
    const tag = `"${digest(logo)}"`
    reply.header('etag', tag)
    if (namesTag(request.headers['if-none-match'], tag)) return reply.status(304).send()
    return reply.type('image/png').send(Buffer.from(logo.slice(logo.indexOf(',') + 1), 'base64'))
  }

  const ofZone = { access, audience: 'open' } as const
  const { squareLogo, productLogo, bannerLogo } = LOGO_PATHS
  app.get(squareLogo, { config: ofZone }, (request, reply) => sendLogo(request, reply, 'squareLogo'))
  app.get(productLogo, { config: ofZone }, (request, reply) => sendLogo(request, reply, 'productLogo'))
  app.get(bannerLogo, { config: ofZone }, (request, reply) => sendLogo(request, reply, 'bannerLogo'))
}
