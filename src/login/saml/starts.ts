// The ways to start a sign-in at a SAML provider that both generations of UAA have; the usual one is /login/external/.
import type { FastifyReply, FastifyRequest } from 'fastify'
import { samlAliasOf, samlEntityIdOf } from '../../model/zones/zone.ts'
import { PageError } from '../../web/answers.ts'
import type { On } from '../../web/deferred-routes.ts'
import { goTo } from '../../web/redirect.ts'
import type { Form } from '../../web/requests/form.ts'
import { queryForm } from '../../web/requests/query.ts'
import type { SamlRoute } from './saml.ts'
import type { LoginDeps } from '../deps.ts'

const NOT_AVAILABLE = 'That sign-in method is not available here. Please use another one.'

/** Maximum characters of a name that a page repeats. */
const MAX_NAME_LENGTH = 200

/** See samlEndpoints. */
export function samlStartHandlers(on: On<SamlRoute>, deps: LoginDeps): void {
  const { identity, external, signInTargets, returns, urls, behaviour } = deps

  /** A page. UAA: repeats the name; only a plausible one, because others could be used to put text on the page. */
  function refuse(name: string, sentence: (name: string) => string): never {
    const mayRepeat = !behaviour.ownWords && name.length <= MAX_NAME_LENGTH && /^[\w.:/?#@=&%+~-]+$/.test(name)
    throw new PageError(400, mayRepeat ? sentence(name) : NOT_AVAILABLE)
  }

  const notFound = (reply: FastifyReply): FastifyReply => goTo(reply, '/login?error=idp_not_found', urls)

  async function begin(
    request: FastifyRequest,
    reply: FastifyReply,
    { origin, query }: { readonly origin: string | undefined; readonly query: Form },
  ): Promise<FastifyReply> {
    const signInTarget = await signInTargets.of(request, query)
    const started = origin !== undefined && (await external.start(request, reply, { origin, signInTarget }))
    return started ? reply : notFound(reply)
  }

  const providersOf = async ({ zone }: FastifyRequest) =>
    (await identity.loginProviders(zone)).map(({ provider }) => provider).filter(({ type }) => type === 'saml')

  // `returnIDParam` and `isPassive` have no effect, as in UAA.
  on('GET /saml/discovery', async (request, reply) => {
    const query = queryForm(request)
    const { zone } = request
    const entityId = samlEntityIdOf(zone, deps.samlEntityId)
    if (query.get('entityID') !== entityId) {
      const failure = { status: 400, description: NOT_AVAILABLE }
      return returns.fail(request, reply, { failure, failurePath: '/oauth_error' })
    }
    const provider = (await providersOf(request)).find(({ originKey }) => originKey === query.get('idp'))
    if (!provider) return notFound(reply)
    const { originKey: origin, externalKey } = provider
    if (externalKey === undefined) return begin(request, reply, { origin, query })
    const targets = query.all('form_redirect_uri').map((value): [string, string] => ['form_redirect_uri', value])
    const next = new URLSearchParams([['disco', 'true'], ['idp', externalKey], ...targets])
    const path = `/saml/login/alias/${encodeURIComponent(samlAliasOf(zone, deps.samlEntityId))}`
    return goTo(reply, `${path}?${next.toString()}`, urls)
  })

  on<{ Params: { alias: string } }>('GET /saml/login/alias/:alias', async (request, reply) => {
    const { alias } = request.params
    if (alias !== samlAliasOf(request.zone, deps.samlEntityId)) {
      refuse(alias, name => `No local entity found for alias ${name}, verify your configuration.`)
    }
    const query = queryForm(request)
    const name = query.get('idp') ?? ''
    const provider = (await providersOf(request)).find(({ externalKey }) => externalKey === name)
    if (!provider) refuse(name, missingMetadata)
    return begin(request, reply, { origin: provider.originKey, query })
  })

  on<{ Params: { alias: string } }>('GET /saml2/authenticate/:alias', async (request, reply) => {
    const isSaml = (await providersOf(request)).some(({ originKey }) => originKey === request.params.alias)
    const origin = isSaml ? request.params.alias : undefined
    return begin(request, reply, { origin, query: queryForm(request) })
  })
}

const missingMetadata = (name: string): string =>
  `Metadata for entity ${name} and role {urn:oasis:names:tc:SAML:2.0:metadata}IDPSSODescriptor wasn't found`
