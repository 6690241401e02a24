// Accepts invitations. A code is valid for one account in its state at the invitation, and is consumed by accepting.
import type { Identity } from '../identity/identity.ts'
import { LDAP_ORIGIN } from '../model/zones/identity-provider.ts'
import type { IdentityProvider } from '../model/zones/identity-provider.ts'
import { OAuthError } from '../model/oauth-error.ts'
import type { Service } from '../model/service.ts'
import type { User } from '../model/users/user.ts'
import type { Zone } from '../model/zones/zone.ts'
import type { AuditOrigin } from '../model/audit/event.ts'
import { createGroupRights } from '../users/groups/group-rights.ts'
import { passwordProblem } from '../users/password-rules.ts'
import { setNewPassword } from '../users/password.ts'
import { peekCode, redeemCode, spendCode } from './codes.ts'
import type { RequestedReturn, ValidCode } from './codes.ts'
import { switchesIn } from './switches.ts'
import type { SwitchDeps } from './switches.ts'
import type { AccountDeps } from './deps.ts'

/** An invitation that can be accepted. */
export interface OpenInvitation {
  readonly user: User
  readonly requestedReturn: RequestedReturn
  readonly inviter: ValidCode<'invitation'>['data']['inviter']
  /**
   * What the user does to accept: choose the first password of an unverified account, agree with an account
   * that is theirs already, give name and password of their directory, or sign in with their provider.
   */
  readonly step: 'password' | 'agree' | 'directory' | 'elsewhere'
}

/** The result of choosing a password; the message is for the user. */
type Acceptance =
  | { readonly outcome: 'accepted'; readonly requestedReturn: RequestedReturn }
  | { readonly outcome: 'refused'; readonly message: string }
  | { readonly outcome: 'expired' }

/** The invitation, without consuming it; undefined if the code is invalid. */
export async function openInvitation(
  zone: Zone,
  value: string,
  deps: AccountDeps,
): Promise<OpenInvitation | undefined> {
  return readInvitation(await peekCode(zone, { purpose: 'invitation', value }, deps), deps)
}

/** Consumes the invitation; undefined if the code is invalid or expired. */
export async function takeInvitation(
  zone: Zone,
  value: string,
  deps: AccountDeps,
): Promise<OpenInvitation | undefined> {
  return readInvitation(await redeemCode(zone, { purpose: 'invitation', value }, deps), deps)
}

/** Whether users may get accounts of the internal provider in the zone, or of its directory; those of others have accounts there. */
export async function isServed(
  zone: Zone,
  { step }: OpenInvitation,
  {
    store,
    service,
    identity,
  }: {
    readonly store: SwitchDeps['store']
    readonly service: Service
    readonly identity: Pick<Identity, 'loginProviders'>
  },
): Promise<boolean> {
  if (step === 'directory') return (await identity.loginProviders(zone)).some(({ origin }) => origin === LDAP_ORIGIN)
  return step === 'elsewhere' || (await switchesIn(zone, { store, serviceName: service.name })).ownAccounts
}

/** Sets the first password of the invited account and marks its address as verified, because the link was sent there. */
export async function acceptWithPassword(
  zone: Zone,
  { code, password, from }: { readonly code: string; readonly password: string; readonly from: AuditOrigin },
  deps: AccountDeps,
): Promise<Acceptance> {
  const open = await openInvitation(zone, code, deps)
  if (open?.step !== 'password' || !(await mayHandOver(open, deps))) return { outcome: 'expired' }
  // Before the code is consumed, so that the user can choose another password.
  const problem = await passwordProblem(zone, { password, owner: open.user }, deps)
  if (problem !== undefined) return { outcome: 'refused', message: problem }
  const on = (taken: ValidCode<'invitation'>) => setFirstPassword(zone, { taken, password, from }, deps)
  return (await spendCode(zone, { purpose: 'invitation', value: code, on }, deps)) ?? { outcome: 'expired' }
}

async function setFirstPassword(
  zone: Zone,
  {
    taken,
    password,
    from,
  }: { readonly taken: ValidCode<'invitation'>; readonly password: string; readonly from: AuditOrigin },
  deps: AccountDeps,
): Promise<Acceptance> {
  const invitation = readInvitation(taken, deps)
  if (invitation?.step !== 'password') return { outcome: 'expired' }
  // The existing password may be that of another user who signed up with this address, so it is not compared.
  const { passwordHash: _, ...user } = invitation.user
  const result = await setNewPassword({ zone, user, password, meetsDemand: true, verifies: true, ...from }, deps)
  switch (result.outcome) {
    case 'refused':
      return { outcome: 'refused', message: result.message }
    case 'too-many-conflicts':
      return { outcome: 'expired' }
    case 'changed':
      await deps.users.verify(zone, user.id, { by: from })
      return { outcome: 'accepted', requestedReturn: invitation.requestedReturn }
  }
}

/** Whether the link alone determines who gets the account: it has no owner yet, and SAML providers may omit the address. */
export const isGivenByLink = ({ externalId }: User, { type }: Pick<IdentityProvider, 'type'>): boolean =>
  type === 'saml' && !externalId

/** Whether a user who signs in at the provider may get the account, which may have been granted rights since. */
export const mayBeLinked = async (
  open: OpenInvitation,
  provider: Pick<IdentityProvider, 'type'>,
  deps: RightsDeps,
): Promise<boolean> => !isGivenByLink(open.user, provider) || (await mayHandOver(open, deps))

type RightsDeps = Parameters<typeof createGroupRights>[0]

/** Whether the inviter could set the password of the account, which may have been given rights since. */
async function mayHandOver({ user, inviter }: OpenInvitation, deps: RightsDeps): Promise<boolean> {
  try {
    await createGroupRights(deps).checkOwner(user, inviter)
    return true
  } catch (error) {
    if (error instanceof OAuthError) return false
    throw error
  }
}

function readInvitation(
  code: ValidCode<'invitation'> | undefined,
  { service }: Pick<AccountDeps, 'service'>,
): OpenInvitation | undefined {
  if (!code) return undefined
  const { user, data } = code
  if (user.origin !== data.origin) return undefined
  const { clientId, redirectUri, inviter } = data
  const invitation = { user, requestedReturn: { clientId, redirectUri }, inviter }
  if (user.origin === LDAP_ORIGIN) return { ...invitation, step: 'directory' }
  if (user.origin !== service.name) return { ...invitation, step: 'elsewhere' }
  if (user.verified) return { ...invitation, step: 'agree' }
  return data.passwordRevision === user.passwordRevision ? { ...invitation, step: 'password' } : undefined
}
