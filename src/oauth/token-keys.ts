// The keys that tokens are verified with. Owns who sees which key; refuses to know how one is kept. No private half and,
// but for who may have it in UAA's way, no shared secret ever leaves.
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Clock } from '../base/clock.ts'
import { digest, hexDigest } from '../base/secrets.ts'
import type { Behaviour } from '../model/compatibility.ts'
import { OAuthError } from '../model/oauth-error.ts'
import type { Service } from '../model/service.ts'
import { keyDocument, sharedKeyDocument } from '../token/key-document.ts'
import type { KeyRing, PublicZoneKey, ZoneKey } from '../token/keys.ts'
import { isPublic } from '../token/keys.ts'
import { namesTag } from '../web/entity-tag.ts'
import { NEVER_CACHED } from '../web/headers.ts'
import type { ClientAuthenticator } from '../clients/authentication/authentication.ts'
import { basicChallenge } from '../clients/authentication/authentication.ts'
import { sendJson } from '../web/json.ts'
import { authorizationOf } from '../web/plain-basic.ts'
import { readParams } from './params.ts'

interface TokenKeysDeps {
  readonly keys: KeyRing
  readonly authenticator: ClientAuthenticator
  readonly clock: Clock
  readonly service: Service
  readonly behaviour: Behaviour
}

/** Who asks: nobody known, a client, or one that may verify tokens for others. */
type Caller = 'nobody' | 'client' | 'resource-server'

/**
 * Relying parties ask five minutes after a key was added at the latest, which is how long it should stand by before it
 * signs; after that they ask with the tag, and a change is theirs at once.
 */
const CACHED = 'public, max-age=300, must-revalidate'
const NOT_KEPT = { 'cache-control': 'no-store', pragma: 'no-cache' }

/** `/token_keys` (RFC 7517 §5) and `/token_key`. */
export function tokenKeysEndpoints(app: FastifyInstance, deps: TokenKeysDeps): void {
  const { keys, clock, service, behaviour } = deps
  const because = behaviour.allPublicKeys
    ? 'public by definition: RFC 7517; shared secrets are not shown'
    : 'RSA keys are public by definition; the handler asks for more where a key is protected'
  const config = { access: { by: 'anyone', because }, audience: 'open' } as const

  const publicDocument = (key: PublicZoneKey): object => keyDocument(key, clock.now())
  const anyDocument = (key: ZoneKey): object => (isPublic(key) ? publicDocument(key) : sharedKeyDocument(key))

  /**
   * UAA: only RSA keys are for everybody. See docs/compatibility.md, M6. A secret is its own zone's alone: who verifies
   * tokens of a zone that borrows one could make the lender's.
   */
  const maySee = (caller: Caller, key: ZoneKey, { zone }: FastifyRequest): boolean =>
    key.verifyKey.asymmetricKeyType === 'rsa' ||
    (caller === 'resource-server' && (isPublic(key) || key.zoneId === zone.id))

  /** Of credentials only Basic counts; wrong ones are refused whatever the keys are. */
  async function callerOf(request: FastifyRequest, reply: FastifyReply): Promise<Caller> {
    const { zone, ip } = request
    const authorization = authorizationOf(request)
    if (authorization === undefined || !/^basic /i.test(authorization)) return 'nobody'
    reply.headers(NOT_KEPT) // what comes next is a refusal, or may hold a secret
    const endpoint = { path: '/token_key', allowsNone: false, allowsAssertion: false }
    const credentials = { authorization, params: readParams(), endpoint }
    const { client } = await deps.authenticator.authenticate(zone, credentials, ip)
    return client.authorities.includes(service.scope('resource')) ? 'resource-server' : 'client'
  }

  function refusal(caller: Caller, reply: FastifyReply): OAuthError {
    reply.headers(NOT_KEPT)
    if (caller === 'client') return new OAuthError('access_denied', 'You need to authenticate to see a shared key')
    // Only `standard` gets here: the authority is of no use there, and to ask again would not help.
    if (caller === 'resource-server') return new OAuthError('access_denied', 'A shared key is never shown')
    const description = 'Full authentication is required to access this resource'
    const challenge = basicChallenge(service, behaviour.bareChallenge ? undefined : description)
    return new OAuthError('unauthorized', description, { challenge })
  }

  /** The tag is made of the document alone: keys change without their zone, and whoever asks must hear of it. */
  function sendTagged({ headers }: FastifyRequest, reply: FastifyReply, document: object): FastifyReply {
    const text = JSON.stringify(document)
    const tag = `"${digest(text).slice(0, 22)}"`
    reply.headers({ etag: tag, 'cache-control': CACHED })
    if (namesTag(headers['if-none-match'], tag)) return reply.status(304).send()
    return reply.type('application/json').send(text)
  }

  /** UAA: one tag of digits for all callers, compared before anybody is refused. */
  async function tagOf({ zone }: FastifyRequest): Promise<string> {
    const revisions = (await keys.list(zone.id)).map(({ revision }) => revision) // the active key is the first
    return `"${digitsOf(JSON.stringify([zone.updatedAt, zone.version, revisions]))}"`
  }

  function sendPlain(reply: FastifyReply, tag: string, document: object): FastifyReply {
    const vary = [reply.getHeader('vary') ?? [], 'Authorization'].flat().join(', ') // beside what others put there
    reply.headers({ ...NEVER_CACHED, etag: tag, vary })
    return sendJson(reply, document)
  }

  app.get('/token_keys', { config }, async (request, reply) => {
    const { id } = request.zone
    if ((await keys.list(id)).length === 0) await keys.active(id) // a server that never signed gets its key now
    const list = await keys.list(id)
    if (behaviour.allPublicKeys) return sendTagged(request, reply, { keys: list.filter(isPublic).map(publicDocument) })
    const caller = await callerOf(request, reply)
    const tag = await tagOf(request)
    if (namesTag(request.headers['if-none-match'], tag)) {
      return reply
        .status(304)
        .headers({ ...NEVER_CACHED, etag: tag })
        .send()
    }
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
    if (namesTag(request.headers['if-none-match'], tag)) {
      return reply
        .status(304)
        .headers({ ...NEVER_CACHED, etag: tag })
        .send()
    }
    if (!maySee(caller, key, request)) throw refusal(caller, reply)
    return sendPlain(reply, tag, anyDocument(key))
  })
}

const digitsOf = (text: string): string => String(Number.parseInt(hexDigest(text).slice(0, 12), 16))
