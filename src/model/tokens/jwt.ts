/**
 * The header `typ` of a JWT, which marks its kind (RFC 8725 §3.11): in lower case and without the prefix that it may have
 * (RFC 7515 §4.1.9).
 */
export const jwtType = (typ: unknown): unknown =>
  typeof typ === 'string' ? typ.toLowerCase().replace(/^application\//, '') : typ

/** Whether a claim is a time: seconds since 1970 (RFC 7519 §2). */
export const isNumericDate = (value: unknown): value is number => typeof value === 'number' && Number.isFinite(value)
