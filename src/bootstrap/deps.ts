import type { Clock } from '../base/clock.ts'
import type { Passwords } from '../base/passwords.ts'
import type { Random } from '../base/random.ts'
import type { MasterVault } from '../base/secrets.ts'
import type { Config } from '../config.ts'
import type { Store } from '../store/store.ts'
import type { TokenKeys } from '../token/keys/signer.ts'

/** Dependencies of the bootstrap; `log` and `warn` take one line for the operator. */
export interface BootstrapDeps {
  readonly store: Store
  readonly passwords: Passwords
  readonly vault: MasterVault
  readonly clock: Clock
  readonly random: Random
  /** Absent where the configuration has no key in a token. */
  readonly tokenKeys?: TokenKeys | undefined
  readonly config: Config
  readonly log: (line: string) => void
  readonly warn: (line: string) => void
}
