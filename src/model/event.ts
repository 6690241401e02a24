/** An event of the audit trail, with UAA's names. */
export interface AuditEvent {
  readonly type: AuditEventType
  readonly zoneId: string
  /** The id of the affected user or client. */
  readonly principal: string
  readonly clientId?: string
  readonly origin?: string
  readonly remoteAddress?: string | undefined
  /** The type of the provider, for sign-ins. */
  readonly authenticationType?: string
  /** Further facts; never a secret, code or token. */
  readonly data?: string
}

/** Who caused an event: the address, and the client whose token was used. */
export type AuditOrigin = Pick<AuditEvent, 'remoteAddress' | 'clientId'>

/** The types of UAA's events that this server emits. */
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

/** Records an event; never throws and never blocks. */
export type Audit = (event: AuditEvent) => void
