// Pushed authorization requests (RFC 9126): the data stored between the push and the response.

/** A request that a client pushed. */
export interface PushedRequest {
  readonly zoneId: string
  /** Digest of the random part of its `request_uri`. */
  readonly idDigest: string
  readonly clientId: string
  /** The parameters, form-encoded. */
  readonly parameters: string
  /** Whether they came in a request object. */
  readonly isSigned: boolean
  /** Until when a browser may present it. */
  readonly expiresAt: Date
  /** Until when a browser that used it in time may use it again. */
  readonly keptUntil: Date
}

/** What every `request_uri` of this server begins with (RFC 9126 §2.2). */
export const PUSHED_PREFIX = 'urn:ietf:params:oauth:request_uri:'

/** Lifetime of a pushed request until a browser presents it; FAPI 2.0 allows less than 600 seconds. */
export const PUSHED_SECONDS = 90

/** How long users have for signing in and approving, once the request has come. */
export const BEGUN_SECONDS = 3600
