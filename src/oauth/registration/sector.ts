import { OutboundError } from '../../base/outbound/error.ts'
import type { Outbound } from '../../base/outbound.ts'
import type { ClientDefinition } from '../../clients/client-json.ts'
import { registrantShare } from '../../clients/outbound-share.ts'
import { OAuthError } from '../../model/oauth-error.ts'
import { invalidMetadata } from './metadata.ts'

/** OpenID Connect Registration §5: the document of the sector must name every redirect URI. */
export async function checkSector(
  zoneId: string,
  { sectorIdentifierUri, redirectUris }: Pick<ClientDefinition, 'sectorIdentifierUri' | 'redirectUris'>,
  outbound: Pick<Outbound, 'getJson'>,
): Promise<void> {
  if (sectorIdentifierUri === undefined) return
  const share = registrantShare(zoneId, 'background')
  const { value } = await outbound.getJson(sectorIdentifierUri, share).catch((cause: unknown) => {
    if (!(cause instanceof OutboundError)) throw cause
    throw new OAuthError('invalid_client_metadata', 'sector_identifier_uri cannot be read', {
      cause,
      detail: cause.message,
    })
  })
  const listed: readonly unknown[] = Array.isArray(value) ? value : []
  if (!redirectUris.every(uri => listed.includes(uri))) {
    throw invalidMetadata('sector_identifier_uri does not name every redirect URI')
  }
}
