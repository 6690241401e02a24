import type { Clock } from '../base/clock.ts'
import type { Passwords } from '../base/passwords.ts'
import type { Random } from '../base/random.ts'
import type { Vault } from '../base/secrets.ts'
import type { Config } from '../config.ts'
import type { Store } from '../store/store.ts'

/** Dependencies of the bootstrap; `log` takes one line for the operator. */
export interface BootstrapDeps {
  readonly store: Store
  readonly passwords: Passwords
  readonly vault: Vault
  readonly clock: Clock
  readonly random: Random
  readonly config: Config
  readonly log: (line: string) => void
}
