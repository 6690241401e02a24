// Publishes the keys that verify tokens. Owns who sees which key; does not know how keys are stored. Never publishes a
// private key, and a shared secret only to the callers that UAA's rules allow.
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { digest, hexDigest } from '../base/secrets.ts'
import { OAuthError } from '../model/oauth-error.ts'
import { keyDocument, sharedKeyDocument } from '../token/keys/key-document.ts'
import type { PublicZoneKey, ZoneKey } from '../token/keys/zone-key.ts'
import { isPublic } from '../token/keys/zone-key.ts'
import { namesTag } from '../web/entity-tag.ts'
import { NEVER_CACHED } from '../web/headers.ts'
import { basicChallenge } from '../clients/authentication/refusals.ts'
import { sendJson } from '../web/requests/json.ts'
import { authorizationOf } from '../web/requests/plain-basic.ts'
import { readParams } from './params.ts'
import { contextOf } from '../web/requests/request-context.ts'
import type { OAuthDeps } from './deps.ts'

type Caller = 'anonymous' | 'client' | 'resource-server'

/**
 * Relying parties fetch a new key within five minutes, so publish a key at least that long before it signs. After five
 * minutes they revalidate with the ETag.
 */
const CACHEABLE = 'public, max-age=300, must-revalidate'
const NO_STORE = { 'cache-control': 'no-store', pragma: 'no-cache' }

/** `/token_keys` (RFC 7517 §5) and `/token_key`. */
export function tokenKeysEndpoints(app: FastifyInstance, deps: OAuthDeps): void {
  const { keys, clock, service, behaviour } = deps
  const because = behaviour.allPublicKeys
    ? 'public keys (RFC 7517); shared secrets are left out'
    : 'RSA keys are public; the handler requires authentication for the others'
  const config = { access: { by: 'anyone', because }, audience: 'open', withoutDatabase: true } as const

  const publicDocument = (key: PublicZoneKey): object => keyDocument(key, clock.now())
  const anyDocument = (key: ZoneKey): object => (isPublic(key) ? publicDocument(key) : sharedKeyDocument(key))

  /**
   * UAA: only RSA keys are public. See docs/compatibility.md, M6. A shared secret is shown in its own zone only: a zone
   * that inherits it could otherwise forge tokens of the zone it comes from.
   */
  const maySee = (caller: Caller, key: ZoneKey, { zone }: FastifyRequest): boolean =>
    key.verifyKey.asymmetricKeyType === 'rsa' ||
    (caller === 'resource-server' && (isPublic(key) || key.zoneId === zone.id))

  /** Reads Basic credentials only; refuses wrong ones even if every key is public. */
  async function callerOf(request: FastifyRequest, reply: FastifyReply): Promise<Caller> {
    const authorization = authorizationOf(request)
    if (authorization === undefined || !/^basic /i.test(authorization)) return 'anonymous'
    reply.headers(NO_STORE) // the response is an error or may contain a secret
    const endpoint = { path: '/token_key', allowsNone: false, allowsAssertion: false }
    const credentials = { authorization, params: readParams(), endpoint }
    const { client } = await deps.authenticator.authenticate(contextOf(request), credentials)
    return client.authorities.includes(service.scope('resource')) ? 'resource-server' : 'client'
  }

  function refusal(caller: Caller, reply: FastifyReply): OAuthError {
    reply.headers(NO_STORE)
    if (caller === 'client') return new OAuthError('access_denied', 'You need to authenticate to see a shared key')
    // `standard` only: the authority does not help there, so no challenge asks for it.
    if (caller === 'resource-server') return new OAuthError('access_denied', 'Shared keys are never published')
    const description = 'Full authentication is required to access this resource'
    const challenge = basicChallenge(service, behaviour.bareChallenge ? undefined : description)
    return new OAuthError('unauthorized', description, { challenge })
  }

  /** UAA: one numeric ETag for all callers, compared before access is checked. */
  async function tagOf({ zone }: FastifyRequest): Promise<string> {
    const revisions = (await keys.list(zone.id)).map(({ revision }) => revision) // the active key is the first
    return `"${digitsOf(JSON.stringify([zone.updatedAt, zone.version, revisions]))}"`
  }

  app.get('/token_keys', { config }, async (request, reply) => {
    const { id } = request.zone
    if ((await keys.list(id)).length === 0) await keys.active(id) // creates the first key
    const list = await keys.list(id)
    if (behaviour.allPublicKeys) return sendTagged(request, reply, { keys: list.filter(isPublic).map(publicDocument) })
    const caller = await callerOf(request, reply)
    const tag = await tagOf(request)
    if (namesTag(request.headers['if-none-match'], tag)) return sendUnchanged(reply, tag)
    return sendPlain(reply, tag, { keys: list.filter(key => maySee(caller, key, request)).map(anyDocument) })
  })

  app.get('/token_key', { config }, async (request, reply) => {
    const key = await keys.active(request.zone.id)
    if (behaviour.allPublicKeys) {
      if (isPublic(key)) return sendTagged(request, reply, publicDocument(key))
      throw refusal(await callerOf(request, reply), reply)
    }
    const caller = await callerOf(request, reply)
    const tag = await tagOf(request)
    if (namesTag(request.headers['if-none-match'], tag)) return sendUnchanged(reply, tag)
    if (!maySee(caller, key, request)) throw refusal(caller, reply)
    return sendPlain(reply, tag, anyDocument(key))
  })
}

/** The ETag is a digest of the document: keys can change without a change of their zone. */
function sendTagged({ headers }: FastifyRequest, reply: FastifyReply, document: object): FastifyReply {
  const text = JSON.stringify(document)
  const tag = `"${digest(text).slice(0, 22)}"`
  reply.headers({ etag: tag, 'cache-control': CACHEABLE })
  if (namesTag(headers['if-none-match'], tag)) return reply.status(304).send()
  return reply.type('application/json').send(text)
}

function sendPlain(reply: FastifyReply, tag: string, document: object): FastifyReply {
  const vary = [reply.getHeader('vary') ?? [], 'Authorization'].flat().join(', ') // keeps what CORS has set
  reply.headers({ ...NEVER_CACHED, etag: tag, vary })
  return sendJson(reply, document)
}

const sendUnchanged = (reply: FastifyReply, tag: string): FastifyReply =>
  reply
    .status(304)
    .headers({ ...NEVER_CACHED, etag: tag })
    .send()

const digitsOf = (text: string): string => String(Number.parseInt(hexDigest(text).slice(0, 12), 16))
