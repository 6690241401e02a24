import assert from 'node:assert/strict'
import fc from 'fast-check'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { clientSecretBasic } from '../../../src/clients/authentication/client-secret.ts'
import type { ClientAuthDeps } from '../../../src/clients/authentication/method.ts'
import { OAuthError } from '../../../src/model/oauth-error.ts'
import type { RequestOrigin } from '../../../src/model/request.ts'
import { authorizationOf, encodePlainBasic } from '../../../src/web/requests/plain-basic.ts'
import { anyText, changed, jumble } from '../changes.ts'
import { target, verdictLater } from '../target.ts'

interface Credentials {
  readonly id: string
  readonly secret: string
}

const params = { get: () => undefined, raw: () => undefined }
const ORIGIN = { zone: { id: 'svc' }, remoteAddress: '127.0.0.1' } as RequestOrigin // what is read
const endpoint = { path: '/oauth/token', allowsNone: false, allowsAssertion: true }

/** The parsed id and secret; the secret shows that guesses are counted. */
async function read(authorization: string): Promise<Credentials> {
  const request = { authorization, params, endpoint }
  if (!clientSecretBasic.recognises(request)) throw new OAuthError('invalid_client', 'another scheme')
  const attempt = clientSecretBasic.read(request)
  const seen: Credentials[] = []
  const guesses: ClientAuthDeps['guesses'] = {
    check: () => {},
    attempt: (_, { clientId, secret }) => {
      seen.push({ id: clientId, secret })
      return Promise.resolve(false)
    },
  }
  await attempt.verify(undefined, ORIGIN, { guesses } as ClientAuthDeps)
  const [credentials] = seen
  assert.ok(credentials)
  assert.equal(credentials.id, attempt.clientId)
  assert.equal(attempt.clientAuthMethod, credentials.secret === '' ? 'none' : undefined)
  return credentials
}

/** RFC 7617 §2 by the functions of the platform; undefined for what is not strictly that. */
function decoded(authorization: string): string | undefined {
  const text = authorization.slice('basic '.length).trim()
  if (!/^[A-Za-z0-9+/]*=*$/.test(text)) return undefined
  try {
    const bytes = Uint8Array.from(atob(text), byte => byte.charCodeAt(0))
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch {
    return undefined
  }
}

function formDecoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text.replaceAll('+', '%20'))
  } catch {
    return undefined
  }
}

/** The header as changed by the hook for clients that do not encode. */
function encodedByHook(authorization: string): string {
  const request = { headers: { authorization } } as FastifyRequest // what the hook reads
  encodePlainBasic(request, {} as FastifyReply, () => {})
  return authorizationOf(request) ?? ''
}

const names = fc.oneof(
  fc.constantFrom('app', 'a+b', 'Schlüssel', 'a:b', '100%', ''),
  jumble(['a', ':', '%41']),
  anyText,
)
const header = fc
  .tuple(
    fc.constantFrom('Basic ', 'basic ', 'BASIC  ', 'Basic\t', 'Bearer ', 'Basic'),
    fc.tuple(names, names, fc.boolean()).map(([id, secret, encodes]) => {
      const write = (text: string): string => (encodes ? encodeURIComponent(text.toWellFormed()) : text)
      return Buffer.from(`${write(id)}:${write(secret)}`)
    }),
    fc.constantFrom('base64', 'base64', 'base64', 'base64url'),
  )
  .map(([scheme, bytes, encoding]) => scheme + bytes.toString(encoding as BufferEncoding))

/** Credentials in the Authorization header: the client and secret that a strict decoder finds, or none. */
export const basicHeader = target({
  name: 'basic-header',
  inputs: fc.oneof(changed(header, ['=', '==', 'Og==', 'AA', '/w==', ' ', ', Basic YTpi']), header),
  async check(authorization) {
    const text = decoded(authorization)
    const colon = text?.indexOf(':') ?? -1
    const verdict = await verdictLater(
      [OAuthError],
      () => read(authorization),
      ({ id, secret }) => {
        assert.ok(text !== undefined && colon >= 0, 'read what a strict decoder does not')
        assert.equal(id, formDecoded(text.slice(0, colon)))
        assert.equal(secret, formDecoded(text.slice(colon + 1)))
      },
    )
    await verdictLater(
      [OAuthError],
      () => read(encodedByHook(authorization)),
      ({ id, secret }) => {
        assert.ok(text !== undefined && colon >= 0, 'the hook made credentials of what is none')
        assert.equal(id, text.slice(0, colon))
        assert.equal(secret, text.slice(colon + 1))
      },
    )
    return verdict
  },
})
