// Assembles the second-factor services of pages and APIs on first use.
import { createFactorChanges } from './factor-changes.ts'
import type { FactorChanges, FactorOwner } from './factor-changes.ts'
import type { Vault } from '../base/secrets.ts'
import { createCodeCheck } from '../factors/code-check.ts'
import type { CodeCheck } from '../factors/code-check.ts'
import { createOneTimePasswords } from '../factors/one-time-passwords.ts'
import type { OneTimePasswords } from '../factors/one-time-passwords.ts'
import { createPasskeys } from '../factors/passkeys.ts'
import type { Passkeys } from '../factors/passkeys.ts'
import { createRecoveryCodes } from '../factors/recovery-codes.ts'
import type { AccountDeps } from './deps.ts'

/** Second factors of all zones. */
export interface Factors {
  readonly oneTimePasswords: OneTimePasswords
  readonly passkeys: Passkeys
  readonly codeCheck: CodeCheck
  readonly changes: FactorChanges
  /** New recovery codes for a user who has none left; undefined for others. */
  firstRecoveryCodes(owner: FactorOwner): Promise<readonly string[] | undefined>
}

/** Dependencies of `createFactors`. */
interface FactorDeps extends AccountDeps {
  readonly vault: Vault
  /** See `PasskeyDeps`. */
  readonly attestationRoots?: readonly Uint8Array[]
}

/** One instance serves every zone. */
export function createFactors(deps: FactorDeps): Factors {
  const oneTimePasswords = createOneTimePasswords(deps)
  const recoveryCodes = createRecoveryCodes(deps)
  const changes = createFactorChanges({ ...deps, recoveryCodes })
  return {
    oneTimePasswords,
    passkeys: createPasskeys(deps),
    codeCheck: createCodeCheck({ ...deps, oneTimePasswords, recoveryCodes }),
    changes,
    async firstRecoveryCodes(owner) {
      const { recovery } = await deps.store.factors.codesLeft(owner.zone.id, owner.user.id, deps.clock.now())
      return recovery > 0 ? undefined : changes.renewRecoveryCodes(owner, { isFirst: true })
    },
  }
}
