/**
 * The associated data of encrypted values in the database, which binds each to its place so that it cannot be moved to another.
 */
export const sealContexts = {
  signingKey: (zoneId: string, keyId: string): string => `signing-key ${zoneId} ${keyId}`,
  samlKey: (zoneId: string, id: string): string => `saml-key ${zoneId} ${id}`,
  serverKey: (name: string): string => `server-key ${name}`,
  providerSecret: ({ zoneId, originKey }: { readonly zoneId: string; readonly originKey: string }, member: string) =>
    `provider-secret ${zoneId} ${originKey} ${member}`,
  oneTimePasswords: (zoneId: string, userId: string): string => JSON.stringify(['one-time passwords', zoneId, userId]),
  idTokenOfSession: (zoneId: string, sessionSalt: string): string =>
    JSON.stringify(['ID token of a session', zoneId, sessionSalt]),
  mail: ({ zoneId, id }: { readonly zoneId: string; readonly id: string }): string => `mail ${zoneId} ${id}`,
} as const
