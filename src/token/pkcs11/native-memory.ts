import { TokenFailure } from './token-failure.ts'

/** Memory that native code may read and write: one block with a fixed address, used as a stack. */
export interface NativeMemory {
  /** Zeros at first, later what was there before; aligned for a CK_ULONG. */
  allocate(size: number): Allocation
  /** A copy of the content. */
  copied(content: Buffer): Allocation
  /** An array of CK_ULONG. */
  ulongs(...values: readonly (number | bigint)[]): Allocation
  /** The current position, for `release`. */
  mark(): number
  /** Frees what was allocated after the mark. */
  release(mark: number): void
}

/** A part of the block. */
interface Allocation {
  readonly at: bigint
  readonly bytes: Buffer
}

/** Size of a CK_ULONG, and of a pointer. */
export const ULONG_BYTES = 8
const MEMORY_BYTES = 65_536

/** The block is never moved, and freed with the object. */
export function createNativeMemory(getRawPointer: (bytes: Buffer) => bigint): NativeMemory {
  const memory = Buffer.alloc(MEMORY_BYTES)
  const base = getRawPointer(memory)
  let used = 0
  function allocate(size: number): Allocation {
    const start = used
    used += Math.ceil(size / ULONG_BYTES) * ULONG_BYTES
    if (used > MEMORY_BYTES) throw new TokenFailure('the token needs more memory than expected')
    return { at: base + BigInt(start), bytes: memory.subarray(start, start + size) }
  }
  return {
    allocate,
    copied(content) {
      const made = allocate(content.length)
      content.copy(made.bytes)
      return made
    },
    ulongs(...values) {
      const made = allocate(values.length * ULONG_BYTES)
      values.forEach((value, index) => made.bytes.writeBigUInt64LE(BigInt(value), index * ULONG_BYTES))
      return made
    },
    mark: () => used,
    release(mark) {
      used = mark
    },
  }
}

/** Reads an array of CK_ULONG. */
export const ulongIn = ({ bytes }: Allocation, index = 0): bigint => bytes.readBigUInt64LE(index * ULONG_BYTES)
