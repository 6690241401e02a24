import type { Client } from '../../model/client.ts'
import { OAuthError } from '../../model/oauth-error.ts'
import type { ClientAuthDeps, ClientAuthMethod, Credential } from './client-auth.ts'

/** A secret in the Authorization header (RFC 6749 §2.3.1, RFC 7617). */
export const clientSecretBasic: ClientAuthMethod = {
  name: 'client_secret_basic',
  read({ authorization }) {
    if (authorization === undefined || !isBasic(authorization)) return undefined
    const encoded = authorization.slice('basic '.length).trim()
    // Buffer.from skips characters outside the alphabet, so a malformed header could become a valid credential.
    if (!BASE64.test(encoded)) throw badHeader('Failed to decode basic authentication token')
    const text = utf8(Buffer.from(encoded, 'base64'))
    const colon = text.indexOf(':')
    if (colon < 0) throw badHeader('Invalid basic authentication token')
    return { clientId: urlDecode(text.slice(0, colon)), secret: urlDecode(text.slice(colon + 1)) }
  },
  verify: verifySecret,
}

/** A secret in the body (RFC 6749 §2.3.1). */
export const clientSecretPost: ClientAuthMethod = {
  name: 'client_secret_post',
  read({ authorization, params }) {
    // Beside Basic it is a second method, which the caller judges; another scheme speaks of somebody else.
    if (authorization !== undefined && !isBasic(authorization)) return undefined
    const secret = params.raw('client_secret')
    return secret === undefined ? undefined : { clientId: params.get('client_id') ?? '', secret }
  },
  verify: verifySecret,
}

/** Either secret of the client will do; a slow hash is computed once for each secret, not for each request. */
async function verifySecret({ secret }: Credential, client: Client, deps: ClientAuthDeps): Promise<boolean> {
  const { memory, passwords, store } = deps
  if (memory.knows(client, secret)) return true
  if (client.secrets.length === 0) return passwords.verifyNothing(secret)
  for (const own of client.secrets.toReversed()) {
    if (await passwords.verify(own.hash, secret)) {
      memory.remember(client, secret)
      if (passwords.isOutdated(own.hash)) {
        const renewed = { ...own, hash: await passwords.hash(secret) }
        await store.clients.renewSecretHash(client.zoneId, client.clientId, renewed)
      }
      return true
    }
  }
  return false
}

const isBasic = (authorization: string): boolean => /^basic /i.test(authorization)

/** RFC 4648 §4, with or without its padding. */
const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}(?:==)?|[A-Za-z0-9+/]{3}=?)?$/

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
