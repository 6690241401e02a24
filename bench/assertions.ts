import { randomUUID } from 'node:crypto'
import { SignJWT, importJWK } from 'jose'
import type { KeyClient } from './accounts.ts'

const LIFETIME_SECONDS = 600

/** Creates the form fields of private_key_jwt for one request (RFC 7523 §2.2), signed with ES256; each is unique. */
export async function createSigner(
  client: KeyClient,
  audience: string,
): Promise<() => Promise<Record<string, string>>> {
  const key = await importJWK(client.privateKey, 'ES256')
  const kid = String(client.privateKey['kid'])
  return async () => ({
    client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
    client_assertion: await new SignJWT({ jti: randomUUID() })
      .setProtectedHeader({ alg: 'ES256', kid })
      .setIssuer(client.id)
      .setSubject(client.id)
      .setAudience(audience)
      .setIssuedAt()
      .setExpirationTime(`${LIFETIME_SECONDS}s`)
      .sign(key),
  })
}
