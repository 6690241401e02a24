// Signs a user in who returns from a provider.
import type { Audit } from '../model/audit/event.ts'
import { allowsProvider } from '../model/clients/client.ts'
import type { Client } from '../model/clients/client.ts'
import type { AddressedZone, RequestOrigin } from '../model/request.ts'
import type { UpstreamSession } from '../model/sessions/session.ts'
import type { User } from '../model/users/user.ts'
import type { AccountEntry, EnteredUser } from './account-entry.ts'
import { hasOtherFormat } from './name-format.ts'
import type { NoSuchProvider } from './provider-logout.ts'
import type { ProviderSources } from './provider-sources.ts'
import { auditRefusal, auditSuccess, hashedName } from './sign-in-events.ts'
import type { SignInEvents } from './sign-in-events.ts'
import type { ExternalUser, RedirectAnswer, RedirectAttempt, RedirectRefusal, RedirectSuccess } from './source.ts'

/** The return of the browser from a provider. */
export interface RedirectReturn {
  readonly origin: string
  readonly answer: RedirectAnswer
  /** Without secrets for an unsolicited response. */
  readonly attempt: RedirectAttempt | (Pick<RedirectAttempt, 'redirectUri'> & { readonly nonce?: never })
  /** The client that the user signs in for, which must allow the provider. */
  readonly client?: Client | undefined
  /** The user must have signed in at the provider since; absent where any time will do. */
  readonly authenticatedSince?: Date | undefined
  /**
   * Whether a provider that does not send the time is trusted to have done so: `conforming`, if its protocol defines the demand
   * that it was sent.
   */
  readonly mayOmitTime?: boolean | 'conforming'
  /** The account that the user was invited to, which is the only one that they may be signed in to. */
  readonly invited?: User | undefined
}

/**
 * The result of a redirect sign-in; `no-provider`: it is inactive or was deleted, or the client does not allow it, unless
 * `detail` says more.
 */
export type RedirectResult =
  | (EnteredUser & {
      readonly upstream?: UpstreamSession | undefined
      readonly loggedOut?: RedirectSuccess['loggedOut'] | undefined
      readonly mayHaveIgnoredDemands: boolean
    })
  | (NoSuchProvider & { readonly detail?: string })
  | RedirectRefusal

/** Completes a redirect sign-in and returns the user's account. */
export type FinishRedirect = (from: RequestOrigin, end: RedirectReturn) => Promise<RedirectResult>

/**
 * Whether the response is about this user, who has signed in meanwhile. Verifies it like a sign-in, but changes no account and
 * records no event.
 */
export type ConfirmsUser = (
  zone: AddressedZone,
  end: Pick<RedirectReturn, 'origin' | 'answer'> & { readonly attempt: RedirectAttempt; readonly user: User },
) => Promise<boolean>

/** One instance serves every zone. */
export const createUserConfirmation =
  ({ redirectOf }: Pick<ProviderSources, 'redirectOf'>): ConfirmsUser =>
  async (zone, { origin, answer, attempt, user }) => {
    const found = user.origin === origin ? await redirectOf(zone, origin) : undefined
    const finished = await found?.redirect.finish(answer, attempt, zone)
    if (finished?.outcome !== 'genuine') return false
    const { externalUser } = finished
    return externalUser.externalId === user.externalId && !hasOtherFormat(user, externalUser)
  }

/** One instance serves every zone. */
export function createRedirectSignIn({
  audit,
  sources,
  entry,
  events,
}: {
  readonly audit: Audit
  readonly sources: ProviderSources
  readonly entry: AccountEntry
  readonly events: SignInEvents
}): FinishRedirect {
  return async (from, { origin, answer, attempt, client, invited, ...demand }) => {
    const { zone } = from
    const found = await sources.redirectOf(zone, origin)
    // Before redeeming the code: a user who may not use the client must not get an account.
    if (!found || (client && !allowsProvider(client, origin))) return { outcome: 'no-provider' }
    const { provider, redirect } = found
    const finished =
      attempt.nonce === undefined
        ? await redirect.unsolicited?.(answer, attempt, zone)
        : await redirect.finish(answer, attempt, zone)
    if (!finished) return { outcome: 'no-provider', detail: UNASKED }
    const facts = events.factsOf(provider, from, client)
    const { mayIgnoreDemands = false } = redirect
    const isMet = finished.outcome !== 'genuine' || isRecent(finished.externalUser, demand, mayIgnoreDemands)
    const ended = isMet ? finished : NOT_AGAIN
    if (ended.outcome !== 'genuine') {
      auditRefusal(audit, { principal: hashedName(attempt.nonce ?? origin), ...facts }, ended)
      return ended
    }
    const { externalUser, upstream, loggedOut } = ended
    const result = await entry.enter(zone, provider, { externalUser, invited })
    if (result.outcome === 'refused') {
      auditRefusal(audit, { principal: hashedName(externalUser.userName), ...facts }, result)
      return result
    }
    auditSuccess(audit, { principal: result.user.id, ...facts })
    return { ...result, upstream, loggedOut, mayHaveIgnoredDemands: mayIgnoreDemands }
  }
}

/** For the log; the code is that of the audit event, which the receiver of the response reports. */
const UNASKED =
  'in-response-to: the response is unsolicited, and the record does not allow sign-ins initiated by the provider (allowIdpInitiated)'

const NOT_AGAIN: RedirectRefusal = {
  outcome: 'refused',
  reason: 'unusable',
  description: 'Your provider did not ask you to sign in again, which the application requires.',
}

/** OpenID Connect Core §3.1.2.1 and §3.1.3.7. */
function isRecent(
  { authenticatedAt }: ExternalUser,
  { authenticatedSince, mayOmitTime }: Pick<RedirectReturn, 'authenticatedSince' | 'mayOmitTime'>,
  mayIgnoreDemands: boolean,
): boolean {
  if (!authenticatedSince) return true
  if (authenticatedAt) return authenticatedAt >= authenticatedSince
  return mayOmitTime === true || (mayOmitTime === 'conforming' && !mayIgnoreDemands)
}
