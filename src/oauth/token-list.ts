// Lists the tokens of a user or client: stored ones only, since plain JWTs are not stored. Never shows a token's value.
import type { FastifyInstance } from 'fastify'
import { mapInBatches } from '../base/concurrency/in-batches.ts'
import { isJsonRecord } from '../base/json.ts'
import { documentUrlProblem } from '../model/clients/document-address.ts'
import { OAuthError } from '../model/oauth-error.ts'
import type { StoredToken } from '../model/tokens/token.ts'
import type { User } from '../model/users/user.ts'
import { supportsProtocol } from '../model/zones/protocols.ts'
import type { Zone } from '../model/zones/zone.ts'
import { scopesOf } from '../token/claims.ts'
import { isCurrentSignature } from '../token/revocation-signature.ts'
import type { SignedClient } from '../token/revocation-signature.ts'
import { sendJson } from '../web/requests/json.ts'
import type { OAuthDeps } from './deps.ts'

/** Tokens in one turn of the event loop: each takes a hash. */
const BATCH = 200

/** `GET /oauth/token/list/user/{userId}` and `/client/{clientId}`; any other request below the path is denied. */
export function tokenListEndpoints(app: FastifyInstance, { store, clock, service, behaviour }: OAuthDeps): void {
  const readers = { by: 'bearer', acrossZones: true, scopes: [service.scope('admin'), 'tokens.list'] } as const
  // Wildcards, because parameters have a maximum length, and a longer id is merely unknown.
  const lists = [
    {
      url: '/oauth/token/list/user/*',
      find: (zone: Zone, id: string) => store.tokens.listOfUser(zone.id, id, clock.now()),
    },
    {
      url: '/oauth/token/list/client/*',
      find: (zone: Zone, id: string) => store.tokens.listOfClient(zone.id, id, clock.now()),
    },
  ]

  for (const { url, find } of lists) {
    app.get<{ Params: { '*': string } }>(
      url,
      { config: { access: readers, audience: 'api' } },
      async (request, reply) => {
        const { zone, params } = request
        return sendJson(reply, await shown(zone, await find(zone, params['*'])))
      },
    )
  }
  for (const url of ['/oauth/token/list', '/oauth/token/list/*']) {
    app.route({
      method: ['GET', 'POST', 'PUT', 'DELETE', 'PATCH'],
      url,
      config: { access: { by: 'bearer' }, audience: 'api', refuses: true },
      handler: () => {
        throw new OAuthError('access_denied', 'Access is denied')
      },
    })
  }

  /** One with a metadata document, which is not fetched for this: a list may name any number, and they have no secrets. */
  async function findClient(zone: Zone, clientId: string): Promise<SignedClient | undefined> {
    if (documentUrlProblem(clientId) !== undefined) return store.clients.find(zone.id, clientId)
    return supportsProtocol(zone, 'clientMetadataDocuments', behaviour) ? { clientId, secrets: [] } : undefined
  }

  /** Without tokens of which a client or the user no longer exists, or whose secret, e-mail or salt has changed. */
  async function shown(zone: Zone, tokens: readonly StoredToken[]): Promise<readonly object[]> {
    const clientIds = tokens.flatMap(token => signaturesIn(token).map(([clientId]) => clientId))
    const clients = await findAll<SignedClient>(clientIds, id => findClient(zone, id))
    const userIds = tokens.flatMap(({ userId }) => userId ?? [])
    const users = await findAll<User>(userIds, id => store.users.find(zone.id, id))
    const isValid = (token: StoredToken): boolean => {
      const user = token.userId === undefined ? undefined : users.get(token.userId)
      if (token.userId !== undefined && !user?.active) return false
      return signaturesIn(token).every(([clientId, signature]) => {
        const client = clients.get(clientId)
        return client && isCurrentSignature(String(signature), client, user)
      })
    }
    const entries = await mapInBatches(tokens, async token => (isValid(token) ? [listed(token)] : []), BATCH)
    return entries.flat()
  }
}

/** The clients that the token depends on, with its `rev_sig` of each: its own, and those that an exchanged one came through. */
const signaturesIn = ({
  clientId,
  claims,
}: StoredToken): readonly (readonly [clientId: string, signature: unknown])[] => [
  [clientId, claims['rev_sig']],
  ...(isJsonRecord(claims['exchanged_from']) ? Object.entries(claims['exchanged_from']) : []),
]

/** The clients or users, each looked up once. */
async function findAll<T>(
  named: readonly string[],
  find: (id: string) => Promise<T | undefined>,
): Promise<ReadonlyMap<string, T>> {
  const found = new Map<string, T>()
  await mapInBatches([...new Set(named)], async id => {
    const record = await find(id)
    if (record !== undefined) found.set(id, record)
  })
  return found
}

const listed = (token: StoredToken): object => ({
  // The id of an opaque token is the token itself, so show its digest, which cannot be used as a token.
  tokenId: token.format === 'jwt' ? token.claims['jti'] : token.idDigest,
  clientId: token.clientId,
  userId: token.userId ?? null,
  format: token.format,
  responseType: token.kind.toUpperCase(),
  issuedAt: token.issuedAt.getTime(),
  expiresAt: token.expiresAt.getTime(),
  scope: `[${scopesOf(token.claims, token.kind).join(', ')}]`,
  value: null,
  zoneId: token.zoneId,
})
