// Users that an external login server has signed in (`source=login`): it names them, and nothing here verifies that. Decides
// which users it may assert: never those of the internal provider, and never those of another provider of the zone.
import { hasControlCharacter } from '../base/text/control-characters.ts'
import { memberOf, parseJson } from '../base/json.ts'
import type { Clock } from '../base/clock.ts'
import type { Random } from '../base/random.ts'
import { allowsProvider, PROVIDER_BARRED } from '../model/clients/client.ts'
import type { Client } from '../model/clients/client.ts'
import type { Behaviour } from '../model/compatibility.ts'
import type { Audit } from '../model/audit/event.ts'
import { LOGIN_SERVER_ORIGIN, RESERVED_ORIGINS } from '../model/zones/identity-provider.ts'
import { OAuthError } from '../model/oauth-error.ts'
import type { RequestOrigin } from '../model/request.ts'
import type { User } from '../model/users/user.ts'
import type { Zone } from '../model/zones/zone.ts'
import { isKeepable } from '../records/kinds.ts'
import type { Store } from '../store/store.ts'
import type { Aliases } from '../users/aliases.ts'
import { checkLengths } from '../users/rules.ts'
import type { Users } from '../users/users.ts'
import { assumedEmail } from './account-details.ts'
import { createAccounts } from './accounts.ts'
import type { DemandFinder } from './outstanding-demand.ts'
import { auditSuccess, hashedName } from './sign-in-events.ts'
import type { ExternalUser } from './source.ts'

/** A user as the login server describes them; with `userId` the rest must describe the same user. */
interface VouchedUser {
  readonly userId?: string | undefined
  readonly userName?: string | undefined
  /** As sent; absent for the default. */
  readonly origin?: string | undefined
  readonly email?: string | undefined
  readonly givenName?: string | undefined
  readonly familyName?: string | undefined
}

/** A sign-in that a login server asserts. */
interface VouchedSignIn {
  readonly vouchedUser: VouchedUser
  /** Whether to create an account for a user who has none. */
  readonly addNew: boolean
  /** The client of the login server, whose token came with the request. */
  readonly server: Client
  /** The client that the user signs in for, which must allow the origin. */
  readonly client?: Client
}

/** The result; the description is for the login server. */
type VouchedResult =
  | { readonly outcome: 'signed-in'; readonly user: User; readonly amr: readonly string[] }
  | {
      readonly outcome: 'refused'
      readonly reason: 'unauthorized' | 'provider-barred' | 'second-factor-required'
      readonly description: string
    }

/** Signs in users that a login server asserts. The caller has verified the token of the login server. */
export interface Vouching {
  /** Throws `OAuthError` for a user that cannot get an account. */
  signIn(from: RequestOrigin, signIn: VouchedSignIn): Promise<VouchedResult>
}

const MAX_JSON_LENGTH = 10_000

/** Reads the parameters of a user, or the members of the same names in the JSON of `login`. */
export function vouchedUserOf(get: (name: string) => string | undefined): VouchedUser {
  const json = get('login')?.slice(0, MAX_JSON_LENGTH)
  const sent = json?.startsWith('{') === true ? parseJson(json) : undefined
  const value = (name: string): string | undefined => {
    const member = memberOf(sent, name)
    return typeof member === 'string' && member !== '' ? member : get(name) || undefined
  }
  return {
    userId: value('user_id'),
    userName: value('username'),
    origin: value('origin'),
    email: value('email'),
    givenName: value('given_name'),
    familyName: value('family_name'),
  }
}

const refuse = (description: string, reason: 'unauthorized' | 'provider-barred' = 'unauthorized'): VouchedResult => ({
  outcome: 'refused',
  reason,
  description,
})

const BAD_CREDENTIALS = refuse('Bad Credentials')

interface VouchingDeps {
  readonly store: Store
  readonly clock: Clock
  readonly random: Random
  readonly behaviour: Behaviour
  readonly audit: Audit
  readonly users: Pick<Users, 'create'>
  readonly aliases: Pick<Aliases, 'follow'>
  readonly serviceName: string
  readonly findOutstandingDemand: DemandFinder
}

/** One instance serves every zone. */
export function createVouching(deps: VouchingDeps): Vouching {
  const { store, clock, audit } = deps
  const enter = createVouchedAccounts(deps)

  return {
    async signIn(from, signIn) {
      const { zone, remoteAddress } = from
      const { vouchedUser, client, server } = signIn
      const entered = await enter(from, signIn)
      const facts = {
        zoneId: zone.id,
        remoteAddress,
        authenticationType: LOGIN_SERVER_ORIGIN,
        clientId: (client ?? server).clientId,
        data: `vouched for by ${server.clientId}`,
      }
      if ('outcome' in entered) {
        const origin = vouchedUser.origin ?? LOGIN_SERVER_ORIGIN
        const principal = hashedName(vouchedUser.userId ?? vouchedUser.userName ?? '')
        audit({ type: 'IdentityProviderAuthenticationFailure', principal, origin: printable(origin), ...facts })
        return entered
      }
      const { id: principal, origin } = entered
      if ((await deps.findOutstandingDemand(zone, entered, {}))?.name === 'second-factor') {
        audit({ type: 'UserAuthenticationFailure', principal, origin, ...facts })
        return { outcome: 'refused', reason: 'second-factor-required', description: 'A second factor is required.' }
      }
      await store.users.recordLogon(zone.id, principal, clock.now())
      auditSuccess(audit, { principal, origin, ...facts })
      return { outcome: 'signed-in', user: entered, amr: AMR }
    },
  }
}

/** Finds or creates the account of an asserted user, or says why the login server may not assert them. */
function createVouchedAccounts(
  deps: VouchingDeps,
): (from: RequestOrigin, signIn: VouchedSignIn) => Promise<User | VouchedResult> {
  const { store, users, behaviour, serviceName } = deps
  const accounts = createAccounts(deps)

  /** Why the login server may not assert users of this origin; an origin that resembles a provider's is refused too. */
  async function refuseOrigin(zone: Zone, origin: string): Promise<VouchedResult | undefined> {
    const key = origin.toLowerCase()
    if (key === serviceName) return refuse(`${serviceName} origin not allowed for external login server`)
    if (!ORIGIN.test(origin)) return refuse('The origin must have visible ASCII characters only.')
    const isOwned =
      RESERVED_ORIGINS.has(key) ||
      (await store.providers.findByOrigin(zone.id, origin)) !== undefined ||
      (await store.providers.listActive(zone.id)).some(({ originKey }) => originKey.toLowerCase() === key)
    return isOwned ? refuse('The origin belongs to an identity provider of the zone.') : undefined
  }

  async function findById(zone: Zone, id: string, origin: string | undefined): Promise<User | undefined> {
    const user = await store.users.find(zone.id, id)
    if (!user?.active || user.passwordHash !== undefined) return undefined // a password belongs to this server
    return origin === undefined || origin === user.origin ? user : undefined
  }

  async function findByName(zone: Zone, vouchedUser: NamedUser): Promise<User | 'not-usable' | undefined> {
    const { origin, userName } = vouchedUser
    const external: ExternalUser = { ...vouchedUser, externalId: userName, amr: AMR }
    const entry = await accounts.find(zone, { originKey: origin, config: { linkByEmail: false } }, external)
    if (!entry) return undefined
    return entry.outcome === 'entered' ? entry.user : 'not-usable'
  }

  async function create(from: RequestOrigin, vouchedUser: NamedUser, server: Client): Promise<User | undefined> {
    const { userName, origin } = vouchedUser
    const email = vouchedUser.email ?? assumedEmail(userName, origin)
    const names = behaviour.namesAsSent ? {} : namesIn(email)
    const { givenName, familyName } = { ...names, ...vouchedUser }
    const draft = {
      userName,
      origin,
      externalId: userName,
      email,
      ...(givenName !== undefined && { givenName }),
      ...(familyName !== undefined && { familyName }),
      active: true,
      verified: false,
    }
    const by = { clientId: server.clientId, remoteAddress: from.remoteAddress }
    try {
      return await users.create(from.zone, { draft, vouched: true, by })
    } catch (error) {
      if (!(error instanceof OAuthError) || error.error !== 'scim_resource_already_exists') throw error
      // A concurrent sign-in of the same user; or a user whose name differs only in case.
      const found = await findByName(from.zone, vouchedUser)
      return found === 'not-usable' ? undefined : found
    }
  }

  return async (from, signIn) => {
    const { zone } = from
    const { vouchedUser, addNew, client, server } = signIn
    const { userId, origin = LOGIN_SERVER_ORIGIN } = vouchedUser
    const userName = vouchedUser.userName ?? vouchedUser.email
    const existing = userId === undefined ? undefined : await findById(zone, userId, vouchedUser.origin)
    const refusal = await refuseOrigin(zone, existing?.origin ?? origin)
    if (refusal) return refusal
    if (userId !== undefined && !existing) return BAD_CREDENTIALS
    if (userId === undefined && (userName === undefined || userName.trim() === '')) {
      return refuse('Cannot determine username from credentials supplied')
    }
    // Before an account is created for a user who may not use the client.
    if (client && !allowsProvider(client, existing?.origin ?? origin)) return refuse(PROVIDER_BARRED, 'provider-barred')
    if (existing) return existing
    const named = readable(vouchedUser, { userName: userName ?? '', origin })
    const found = await findByName(zone, named)
    if (found === 'not-usable') return BAD_CREDENTIALS
    return found ?? (addNew ? await create(from, named, server) : undefined) ?? BAD_CREDENTIALS
  }
}

const AMR = ['ext']

const ORIGIN = /^[\x21-\x7e]+$/

/** A user with a name, which is their stable identifier: compared exactly, and never reused for another user. */
interface NamedUser extends Pick<ExternalUser, 'userName' | 'email' | 'givenName' | 'familyName'> {
  readonly origin: string
}

/** Only what describes the user; refuses what no account can have. */
function readable(
  { email, givenName, familyName }: VouchedUser,
  named: { readonly userName: string; readonly origin: string },
): NamedUser {
  const values = { ...named, ...defined({ email, givenName, familyName }) }
  checkLengths(values)
  if (Object.values(values).some(value => hasControlCharacter(value) || !isKeepable(value))) {
    throw new OAuthError('invalid_request', 'The parameters of a user must be strings without control characters')
  }
  return values
}

const defined = (values: Readonly<Record<string, string | undefined>>): Record<string, string> =>
  Object.fromEntries(Object.entries(values).filter((entry): entry is [string, string] => entry[1] !== undefined))

/** UAA: the parts of the address are the names of a user who has none. See docs/compatibility.md, E2. */
function namesIn(email: string): { readonly givenName?: string; readonly familyName?: string } {
  const [givenName, familyName] = email.split('@')
  return { ...(givenName && { givenName }), ...(familyName && { familyName }) }
}

/** For the audit trail: the origin came from the request and belongs to no provider. */
const printable = (text: string): string => text.slice(0, 36).replace(/[^\x21-\x7e]/g, '?')
