// The protocols that a zone can switch on or off, by the name of the setting in its `protocols`.

/** Each is a standard of its own; `model/zones/protocols.ts` decides whether a zone supports it. */
export const PROTOCOLS = {
  requestObjects: 'Request objects, by value and by reference (RFC 9101).',
  pushedRequests: 'Pushed authorization requests (RFC 9126).',
  signedResponses: 'Signed authorization responses (JARM).',
  dpop: 'Tokens bound to a key of the client (RFC 9449).',
  mutualTls: 'Client authentication by certificates, and tokens bound to them (RFC 8705).',
  resourceIndicators: 'Tokens for one resource (RFC 8707).',
  deviceGrant: 'Sign-in for devices without a browser (RFC 8628).',
  tokenExchange: 'Token exchange (RFC 8693).',
  frontchannelLogout: 'Logout of applications through the browser (OpenID Connect Front-Channel Logout).',
  backchannelLogout: 'Logout of applications by requests to them (OpenID Connect Back-Channel Logout).',
  clientMetadataDocuments:
    'Clients whose id is the URL of their metadata document (Client ID Metadata Document); off unless set.',
  protectedResourceMetadata: 'Metadata of the server’s own APIs (RFC 9728).',
  signedUserinfo: 'Signed userinfo responses (OpenID Connect Core §5.3.2).',
  signedIntrospection: 'Signed introspection responses (RFC 9701).',
  pairwiseSubjects: 'A different subject for each sector of clients (OpenID Connect Core §8.1).',
} as const

/** One of `PROTOCOLS`. */
export type Protocol = keyof typeof PROTOCOLS
