// The peer: the package oidc-provider, configured for the same work as Latchkey. Usage:
//   node bench/peers/oidc-provider.ts PORT   (the job as JSON on standard input)
// Clients authenticate with client_secret_basic, or private_key_jwt if they have a key. Access tokens are opaque or
// JWTs, as configured per client. Users sign in with a password once per browser session; consent is automatic.
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
          // The same algorithm as for the access token, as in Latchkey.
          ...(client.resource !== 'opaque' && { id_token_signed_response_alg: client.resource }),
        }
      : { response_types: [], redirect_uris: [] }),
  })),
  jwks: { keys: job.keys },
  scopes: ['openid'], // the job's scope is a scope of the resources
  pkce: { required: () => true },
  // As in Latchkey: independent of the scope, and rotated for one client only.
  issueRefreshToken: (_context, client) => client.grantTypeAllowed('refresh_token'),
  rotateRefreshToken: ({ oidc: { client } }) => rotating.has(client.clientId),
  features: {
    devInteractions: { enabled: false },
    clientCredentials: { enabled: true },
    revocation: { enabled: true },
    introspection: { enabled: true, allowedPolicy: () => true },
    resourceIndicators: {
      enabled: true,
      // By client, so that every server receives the same bytes.
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
  // Like Latchkey's autoapprove: the grant exists before the user would be asked.
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

/** A minimal sign-in page, which the library leaves to its users. */
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
    `<!doctype html><title>Sign in</title><p>${params.client_id} asks you to sign in.</p>` +
      `<form method="post" action="/interaction/${uid}"><input name="username"><input name="password" type="password"></form>`,
  )
}
