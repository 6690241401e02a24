// `rev_sig`: a short hash of the values that a token depends on. When a secret, password, e-mail or salt changes, the hash
// changes, which invalidates every token with the old one without storing tokens.
import type { Client, ClientSecret } from '../model/clients/client.ts'
import type { User } from '../model/users/user.ts'

const SEED = 0xf0f0

/** 32-bit MurmurHash3, x86 variant, of a string's UTF-8 bytes. */
export function murmur3(text: string, seed: number): number {
  const bytes = Buffer.from(text)
  const blocks = bytes.length & ~3
  let hash = seed
  for (let i = 0; i < blocks; i += 4) {
    hash ^= scramble(bytes.readInt32LE(i))
    hash = (hash << 13) | (hash >>> 19)
    hash = (Math.imul(hash, 5) + 0xe6546b64) | 0
  }
  let tail = 0
  for (let i = bytes.length - 1; i >= blocks; i -= 1) tail = (tail << 8) | (bytes[i] ?? 0)
  if (bytes.length > blocks) hash ^= scramble(tail)
  hash ^= bytes.length
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b)
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35)
  return (hash ^ (hash >>> 16)) >>> 0
}

function scramble(block: number): number {
  const mixed = Math.imul(block, 0xcc9e2d51)
  return Math.imul((mixed << 15) | (mixed >>> 17), 0x1b873593)
}

const extend = (previous: string, value: string | undefined): string =>
  value === undefined ? previous : murmur3(`${previous}###${value}`, SEED).toString(16)

/** What the signature of a client's tokens depends on. */
export type SignedClient = Pick<Client, 'clientId' | 'secrets' | 'tokenSalt' | 'incarnation'>

const ofClient = (client: SignedClient, secret: ClientSecret | undefined): string =>
  [client.clientId, secret?.revision, client.tokenSalt, client.incarnation].reduce(extend, '')

const newest = new WeakMap<SignedClient, string>()

/** The signature for new tokens of the client or of a user, with the newest secret. */
export function revocationSignature(client: SignedClient, user: User | undefined): string {
  const ofNewest = newest.get(client) ?? ofClient(client, client.secrets.at(-1))
  newest.set(client, ofNewest)
  return user ? withUser(ofNewest, user) : ofNewest
}

/** Whether the signature matches any current secret of the client. */
export function isCurrentSignature(signature: string, client: SignedClient, user: User | undefined): boolean {
  if (signature === revocationSignature(client, user)) return true
  return client.secrets.slice(0, -1).some(secret => {
    const older = ofClient(client, secret)
    return signature === (user ? withUser(older, user) : older)
  })
}

function withUser(previous: string, user: User): string {
  return [user.id, user.passwordRevision, user.salt, user.email, user.userName].reduce(extend, previous)
}
