// The profiles that a client or a zone can have; `model/clients/client-demands.ts` has their requirements.

/** FAPI 2.0 Security Profile, and with FAPI 2.0 Message Signing. */
export const PROFILES = ['fapi2-security', 'fapi2-message-signing'] as const

/** One of `PROFILES`. */
export type Profile = (typeof PROFILES)[number]
