// Invites users: chooses their provider by their e-mail address, finds or creates the account, and issues a code for accepting.
// Nothing is mailed: the inviter delivers the link.
import { isMailAddress } from '../mail/mailer.ts'
import { allowsProvider } from '../model/clients/client.ts'
import type { Client } from '../model/clients/client.ts'
import { domainMatcher, emailDomainOf, emailDomains } from '../model/zones/identity-provider.ts'
import type { IdentityProvider } from '../model/zones/identity-provider.ts'
import { OAuthError } from '../model/oauth-error.ts'
import { isAdministrative } from '../model/tokens/restricted-scopes.ts'
import type { User } from '../model/users/user.ts'
import type { Zone } from '../model/zones/zone.ts'
import { createGroupRights } from '../users/groups/group-rights.ts'
import type { GroupCaller } from '../users/groups/group-rights.ts'
import { isGivenByLink } from './accept-invitation.ts'
import { issueCode } from './codes.ts'
import type { RequestedReturn } from './codes.ts'
import type { AccountDeps } from './deps.ts'

/** Why the address was not invited, in UAA's words; `message` is for the inviter. */
interface NotInvited {
  readonly outcome: 'failed'
  readonly code:
    | 'email.invalid'
    | 'provider.non-existent'
    | 'provider.ambiguous'
    | 'user.ambiguous'
    | 'invitation.exception'
  readonly message: string
}

/** The result for one address. */
export type Invited = { readonly outcome: 'invited'; readonly user: User; readonly code: string } | NotInvited

/** The inviter, the invited address, and the client. */
interface Invitation {
  readonly email: string
  readonly requestedReturn: RequestedReturn
  /** Limits the providers; absent where the client is that of another zone. */
  readonly client?: Client | undefined
  readonly by: GroupCaller
}

/** UAA: the domains of the internal provider, unless it has its own. */
const ANY_DOMAIN = ['*.*', '*.*.*', '*.*.*.*']

const failed = (code: NotInvited['code'], message: string): NotInvited => ({ outcome: 'failed', code, message })

/** Invites one user. The code cannot set the password of an account that is changed or verified later. */
export async function invite(zone: Zone, invitation: Invitation, deps: AccountDeps): Promise<Invited> {
  const { email, requestedReturn, by } = invitation
  if (!isMailAddress(email)) return failed('email.invalid', `${email} is invalid email.`)
  const provider = await providerFor(zone, invitation, deps)
  if ('outcome' in provider) return provider
  try {
    const user = await findOrCreate(zone, provider, invitation, deps)
    if ('outcome' in user) return user
    const data = {
      ...requestedReturn,
      origin: user.origin,
      ...(!user.verified && { passwordRevision: user.passwordRevision }),
      inviter: {
        scopes: by.scopes.filter(scope => isAdministrative(scope, deps.service)),
        ofDefaultZone: by.ofDefaultZone,
      },
    }
    const { value } = await issueCode(zone, { purpose: 'invitation', user, data }, deps)
    return { outcome: 'invited', user, code: value }
  } catch (error) {
    if (error instanceof OAuthError) return failed('invitation.exception', error.message)
    throw error
  }
}

/** The provider of the address's domain, else the internal one; exactly one must be left. */
async function providerFor(
  zone: Zone,
  { email, client }: Invitation,
  { store, service }: AccountDeps,
): Promise<IdentityProvider | NotInvited> {
  const matches = domainMatcher(emailDomainOf(email) ?? '')
  const active = await store.providers.listActive(zone.id)
  const allowed = active.filter(({ originKey }) => !client || allowsProvider(client, originKey))
  const named = allowed.filter(each => matches(emailDomains(each)))
  const others = allowed.filter(
    each => each.originKey === service.name && emailDomains(each) === undefined && matches(ANY_DOMAIN),
  )
  const [provider, second] = named.length > 0 ? named : others
  if (!provider) return failed('provider.non-existent', 'No authentication provider found.')
  return second ? failed('provider.ambiguous', 'Multiple authentication providers found.') : provider
}

/** Throws `OAuthError` for an account that cannot be created, or whose password the caller may not set. */
async function findOrCreate(
  zone: Zone,
  provider: IdentityProvider,
  invitation: Invitation,
  deps: AccountDeps,
): Promise<User | NotInvited> {
  const { store, users, service } = deps
  const { originKey: origin } = provider
  const { email } = invitation
  await users.checkManageable(zone, origin)
  const [user, second] = await store.users.findByEmail(zone.id, origin, email)
  if (second) {
    return failed('user.ambiguous', 'Multiple users with the same origin matched to the email address.')
  }
  if (user && !user.active) return failed('invitation.exception', 'The account is not active.')
  // The holder of the link sets the password of an unverified account, or is linked to one that has no owner.
  const isGivenAway = user && (origin === service.name ? !user.verified : isGivenByLink(user, provider))
  if (isGivenAway) await createGroupRights(deps).checkOwner(user, invitation.by)
  if (user) return user
  const address = email.toLowerCase()
  const made = {
    draft: { userName: address, origin, email: address, active: true, verified: false },
    withoutPassword: true,
    ofAnyDomain: true, // the client allows no other provider
    by: invitation.by,
  }
  return users.create(zone, made).catch(async (cause: unknown) => {
    // Concurrently invited by another caller.
    if ((await store.users.findByEmail(zone.id, origin, email)).length === 0) throw cause
    return findOrCreate(zone, provider, invitation, deps)
  })
}
