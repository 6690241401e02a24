// Validates imported password hashes. Limits their cost, because every sign-in with one pays it.
import { HIGHEST_ARGON2_WORK } from '../../base/passwords.ts'

/** A bcrypt hash of a password: version, cost, 22 characters of salt and 31 of hash. */
const BCRYPT = /^\$2[aby]\$(\d\d)\$[./A-Za-z0-9]{53}$/
const BCRYPT_COSTS = { min: 4, max: 12 } as const

/** An argon2id hash in PHC form, with its parameters in the usual order. */
const ARGON2ID =
  /^\$argon2id\$v=19\$m=([1-9]\d{0,6}),t=([1-9]\d?),p=([1-9]\d?)\$([A-Za-z0-9+/]{11,86})\$([A-Za-z0-9+/]{22,86})$/
const ARGON2ID_LIMITS = { memoryKib: 65_536, passes: 10, lanes: 8 } as const

/** The problem of an imported hash, as the end of a sentence; undefined if valid. */
export function passwordHashProblem(hash: string): string | undefined {
  const [, bcryptCost] = BCRYPT.exec(hash) ?? []
  if (bcryptCost !== undefined) {
    const { min, max } = BCRYPT_COSTS
    const isBounded = Number(bcryptCost) >= min && Number(bcryptCost) <= max
    return isBounded ? undefined : `must have a cost from ${min} to ${max}`
  }
  const [, memory, passes, lanes, salt = '', digest = ''] = ARGON2ID.exec(hash) ?? []
  if (memory === undefined) return 'must be a bcrypt hash, or an argon2id hash in PHC form'
  if (!isBase64(salt) || !isBase64(digest)) return 'must have salt and hash in base64 without padding'
  const [memoryKib, passCount, laneCount] = [Number(memory), Number(passes), Number(lanes)]
  const { memoryKib: mostMemory, passes: mostPasses, lanes: mostLanes } = ARGON2ID_LIMITS
  const isBounded =
    memoryKib <= mostMemory &&
    memoryKib >= 8 * laneCount && // RFC 9106 §3.1
    passCount <= mostPasses &&
    laneCount <= mostLanes &&
    memoryKib * passCount <= HIGHEST_ARGON2_WORK
  return isBounded
    ? undefined
    : `must have m of at most ${mostMemory}, t of at most ${mostPasses} and m·t of at most ${HIGHEST_ARGON2_WORK}`
}

/** Whether the text is canonical base64 without padding. */
const isBase64 = (text: string): boolean => Buffer.from(text, 'base64').toString('base64').replaceAll('=', '') === text
