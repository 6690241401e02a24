// Warnings about signing keys.
import { behaviourOf } from '../../model/compatibility.ts'
import { serviceNamed } from '../../model/service.ts'
import { hashBytesOfSymmetric } from '../../model/tokens/signing-key.ts'
import type { Config } from '../config.ts'
import type { SigningKeys } from '../keys/signing-keys.ts'

/** Names active keys that few clients may fetch (row M6). A program that verifies with a shared secret has it already. */
export function keyWarnings({
  compatibility,
  service,
  signingKeys,
  bootstrap,
}: Pick<Config, 'compatibility' | 'service' | 'signingKeys' | 'bootstrap'>): readonly string[] {
  if (behaviourOf(compatibility).allPublicKeys) return []
  const zones = bootstrap.identityZones.map(zone => [`zone ${zone.id}`, zone.signingKeys] as const)
  return [['signing_keys', signingKeys] as const, ...zones].flatMap(([name, keys]) => {
    const algorithm = keys && activeAlgorithm(keys)
    if (algorithm === undefined || /^[RP]S/.test(algorithm) || hashBytesOfSymmetric(algorithm) !== undefined) return []
    const authority = serviceNamed(service).scope('resource')
    return `${name}: with compatibility: uaa, /token_keys shows the active ${algorithm} key only to clients with the authority ${authority}; others cannot verify its tokens`
  })
}

const activeAlgorithm = ({ active, keys }: SigningKeys) => keys[active]?.algorithm
