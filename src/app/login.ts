// Assembles the pages of users: signing in here or elsewhere, their accounts, and the errors they see.
import type { FastifyInstance } from 'fastify'
import type { Background } from '../base/concurrency/background.ts'
import type { Clock } from '../base/clock.ts'
import type { Passwords } from '../base/passwords.ts'
import type { Random } from '../base/random.ts'
import type { Vault } from '../base/secrets.ts'
import type { ClientAuthenticator } from '../clients/authentication/authentication.ts'
import type { Config } from '../config.ts'
import type { Identity } from '../identity/identity.ts'
import type { ServiceProviders } from '../identity/saml/service-provider.ts'
import type { GroupsOf } from '../identity/user-groups.ts'
import type { Vouching } from '../identity/vouched.ts'
import { accountPages } from '../login/accounts/account-pages.ts'
import { changePasswordUrl } from '../login/accounts/change-password-url.ts'
import { createAttempts } from '../login/external/attempts.ts'
import { authenticateEndpoint } from '../login/authenticate.ts'
import { autologinEndpoints } from '../login/autologin.ts'
import { backchannelLogoutEndpoint } from '../login/external/backchannel-logout.ts'
import { errorPages } from '../login/errors.ts'
import { createExternalSignIn, externalEndpoints } from '../login/external/external.ts'
import { factorPages } from '../login/factors/factor-pages.ts'
import { createSignInTargets } from '../login/sign-in/sign-in-target.ts'
import { outboxEndpoint } from '../login/outbox.ts'
import { createReturns } from '../login/external/returns.ts'
import { signInEndpoints } from '../login/routes.ts'
import { createSamlFailures } from '../login/saml/failures.ts'
import { samlLogoutEndpoint } from '../login/saml/logout.ts'
import { samlMetadataEndpoints } from '../login/saml/metadata.ts'
import { samlEndpoints } from '../login/saml/saml.ts'
import { createAccountChooser, savedAccountEndpoint } from '../login/sign-in/saved-accounts.ts'
import type { SavedAccounts } from '../login/sign-in/saved-accounts.ts'
import { staticFileEndpoints } from '../login/static-files.ts'
import type { Mailer } from '../mail/mailer.ts'
import type { Behaviour } from '../model/compatibility.ts'
import type { Audit } from '../model/audit/event.ts'
import type { Service } from '../model/service.ts'
import type { PageSettings, TokenSettings } from '../model/zones/settings.ts'
import type { Urls } from '../model/urls.ts'
import type { Log } from '../ops/log.ts'
import type { Store } from '../store/store.ts'
import type { AccountHistory } from '../users/account-history.ts'
import type { CommonPasswords } from '../users/common-passwords.ts'
import type { Users } from '../users/users.ts'
import type { Assets } from '../web/assets.ts'
import type { BearerGate } from '../web/callers/bearer.ts'
import type { Csrf } from '../web/sessions/csrf.ts'
import type { Denial } from '../web/sessions/denial.ts'
import type { Limits } from '../web/limits/limits.ts'
import type { PageWriter } from '../web/pages.ts'
import type { RememberedDevices } from '../web/sessions/remembered-devices.ts'
import type { Sessions } from '../web/sessions/session.ts'
import type { SignInDemands } from '../web/sessions/sign-in-demands.ts'
import type { DescribeServer } from '../admin/info.ts'

/** Dependencies of these pages. */
interface LoginParts {
  readonly config: Config
  readonly store: Store
  readonly clock: Clock
  readonly random: Random
  readonly vault: Vault
  readonly log: Log
  readonly urls: Urls
  readonly service: Service
  readonly behaviour: Behaviour
  readonly settings: TokenSettings
  readonly pageSettings: PageSettings
  readonly audit: Audit
  readonly defaultZoneId: string
  readonly passwords: Passwords
  readonly commonPasswords: CommonPasswords
  readonly background: Background
  readonly mailer: Mailer
  readonly history: AccountHistory
  readonly identity: Identity
  readonly serviceProviders: ServiceProviders
  readonly users: Users
  readonly groupsOf: GroupsOf
  readonly vouching: Vouching
  readonly authenticator: ClientAuthenticator
  readonly bearerGate: BearerGate
  readonly assets: Assets
  readonly csrf: Csrf
  readonly denial: Denial
  readonly limits: Limits
  readonly pages: PageWriter
  readonly sessions: Sessions
  readonly savedAccounts: SavedAccounts
  readonly remembered: RememberedDevices
  readonly signInDemands: SignInDemands
  /** The JSON answer of `/login`, the same as that of `/info`. */
  readonly serverInfo: DescribeServer
}

/** Registers their routes; `app` prefixes each with the path of the base URL. */
export function assembleLogin(app: FastifyInstance, given: LoginParts): void {
  const { config, urls, vault } = given
  const parts = {
    ...given,
    samlEntityId: config.saml.entityId,
    chooseAccountPage: createAccountChooser(given),
    signInTargets: createSignInTargets(given),
    attempts: createAttempts(given),
    samlFailures: createSamlFailures({ urls, vault }),
  }
  const external = createExternalSignIn(parts)
  const returns = createReturns(parts)
  signInEndpoints(app, { ...parts, external })
  autologinEndpoints(app, parts)
  authenticateEndpoint(app, parts)
  externalEndpoints(app, { ...parts, external, returns })
  samlEndpoints(app, { ...parts, external, returns })
  backchannelLogoutEndpoint(app, parts)
  samlMetadataEndpoints(app, parts)
  samlLogoutEndpoint(app, parts)
  factorPages(app, { ...parts, ...config.passkeys })
  errorPages(app, parts)
  if (config.playground) outboxEndpoint(app, parts)
  staticFileEndpoints(app, parts)
  accountPages(app, { ...parts, external })
  changePasswordUrl(app, parts)
  savedAccountEndpoint(app, parts)
}

/** If the base URL has a path: the address that browsers look up at the origin, before that path. */
export const loginAtOrigin = (http: FastifyInstance, parts: Pick<LoginParts, 'store' | 'service' | 'urls'>): void =>
  changePasswordUrl(http, parts)
