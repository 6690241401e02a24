// The rules that grant, remove or refuse something, by the names that `/explain` returns. A name is part of its interface: do not
// change it.

/** Each rule with its description. */
export const RULES = {
  // Which scopes a token has.
  'client-authorities': 'A client that acts for itself has the authorities of its record.',
  'client-scope': 'A client gets only those scopes of its users that match `scope` of its record.',
  'user-group': 'A user has the scopes of the groups that they are in.',
  'nested-group': 'Members of a group are in the groups that it is a member of.',
  'default-group': 'Every user of the zone has its default groups.',
  'external-group': 'An identity provider made the user a member, by a mapping of its groups.',
  'zone-allowed-groups': 'Tokens of the zone have only groups in `userConfig.allowedGroups`.',
  'requested-scope': 'A request that names scopes gets no others.',
  'auto-approve': 'The client approves the scope itself (`autoapprove`).',
  'approval-given': 'The user approved the scope for this client.',
  'approval-missing': 'The user has not decided about the scope for this client.',
  'approval-denied': 'The user denied the scope to this client.',
  'refresh-token': 'A refresh grants no more scopes than the refresh token has.',
  'subject-token': 'An exchange grants no more scopes than the exchanged token has.',
  'token-exchange-rule': 'A client exchanges tokens by the rules of its record (`tokenExchange`).',

  // What must hold before anything is granted.
  'unknown-client': 'The zone has the client.',
  'unknown-user': 'The zone has the user.',
  'user-inactive': 'The account is active.',
  'unknown-grant-type': 'The server has the grant type.',
  'zone-grant-type': 'The zone has the grant type (`protocols`).',
  'client-grant-type': 'The client has the grant type (`authorized_grant_types`).',
  'client-profile': 'The profile of the client or its zone allows the request.',
  'client-without-scopes': 'The client has scopes for its users.',
  'client-authentication': 'The client authenticates.',
  'required-group': 'The user is in every group of `required_user_groups` of the client.',
  'no-scope-left': 'At least one scope is left.',
  'provider-not-allowed': 'The client allows the identity provider of the user (`allowedproviders`).',
  'provider-disabled': 'The identity provider of the user is active.',
  'account-not-verified': 'The address of the account is verified.',
  'account-locked': 'The account is not locked by failed sign-ins.',
  'bad-credentials': 'The password is correct.',
  'refused-upstream': 'The identity provider accepts the user.',
  'second-factor': 'The sign-in has the second factor that the zone, the client or the request requires.',
  'password-change': 'The user has set the required new password.',
  resource: 'The client may request tokens for the resource (`resources`).',
  'sender-constrained': 'The request has the proof of possession that the token or the client requires.',
  'offline-scope': 'The token has the scope that the server requires for a refresh.',
  'signing-key': 'The zone has a signing key that the client can use.',
  'missing-parameter': 'The request has the parameters of its grant.',

  // What tokens and claims depend on.
  account: 'From the record of the user.',
  client: 'From the record of the client.',
  'sign-in': 'From the sign-in of the user.',
  request: 'From the request.',
  server: 'Set by the server.',
  'excluded-claim': 'The configuration excludes the claim.',
  'id-token-minimal': 'The client gets ID tokens with few claims (`idTokenMinimal`).',
  'openid-scope': 'An ID token requires the scope openid.',
  'scope-of-claim': 'The claim requires a scope.',
  'grant-type': 'The tokens of the grant.',

  // Whether a token is valid here.
  'token-too-long': 'A token has at most 32,768 characters.',
  'token-malformed': 'The token is a JWT, or a value that this server issued.',
  'token-key': 'A key of the zone has signed the token.',
  'token-signature': 'The signature matches the token.',
  'token-issuer': 'The token names this zone as its issuer.',
  'token-kind': 'The token is of the kind that is accepted here.',
  'token-unknown': 'The zone has the token: it was neither revoked nor deleted after its expiry.',
  'token-expired': 'The token has not expired.',
  'token-revoked': 'The token, its grant or its session was not revoked.',
  'token-outdated':
    'Secret, password, user name, e-mail address and salts have not changed since the token was issued.',
  'token-audience': 'The token is for this server.',
  'token-scopes': 'User and client still have the scopes of the token.',
} as const

/** The name of a rule. */
export type Rule = keyof typeof RULES

/** Called with each scope that the rules examined, and the rule that removed it; undefined for one that stays. */
export type ScopeTrace = (scope: string, removedBy: Rule | undefined) => void
