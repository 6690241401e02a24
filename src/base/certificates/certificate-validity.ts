import type { X509Certificate } from 'node:crypto'

/** When a certificate is valid. */
export interface Validity {
  readonly validFrom: Date
  readonly validTo: Date
}

/**
 * The validity of a certificate; throws if OpenSSL's text shows that a time is malformed: Node then returns an invalid
 * date, which is neither before nor after any other, or one from uninitialized memory.
 */
export function validityOf({ validFrom, validTo, validFromDate, validToDate }: X509Certificate): Validity {
  if ([validFrom, validTo].some(text => Number.isNaN(Date.parse(text)))) {
    throw new Error('the validity of the certificate is malformed')
  }
  return { validFrom: validFromDate, validTo: validToDate }
}
