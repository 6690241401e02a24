// The SAML metadata of a zone's service provider. A document is signed once and cached: the endpoint is open, and a signature
// takes a millisecond of the main thread.
import type { FastifyReply, FastifyRequest } from 'fastify'
import { createCache } from '../../base/cache.ts'
import { digest } from '../../base/secrets.ts'
import { metadataOf } from '../../identity/saml/messages.ts'
import type { ServiceProvider } from '../../identity/saml/service-provider.ts'
import { signEnveloped } from '../../identity/saml/signing.ts'
import { PageError } from '../../web/answers.ts'
import type { On } from '../../web/deferred-routes.ts'
import { NEVER_CACHED } from '../../web/headers.ts'
import type { LoginDeps } from '../deps.ts'
import type { SamlRoute } from './saml.ts'

/** Cached documents: one for each URL of a zone, usually of 6 kB, and of a megabyte with large certificates. */
const MAX_DOCUMENTS = 500

/** `GET /saml/metadata` and `GET /saml/metadata/alias/{alias}`. */
export function samlMetadataHandlers(on: On<SamlRoute>, { serviceProviders, behaviour }: LoginDeps): void {
  const signed = createCache<{ readonly of: string; readonly text: string }>({ capacity: MAX_DOCUMENTS })

  async function send({ zone }: FastifyRequest, reply: FastifyReply, provider: ServiceProvider): Promise<FastifyReply> {
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

  on('GET /saml/metadata', async (request, reply) => send(request, reply, await serviceProviders.of(request.zone)))
  on<{ Params: { alias: string } }>('GET /saml/metadata/alias/:alias', async (request, reply) => {
    const provider = await serviceProviders.of(request.zone)
    if (encodeURIComponent(request.params.alias) !== provider.alias) {
      throw new PageError(404, 'The alias in the path is not that of this zone.')
    }
    return send(request, reply, provider)
  })
}
