// Refusals of the zone API. Its texts are sent verbatim, with line breaks and quotes, which OAuth descriptions cannot have; some
// refusals have no body (row M10).
import type { Behaviour } from '../../model/compatibility.ts'
import { OAuthError, withBody } from '../../model/oauth-error.ts'
import type { OAuthErrorCode, RefusalBody } from '../../model/oauth-error.ts'
import { InvalidZoneConfig } from '../../model/zones/zone-rules.ts'
import { WrongShape } from '../../records/settings.ts'
import { AlreadyExists, ChangedMeanwhile } from '../../store/store.ts'

const verbatim = (error: OAuthErrorCode, description: string): RefusalBody => ({
  kind: 'json',
  value: { error, error_description: description },
})

/** A refusal whose text is sent verbatim. */
export const refuseVerbatim = (error: OAuthErrorCode, status: number, description: string): OAuthError =>
  new OAuthError({ error, status }, description, { body: verbatim(error, description) })

/** An invalid record (§5.5). */
export const invalidZone = (description: string): OAuthError =>
  refuseVerbatim('invalid_identity_zone', 422, description)

/** A member of the wrong type, on which UAA fails. */
export const malformed = (description: string): OAuthError => refuseVerbatim('invalid_request', 400, description)

/** The descriptions, in `standard`, of refusals that UAA sends without a body. */
const BY_STATUS = {
  400: ['invalid_request', 'The name or the subdomain is missing.'],
  403: ['access_denied', 'The caller is in another zone, or the zone is the default one.'],
  404: ['not_found', 'There is no such zone, or no such client in it.'],
  422: ['invalid_identity_zone', 'A provider of the zone has an alias in another one.'],
} as const

/** A refusal that is a status and, in `uaa`, nothing else. */
export function refuseByStatus(status: keyof typeof BY_STATUS): OAuthError {
  const [error, description] = BY_STATUS[status]
  return new OAuthError({ error, status }, description, { body: { kind: 'none' } })
}

/** Makes the `errorHandler` of every route of this API, which translates what the layers below refuse. */
export const createZoneRefusals =
  ({ bodyInEveryRefusal }: Behaviour): ((thrown: unknown) => never) =>
  thrown => {
    const refusal = refusalOf(thrown)
    if (!(refusal instanceof OAuthError) || refusal.body?.kind !== 'none' || !bodyInEveryRefusal) throw refusal
    throw withBody(refusal, verbatim(refusal.error, refusal.message))
  }

function refusalOf(thrown: unknown): unknown {
  if (thrown instanceof WrongShape) return malformed(thrown.message)
  if (thrown instanceof InvalidZoneConfig) {
    return invalidZone(`The identity zone details are invalid. The zone configuration is invalid. ${thrown.message}`)
  }
  if (thrown instanceof AlreadyExists && thrown.what === 'SAML entity id') {
    return refusalOf(new InvalidZoneConfig('The SAML entity ID is that of another zone.'))
  }
  if (thrown instanceof AlreadyExists && thrown.what === 'issuer') {
    return refusalOf(new InvalidZoneConfig('The issuer is that of another zone.'))
  }
  if (thrown instanceof AlreadyExists) {
    return refuseVerbatim('zone_exists', 409, 'An identity zone with this id or subdomain already exists.')
  }
  if (thrown instanceof ChangedMeanwhile) {
    return refuseVerbatim('invalid_identity_zone', 409, 'The identity zone was changed concurrently: read it again.')
  }
  return thrown
}
