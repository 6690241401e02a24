// The peer: oidc-provider from the registry, configured for the same work as Latchkey. Usage:
//   node bench/peers/oidc-provider.ts PORT   (the job as JSON on standard input)
// A client authenticates by client_secret_basic, or by private_key_jwt when it has a key. Access tokens are JWTs of the resource's algorithm or opaque, as
// the client says. People sign in by user name and password, once per browser session; consenting completes by itself.
import { createServer } from 'node:http'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { text } from 'node:stream/consumers'
import { hash, verify } from '@node-rs/argon2'
import { Provider } from 'oidc-provider'
import type { ResourceServer } from 'oidc-provider'
import { CHEAP_HASHES } from '../accounts.ts'
import type { PeerJob } from '../accounts.ts'
import { createDurableStore } from './durable-store.ts'
import { createMemoryStore } from './memory-store.ts'

const TOKEN_SECONDS = 3600

const port = Number(process.argv[2])
const job: PeerJob = JSON.parse(await text(process.stdin))
const passwordHash = await hash(job.password, {
  memoryCost: CHEAP_HASHES.memory_kib,
  timeCost: CHEAP_HASHES.passes,
  parallelism: 1,
})
const resourceOfClient = new Map(job.clients.map(client => [client.id, client.resource]))

const rotating = new Set(job.clients.filter(client => 'rotates' in client && client.rotates).map(({ id }) => id))

const resources = new Map<string, ResourceServer>(
  (['RS256', 'ES256', 'opaque'] as const).map(kind => [
    `urn:bench:${kind}`,
    {
      scope: job.scope,
      audience: `urn:bench:${kind}`,
      accessTokenTTL: TOKEN_SECONDS,
      ...(kind === 'opaque'
        ? { accessTokenFormat: 'opaque' }
        : { accessTokenFormat: 'jwt', jwt: { sign: { alg: kind } } }),
    },
  ]),
)

const provider = new Provider(`http://127.0.0.1:${port}`, {
  adapter: job.database === undefined ? createMemoryStore : await createDurableStore(job.database),
  clients: job.clients.map(client => ({
    client_id: client.id,
    grant_types: client.grants,
    ...('publicKey' in client
      ? { token_endpoint_auth_method: 'private_key_jwt', jwks: { keys: [client.publicKey] } }
      : { token_endpoint_auth_method: 'client_secret_basic', client_secret: client.secret }),
    ...('redirectUri' in client
      ? {
          response_types: ['code'],
          redirect_uris: [client.redirectUri],
          // The ID token is signed as the access token is, as it is elsewhere.
          ...(client.resource !== 'opaque' && { id_token_signed_response_alg: client.resource }),
        }
      : { response_types: [], redirect_uris: [] }),
  })),
  jwks: { keys: job.keys },
  scopes: ['openid'], // the job's scope belongs to the resources
  pkce: { required: () => true },
  // As elsewhere: no scope decides it, and only one client's are replaced at each use.
  issueRefreshToken: (_context, client) => client.grantTypeAllowed('refresh_token'),
  rotateRefreshToken: ({ oidc: { client } }) => rotating.has(client.clientId),
  features: {
    devInteractions: { enabled: false },
    clientCredentials: { enabled: true },
    revocation: { enabled: true },
    introspection: { enabled: true, allowedPolicy: () => true },
    resourceIndicators: {
      enabled: true,
      // Chosen by the client, so that every server of a run is sent the same bytes.
      defaultResource: (_context, client) => {
        const kind = resourceOfClient.get(client.clientId)
        return kind ? `urn:bench:${kind}` : undefined
      },
      useGrantedResource: () => true,
      getResourceServerInfo: (_context, identifier) => {
        const resource = resources.get(identifier)
        if (!resource) throw new Error(`no resource ${identifier}`)
        return resource
      },
    },
  },
  findAccount: (_context, id) => ({ accountId: id, claims: () => ({ sub: id }) }),
  interactions: { url: (_context, interaction) => `/interaction/${interaction.uid}` },
  // What autoapprove is elsewhere: the grant exists before anybody is asked.
  async loadExistingGrant(context) {
    const { client, session } = context.oidc
    const known = session.grantIdFor(client.clientId)
    if (known) return provider.Grant.find(known)
    const grant = new provider.Grant({ clientId: client.clientId, accountId: session.accountId })
    grant.addOIDCScope('openid')
    for (const identifier of resources.keys()) grant.addResourceScope(identifier, job.scope)
    await grant.save(TOKEN_SECONDS)
    return grant
  },
  ttl: {
    AccessToken: TOKEN_SECONDS,
    ClientCredentials: TOKEN_SECONDS,
    AuthorizationCode: 60,
    RefreshToken: TOKEN_SECONDS,
    IdToken: TOKEN_SECONDS,
    Session: TOKEN_SECONDS,
    Grant: TOKEN_SECONDS,
    Interaction: TOKEN_SECONDS,
  },
})

const answer = provider.callback()

createServer((request, response) => {
  if (!request.url?.startsWith('/interaction/')) {
    void answer(request, response)
    return
  }
  interact(request, response).catch((error: unknown) => {
    response.statusCode = 500
    response.end(String(error))
  })
}).listen(port, '127.0.0.1')

/** The pages that are left to whoever uses the library: as little as signing in takes. */
async function interact(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { uid, params } = await provider.interactionDetails(request, response)
  if (request.method === 'POST') {
    const fields = new URLSearchParams(await text(request))
    const accountId = fields.get('username') ?? ''
    if (accountId !== '' && (await verify(passwordHash, fields.get('password') ?? ''))) {
      await provider.interactionFinished(request, response, { login: { accountId } })
      return
    }
    response.statusCode = 401
    response.end('wrong user name or password')
    return
  }
  response.setHeader('content-type', 'text/html; charset=utf-8')
  response.end(
    `<!doctype html><title>Sign in</title><p>${params.client_id} wants to know who you are.</p>` +
      `<form method="post" action="/interaction/${uid}"><input name="username"><input name="password" type="password"></form>`,
  )
}
