// `id_token_hint` of a logout: which session of which client it is about (RP-Initiated Logout §2).
import type { Client } from '../../model/clients/client.ts'
import { OAuthError } from '../../model/oauth-error.ts'
import type { AddressedZone } from '../../model/request.ts'
import { sessionIdFor } from '../../model/sessions/session.ts'
import type { Subjects } from '../../model/tokens/subject.ts'
import { clientIdOf } from '../../token/claims.ts'
import type { Claims } from '../../token/claims.ts'
import { PageError } from '../../web/answers.ts'
import type { SignedInUser } from '../../web/sessions/current-session.ts'
import type { Params } from '../params.ts'
import type { OAuthDeps } from '../deps.ts'

/** The subject, session and client of a verified `id_token_hint`. */
export interface LogoutHint {
  readonly subject: string
  readonly sid?: string
  readonly client: Client
}

/** The verified hint of the request; undefined without one. An invalid hint is an error page, and ends no session (row L3). */
export async function findHint(
  zone: AddressedZone,
  params: Params,
  { reader, store }: Pick<OAuthDeps, 'reader' | 'store'>,
): Promise<LogoutHint | undefined> {
  const text = params.get('id_token_hint')
  if (text === undefined) return undefined
  const claims = await reader.readHint(zone, text).catch((cause: unknown) => {
    if (cause instanceof OAuthError) {
      throw new PageError(400, 'The id_token_hint was not issued by this server.', { code: 'invalid_request', cause })
    }
    throw cause
  })
  const issuedTo = clientIdOf(claims)
  const clientId = params.get('client_id')
  const client = issuedTo === undefined ? undefined : await store.clients.find(zone.id, issuedTo)
  const hint = client && hintIn(claims, client)
  if (!hint || (clientId !== undefined && clientId !== hint.client.clientId)) {
    throw new PageError(400, 'The id_token_hint does not belong to this client.', { code: 'invalid_request' })
  }
  return hint
}

/** What the claims of a verified ID token say; undefined without a subject. */
export const hintIn = ({ sub, sid }: Claims, client: Client): LogoutHint | undefined =>
  typeof sub === 'string' ? { subject: sub, client, ...(typeof sid === 'string' && { sid }) } : undefined

/** A hint, and the user who is signed in. */
interface Presented {
  readonly hint: LogoutHint
  readonly signedIn: SignedInUser | undefined
}

/** Whether the hint is for the signed-in user, in this session or an earlier one. */
export const isOfUser = (zone: AddressedZone, { hint, signedIn }: Presented, subjects: Subjects): boolean =>
  signedIn !== undefined && hint.subject === subjects.of(zone, hint.client, signedIn.user)

/** Whether the hint is for the signed-in user and, if it has a `sid`, for this session. */
export function isOfSession(zone: AddressedZone, { hint, signedIn }: Presented, subjects: Subjects): boolean {
  if (!signedIn || !isOfUser(zone, { hint, signedIn }, subjects)) return false
  return hint.sid === undefined || hint.sid === sessionIdFor(signedIn.session.signIn, hint.client.clientId)
}
