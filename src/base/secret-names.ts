// Recognises secrets by their names in JSON whose members have no fixed meaning, which is kept and shown as it is.
import { isJsonRecord } from './json.ts'

/** `client_secret2` and `bindPassword`, but not `password_reset_url` or `client_secret_expires_at`. */
const SECRET =
  /(?:secret|passw(?:or)?d|passphrase|credentials?|(?:private|api|shared|signing|encryption)key|(?:access|refresh)token)\d*$/

const PRIVATE_KEY = /-----BEGIN [A-Z ]*PRIVATE KEY-----/

const isSecret = (name: string, value: unknown): boolean =>
  (SECRET.test(name.toLowerCase().replace(/[^a-z0-9]/g, '')) && value !== null && typeof value !== 'boolean') ||
  (typeof value === 'string' && PRIVATE_KEY.test(value))

/** Whether the member is, or contains at any depth, something that looks like a secret. */
export function looksSecret(name: string, value: unknown): boolean {
  if (isSecret(name, value)) return true
  if (Array.isArray(value)) return value.some(each => looksSecret('', each))
  return isJsonRecord(value) && Object.entries(value).some(([member, each]) => looksSecret(member, each))
}

/** The value without members that look like secrets, at any depth. */
export function withoutLikelySecrets(value: unknown): unknown {
  if (Array.isArray(value)) return value.filter(each => !isSecret('', each)).map(withoutLikelySecrets)
  if (!isJsonRecord(value)) return value
  return Object.fromEntries(
    Object.entries(value)
      .filter(([name, each]) => !isSecret(name, each))
      .map(([name, each]) => [name, withoutLikelySecrets(each)]),
  )
}
