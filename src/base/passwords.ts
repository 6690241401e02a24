// Slow hashes for secrets that people choose. The only owner of argon2 and bcrypt. Hashing runs in Node's thread pool,
// which signing needs too, so only a few hashes run at a time, and a queue that is shared out fairly refuses the rest.
import { createFairQueue, QueueFull } from './fair-queue.ts'
import type { QueueBounds, Requester } from './fair-queue.ts'

/** Thrown when more hashes wait than the queue holds: the caller answers 503 and asks to come back. */
export class TooManyHashes extends QueueFull {
  constructor() {
    super('too many passwords are being verified')
    this.name = 'TooManyHashes'
  }
}

/** How hard argon2id works, in one lane. */
export interface HashCost {
  readonly memoryKib: number
  readonly passes: number
}

/** Hashes and verifies passwords and client secrets, for somebody who asks; without a requester for the server itself. */
export interface Passwords {
  /** An argon2id hash in PHC form. Throws `TooManyHashes`. */
  hash(plain: string, requester?: Requester): Promise<string>
  /**
   * Whether `plain` belongs to the hash: argon2id, or bcrypt with or without `{bcrypt}`; every refusal takes the same time
   * once both kinds were seen. Throws `TooManyHashes`.
   */
  verify(stored: string, plain: string, requester?: Requester): Promise<boolean>
  /** Spends the time of a verification and answers false, so that an unknown user looks like a wrong password. */
  verifyNothing(plain: string, requester?: Requester): Promise<false>
  /** Whether a stored hash is weaker than a new one would be, and is to be replaced at the next success. */
  isOutdated(stored: string): boolean
}

/** OWASP's second choice: 19 MiB, two passes. */
export const DEFAULT_COST: HashCost = { memoryKib: 19_456, passes: 2 }
/** One network or zone can fill its share, and then the others still have room. */
const BOUNDS: QueueBounds = { all: 256, zone: 224, network: 192 }
/** What the server hashes itself, at its start. */
const SERVER: Requester = { zoneId: '', address: undefined }

/** About a quarter of a second. */
const HIGHEST_BCRYPT_COST = 12
/** A hash of no password. */
const bcryptOfNothing = (cost: number): string => `$2b$${String(cost).padStart(2, '0')}$${'.'.repeat(53)}`

/** Zeros as PHC strings write bytes. */
const zeros = (count: number): string => Buffer.alloc(count).toString('base64').replaceAll('=', '')

/**
 * Opens the pool with room for `places` hashes at a time: the number of cores, and at least two fewer than the thread
 * pool. The libraries are loaded when first needed.
 */
export function createPasswords({ places, cost }: { places: number; cost: HashCost }): Passwords {
  const parameters = { algorithm: 2, memoryCost: cost.memoryKib, timeCost: cost.passes, parallelism: 1 } as const
  const queue = createFairQueue({ places, bounds: BOUNDS, full: () => new TooManyHashes() })
  // A hash of no password, written down rather than made, so that the first verification of nothing costs one hash too.
  const nothing = `$argon2id$v=19$m=${cost.memoryKib},t=${cost.passes},p=1$${zeros(16)}$${zeros(32)}`

  // An import that is repeated is looked up again, which takes longer than the rest of the call.
  const argon2 = once(() => import('@node-rs/argon2'))
  const bcrypt = once(() => import('@node-rs/bcrypt'))

  // What bcrypt costs where hashes of that kind are left: a refusal then takes both kinds of work, in one place, so that it
  // does not tell which kind an account has, or whether there is one. A success is not held up.
  let bcryptCost = 0

  async function refuse(plain: string, done: 'argon2' | 'bcrypt'): Promise<false> {
    if (done === 'bcrypt') await (await argon2()).verify(nothing, plain)
    else if (bcryptCost > 0) await (await bcrypt()).verify(plain, bcryptOfNothing(bcryptCost))
    return false
  }

  const hash = (plain: string, requester = SERVER): Promise<string> =>
    queue.run(requester, async () => (await argon2()).hash(plain, parameters))

  async function verify(stored: string, plain: string, requester = SERVER): Promise<boolean> {
    const known = stored.replace(/^\{bcrypt\}/, '')
    if (known.startsWith('$argon2')) {
      return queue.run(requester, async () => (await (await argon2()).verify(known, plain)) || refuse(plain, 'argon2'))
    }
    const cost = Number(/^\$2[abxy]\$(\d\d)\$/.exec(known)?.[1])
    if (!Number.isNaN(cost)) {
      // What one account costs beyond measure, all others need not.
      if (cost <= HIGHEST_BCRYPT_COST) bcryptCost = Math.max(bcryptCost, cost)
      return queue.run(requester, async () => (await (await bcrypt()).verify(plain, known)) || refuse(plain, 'bcrypt'))
    }
    return false
  }

  return {
    hash,
    verify,
    async verifyNothing(plain, requester) {
      await verify(nothing, plain, requester)
      return false
    },
    isOutdated(stored) {
      const [, memoryKib, passes] = /^\$argon2id\$v=19\$m=(\d+),t=(\d+),/.exec(stored) ?? []
      return !(Number(memoryKib) >= cost.memoryKib && Number(passes) >= cost.passes)
    },
  }
}

function once<T>(load: () => Promise<T>): () => Promise<T> {
  let loaded: Promise<T> | undefined
  return () => (loaded ??= load())
}
