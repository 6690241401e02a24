// Calls a PKCS#11 module (v2.40 and later) by Node's foreign functions. Used in a process of its own only: a mistake of the
// module ends or blocks that process. For 64-bit systems but Windows, where CK_ULONG has eight bytes.
import type { PublicAttributes } from './public-key.ts'
import { publicKeyOf } from './public-key.ts'

/** The part of `node:ffi` that is used; the types of the oldest supported Node.js do not have it. */
export interface ForeignFunctions {
  readonly DynamicLibrary: new (
    path: string,
  ) => {
    getFunction(
      name: string,
      signature: { readonly return: string; readonly arguments: readonly string[] },
    ): (...values: readonly (number | bigint)[]) => number | bigint
  }
  readonly getRawPointer: (bytes: Buffer) => bigint
}

/** The module, the token and the key to open. */
export interface TokenLocation {
  readonly module: string
  readonly token: string
  readonly label: string
  readonly pin: string
}

/** A private key with an open session. */
export interface TokenSession {
  /** SPKI PEM. */
  readonly publicKey: string
  /** Throws `TokenFailure`. */
  sign(input: Buffer): Buffer
}

/** Thrown when the token refuses or fails; the message has no secret. */
class TokenFailure extends Error {
  /** CK_RV. */
  readonly code: number | undefined
  constructor(message: string, code?: number) {
    super(message)
    this.name = 'TokenFailure'
    this.code = code
  }
}

/** CKR_… that operators meet. */
const NAMES: Readonly<Record<number, string>> = {
  0x5: 'GENERAL_ERROR',
  0x6: 'FUNCTION_FAILED',
  0x30: 'DEVICE_ERROR',
  0x32: 'DEVICE_REMOVED',
  0x63: 'KEY_TYPE_INCONSISTENT',
  0x68: 'KEY_FUNCTION_NOT_PERMITTED',
  0x70: 'MECHANISM_INVALID',
  0xa0: 'PIN_INCORRECT',
  0xa2: 'PIN_LEN_RANGE',
  0xa4: 'PIN_LOCKED',
  0xb3: 'SESSION_HANDLE_INVALID',
  0xe0: 'TOKEN_NOT_PRESENT',
  0xe1: 'TOKEN_NOT_RECOGNIZED',
  0x101: 'USER_NOT_LOGGED_IN',
  0x102: 'USER_PIN_NOT_INITIALIZED',
}
const ALREADY_INITIALIZED = 0x191
const ALREADY_LOGGED_IN = 0x100
const TOKEN_NOT_PRESENT = 0xe0
const TOKEN_NOT_RECOGNIZED = 0xe1

/** Incorrect, invalid, of a wrong length, expired, locked, never set. */
const PIN_REFUSED = new Set([0xa0, 0xa1, 0xa2, 0xa3, 0xa4, 0x102])

/** Whether the token has refused the PIN; trying on could lock it. */
export const isPinRefused = (error: unknown): boolean =>
  error instanceof TokenFailure && PIN_REFUSED.has(error.code ?? 0)

const ULONG = 8
const ATTRIBUTE = 3 * ULONG
const LABEL_BYTES = 32
/** More than CK_TOKEN_INFO has. */
const TOKEN_INFO_BYTES = 512
const MEMORY_BYTES = 65_536
const MAX_SLOTS = 256
const MAX_ATTRIBUTE_BYTES = 4096

const CKF_SERIAL_SESSION = 0x4
const CKU_USER = 1
const CKO_PUBLIC_KEY = 2
const CKO_PRIVATE_KEY = 3
const CKA = {
  class: 0x0,
  label: 0x3,
  keyType: 0x100,
  id: 0x102,
  modulus: 0x120,
  exponent: 0x122,
  curve: 0x180,
  point: 0x181,
} as const

/** Memory that native code may read and write: one block, whose address stays. */
interface Allocation {
  readonly at: bigint
  readonly bytes: Buffer
}

/** Opens the module, the token and a session, and finds the one private key with the label. */
export function openToken(
  { module, token, label, pin }: TokenLocation,
  mechanism: { readonly type: number; readonly parameter: readonly number[] },
  { DynamicLibrary, getRawPointer }: ForeignFunctions,
): TokenSession {
  const memory = Buffer.alloc(MEMORY_BYTES)
  const base = getRawPointer(memory)
  let used = 0
  function allocate(size: number): Allocation {
    const start = used
    used += Math.ceil(size / ULONG) * ULONG
    if (used > MEMORY_BYTES) throw new TokenFailure('the token needs more memory than expected')
    return { at: base + BigInt(start), bytes: memory.subarray(start, start + size) }
  }
  function allocated(content: Buffer): Allocation {
    const made = allocate(content.length)
    content.copy(made.bytes)
    return made
  }
  const ulongs = (...values: readonly (number | bigint)[]): Allocation => {
    const made = allocate(values.length * ULONG)
    values.forEach((value, index) => made.bytes.writeBigUInt64LE(BigInt(value), index * ULONG))
    return made
  }
  const ulongIn = ({ bytes }: Allocation, index = 0): bigint => bytes.readBigUInt64LE(index * ULONG)

  const library = open(() => new DynamicLibrary(module), `the module ${module} cannot be loaded`)
  function bind(name: string, ...types: readonly string[]) {
    const call = open(
      () => library.getFunction(name, { return: 'uint64', arguments: types }),
      `the module ${module} has no ${name}`,
    )
    return (values: readonly (number | bigint)[], ...accepted: readonly number[]): void => {
      const code = Number(call(...values.map((value, index) => (types[index] === 'uint8' ? value : BigInt(value)))))
      if (code === 0 || accepted.includes(code)) return
      throw new TokenFailure(`${name}: CKR_${NAMES[code] ?? `0x${code.toString(16)}`}`, code)
    }
  }
  const [U, P] = ['uint64', 'pointer'] as const
  const initialize = bind('C_Initialize', P)
  const getSlotList = bind('C_GetSlotList', 'uint8', P, P)
  const getTokenInfo = bind('C_GetTokenInfo', U, P)
  const openSession = bind('C_OpenSession', U, U, P, P, P)
  const login = bind('C_Login', U, U, P, U)
  const findInit = bind('C_FindObjectsInit', U, P, U)
  const find = bind('C_FindObjects', U, P, U, P)
  const findFinal = bind('C_FindObjectsFinal', U)
  const getAttributeValue = bind('C_GetAttributeValue', U, U, P, U)
  const signInit = bind('C_SignInit', U, P, U)
  const sign = bind('C_Sign', U, P, U, P, P)

  initialize([0n], ALREADY_INITIALIZED)
  const slotCount = ulongs(MAX_SLOTS)
  const slotList = allocate(MAX_SLOTS * ULONG)
  getSlotList([1, slotList.at, slotCount.at])
  const slots = Array.from({ length: Number(ulongIn(slotCount)) }, (_, index) => ulongIn(slotList, index)).filter(
    slot => labelOf(slot) === token,
  )
  const [slot] = slots
  if (slot === undefined) throw new TokenFailure(`there is no token ${token}`)
  if (slots.length > 1) throw new TokenFailure(`there are several tokens ${token}`)
  const handle = ulongs(0)
  openSession([slot, CKF_SERIAL_SESSION, 0n, 0n, handle.at])
  const session = ulongIn(handle)
  const code = allocated(Buffer.from(pin, 'utf8'))
  try {
    login([session, CKU_USER, code.at, code.bytes.length], ALREADY_LOGGED_IN)
  } finally {
    code.bytes.fill(0)
  }

  function labelOf(slot: bigint): string {
    const before = used
    const info = allocate(TOKEN_INFO_BYTES)
    getTokenInfo([slot, info.at], TOKEN_NOT_PRESENT, TOKEN_NOT_RECOGNIZED) // such as one that was never made ready
    used = before
    return info.bytes.subarray(0, LABEL_BYTES).toString('utf8').trimEnd()
  }

  function objects(...attributes: readonly (readonly [type: number, value: Buffer])[]): readonly bigint[] {
    const values = attributes.map(([type, value]) => ({ type, value: allocated(value) }))
    const template = ulongs(...values.flatMap(({ type, value }) => [type, value.at, value.bytes.length]))
    const found = allocate(2 * ULONG)
    const count = ulongs(0)
    findInit([session, template.at, attributes.length])
    find([session, found.at, 2, count.at])
    findFinal([session])
    return Array.from({ length: Number(ulongIn(count)) }, (_, index) => ulongIn(found, index))
  }

  /** Undefined where the object does not have it. */
  function attribute(object: bigint, type: number): Buffer | undefined {
    const before = used
    const value = allocate(MAX_ATTRIBUTE_BYTES)
    const template = ulongs(type, value.at, MAX_ATTRIBUTE_BYTES)
    try {
      getAttributeValue([session, object, template.at, template.bytes.length / ATTRIBUTE])
      const length = Number(ulongIn(template, 2))
      return length > 0 && length <= MAX_ATTRIBUTE_BYTES ? Buffer.from(value.bytes.subarray(0, length)) : undefined
    } catch (error) {
      if (error instanceof TokenFailure) return undefined
      throw error
    } finally {
      used = before
    }
  }

  const number = (value: number): Buffer => Buffer.from(BigUint64Array.of(BigInt(value)).buffer)
  const name = Buffer.from(label, 'utf8')
  const privateKeys = objects([CKA.class, number(CKO_PRIVATE_KEY)], [CKA.label, name])
  const [key] = privateKeys
  if (key === undefined) throw new TokenFailure(`the token ${token} has no private key ${label}`)
  if (privateKeys.length > 1) throw new TokenFailure(`the token ${token} has several private keys ${label}`)
  const id = attribute(key, CKA.id)
  const [publicHalf] = objects([CKA.class, number(CKO_PUBLIC_KEY)], id ? [CKA.id, id] : [CKA.label, name])
  // Of RSA, the private key has what is needed as well.
  const half = publicHalf ?? key
  const keyType = Number(attribute(key, CKA.keyType)?.readBigUInt64LE() ?? -1n)
  const attributes: PublicAttributes = {
    keyType,
    modulus: attribute(half, CKA.modulus),
    exponent: attribute(half, CKA.exponent),
    curve: attribute(half, CKA.curve),
    point: attribute(half, CKA.point),
  }
  const publicKey = publicKeyOf(attributes)
  if (publicKey === undefined) throw new TokenFailure(`the token ${token} has no usable public key of ${label}`)

  const parameter = mechanism.parameter.length > 0 ? ulongs(...mechanism.parameter) : undefined
  const how = ulongs(mechanism.type, parameter?.at ?? 0n, parameter?.bytes.length ?? 0)
  const length = ulongs(0)
  const signature = allocate(MAX_ATTRIBUTE_BYTES)
  const start = used
  return {
    publicKey,
    sign(input) {
      used = start
      const data = allocated(input)
      length.bytes.writeBigUInt64LE(BigInt(MAX_ATTRIBUTE_BYTES))
      signInit([session, how.at, key])
      sign([session, data.at, input.length, signature.at, length.at])
      return Buffer.from(signature.bytes.subarray(0, Number(ulongIn(length))))
    },
  }
}

function open<T>(work: () => T, problem: string): T {
  try {
    return work()
  } catch (cause) {
    throw new TokenFailure(`${problem}: ${cause instanceof Error ? cause.message : String(cause)}`)
  }
}
