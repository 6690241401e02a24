/** What happened, for the audit trail; the names are those of the reference system's events. */
export interface AuditEvent {
  readonly type: AuditEventType
  readonly zoneId: string
  /** The id of the user or client that it happened to. */
  readonly principal: string
  readonly clientId?: string
  readonly origin?: string
  readonly remoteAddress?: string | undefined
  /** The type of the provider that was asked, where somebody signed in or tried to. */
  readonly authenticationType?: string
  /** Further facts; never a secret, code or token. */
  readonly data?: string
}

/** Who caused an event: the address, and the client whose token was used. */
export type AuditOrigin = Pick<AuditEvent, 'remoteAddress' | 'clientId'>

/** The reference system's names of what can happen, as far as this server emits them. */
export type AuditEventType =
  | 'UserAuthenticationSuccess'
  | 'UserAuthenticationFailure'
  | 'UserNotFound'
  | 'UnverifiedUserAuthentication'
  | 'IdentityProviderAuthenticationSuccess'
  | 'IdentityProviderAuthenticationFailure'
  | 'PrincipalAuthenticationFailure'
  | 'ClientAuthenticationSuccess'
  | 'ClientAuthenticationFailure'
  | 'GroupCreatedEvent'
  | 'GroupModifiedEvent'
  | 'GroupDeletedEvent'
  | 'UserCreatedEvent'
  | 'UserModifiedEvent'
  | 'UserVerifiedEvent'
  | 'UserDeletedEvent'
  | 'UserAccountUnlockedEvent'
  | 'PasswordChangeSuccess'
  | 'PasswordChangeFailure'
  | 'ApprovalModifiedEvent'
  | 'TokenIssuedEvent'
  | 'TokenRevocationEvent'
  | 'ClientJwtChangeSuccess'
  | 'ClientJwtChangeFailure'
  | 'IdentityProviderCreatedEvent'
  | 'IdentityProviderModifiedEvent'
  | 'IdentityZoneCreatedEvent'
  | 'IdentityZoneModifiedEvent'
  | 'EntityDeletedEvent'
  | 'ClientCreateSuccess'
  | 'ClientUpdateSuccess'
  | 'ClientDeleteSuccess'
  | 'ClientApprovalsDeleted'
  | 'SecretChangeSuccess'
  | 'SecretChangeFailure'

/** Takes an event; never throws and never waits. */
export type Audit = (event: AuditEvent) => void
