// What discovery tells of the protocols that a zone can switch off: one entry for each.
import type { Behaviour } from '../model/compatibility.ts'
import type { Protocol } from '../model/protocols.ts'
import { speaks } from '../model/protocols.ts'
import type { AddressedZone } from '../model/request.ts'
import type { Urls } from '../model/urls.ts'
import { FOREIGN_ALGORITHMS } from '../token/foreign-keys.ts'

/** What the members are made from. */
interface Facts {
  /** The URL of the zone, without a slash at the end. */
  readonly base: string
  /** Those of the zone's published keys; of the first key, as long as there is none. */
  readonly algorithms: readonly string[]
  readonly urls: Urls
  readonly behaviour: Behaviour
}

type Members = Readonly<Record<string, unknown>>

/** An entry may name the members of other entries: the later one counts. */
const PROTOCOL_METADATA: { readonly [P in Protocol]?: (zone: AddressedZone, facts: Facts) => Members } = {
  dpop: () => ({ dpop_signing_alg_values_supported: FOREIGN_ALGORITHMS }),
  signedUserinfo: (_, { algorithms }) => ({ userinfo_signing_alg_values_supported: algorithms }),
  pairwiseSubjects: () => ({ subject_types_supported: ['public', 'pairwise'] }),
}

/** The members of every protocol that the zone speaks. */
export function protocolMetadata(zone: AddressedZone, facts: Facts): Members {
  const spoken = Object.entries(PROTOCOL_METADATA).flatMap(
    ([protocol, members]) => (speaks(zone, protocol as Protocol, facts.behaviour) ? [members(zone, facts)] : []), // its keys are protocols
  )
  return Object.assign({}, ...spoken) as Members
}
