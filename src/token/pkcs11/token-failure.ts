/** Thrown when the token refuses or fails; the message has no secret. */
export class TokenFailure extends Error {
  override name = 'TokenFailure'
  /** CK_RV. */
  readonly code: number | undefined
  constructor(message: string, code?: number) {
    super(message)
    this.code = code
  }
}

/** CKR_… codes that operators may encounter. */
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

/** Incorrect, invalid, of a wrong length, expired, locked, never set. */
const PIN_REFUSED = new Set([0xa0, 0xa1, 0xa2, 0xa3, 0xa4, 0x102])

/** The failure of a function with this CK_RV. */
export const failureOf = (name: string, code: number): TokenFailure =>
  new TokenFailure(`${name}: CKR_${NAMES[code] ?? `0x${code.toString(16)}`}`, code)

/** Whether the token has refused the PIN; further attempts could lock it. */
export const isPinRefused = (error: unknown): boolean =>
  error instanceof TokenFailure && PIN_REFUSED.has(error.code ?? 0)
