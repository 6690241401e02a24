import type { X509Certificate } from 'node:crypto'

/** When a certificate is valid. */
export interface Validity {
  readonly validFrom: Date
  readonly validTo: Date
}

/**
 * The validity of a certificate; throws if a time is malformed, as OpenSSL's text tells: Node makes no date of it, which is neither
 * before nor after any other, or one of memory that nobody wrote.
 */
export function validityOf({ validFrom, validTo, validFromDate, validToDate }: X509Certificate): Validity {
  if ([validFrom, validTo].some(text => Number.isNaN(Date.parse(text)))) {
    throw new Error('the validity of the certificate is malformed')
  }
  return { validFrom: validFromDate, validTo: validToDate }
}
