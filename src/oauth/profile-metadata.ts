// What metadata lists in a zone with a profile of FAPI: only what its clients may use (RFC 8414 §2).
import { demandsOn } from '../model/clients/client-demands.ts'
import type { Zone } from '../model/zones/zone.ts'
import { foreignAlgorithmsAmong } from '../token/foreign-keys.ts'
import { SIGNED_RESPONSE_MODES } from './authorize/response/response-type.ts'

type Members = Readonly<Record<string, unknown>>

/** The document without the values that the profile of the zone rules out; as it is in a zone without one. */
export function withinProfile(zone: Pick<Zone, 'config'>, document: Members): Members {
  const demands = demandsOn(zone, {})
  if (demands.profile === undefined) return document
  const { authMethods, grantTypes, signedResponses } = demands
  const algorithms = foreignAlgorithmsAmong(demands.algorithms)
  const allowed = (name: string): readonly string[] | undefined => {
    if (name === 'id_token_signing_alg_values_supported') return undefined // RS256 is always listed: Discovery §3
    if (name === 'dpop_signing_alg_values_supported' && demands.certificateOnly) return []
    if (name.endsWith('_auth_methods_supported')) return authMethods
    if (name.endsWith('signing_alg_values_supported')) return algorithms
    switch (name) {
      case 'grant_types_supported':
        return grantTypes
      case 'response_types_supported':
        return demands.signedCodesOnly ? ['code', 'code id_token'] : ['code']
      case 'response_modes_supported':
        return signedResponses ? SIGNED_RESPONSE_MODES : undefined
      case 'code_challenge_methods_supported':
        return ['S256']
      default:
        return undefined
    }
  }
  return Object.fromEntries(
    Object.entries(document).flatMap(([name, listed]) => {
      const values = allowed(name)
      if (!values || !Array.isArray(listed)) return [[name, listed]]
      const left = listed.filter(value => values.includes(String(value)))
      return left.length > 0 ? [[name, left]] : [] // RFC 8414 §3.2: no empty lists
    }),
  )
}
