/** One factor, two factors, a phishing-resistant one, and one that hardware is known to protect (OpenID EAP ACR Values). */
export const LEVELS = ['1', '2', 'phr', 'phrh'] as const
/** See `LEVELS`, weakest first. */
export type Level = (typeof LEVELS)[number]
