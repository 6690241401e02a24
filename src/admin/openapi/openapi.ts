// Serves the API description as an OpenAPI document and as a page. Built on the first request; until then, not even its
// source is loaded.
import type { FastifyInstance } from 'fastify'
import { digest } from '../../base/secrets.ts'
import { namesTag } from '../../web/entity-tag.ts'
import type { PageWriter } from '../../web/pages.ts'
import type { DocumentDeps } from './document.ts'
import { explorerEndpoint, explorerUrl } from './explorer.ts'

/** Dependencies of `openApiEndpoints`; `routes` must be complete by the first request. */
interface OpenApiDeps extends DocumentDeps {
  readonly pages: PageWriter
  readonly assets: { readonly docsStylesheet: string; readonly docsScript: string }
}

/** The serialized document and the content of the page. */
async function prepare(deps: DocumentDeps) {
  const { describeRoutes } = await import('./document.ts')
  const { document, areas } = describeRoutes(deps)
  const { contentsOf } = await import('./contents.ts')
  const text = JSON.stringify(document)
  return { text, tag: `"${digest(text).slice(0, 22)}"`, contents: contentsOf(areas) }
}

/** `GET /openapi.json`, `GET /docs` and the script of its explorer. */
export function openApiEndpoints(app: FastifyInstance, deps: OpenApiDeps): void {
  const { pages, urls, assets } = deps
  let prepared: ReturnType<typeof prepare> | undefined
  explorerEndpoint(app)
  const ready = (): ReturnType<typeof prepare> => (prepared ??= prepare(deps))

  app.get(
    '/openapi.json',
    {
      config: {
        access: { by: 'anyone', because: 'the interface is public and contains nothing about accounts or zones' },
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
    { config: { access: { by: 'anyone', because: 'it shows the content of /openapi.json' }, audience: 'page' } },
    async (request, reply) => {
      const { contents } = await ready()
      const { docsPage } = await import('../../pages/docs.ts')
      const chrome = await pages.chrome(request, reply)
      reply.header('content-language', 'en') // the descriptions are in English only
      return pages.send(
        reply,
        docsPage(chrome, {
          areas: contents,
          document: `${urls.pathOf(request.zone)}/openapi.json`,
          stylesheet: assets.docsStylesheet,
          script: assets.docsScript,
          explorer: explorerUrl(urls.basePath),
          server: urls.pathOf(request.zone),
        }),
      )
    },
  )
}
