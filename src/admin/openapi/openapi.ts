// The description of this server's interface: OpenAPI for programs, a page for people. It is made from the route table when
// somebody first asks for it, so that a server that nobody asks spends nothing on it, not even the memory of its source.
import type { FastifyInstance } from 'fastify'
import { digest } from '../../base/secrets.ts'
import { namesTag } from '../../web/entity-tag.ts'
import type { PageWriter } from '../../web/pages.ts'
import type { DocumentDeps } from './document.ts'

/** What the endpoints need; the route table may still grow until the first request. */
export interface OpenApiDeps extends DocumentDeps {
  readonly pages: PageWriter
  readonly assets: { readonly docsStylesheet: string }
}

/** The document as it is sent, and what the page shows. */
async function prepare(deps: DocumentDeps) {
  const { describeRoutes } = await import('./document.ts')
  const { document, areas } = describeRoutes(deps)
  const { contentsOf } = await import('./contents.ts')
  const text = JSON.stringify(document)
  return { text, tag: `"${digest(text).slice(0, 22)}"`, contents: contentsOf(areas) }
}

/** `GET /openapi.json` and `GET /docs`. */
export function openApiEndpoints(app: FastifyInstance, deps: OpenApiDeps): void {
  const { pages, urls, assets } = deps
  let prepared: ReturnType<typeof prepare> | undefined
  const ready = (): ReturnType<typeof prepare> => (prepared ??= prepare(deps))

  app.get(
    '/openapi.json',
    {
      config: {
        access: { by: 'anyone', because: 'the interface is public, and tells of no account and no setting of a zone' },
        audience: 'open',
        zone: false,
      },
    },
    async ({ headers }, reply) => {
      const { text, tag } = await ready()
      reply.headers({ etag: tag, 'cache-control': 'public, max-age=300' })
      if (namesTag(headers['if-none-match'], tag)) return reply.status(304).send()
      return reply.type('application/json').send(text)
    },
  )

  app.get(
    '/docs',
    { config: { access: { by: 'anyone', because: 'it is /openapi.json for people' }, audience: 'page' } },
    async (request, reply) => {
      const { contents } = await ready()
      const { docsPage } = await import('../../pages/docs.ts')
      const chrome = await pages.chrome(request, reply)
      reply.header('content-language', 'en') // what is explained has one language, and the frame goes with it
      return pages.send(
        reply,
        docsPage(chrome, {
          areas: contents,
          document: `${urls.pathOf(request.zone)}/openapi.json`,
          stylesheet: assets.docsStylesheet,
        }),
      )
    },
  )
}
