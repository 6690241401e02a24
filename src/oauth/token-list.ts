// Which tokens somebody has: the stored ones only, since a plain JWT leaves no trace. No value of a token is told.
import type { FastifyInstance } from 'fastify'
import type { Clock } from '../base/clock.ts'
import type { Client } from '../model/client.ts'
import { OAuthError } from '../model/oauth-error.ts'
import type { Service } from '../model/service.ts'
import type { StoredToken } from '../model/token.ts'
import type { User } from '../model/user.ts'
import type { Zone } from '../model/zone.ts'
import type { Store } from '../store/store.ts'
import { scopesOf } from '../token/reader.ts'
import { isCurrentSignature } from '../token/revocation-signature.ts'
import { inRealm } from '../web/authorization-header.ts'
import { sendJson } from '../web/json.ts'

interface TokenListDeps {
  readonly store: Store
  readonly clock: Clock
  readonly service: Service
}

/** Look-ups that wait for one another, so that a long list does not take every connection to the database. */
const AT_ONCE = 20

/** `GET /oauth/token/list/user/{userId}` and `/client/{clientId}`; whatever else is asked here is denied. */
export function tokenListEndpoints(app: FastifyInstance, { store, clock, service }: TokenListDeps): void {
  const readers = { by: 'bearer', scopes: [service.scope('admin'), 'tokens.list'] } as const
  // Wildcards, because a parameter has a greatest length, and an id that is longer is only unknown.
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
        const tokens = await withoutDead(zone.id, await find(zone, params['*']))
        return sendJson(reply, tokens.map(listed))
      },
    )
  }
  for (const url of ['/oauth/token/list', '/oauth/token/list/*']) {
    app.route({
      method: ['GET', 'POST', 'PUT', 'DELETE', 'PATCH'],
      url,
      config: { access: { by: 'bearer' }, audience: 'api', refuses: true },
      handler: () => {
        throw inRealm(new OAuthError('access_denied', 'Access is denied'), service)
      },
    })
  }

  /** A row outlives what it depends on: its client, its user, and their secrets, e-mail and salts. */
  async function withoutDead(zoneId: string, tokens: readonly StoredToken[]): Promise<readonly StoredToken[]> {
    const clients = await findAll(tokens, 'clientId', id => store.clients.find(zoneId, id))
    const users = await findAll(tokens, 'userId', id => store.users.find(zoneId, id))
    return tokens.filter(({ clientId, userId, claims }) => {
      const client: Client | undefined = clients.get(clientId)
      const user: User | undefined = userId === undefined ? undefined : users.get(userId)
      if (!client || (userId !== undefined && !user?.active)) return false
      return isCurrentSignature(String(claims['rev_sig']), client, user)
    })
  }
}

/** What the tokens name, each looked up once. */
async function findAll<T>(
  tokens: readonly StoredToken[],
  name: 'clientId' | 'userId',
  find: (id: string) => Promise<T | undefined>,
): Promise<ReadonlyMap<string, T>> {
  const ids = [...new Set(tokens.flatMap(token => token[name] ?? []))]
  const found = new Map<string, T>()
  for (let start = 0; start < ids.length; start += AT_ONCE) {
    await Promise.all(
      ids.slice(start, start + AT_ONCE).map(async id => {
        const record = await find(id)
        if (record !== undefined) found.set(id, record)
      }),
    )
  }
  return found
}

const listed = (token: StoredToken): object => ({
  // The id of an opaque token is the token itself: what is told is the digest, which names it and cannot be used.
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
