// Slow hashes for secrets that people choose. The only owner of argon2 and bcrypt. Hashing runs in Node's thread pool,
// which signing needs too, so a semaphore lets only a few hashes run and a bounded queue refuses the rest.
/** Thrown when more hashes wait than the queue holds: the caller answers 503 and asks to come back. */
export class TooManyHashes extends Error {
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

/** Hashes and verifies passwords and client secrets. */
export interface Passwords {
  /** An argon2id hash in PHC form. Throws `TooManyHashes`. */
  hash(plain: string): Promise<string>
  /** Whether `plain` belongs to the hash: argon2id, or bcrypt with or without `{bcrypt}`. Throws `TooManyHashes`. */
  verify(stored: string, plain: string): Promise<boolean>
  /** Spends the time of a verification and answers false, so that an unknown user looks like a wrong password. */
  verifyNothing(plain: string): Promise<false>
  /** Whether a stored hash is weaker than a new one would be, and is to be replaced at the next success. */
  isOutdated(stored: string): boolean
}

/** OWASP's second choice: 19 MiB, two passes. */
export const DEFAULT_COST: HashCost = { memoryKib: 19_456, passes: 2 }
const QUEUE_LENGTH = 256

/** Zeros as PHC strings write bytes. */
const zeros = (count: number): string => Buffer.alloc(count).toString('base64').replaceAll('=', '')

/**
 * Opens the pool with room for `places` hashes at a time: the number of cores, and at least two fewer than the thread
 * pool. The libraries are loaded when first needed.
 */
export function createPasswords({ places, cost }: { places: number; cost: HashCost }): Passwords {
  const parameters = { algorithm: 2, memoryCost: cost.memoryKib, timeCost: cost.passes, parallelism: 1 } as const
  const waiting: (() => void)[] = []
  let running = 0
  // A hash of no password, written down rather than made, so that the first verification of nothing costs one hash too.
  const nothing = `$argon2id$v=19$m=${cost.memoryKib},t=${cost.passes},p=1$${zeros(16)}$${zeros(32)}`

  // An import that is repeated is looked up again, which takes longer than the rest of the call.
  const argon2 = once(() => import('@node-rs/argon2'))
  const bcrypt = once(() => import('@node-rs/bcrypt'))

  async function inPool<T>(work: () => Promise<T>): Promise<T> {
    if (running >= places) {
      if (waiting.length >= QUEUE_LENGTH) throw new TooManyHashes()
      await new Promise<void>(resolve => waiting.push(resolve)) // the place is handed over, `running` stays
    } else {
      running += 1
    }
    try {
      return await work()
    } finally {
      const next = waiting.shift()
      if (next) next()
      else running -= 1
    }
  }

  const hash = (plain: string): Promise<string> => inPool(async () => (await argon2()).hash(plain, parameters))

  async function verify(stored: string, plain: string): Promise<boolean> {
    const known = stored.replace(/^\{bcrypt\}/, '')
    if (known.startsWith('$argon2')) {
      return inPool(async () => (await argon2()).verify(known, plain))
    }
    if (/^\$2[abxy]\$/.test(known)) {
      return inPool(async () => (await bcrypt()).verify(plain, known))
    }
    return false
  }

  return {
    hash,
    verify,
    async verifyNothing(plain) {
      await verify(nothing, plain)
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
