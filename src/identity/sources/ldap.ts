// LDAP directories: sign-in with a name and password that the directory checks, on pages and by the password grant.
import type { Vault } from '../../base/secrets.ts'
import type { Behaviour } from '../../model/compatibility.ts'
import type { IdentityProvider } from '../../model/zones/identity-provider.ts'
import { requesterOf } from '../../model/request.ts'
import { openProviderSecrets } from '../../providers/provider-secrets.ts'
import type { LdapProviderConfig } from '../../records/provider-ldap.ts'
import type { Directories, DirectoryAttempt, DirectoryResult } from '../directory/directory.ts'
import { readDirectorySettings, UnusableDirectory } from '../../providers/directory-settings.ts'
import type { DirectorySettings } from '../../providers/directory-settings.ts'
import type { ExternalRefusal, IdentitySourceType, PasswordRelay } from '../source.ts'
import { externalUserOf } from './ldap-user.ts'

/** The type of directories. */
const LDAP = 'ldap'

/** Dependencies of `ldapSource`. */
export interface LdapDeps {
  readonly directories: Directories
  readonly vault: Vault
  readonly behaviour: Behaviour
  /** Why a directory could not be used, for operators only. */
  readonly log: { refusal(message: string): void }
}

/** The same for every cause: different texts would reveal to an anonymous caller who has an account, and details of the network. */
const BAD_CREDENTIALS: ExternalRefusal = { outcome: 'refused', reason: 'unusable', description: 'Bad credentials' }

/** Directories. */
export function ldapSource(deps: LdapDeps): IdentitySourceType {
  return {
    type: LDAP,
    // A record without an address is not configured yet.
    open: (_, provider) => (hasAddress(provider) ? { relay: relayTo(provider, deps) } : {}),
  }
}

const hasAddress = ({ config: { baseUrl } }: IdentityProvider): boolean =>
  typeof baseUrl === 'string' && baseUrl.trim() !== ''

function relayTo(provider: IdentityProvider, { directories, vault, behaviour, log }: LdapDeps): PasswordRelay {
  const { zoneId, originKey } = provider
  const unavailable = (reason: string): ExternalRefusal => {
    log.refusal(`sign-in at ${JSON.stringify(originKey)} of zone ${JSON.stringify(zoneId)}: ${reason}`)
    return BAD_CREDENTIALS
  }

  return {
    onPages: true,
    async check(from, { userName, password }) {
      const config: LdapProviderConfig = openProviderSecrets(provider, vault).config
      const settings = settingsOf(config, behaviour)
      if (settings instanceof UnusableDirectory) return unavailable(settings.message)
      const attempt: DirectoryAttempt = { userName, password, requester: requesterOf(from), provider: originKey }
      const result: DirectoryResult = await directories.authenticate(settings, attempt)
      switch (result.outcome) {
        case 'bad-credentials':
          return BAD_CREDENTIALS
        case 'misconfigured':
        case 'unreachable':
          return unavailable(result.reason)
        case 'found': {
          const externalUser = externalUserOf({ ...result, typedName: userName }, config, settings)
          return externalUser ? { outcome: 'genuine', externalUser } : unavailable('the entry has no usable name')
        }
      }
    },
  }
}

function settingsOf(
  config: LdapProviderConfig,
  { directoryPlaces }: LdapDeps['behaviour'],
): DirectorySettings | UnusableDirectory {
  try {
    return readDirectorySettings(config, directoryPlaces)
  } catch (cause) {
    if (cause instanceof UnusableDirectory) return cause
    throw cause
  }
}
