// The SAML metadata of a zone's service provider. A document is signed once and cached: the endpoint is open, and a signature
// takes a millisecond of the main thread.
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { createCache } from '../../base/cache.ts'
import { digest } from '../../base/secrets.ts'
import type { ServiceProvider } from '../../identity/saml/service-provider.ts'
import { PageError } from '../../web/answers.ts'
import { deferredRoutes } from '../../web/deferred-routes.ts'
import type { DeferredRoute, RouteName } from '../../web/deferred-routes.ts'
import { NEVER_CACHED } from '../../web/headers.ts'
import type { LoginDeps } from '../deps.ts'

const route = {
  access: { by: 'anyone', because: 'providers read it without an account (SAML Metadata §4.1)' },
  audience: 'open',
} as const satisfies DeferredRoute

const ROUTES = {
  'GET /saml/metadata': route,
  'GET /saml/metadata/alias/:alias': route,
} as const satisfies Record<RouteName, DeferredRoute>

/** Cached documents: one for each URL of a zone, usually of 6 kB, and of a megabyte with large certificates. */
const MAX_DOCUMENTS = 500

/** `GET /saml/metadata` and `GET /saml/metadata/alias/{alias}`. */
export function samlMetadataEndpoints(app: FastifyInstance, { serviceProviders, behaviour }: LoginDeps): void {
  deferredRoutes<keyof typeof ROUTES>(app, ROUTES, {
    load: async () => {
      const [{ metadataOf }, { signEnveloped }] = await Promise.all([
        import('../../identity/saml/messages.ts'),
        import('../../identity/saml/signing.ts'),
      ])
      const signed = createCache<{ readonly of: string; readonly text: string }>({ capacity: MAX_DOCUMENTS })

      async function send(
        { zone }: FastifyRequest,
        reply: FastifyReply,
        provider: ServiceProvider,
      ): Promise<FastifyReply> {
        const xml = metadataOf(provider, { stableNamesFirst: behaviour.stableSamlNamesFirst }) // names the certificate, so another key is another document
        const [key, of] = [JSON.stringify([zone.id, provider.base]), digest(xml)]
        const cached = signed.peek(key)
        // One for each URL: outdated documents of a zone must not fill the memory.
        if (cached && cached.of !== of) signed.drop(key)
        const document = await signed.get(key, () => Promise.resolve({ of, text: signEnveloped(xml, provider.active) }))
        const name = zone.subdomain === '' ? 'saml-sp.xml' : `saml-${zone.subdomain}-sp.xml`
        return reply
          .headers({ ...NEVER_CACHED, 'content-disposition': `attachment; filename="${name}"` })
          .type('application/samlmetadata+xml;charset=UTF-8')
          .send(document?.text)
      }

      return on => {
        on('GET /saml/metadata', async (request, reply) =>
          send(request, reply, await serviceProviders.of(request.zone)),
        )
        on<{ Params: { alias: string } }>('GET /saml/metadata/alias/:alias', async (request, reply) => {
          const provider = await serviceProviders.of(request.zone)
          if (encodeURIComponent(request.params.alias) !== provider.alias) {
            throw new PageError(404, 'The alias in the path is not that of this zone.')
          }
          return send(request, reply, provider)
        })
      }
    },
  })
}
