// Secrets inside a provider's settings: encrypted at rest, each bound to its place, and readable only to the sign-in
// that needs them.
import type { Vault } from '../base/secrets.ts'
import type { IdentityProvider } from './identity-provider.ts'

type Settings = Readonly<Record<string, unknown>>

/** Members of `config`, and of `config.jwtClientAuthentication`, that nobody but the provider may learn. */
const SECRETS: ReadonlySet<string> = new Set(['bindPassword', 'relyingPartySecret'])
const NESTED = 'jwtClientAuthentication'
const NESTED_SECRETS: ReadonlySet<string> = new Set(['key'])

/** The settings with every secret encrypted, for the store. */
export const sealProviderSecrets = (provider: IdentityProvider, vault: Vault): IdentityProvider =>
  withSecrets(provider, (text, context) => vault.seal(text, context))

/** The settings with every secret readable; throws when one was altered or sealed with another master key. */
export const openProviderSecrets = (provider: IdentityProvider, vault: Vault): IdentityProvider =>
  withSecrets(provider, (text, context) => vault.open(text, context))

function withSecrets(provider: IdentityProvider, change: (text: string, context: string) => string): IdentityProvider {
  const place = `provider-secret ${provider.zoneId} ${provider.originKey}`
  const mapped = (settings: Settings, names: ReadonlySet<string>): Settings =>
    Object.fromEntries(
      Object.entries(settings).map(([name, value]) => [
        name,
        names.has(name) && typeof value === 'string' ? change(value, `${place} ${name}`) : value,
      ]),
    )
  const config = mapped(provider.config, SECRETS)
  const nested = config[NESTED]
  if (typeof nested !== 'object' || nested === null) return { ...provider, config }
  return { ...provider, config: { ...config, [NESTED]: mapped({ ...nested }, NESTED_SECRETS) } }
}
