import type { Clock } from '../base/clock.ts'
import type { Random } from '../base/random.ts'
import type { Vault } from '../base/secrets.ts'
import type { ClientAuthenticator } from '../clients/authentication/authentication.ts'
import type { Audit } from '../model/audit/event.ts'
import type { Behaviour } from '../model/compatibility.ts'
import type { Service } from '../model/service.ts'
import type { Urls } from '../model/urls.ts'
import type { PageSettings, TokenSettings } from '../model/zones/settings.ts'
import type { Store } from '../store/store.ts'
import type { Assets } from './assets.ts'
import type { Limits } from './limits/limits.ts'
import type { PageWriter } from './pages.ts'

/** The parts of the server that the endpoints of every area use; an area adds its own. */
export interface WebDeps {
  readonly store: Store
  readonly clock: Clock
  readonly random: Random
  readonly vault: Vault
  readonly urls: Urls
  readonly service: Service
  readonly behaviour: Behaviour
  readonly settings: TokenSettings
  readonly pageSettings: PageSettings
  /** The SAML entity id of the default zone. */
  readonly samlEntityId: string
  readonly audit: Audit
  readonly authenticator: ClientAuthenticator
  readonly assets: Assets
  readonly limits: Limits
  readonly pages: PageWriter
}
