// Codes that open a session in a browser: a client has checked a password, or a user has set a new one through it, and the
// browser is redirected here with the code. Each is for one client, works once, and ends with the password.
import { allowsProvider } from '../model/clients/client.ts'
import type { Audit, AuditOrigin } from '../model/audit/event.ts'
import type { Client } from '../model/clients/client.ts'
import type { Service } from '../model/service.ts'
import type { SignInMethod } from '../model/sessions/session.ts'
import type { User } from '../model/users/user.ts'
import type { Zone } from '../model/zones/zone.ts'
import type { Store } from '../store/store.ts'
import { issueCode, peekCode, spendCode } from './codes.ts'
import type { CodeDeps, NewCode, ValidCode } from './codes.ts'

/** Issues a code with which a browser signs the user in for the client. */
export const issueAutologin = (
  zone: Zone,
  { user, client }: { readonly user: User; readonly client: Pick<Client, 'clientId'> },
  deps: CodeDeps,
): Promise<NewCode> => issueCode(zone, { purpose: 'autologin', user, data: { clientId: client.clientId } }, deps)

/** A code presented by a browser. */
interface AutologinAttempt {
  readonly code: string
  readonly clientId: string
  /** The user of the browser's session, if another user's code must not replace it. */
  readonly keptUserId?: string | undefined
  /** Begins the session; if it throws, as on a busy server, the code stays valid. */
  readonly signIn: (user: User, method: Pick<SignInMethod, 'amr'>) => Promise<void>
  /** The browser, for the audit trail. */
  readonly from: AuditOrigin
}

/** `other-user`: the browser is signed in as another user, and the code was not consumed. */
type AutologinResult =
  | { readonly outcome: 'good'; readonly user: User }
  | { readonly outcome: 'bad-code' | 'other-client' | 'other-user' }

/** Dependencies of `redeemAutologin`. */
type AutologinDeps = Omit<CodeDeps, 'random' | 'store'> & {
  readonly audit: Audit
  readonly store: CodeDeps['store'] & Pick<Store, 'clients' | 'providers'>
  readonly service: Pick<Service, 'name'>
}

/**
 * Signs the user in and consumes the code, also for the wrong client; `bad-code` also if the user may no longer sign in for the
 * client. In the audit trail it is a sign-in apart from the one that issued the code, which was made elsewhere.
 */
export async function redeemAutologin(
  zone: Zone,
  attempt: AutologinAttempt,
  deps: AutologinDeps,
): Promise<AutologinResult> {
  const result = await redeem(zone, attempt, deps)
  const { from, clientId } = attempt
  const shared = { zoneId: zone.id, ...from }
  if (result.outcome === 'good') {
    const { id: principal, origin } = result.user
    deps.audit({ type: 'UserAuthenticationSuccess', principal, origin, clientId, ...shared, data: 'autologin' })
  } else {
    const data = `autologin: ${result.outcome}`
    deps.audit({ type: 'PrincipalAuthenticationFailure', principal: 'autologin', ...shared, data })
  }
  return result
}

async function redeem(zone: Zone, attempt: AutologinAttempt, deps: AutologinDeps): Promise<AutologinResult> {
  const { code: value, keptUserId } = attempt
  const asked = { purpose: 'autologin', value } as const
  if (keptUserId !== undefined) {
    const seen = await peekCode(zone, asked, deps)
    if (seen && seen.user.id !== keptUserId) return { outcome: 'other-user' }
  }
  const on = (code: ValidCode<'autologin'>) => signInBy(zone, { attempt, code }, deps)
  return (await spendCode(zone, { ...asked, on }, deps)) ?? { outcome: 'bad-code' }
}

async function signInBy(
  zone: Zone,
  {
    attempt: { clientId, signIn },
    code: { user, data },
  }: { readonly attempt: AutologinAttempt; readonly code: ValidCode<'autologin'> },
  deps: AutologinDeps,
): Promise<AutologinResult> {
  if (data.clientId !== clientId) return { outcome: 'other-client' }
  const client = await deps.store.clients.find(zone.id, clientId)
  const isOpen = await deps.store.providers.isActive(zone.id, user.origin)
  // Whether another provider verified the address does not affect whether the user may sign in.
  const isDoubted = !user.verified && user.origin === deps.service.name
  if (!client || !isOpen || isDoubted || !allowsProvider(client, user.origin)) return { outcome: 'bad-code' }
  await signIn(user, { amr: ['pwd'] })
  return { outcome: 'good', user }
}

/** The message that the user sees instead of being signed in. */
export const AUTOLOGIN_REFUSALS = {
  badCode:
    'The sign-in code is not valid, has expired or was already used. Go back to the application and sign in again.',
  otherUser: 'You are signed in with another account. Sign out first, then go back to the application.',
  notInWindow: 'A sign-in code works only where its address is opened in a window.',
} as const
