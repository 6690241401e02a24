// The functions of a PKCS#11 module (v2.40 and later), called by Node's foreign functions. For 64-bit systems but Windows, where
// CK_ULONG has eight bytes.
import type { ForeignFunctions } from '../../base/foreign-functions.ts'
import { failureOf, TokenFailure } from './token-failure.ts'

/** Throws `TokenFailure` unless the result is CKR_OK or accepted. */
type Call = (values: readonly (number | bigint)[], ...accepted: readonly number[]) => void

/** The functions that signing needs, by their names without `C_`. */
export interface Cryptoki {
  readonly initialize: Call
  readonly getSlotList: Call
  readonly getTokenInfo: Call
  readonly openSession: Call
  readonly login: Call
  readonly findObjectsInit: Call
  readonly findObjects: Call
  readonly findObjectsFinal: Call
  readonly getAttributeValue: Call
  readonly signInit: Call
  readonly sign: Call
}

/** Loads the module, a path, into this process; throws `TokenFailure`. */
export function loadCryptoki(module: string, { DynamicLibrary }: ForeignFunctions): Cryptoki {
  const library = attempted(() => new DynamicLibrary(module), `the module ${module} cannot be loaded`)
  function bind(name: string, ...types: readonly string[]): Call {
    const call = attempted(
      () => library.getFunction(name, { return: 'uint64', arguments: types }),
      `the module ${module} has no ${name}`,
    )
    return (values, ...accepted) => {
      const code = Number(call(...values.map((value, index) => (types[index] === 'uint8' ? value : BigInt(value)))))
      if (code === 0 || accepted.includes(code)) return
      throw failureOf(name, code)
    }
  }
  const [U, P] = ['uint64', 'pointer'] as const
  return {
    initialize: bind('C_Initialize', P),
    getSlotList: bind('C_GetSlotList', 'uint8', P, P),
    getTokenInfo: bind('C_GetTokenInfo', U, P),
    openSession: bind('C_OpenSession', U, U, P, P, P),
    login: bind('C_Login', U, U, P, U),
    findObjectsInit: bind('C_FindObjectsInit', U, P, U),
    findObjects: bind('C_FindObjects', U, P, U, P),
    findObjectsFinal: bind('C_FindObjectsFinal', U),
    getAttributeValue: bind('C_GetAttributeValue', U, U, P, U),
    signInit: bind('C_SignInit', U, P, U),
    sign: bind('C_Sign', U, P, U, P, P),
  }
}

function attempted<T>(work: () => T, problem: string): T {
  try {
    return work()
  } catch (cause) {
    throw new TokenFailure(`${problem}: ${cause instanceof Error ? cause.message : String(cause)}`)
  }
}
