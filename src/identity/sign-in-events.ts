// The events of the audit trail for sign-ins at a provider.
import { createHash } from 'node:crypto'
import type { Client } from '../model/clients/client.ts'
import type { Behaviour } from '../model/compatibility.ts'
import type { Audit, AuditEvent } from '../model/audit/event.ts'
import type { IdentityProvider } from '../model/zones/identity-provider.ts'
import type { RequestOrigin } from '../model/request.ts'
import { userAgentIn } from '../model/users/user-agent.ts'
import type { PasswordSignIn } from './password-sign-in.ts'
import type { SignInResult } from './source.ts'

/** An unknown name may be a password typed into the wrong field: the audit trail gets only its hash. */
export const hashedName = (userName: string): string => createHash('sha1').update(userName).digest('base64')

/** A sign-in at a provider: the provider has accepted the user, and so has this server. */
export function auditSuccess(audit: Audit, event: Omit<AuditEvent, 'type'>): void {
  audit({ type: 'IdentityProviderAuthenticationSuccess', ...event })
  audit({ type: 'UserAuthenticationSuccess', ...event })
}

/** A sign-in at a provider that failed there or here, with the reason where the refusal names one for the audit trail. */
export function auditRefusal(
  audit: Audit,
  event: Omit<AuditEvent, 'type' | 'data'>,
  refusal: { readonly audit?: string | undefined },
): void {
  const data = refusal.audit
  audit({ type: 'IdentityProviderAuthenticationFailure', ...event, ...(data !== undefined && { data }) })
}

/** The events of sign-ins. */
export type SignInEvents = ReturnType<typeof createSignInEvents>

/** One instance serves every zone. */
export function createSignInEvents({ audit, behaviour }: { readonly audit: Audit; readonly behaviour: Behaviour }) {
  /** The properties shared by the events of one sign-in. */
  const factsOf = (
    { zoneId, originKey: origin, type: authenticationType }: IdentityProvider,
    { remoteAddress, headers }: RequestOrigin,
    client: Client | undefined,
  ) => {
    const userAgent = userAgentIn(headers)
    return {
      zoneId,
      origin,
      authenticationType,
      remoteAddress,
      ...(userAgent !== undefined && { userAgent }),
      ...(client && { clientId: client.clientId }),
    }
  }

  function report(
    provider: IdentityProvider,
    { from, signIn }: { readonly from: RequestOrigin; readonly signIn: PasswordSignIn },
    result: SignInResult,
  ): void {
    const facts = factsOf(provider, from, signIn.client)
    if (result.outcome === 'signed-in') {
      return auditSuccess(audit, { principal: result.user.id, ...facts })
    }
    const principal = result.userId ?? hashedName(signIn.userName)
    switch (result.reason) {
      case 'bad-credentials':
        if (result.userId === undefined) audit({ type: 'UserNotFound', principal, ...facts })
        else {
          audit({ type: 'IdentityProviderAuthenticationFailure', principal, ...facts })
          audit({ type: 'UserAuthenticationFailure', principal, ...facts })
        }
        return audit({ type: 'PrincipalAuthenticationFailure', principal, ...facts })
      case 'refused-upstream':
      case 'account-not-precreated':
      case 'not-invited':
        return audit({ type: 'IdentityProviderAuthenticationFailure', principal, ...facts })
      case 'account-not-verified':
        return audit({ type: 'UnverifiedUserAuthentication', principal, ...facts })
      case 'account-locked':
        // UAA: reports nothing. Otherwise the audit trail does. Neither extends the lockout. See C12.
        if (!behaviour.hideLockout) return undefined
        return audit({ type: 'PrincipalAuthenticationFailure', principal, ...facts, data: 'the account is locked' })
      case 'second-factor-required':
        // The password was right: an attacker may know it.
        return audit({ type: 'UserAuthenticationFailure', principal, ...facts, data: 'second factor required' })
      case 'password-change-required':
      case 'provider-disabled':
        return undefined
    }
  }

  return { factsOf, report }
}
