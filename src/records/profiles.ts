// The profiles that a client or a zone can have; `model/clients/client-demands.ts` has their requirements.

/**
 * FAPI 1.0 Advanced, FAPI 2.0 Security Profile, and this with FAPI 2.0 Message Signing. Of two that apply, the later one counts.
 */
export const PROFILES = ['fapi1-advanced', 'fapi2-security', 'fapi2-message-signing'] as const

/** One of `PROFILES`. */
export type Profile = (typeof PROFILES)[number]
