import type { Clock } from '../base/clock.ts'
import type { Passwords } from '../base/passwords.ts'
import type { Random } from '../base/random.ts'
import type { Mailer } from '../mail/mailer.ts'
import type { Audit } from '../model/audit/event.ts'
import type { Behaviour } from '../model/compatibility.ts'
import type { Service } from '../model/service.ts'
import type { Urls } from '../model/urls.ts'
import type { TokenSettings } from '../model/zones/settings.ts'
import type { Store } from '../store/store.ts'
import type { CommonPasswords } from '../users/common-passwords.ts'
import type { Users } from '../users/users.ts'

/** The parts of the server that self-service uses; each function takes from it what it uses. */
export interface AccountDeps {
  readonly store: Store
  readonly clock: Clock
  readonly random: Random
  readonly urls: Urls
  readonly service: Service
  readonly behaviour: Behaviour
  readonly settings: Pick<TokenSettings, 'strictRedirects'>
  readonly audit: Audit
  readonly passwords: Passwords
  readonly commonPasswords: CommonPasswords
  readonly mailer: Mailer
  readonly users: Users
}
