/**
 * The header `typ` of a JWT, which marks its kind (RFC 8725 §3.11): in lower case and without the prefix that it may have
 * (RFC 7515 §4.1.9).
 */
export const jwtType = (typ: unknown): unknown =>
  typeof typ === 'string' ? typ.toLowerCase().replace(/^application\//, '') : typ

/**
 * Whether the signature is written as a signer must write it (RFC 7515 §2, RFC 4648 §3.5). Decoders ignore unused bits, padding and
 * blanks, so one token would have many spellings, and each would be a caller of its own for rate limits.
 */
export function hasOneSpelling(jwt: string): boolean {
  const signature = jwt.slice(jwt.lastIndexOf('.') + 1)
  return Buffer.from(signature, 'base64url').toString('base64url') === signature
}

/** Whether a claim is a time: seconds since 1970 (RFC 7519 §2). */
export const isNumericDate = (value: unknown): value is number => typeof value === 'number' && Number.isFinite(value)
