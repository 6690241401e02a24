// Ends access that needs no new sign-in: sessions, codes and tokens. The caller has checked the right to do so.
import type { Clock } from '../base/clock.ts'
import type { Random } from '../base/random.ts'
import type { Client } from '../model/clients/client.ts'
import type { Behaviour } from '../model/compatibility.ts'
import type { Audit } from '../model/audit/event.ts'
import { revocationEvent } from '../model/tokens/revocation-event.ts'
import type { Zone } from '../model/zones/zone.ts'
import type { Store } from '../store/store.ts'
import { findClientSummary } from '../token/client-summary.ts'
import { forgetGrantAt } from '../token/lifetimes.ts'
import type { LifetimesOf } from '../token/lifetimes.ts'
import { PASSWORD_REVISION_LENGTH } from './password.ts'
import { noSuchResource } from './refusal.ts'
import type { Session, SignIn } from '../model/sessions/session.ts'
import { providerSessionOf, sessionIdFor } from '../model/sessions/session.ts'
import { originOf } from './caller.ts'
import type { Caller } from './caller.ts'

/** Dependencies of ending the access of a client. */
export interface AccessDeps {
  readonly store: Store
  readonly clock: Clock
  readonly behaviour: Behaviour
}

/**
 * Ends what the client holds for the user, or for any user: codes, stored tokens, and the JWTs that share a grant with one of
 * them. A JWT without a stored token stays valid, but fails at every check of approvals.
 */
export async function endAccessOfClient(
  zone: Zone,
  { userId, client }: { readonly userId?: string; readonly client: Pick<Client, 'clientId'> & LifetimesOf },
  { store, clock, behaviour }: AccessDeps,
): Promise<void> {
  const forgetAt = forgetGrantAt(zone, client, clock.now(), behaviour)
  await store.tokens.revokeGrantsOf(
    zone.id,
    { clientId: client.clientId, ...(userId !== undefined && { userId }) },
    forgetAt,
  )
}

/**
 * Ends everything that the user is signed in with: sessions, codes, passcodes and tokens, JWTs too; the password stays.
 * Throws `scim_resource_not_found`.
 */
export async function endAccessOfUser(
  zone: Zone,
  userId: string,
  by: Caller,
  { store, random, audit }: { readonly store: Store; readonly random: Random; readonly audit: Audit },
): Promise<void> {
  const isThere = await store.users.endAccess(zone.id, userId, random.urlSafe(PASSWORD_REVISION_LENGTH))
  if (!isThere) throw noSuchResource('User', userId)
  const { clientId: caller = 'none', remoteAddress } = by
  const reason = `sessions ended, too; caller=${by.userId ?? caller}`
  audit(revocationEvent(zone.id, { userId, caller, remoteAddress, reason }))
  audit({ type: 'SessionsEndedEvent', zoneId: zone.id, principal: userId, ...originOf(userId, by), data: reason })
}

/** Dependencies of `endAccessAtProviderRequest`. */
interface ProviderAccessDeps extends AccessDeps {
  readonly random: Random
  readonly audit: Audit
}

/** The provider that asks, and from where. */
interface RequestingProvider {
  readonly origin: string
  readonly remoteAddress: string
}

/** The user that a provider signs out. */
interface ProviderLogoutSubject {
  /** The user; all of their sessions if there is no `sid`. */
  readonly externalId?: string
  /** The format of a SAML name: an account of another one is not the user's. */
  readonly externalIdFormat?: string
  /** The provider's id of the session. */
  readonly sid?: string
}

/** Ends only the provider's own sessions. A user without an account or session of it here counts as signed out. */
export async function endAccessAtProviderRequest(
  zone: Zone,
  { externalId, externalIdFormat, sid }: ProviderLogoutSubject,
  by: RequestingProvider,
  deps: ProviderAccessDeps,
): Promise<void> {
  const { store, clock } = deps
  const { origin } = by
  const user = externalId === undefined ? undefined : await store.users.findByExternalId(zone.id, origin, externalId)
  if (externalId !== undefined && !user) return
  if (externalIdFormat !== undefined && (user?.externalIdFormat ?? externalIdFormat) !== externalIdFormat) return
  if (sid === undefined) {
    if (user) await endAccessByProvider(zone, user.id, by, deps)
    return
  }
  // SAML Core §2.7.2: providers may use few indexes, so that many users have sessions of the same one.
  const of = { providerSession: providerSessionOf(origin, sid), userId: user?.id }
  for (let hasEnded = true; hasEnded; ) {
    hasEnded = false // the store lists a limited number at a time
    for (const session of await store.sessions.listOfProvider(zone.id, of, clock.now())) {
      if (!session.signIn) continue
      await endSessionByProvider(zone, { ...session, signIn: session.signIn }, by, deps)
      hasEnded = true
    }
  }
}

/** As `endAccessOfUser`, for the provider of the account. */
async function endAccessByProvider(
  zone: Zone,
  userId: string,
  by: RequestingProvider,
  { store, random, audit }: ProviderAccessDeps,
): Promise<void> {
  await store.users.endAccess(zone.id, userId, random.urlSafe(PASSWORD_REVISION_LENGTH))
  reportEnd(zone, { userId, by, data: 'every session, at the request of the provider' }, audit)
}

/**
 * Ends one session and what was granted in it: codes, refresh tokens, stored tokens, and the JWTs that share a grant with
 * one of them; also the user's passcode, which does not name its session. An access token that is only a JWT stays valid until
 * it expires.
 */
async function endSessionByProvider(
  zone: Zone,
  session: Session & { readonly signIn: SignIn },
  by: RequestingProvider,
  deps: ProviderAccessDeps,
): Promise<void> {
  const { idDigest, signIn } = session
  const { store, audit } = deps
  // Before the session, so that another request of the provider finds it if this one fails.
  await endGrantsOfSession(zone, session, deps)
  const last = (await store.sessions.find(zone.id, idDigest)) ?? session
  await store.sessions.delete(zone.id, idDigest)
  await store.oneTimeCodes.forget(zone.id, 'passcode', signIn.userId)
  await endGrantsOfSession(zone, { signIn, clients: last.clients }, deps) // those since then
  reportEnd(zone, { userId: signIn.userId, by, data: 'one session, at the request of the provider' }, audit)
}

async function endGrantsOfSession(
  zone: Zone,
  { signIn, clients = [] }: { readonly signIn: SignIn; readonly clients?: readonly string[] | undefined },
  { store, clock, behaviour }: ProviderAccessDeps,
): Promise<void> {
  if (clients.length === 0) return
  const { userId } = signIn
  const ids = new Map(clients.map(clientId => [sessionIdFor(signIn, clientId), clientId]))
  await store.codes.deleteOfSessions(zone.id, userId, new Set(ids.keys()))
  const stored = await store.tokens.listOfUser(zone.id, userId, clock.now())
  const granted = stored.filter(({ claims }) => typeof claims['sid'] === 'string' && ids.has(claims['sid']))
  for (const [sessionId, clientId] of ids) {
    const client = (await findClientSummary(store, zone, clientId))?.client ?? {}
    const forgetAt = forgetGrantAt(zone, client, clock.now(), behaviour)
    const grants = granted.filter(({ claims }) => claims['sid'] === sessionId).flatMap(({ grantId }) => grantId ?? [])
    for (const grantId of new Set(grants)) await store.tokens.revokeGrant(zone.id, grantId, forgetAt)
    await store.tokens.revokeUnstored(zone.id, sessionId, forgetAt) // refresh tokens that are no more than a JWT
  }
}

function reportEnd(
  { id: zoneId }: Zone,
  { userId, by, data }: { readonly userId: string; readonly by: RequestingProvider; readonly data: string },
  audit: Audit,
): void {
  const { origin, remoteAddress } = by
  audit({ type: 'SessionsEndedEvent', zoneId, principal: userId, origin, remoteAddress, byOther: true, data })
}
