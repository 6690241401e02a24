// The part of the store's interface that is about clients that register themselves.
import type { Client } from '../../model/clients/client.ts'
import type { RegistrationToken } from '../../model/clients/registration.ts'

/** A client that registers itself. */
interface NewRegistration {
  readonly client: Client
  /** Shown with its metadata. */
  readonly createdBy: string
  /** Maximum number of clients of the zone that registered themselves, including this one. */
  readonly maxClients: number
  /** The id of the initial access token that one registration consumes. */
  readonly tokenId?: string | undefined
}

/** Registrations, and the initial access tokens for them; not cached. */
export interface RegistrationStore {
  /**
   * Adds the client. `full` when the zone has the maximum number already, `used` when the token has been used, has expired
   * or is gone; of concurrent registrations never more succeed than that allows.
   */
  register(zoneId: string, registration: NewRegistration, now: Date): Promise<'registered' | 'full' | 'used'>
  /** Whether a client that did not register itself has a redirect URI at the host, with any scheme and port. */
  isHostTaken(zoneId: string, hostname: string): Promise<boolean>
  /** Whether such a client has a redirect URI with the scheme, which ends in a colon. */
  isSchemeTaken(zoneId: string, scheme: string): Promise<boolean>
  /** The redirect URIs of such clients that have the text in one of them, ignoring case. */
  redirectUrisWith(zoneId: string, text: string): Promise<readonly (readonly string[])[]>
  /** Adds an initial access token; false when the zone has the maximum number already. */
  addToken(zoneId: string, token: RegistrationToken, maxTokens: number): Promise<boolean>
  findToken(zoneId: string, tokenDigest: string): Promise<RegistrationToken | undefined>
  /** The newest first. */
  listTokens(zoneId: string): Promise<readonly RegistrationToken[]>
  /** False when there is no such token. */
  deleteToken(zoneId: string, id: string): Promise<boolean>
}
