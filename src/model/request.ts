import type { Zone } from './zone.ts'

/** A zone as a request addressed it, by host or by path; the URLs of the response stay there. Never stored. */
export interface AddressedZone extends Zone {
  readonly address: 'host' | 'path'
}
