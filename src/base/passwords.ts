// Password hashing with argon2 and bcrypt. Hashing runs in Node's thread pool, which signing needs too, so only a few
// hashes run at a time; a fair queue holds further ones up to a limit and refuses the rest.
import { createFairQueue, QueueFull } from './concurrency/fair-queue.ts'
import type { QueueBounds, Requester } from './concurrency/fair-queue.ts'
import { loadOnce } from './concurrency/load-once.ts'

/** Thrown when the hashing queue is full: the caller answers 503 with `Retry-After`. */
export class TooManyHashes extends QueueFull {
  constructor() {
    super('too many passwords are being verified')
    this.name = 'TooManyHashes'
  }
}

/** Cost parameters of argon2id; parallelism is 1. */
export interface HashCost {
  readonly memoryKib: number
  readonly passes: number
}

/** Hashes and verifies passwords and client secrets, queued by requester; without one, as the server itself. */
export interface Passwords {
  /** An argon2id hash in PHC form. Throws `TooManyHashes`. */
  hash(plain: string, requester?: Requester): Promise<string>
  /**
   * Whether `plain` matches the hash: argon2id, or bcrypt with or without `{bcrypt}`. Once a bcrypt hash was seen, every
   * refusal takes the time of both algorithms. Throws `TooManyHashes`.
   */
  verify(stored: string, plain: string, requester?: Requester): Promise<boolean>
  /** Takes the time of a verification and returns false, so that timing does not reveal unknown users. */
  verifyPlaceholder(plain: string, requester?: Requester): Promise<false>
  /** Whether a stored hash is weaker than a new one would be and should be replaced at the next successful check. */
  isOutdated(stored: string): boolean
}

/** 19 MiB and two passes, as OWASP recommends. */
export const DEFAULT_COST: HashCost = { memoryKib: 19_456, passes: 2 }
/** A network or zone that fills its share leaves room for the others. */
const BOUNDS: QueueBounds = { all: 256, zone: 224, network: 192 }
/** For hashes that the server makes at start-up. */
const SERVER: Requester = { zoneId: '', address: undefined }

/** About a quarter of a second. */
const HIGHEST_BCRYPT_COST = 12
/** A hash that matches no password. */
const placeholderBcryptHash = (cost: number): string => `$2b$${String(cost).padStart(2, '0')}$${'.'.repeat(53)}`

/** Zeros as PHC strings write bytes. */
const zeros = (count: number): string => Buffer.alloc(count).toString('base64').replaceAll('=', '')

/**
 * Runs at most `concurrency` hashes at a time: the number of cores, and at least two fewer than the thread pool. The libraries
 * are loaded on first use.
 */
export function createPasswords({ concurrency, cost }: { concurrency: number; cost: HashCost }): Passwords {
  const parameters = { algorithm: 2, memoryCost: cost.memoryKib, timeCost: cost.passes, parallelism: 1 } as const
  const queue = createFairQueue({ concurrency, bounds: BOUNDS, full: () => new TooManyHashes() })
  // Constant, not computed, so that the first `verifyPlaceholder` also costs exactly one hash.
  const nothing = `$argon2id$v=19$m=${cost.memoryKib},t=${cost.passes},p=1$${zeros(16)}$${zeros(32)}`

  // Repeating a dynamic import takes longer than the rest of the call.
  const argon2 = loadOnce(() => import('@node-rs/argon2'))
  const bcrypt = loadOnce(() => import('@node-rs/bcrypt'))

  // The highest bcrypt cost seen. While bcrypt hashes exist, a refusal runs both algorithms, so that its timing reveals
  // neither an account's algorithm nor its existence. A success is not delayed.
  let bcryptCost = 0

  async function refuse(plain: string, done: 'argon2' | 'bcrypt'): Promise<false> {
    if (done === 'bcrypt') await (await argon2()).verify(nothing, plain)
    else if (bcryptCost > 0) await (await bcrypt()).verify(plain, placeholderBcryptHash(bcryptCost))
    return false
  }

  const hash = (plain: string, requester = SERVER): Promise<string> =>
    queue.run(requester, async () => (await argon2()).hash(plain, parameters))

  async function verify(stored: string, plain: string, requester = SERVER): Promise<boolean> {
    const encoded = stored.replace(/^\{bcrypt\}/, '')
    if (encoded.startsWith('$argon2')) {
      return queue.run(
        requester,
        async () => (await (await argon2()).verify(encoded, plain)) || refuse(plain, 'argon2'),
      )
    }
    const cost = Number(/^\$2[abxy]\$(\d\d)\$/.exec(encoded)?.[1])
    if (!Number.isNaN(cost)) {
      // One account with an extreme cost must not slow down all others.
      if (cost <= HIGHEST_BCRYPT_COST) bcryptCost = Math.max(bcryptCost, cost)
      return queue.run(
        requester,
        async () => (await (await bcrypt()).verify(plain, encoded)) || refuse(plain, 'bcrypt'),
      )
    }
    return false
  }

  return {
    hash,
    verify,
    async verifyPlaceholder(plain, requester) {
      await verify(nothing, plain, requester)
      return false
    },
    isOutdated(stored) {
      const [, memoryKib, passes] = /^\$argon2id\$v=19\$m=(\d+),t=(\d+),/.exec(stored) ?? []
      return !(Number(memoryKib) >= cost.memoryKib && Number(passes) >= cost.passes)
    },
  }
}
