// Whether a zone supports a protocol: the one place that decides.
import type { Protocol } from '../../records/protocols.ts'
import type { Behaviour } from '../compatibility.ts'
import type { Zone } from './zone.ts'

export type { Protocol } from '../../records/protocols.ts'

/** Off by default in every mode: they admit clients that no administrator created. */
const ONLY_IF_SET: ReadonlySet<Protocol> = new Set(['clientMetadataDocuments'])

/**
 * The zone's setting, otherwise the mode's (row N1). A protocol that a zone does not support is unknown there: its
 * grants, parameters and headers are treated as if they did not exist, and its endpoints say that they are turned off.
 */
export function supportsProtocol(
  { config }: Pick<Zone, 'config'>,
  protocol: Protocol,
  { furtherProtocols }: Pick<Behaviour, 'furtherProtocols'>,
): boolean {
  return config.protocols?.[protocol] ?? (furtherProtocols && !ONLY_IF_SET.has(protocol))
}
