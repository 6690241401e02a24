// Signs with a key of a PKCS#11 module. Only used in a separate process: a fault of the module ends or blocks that process.
import type { ForeignFunctions } from '../../base/foreign-functions.ts'
import { loadCryptoki } from './cryptoki.ts'
import type { Cryptoki } from './cryptoki.ts'
import { createNativeMemory, ULONG_BYTES, ulongIn } from './native-memory.ts'
import type { NativeMemory } from './native-memory.ts'
import { keyPairOf } from './objects.ts'
import type { OpenSession } from './objects.ts'
import { TokenFailure } from './token-failure.ts'

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

/** The mechanism of the signatures, CK_MECHANISM. */
interface Mechanism {
  readonly type: number
  readonly parameter: readonly number[]
}

const CKR_ALREADY_INITIALIZED = 0x191
const CKR_ALREADY_LOGGED_IN = 0x100
const CKR_TOKEN_NOT_PRESENT = 0xe0
const CKR_TOKEN_NOT_RECOGNIZED = 0xe1
const CKF_SERIAL_SESSION = 0x4
const CKU_USER = 1

const MAX_SLOTS = 256
const MAX_SIGNATURE_BYTES = 4096
const LABEL_BYTES = 32
/** Larger than CK_TOKEN_INFO. */
const TOKEN_INFO_BYTES = 512

/** Opens the module, the token and a session, and finds the one private key with the label. */
export function openToken(location: TokenLocation, mechanism: Mechanism, functions: ForeignFunctions): TokenSession {
  const memory = createNativeMemory(functions.getRawPointer)
  const cryptoki = loadCryptoki(location.module, functions)
  cryptoki.initialize([0n], CKR_ALREADY_INITIALIZED)
  const slot = slotOf(cryptoki, memory, location.token)
  const open = { cryptoki, memory, session: openSession(cryptoki, memory, slot) }
  login(open, location.pin)
  const { privateKey, publicKey } = keyPairOf(open, location)
  return { publicKey, sign: signerOf(open, privateKey, mechanism) }
}

/** The slot with the one token of this name. */
function slotOf(cryptoki: Cryptoki, memory: NativeMemory, token: string): bigint {
  const count = memory.ulongs(MAX_SLOTS)
  const list = memory.allocate(MAX_SLOTS * ULONG_BYTES)
  cryptoki.getSlotList([1, list.at, count.at])
  const slots = Array.from({ length: Number(ulongIn(count)) }, (_, index) => ulongIn(list, index)).filter(
    slot => labelOf(cryptoki, memory, slot) === token,
  )
  const [slot] = slots
  if (slot === undefined) throw new TokenFailure(`no token is named ${token}`)
  if (slots.length > 1) throw new TokenFailure(`several tokens are named ${token}`)
  return slot
}

function labelOf(cryptoki: Cryptoki, memory: NativeMemory, slot: bigint): string {
  const before = memory.mark()
  const info = memory.allocate(TOKEN_INFO_BYTES)
  // A slot may be empty, or have a token that was never initialized.
  cryptoki.getTokenInfo([slot, info.at], CKR_TOKEN_NOT_PRESENT, CKR_TOKEN_NOT_RECOGNIZED)
  memory.release(before)
  return info.bytes.subarray(0, LABEL_BYTES).toString('utf8').trimEnd()
}

function openSession(cryptoki: Cryptoki, memory: NativeMemory, slot: bigint): bigint {
  const handle = memory.ulongs(0)
  cryptoki.openSession([slot, CKF_SERIAL_SESSION, 0n, 0n, handle.at])
  return ulongIn(handle)
}

function login({ cryptoki, memory, session }: OpenSession, pin: string): void {
  const code = memory.copied(Buffer.from(pin, 'utf8'))
  try {
    cryptoki.login([session, CKU_USER, code.at, code.bytes.length], CKR_ALREADY_LOGGED_IN)
  } finally {
    code.bytes.fill(0)
  }
}

/** Signs one input after the other, in the same memory. */
function signerOf({ cryptoki, memory, session }: OpenSession, key: bigint, mechanism: Mechanism): TokenSession['sign'] {
  const parameter = mechanism.parameter.length > 0 ? memory.ulongs(...mechanism.parameter) : undefined
  const how = memory.ulongs(mechanism.type, parameter?.at ?? 0n, parameter?.bytes.length ?? 0)
  const length = memory.ulongs(0)
  const signature = memory.allocate(MAX_SIGNATURE_BYTES)
  const start = memory.mark()
  return input => {
    memory.release(start)
    const data = memory.copied(input)
    length.bytes.writeBigUInt64LE(BigInt(MAX_SIGNATURE_BYTES))
    cryptoki.signInit([session, how.at, key])
    cryptoki.sign([session, data.at, input.length, signature.at, length.at])
    return Buffer.from(signature.bytes.subarray(0, Number(ulongIn(length))))
  }
}
