// Password hashing with argon2 and bcrypt. Hashing runs in Node's thread pool, which signing needs too, so only a few
// hashes run at a time; a fair queue holds further ones up to a limit and refuses the rest.
import { createFairQueue, QueueFull } from './concurrency/fair-queue.ts'
import type { QueueBounds, Requester } from './concurrency/fair-queue.ts'
import { loadOnce } from './concurrency/load-once.ts'

/** Thrown when the hashing queue is full: the caller answers 503 with `Retry-After`. */
export class TooManyHashes extends QueueFull {
  override name = 'TooManyHashes'
  constructor() {
    super('too many passwords are being verified')
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
   * Whether `plain` matches the hash: argon2id, or bcrypt with or without `{bcrypt}`. Every refusal takes the same
   * time, that of each kind of hash that was seen. Throws `TooManyHashes`.
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
/** Memory times passes: the same. */
export const HIGHEST_ARGON2_WORK = 262_144
/** A hash that matches no password. */
const placeholderBcryptHash = (cost: number): string => `$2b$${String(cost).padStart(2, '0')}$${'.'.repeat(53)}`

/** Zeros as PHC strings write bytes. */
const zeros = (count: number): string => Buffer.alloc(count).toString('base64').replaceAll('=', '')

/** The parameters of an argon2id hash as it has them, such as `m=19456,t=2,p=1`; undefined for another kind of argon2. */
const argon2ParametersOf = (stored: string): string | undefined =>
  /^\$argon2id\$v=19\$(m=\d+,t=\d+,p=\d+)\$/.exec(stored)?.[1]

function argon2CostOf(parameters: string): HashCost {
  const [, memoryKib, passes] = /^m=(\d+),t=(\d+),/.exec(parameters) ?? []
  return { memoryKib: Number(memoryKib), passes: Number(passes) }
}

const workOf = (parameters: string): number => {
  const { memoryKib, passes } = argon2CostOf(parameters)
  return memoryKib * passes
}

/**
 * Runs at most `concurrency` hashes at a time: the number of cores, and at least two fewer than the thread pool. The libraries
 * are loaded on first use.
 */
export function createPasswords({ concurrency, cost }: { concurrency: number; cost: HashCost }): Passwords {
  const parameters = { algorithm: 2, memoryCost: cost.memoryKib, timeCost: cost.passes, parallelism: 1 } as const
  const queue = createFairQueue({ concurrency, bounds: BOUNDS, full: () => new TooManyHashes() })

  // Repeating a dynamic import takes longer than the rest of the call.
  const argon2 = loadOnce(() => import('@node-rs/argon2'))
  const bcrypt = loadOnce(() => import('@node-rs/bcrypt'))

  // The costs seen. A refusal makes up for what the hash was cheaper than these, so that its timing reveals neither how an
  // account's hash was made, which shows that it is old or imported, nor whether there is an account. A success is not delayed.
  let bcryptCost = 0
  const newHashes = `m=${cost.memoryKib},t=${cost.passes},p=1`
  /** All are computed for a refusal: no hash of one takes exactly as long as another one. */
  const argon2Parameters = new Set([newHashes])

  /** One account with an extreme cost must not slow down all others, nor may many kinds of hashes together. */
  function noteArgon2(parameters: string): void {
    const others = [...argon2Parameters].filter(each => each !== newHashes)
    const work = [...others, parameters].reduce((sum, each) => sum + workOf(each), 0)
    if (work <= HIGHEST_ARGON2_WORK) argon2Parameters.add(parameters)
  }

  async function spendArgon2(plain: string, spent: string | undefined): Promise<void> {
    for (const each of argon2Parameters) {
      // Not computed, so that the first refusal costs exactly one hash, too.
      if (each !== spent) await (await argon2()).verify(`$argon2id$v=19$${each}$${zeros(16)}$${zeros(32)}`, plain)
    }
  }

  /** Each cost takes twice the time of the one below, so those from the one spent up to the highest make up for the rest. */
  async function spendBcrypt(plain: string, spent: number | undefined): Promise<void> {
    if (bcryptCost === 0) return
    const costs = spent === undefined ? [bcryptCost] : Array.from({ length: bcryptCost - spent }, (_, i) => spent + i)
    for (const each of costs) await (await bcrypt()).verify(plain, placeholderBcryptHash(each))
  }

  async function refuse(
    plain: string,
    spent: { readonly argon2?: string | undefined; readonly bcrypt?: number },
  ): Promise<false> {
    await spendArgon2(plain, spent.argon2)
    await spendBcrypt(plain, spent.bcrypt)
    return false
  }

  const hash = (plain: string, requester = SERVER): Promise<string> =>
    queue.run(requester, async () => (await argon2()).hash(plain, parameters))

  async function verify(stored: string, plain: string, requester = SERVER): Promise<boolean> {
    const encoded = stored.replace(/^\{bcrypt\}/, '')
    if (encoded.startsWith('$argon2')) {
      const spent = argon2ParametersOf(encoded) ?? newHashes
      if (!argon2Parameters.has(spent)) noteArgon2(spent)
      return queue.run(
        requester,
        async () => (await (await argon2()).verify(encoded, plain)) || refuse(plain, { argon2: spent }),
      )
    }
    const spent = Number(/^\$2[abxy]\$(\d\d)\$/.exec(encoded)?.[1])
    if (!Number.isNaN(spent)) {
      if (spent <= HIGHEST_BCRYPT_COST) bcryptCost = Math.max(bcryptCost, spent)
      return queue.run(
        requester,
        async () => (await (await bcrypt()).verify(plain, encoded)) || refuse(plain, { bcrypt: spent }),
      )
    }
    return false
  }

  return {
    hash,
    verify,
    verifyPlaceholder: (plain, requester = SERVER) => queue.run(requester, () => refuse(plain, {})),
    isOutdated(stored) {
      const { memoryKib, passes } = argon2CostOf(argon2ParametersOf(stored) ?? '')
      return !(memoryKib >= cost.memoryKib && passes >= cost.passes)
    },
  }
}
