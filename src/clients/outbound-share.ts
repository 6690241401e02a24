import type { OutboundShare } from '../base/outbound.ts'
import type { Client } from '../model/clients/client.ts'

type Purpose = 'sign-in' | 'background'

/** For addresses of clients that no administrator created. */
export const registrantShare = (zoneId: string, purpose: Purpose): OutboundShare => ({
  zoneId: `registrations ${zoneId}`,
  purpose,
})

/**
 * The outbound share of requests to URLs of the client: that of its zone. Clients that registered themselves have a share of
 * their own, so that their servers, if they never answer, do not delay the keys and sign-ins of other clients.
 */
export const outboundShareOf = (
  { zoneId, registration }: Pick<Client, 'zoneId' | 'registration'>,
  purpose: Purpose,
): OutboundShare => (registration ? registrantShare(zoneId, purpose) : { zoneId, purpose })
