import { BASE64 } from '../../base/text/base64.ts'
import type { Requester } from '../../base/concurrency/fair-queue.ts'
import type { Client } from '../../model/clients/client.ts'
import { OAuthError } from '../../model/oauth-error.ts'
import type { Attempt, ClientAuthDeps, ClientAuthMethod } from './method.ts'
import { requesterOf } from '../../model/request.ts'

/** A secret in the Authorization header (RFC 6749 §2.3.1, RFC 7617). */
export const clientSecretBasic: ClientAuthMethod = {
  name: 'client_secret_basic',
  recognises: ({ authorization }) => authorization !== undefined && isBasic(authorization),
  read({ authorization = '' }) {
    const encoded = authorization.slice('basic '.length).trim()
    // Buffer.from skips characters outside the alphabet, so a malformed header could become a valid credential.
    if (!BASE64.test(encoded)) throw badHeader('Failed to decode basic authentication token')
    const text = utf8(Buffer.from(encoded, 'base64'))
    const colon = text.indexOf(':')
    if (colon < 0) throw badHeader('Invalid basic authentication token')
    return secretAttempt(urlDecode(text.slice(0, colon)), urlDecode(text.slice(colon + 1)))
  },
}

/** A secret in the body (RFC 6749 §2.3.1). */
export const clientSecretPost: ClientAuthMethod = {
  name: 'client_secret_post',
  recognises: ({ authorization, params }) =>
    allowsFormCredentials(authorization) && params.raw('client_secret') !== undefined,
  read: ({ params }) => secretAttempt(params.get('client_id') ?? '', params.raw('client_secret') ?? ''),
}

/**
 * Whether credentials in the form count in addition to this Authorization header. With Basic they are a second method, which
 * the caller may refuse; another scheme, such as Bearer, authenticates another party.
 */
export const allowsFormCredentials = (authorization: string | undefined): boolean =>
  authorization === undefined || isBasic(authorization)

/** An empty secret does not authenticate the client, so the tokens' `client_auth_method` is `none`. */
const secretAttempt = (clientId: string, secret: string): Attempt => ({
  clientId,
  clientAuthMethod: secret === '' ? 'none' : undefined,
  async verify(client, from, deps) {
    if (client && deps.memory.knows(client, secret)) {
      deps.guesses.check(from, clientId)
      return true
    }
    const requester = requesterOf(from)
    return deps.guesses.attempt(from, { clientId, secret, client }, () =>
      client ? verifySecret(secret, { client, requester }, deps) : deps.passwords.verifyPlaceholder(secret, requester),
    )
  },
})

/**
 * Accepts either secret of the client; a slow hash is computed once for each secret, not for each request. A secret that is not
 * the remembered one of a hash needs no hash to be refused, so that a wrong one costs no more where one of two secrets is in use.
 */
async function verifySecret(
  secret: string,
  { client, requester }: { readonly client: Client; readonly requester: Requester },
  deps: ClientAuthDeps,
): Promise<boolean> {
  const { memory, passwords, store } = deps
  const open = client.secrets.filter(own => !memory.hasPassed(client, own.hash))
  if (open.length === 0) return passwords.verifyPlaceholder(secret, requester)
  for (const own of open.toReversed()) {
    if (await passwords.verify(own.hash, secret, requester)) {
      memory.remember(client, own.hash, secret)
      if (passwords.isOutdated(own.hash)) {
        const renewed = { ...own, hash: await passwords.hash(secret, requester) }
        await store.clients.renewSecretHash(client.zoneId, client.clientId, renewed)
      }
      return true
    }
  }
  return false
}

const isBasic = (authorization: string): boolean => /^basic /i.test(authorization)

const badHeader = (description: string): OAuthError => new OAuthError('invalid_client', description)

/** RFC 6749 §2.3.1: both parts are form-encoded before they are joined. */
function urlDecode(text: string): string {
  try {
    return /[%+]/.test(text) ? decodeURIComponent(text.replaceAll('+', ' ')) : text
  } catch (cause) {
    throw new OAuthError('invalid_client', 'Failed to URL Decode credentials', { cause })
  }
}

const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

function utf8(bytes: Buffer): string {
  try {
    return decoder.decode(bytes)
  } catch (cause) {
    throw new OAuthError('invalid_client', 'Failed to decode basic authentication token', { cause })
  }
}
