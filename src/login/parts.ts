import type { Background } from '../base/concurrency/background.ts'
import type { Passwords } from '../base/passwords.ts'
import type { Identity } from '../identity/identity.ts'
import type { ServiceProviders } from '../identity/saml/service-provider.ts'
import type { GroupsOf } from '../identity/user-groups.ts'
import type { Vouching } from '../identity/vouched.ts'
import type { Mailer } from '../mail/mailer.ts'
import type { AddressedZone } from '../model/request.ts'
import type { Log } from '../ops/log.ts'
import type { AccountHistory } from '../users/account-history.ts'
import type { CommonPasswords } from '../users/common-passwords.ts'
import type { Users } from '../users/users.ts'
import type { BearerGate } from '../web/callers/bearer.ts'
import type { WebDeps } from '../web/deps.ts'
import type { Form } from '../web/requests/form.ts'
import type { Csrf } from '../web/sessions/csrf.ts'
import type { Denial } from '../web/sessions/denial.ts'
import type { RememberedDevices } from '../web/sessions/remembered-devices.ts'
import type { Sessions } from '../web/sessions/session.ts'
import type { SignInDemands } from '../web/sessions/sign-in-demands.ts'
import type { SavedAccounts } from './sign-in/saved-accounts.ts'

/** The parts of the server that the pages use. */
export interface LoginParts extends WebDeps {
  readonly log: Log
  /** Root certificates in DER for attestations of passkeys; absent: no attestation is requested. */
  readonly attestationRoots?: readonly Uint8Array[]
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
  readonly bearerGate: BearerGate
  readonly csrf: Csrf
  readonly denial: Denial
  readonly sessions: Sessions
  readonly savedAccounts: SavedAccounts
  readonly remembered: RememberedDevices
  readonly signInDemands: SignInDemands
  /** The JSON answer of `/login`, the same as that of `/info`. */
  readonly serverInfo: (zone: AddressedZone, query: Form) => Promise<object>
}
