// Logs which mapped attributes a provider did not send, since nothing else reveals a wrong name in a mapping.
import { digest } from '../../base/secrets.ts'
import type { IdentityProvider } from '../../model/zones/identity-provider.ts'
import type { SamlProviderConfig } from '../../records/provider-saml.ts'
import { quoted } from './problem.ts'
import type { SamlStatement } from './statement.ts'

/** Attributes already logged; beyond this number all are logged again. */
const MAX_LOGGED = 1000
/** Names in a line. */
const MAX_NAMES = 30
/** Found by their friendly name, too. */
const GROUPS = 'external_groups'

/** Writes a line for each attribute of each state of a record once: not every user has every attribute. */
export function createMissingAttributes(log: {
  refusal(message: string): void
}): (record: IdentityProvider, statement: SamlStatement) => void {
  const logged = new Set<string>()
  return (record, { attributes }) => {
    const { id, version, originKey } = record
    const { attributeMappings }: SamlProviderConfig = record.config
    const isSent = (key: string, wanted: string): boolean =>
      attributes.some(({ name, friendlyName }) => name === wanted || (key === GROUPS && friendlyName === wanted))
    const missing = Object.entries(attributeMappings ?? {}).flatMap(([key, mapped]) =>
      [mapped]
        .flat()
        .filter((name): name is string => typeof name === 'string' && name !== '' && !isSent(key, name))
        .map(name => ({ key, name, id: digest(JSON.stringify([id, version, key, name])) })),
    )
    const unlogged = missing.filter(each => !logged.has(each.id))
    if (unlogged.length === 0) return
    if (logged.size + unlogged.length > MAX_LOGGED) logged.clear()
    for (const each of unlogged) logged.add(each.id)
    const wanted = unlogged.slice(0, MAX_NAMES).map(({ key, name }) => `${quoted(name)} (${key})`)
    const names = attributes
      .slice(0, MAX_NAMES)
      .map(({ name, friendlyName }) => quoted(name) + (friendlyName === undefined ? '' : ` (${quoted(friendlyName)})`))
    log.refusal(
      `sign-in at ${quoted(originKey)}: the assertion lacks the mapped ${wanted.join(', ')}; it has ${names.join(', ') || 'no attributes'}`,
    )
  }
}
