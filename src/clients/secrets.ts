// Hashes and verifies client secrets. Hashing is slow: never do it inside a transaction.
import type { Requester } from '../base/concurrency/fair-queue.ts'
import type { Passwords } from '../base/passwords.ts'
import type { Random } from '../base/random.ts'
import type { ClientSecret } from '../model/clients/client.ts'
import { isBlank } from '../model/clients/secret-policy.ts'

/** `clientSecrets` is the hashing pool of client secrets, which queues each requester separately. */
export interface SecretDeps {
  readonly clientSecrets: Passwords
  readonly random: Random
}

/** Hashes a new secret. It gets a new revision, so that tokens issued under the secret it replaces become invalid. */
export async function newSecret(
  secret: string,
  requester: Requester | undefined,
  { clientSecrets, random }: SecretDeps,
): Promise<ClientSecret> {
  const hash = await clientSecrets.hash(secret, requester)
  return { hash, revision: random.urlSafe(22), ...(isBlank(secret) && { empty: true }) }
}

/** Whether the string is one of the secrets; takes the same time if there are none. */
export async function isSecretOf(
  secrets: readonly ClientSecret[],
  secret: string,
  { clientSecrets, requester }: { readonly clientSecrets: Passwords; readonly requester: Requester },
): Promise<boolean> {
  if (secrets.length === 0) return clientSecrets.verifyPlaceholder(secret, requester)
  for (const { hash } of secrets.toReversed()) if (await clientSecrets.verify(hash, secret, requester)) return true
  return false
}
