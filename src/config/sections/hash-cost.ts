// The key `passwords`: the cost of password hashing.
import { isLoopbackHost } from '../../base/loopback.ts'
import { DEFAULT_COST } from '../../base/passwords.ts'
import type { HashCost } from '../../base/passwords.ts'
import type { Problems } from '../problems.ts'

/** The key in the configuration file. */
export interface HashCostFile {
  readonly memory_kib?: number
  readonly passes?: number
}

// The smallest of OWASP's equivalent settings for argon2id: 7 MiB and five passes.
const MIN_MEMORY_KIB = 7168
const MIN_WORK_KIB = MIN_MEMORY_KIB * 5

/** JSON Schema of the key. */
export const hashCostSchema = {
  type: 'object',
  additionalProperties: false,
  description:
    'How passwords and client secrets are hashed (argon2id). Weaker stored hashes are replaced at the next use.',
  properties: {
    memory_kib: {
      type: 'integer',
      minimum: 8,
      maximum: 1_048_576,
      default: DEFAULT_COST.memoryKib,
      description: 'Memory of one hash, in KiB; as many hashes run at a time as there are cores.',
    },
    passes: {
      type: 'integer',
      minimum: 1,
      maximum: 100,
      default: DEFAULT_COST.passes,
      description: 'Number of passes over the memory.',
    },
  },
} as const

/** Whether hashes of this cost are too easy to guess. */
export const isCheap = ({ memoryKib, passes }: HashCost): boolean =>
  memoryKib < MIN_MEMORY_KIB || memoryKib * passes < MIN_WORK_KIB

/** Reads the key; allows cheap hashes on loopback only. */
export function hashCostOf(file: HashCostFile | undefined, host: string, problems: Problems): HashCost {
  const { memory_kib: memoryKib = DEFAULT_COST.memoryKib, passes = DEFAULT_COST.passes } = file ?? {}
  const cost = { memoryKib, passes }
  if (problems.hasValidTypes('passwords') && isCheap(cost) && !isLoopbackHost(host)) {
    problems.add(
      'passwords',
      `makes guessing cheap, which is allowed on loopback only: memory_kib must be at least ${MIN_MEMORY_KIB}, and memory_kib times passes at least ${MIN_WORK_KIB}`,
    )
  }
  return cost
}
