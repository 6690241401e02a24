/** An event of the audit trail, with UAA's names. */
export interface AuditEvent {
  readonly type: AuditEventType
  readonly zoneId: string
  /** The id of the affected user or client. */
  readonly principal: string
  readonly clientId?: string
  readonly origin?: string
  readonly remoteAddress?: string | undefined
  /** The id of the user whose token was used, if not the principal. */
  readonly actor?: string
  /** The browser or program that asked, shortened by `keptUserAgent`. */
  readonly userAgent?: string
  /** Set when another user, or a client without a user, changed the account of the principal. */
  readonly byOther?: true
  /** The type of the provider, for sign-ins. */
  readonly authenticationType?: string
  /** The request that caused it, where the log names requests. */
  readonly requestId?: string
  /** Further facts; never a secret, code or token. */
  readonly data?: string
}

/** The origin of an event: the address, the user agent, and the client and the user of the token. */
export type AuditOrigin = Pick<AuditEvent, 'remoteAddress' | 'userAgent' | 'clientId' | 'actor'>

/** In the data of `ApprovalModifiedEvent` for a client whose approvals were all removed. */
export const ALL_REVOKED = 'all revoked'

/**
 * The types of UAA's events that this server emits, and those that UAA has no name for: `SessionsEndedEvent`,
 * `AccountCodeIssuedEvent`, `TokenExchangedEvent`, `TokenRefusedEvent`, `DeviceApprovedEvent`, `DeviceDeniedEvent`,
 * `AuditEventsLostEvent`, `AuditTrailAlteredEvent`, changes of second factors, of initial access tokens, and of keys and imports on
 * the command line.
 */
export const AUDIT_EVENT_TYPES = [
  'UserAuthenticationSuccess',
  'UserAuthenticationFailure',
  'UserNotFound',
  'UnverifiedUserAuthentication',
  'IdentityProviderAuthenticationSuccess',
  'IdentityProviderAuthenticationFailure',
  'PrincipalAuthenticationFailure',
  'ClientAuthenticationSuccess',
  'ClientAuthenticationFailure',
  'GroupCreatedEvent',
  'GroupModifiedEvent',
  'GroupDeletedEvent',
  'UserCreatedEvent',
  'UserModifiedEvent',
  'UserVerifiedEvent',
  'UserDeletedEvent',
  'UserAccountUnlockedEvent',
  'MfaAuthenticationSuccess',
  'MfaAuthenticationFailure',
  'MfaFactorAddedEvent',
  'MfaFactorModifiedEvent',
  'MfaFactorRemovedEvent',
  'PasswordChangeSuccess',
  'PasswordChangeFailure',
  'PasswordResetRequest',
  'AccountCodeIssuedEvent',
  'EmailChangedEvent',
  'SessionsEndedEvent',
  'ApprovalModifiedEvent',
  'TokenIssuedEvent',
  'TokenExchangedEvent',
  'TokenRefusedEvent',
  'DeviceApprovedEvent',
  'DeviceDeniedEvent',
  'TokenRevocationEvent',
  'ClientJwtChangeSuccess',
  'ClientJwtChangeFailure',
  'IdentityProviderCreatedEvent',
  'IdentityProviderModifiedEvent',
  'IdentityZoneCreatedEvent',
  'IdentityZoneModifiedEvent',
  'EntityDeletedEvent',
  'ClientCreateSuccess',
  'ClientUpdateSuccess',
  'ClientDeleteSuccess',
  'ClientApprovalsDeleted',
  'RegistrationTokenCreatedEvent',
  'RegistrationTokenDeletedEvent',
  'SecretChangeSuccess',
  'SecretChangeFailure',
  'AuditEventsLostEvent',
  'AuditTrailAlteredEvent',
  'SigningKeyCreatedEvent',
  'SigningKeyActivatedEvent',
  'SigningKeyRetiredEvent',
  'MasterKeyResealedEvent',
  'RecordsImportedEvent',
] as const

/** A type of event. */
export type AuditEventType = (typeof AUDIT_EVENT_TYPES)[number]

/** Records an event; never throws and never blocks. */
export type Audit = (event: AuditEvent) => void
