// Records for the tests of the store: the smallest that are valid, and ones with every member set.
import type { Approval } from '../../src/model/users/approval.ts'
import type { Client } from '../../src/model/clients/client.ts'
import type { Group } from '../../src/model/users/group.ts'
import type { IdentityProvider } from '../../src/model/zones/identity-provider.ts'
import type { Session, SignIn } from '../../src/model/sessions/session.ts'
import type { SigningKeyRecord } from '../../src/model/tokens/signing-key.ts'
import type { AuthorizationCode, StoredToken } from '../../src/model/tokens/token.ts'
import type { User } from '../../src/model/users/user.ts'
import type { Zone, ZoneConfig } from '../../src/model/zones/zone.ts'
import { bareClient } from '../support/bare-client.ts'

/** A moment so many seconds after the tests' beginning of time. */
export const at = (seconds: number): Date => new Date(Date.UTC(2030, 0, 1) + seconds * 1000)

/** A zone without the optional members. */
export const zone = (given: Partial<Zone> = {}): Zone => ({
  id: 'z1',
  subdomain: 'one',
  name: 'Zone one',
  active: true,
  version: 0,
  config: {},
  createdAt: at(0),
  updatedAt: at(0),
  ...given,
})

/** Every optional member of a zone. */
export const fullZone: Partial<Zone> = {
  description: 'The first zone',
  active: false,
  version: 3,
  // What another version stored is kept.
  config: { tokenPolicy: { accessTokenValidity: 600 }, unknown: { kept: [1, null, 'x'] } } as ZoneConfig,
}

/** A client without the optional members. */
export const client = (given: Partial<Client> = {}): Client =>
  bareClient({ zoneId: 'z1', createdAt: at(0), updatedAt: at(0), ...given })

/** Every optional member of a client. */
export const fullClient: Partial<Client> = {
  secrets: [
    { hash: '$argon2id$old', revision: 'r1' },
    { hash: '$argon2id$new', revision: 'r2' },
  ],
  authorizedGrantTypes: ['client_credentials', 'password'],
  redirectUris: ['http://localhost/callback?a=b&c=%20'],
  scope: ['openid', 'cloud.*'],
  authorities: ['clients.read'],
  autoapprove: true,
  allowPublic: false,
  accessTokenSeconds: 0,
  refreshTokenSeconds: 3_000_000_000,
  name: 'An app',
  allowedProviders: [],
  requiredUserGroups: ['g'],
  tokenSalt: 'salt',
  jwks: '{"keys":[]}',
  jwksUri: 'https://example.org/jwks',
  jwtCreds: [{ sub: 's', iss: 'https://issuer.example', aud: 'a' }],
  postLogoutRedirectUris: ['https://x.example'],
  registration: { tokenDigest: 'd', responseTypes: ['code'] },
  additional: { nested: { a: null } },
  updatedAt: at(5),
}

/** A user without the optional members. */
export const user = (given: Partial<User> = {}): User => ({
  zoneId: 'z1',
  id: 'u1',
  userName: 'marissa',
  origin: 'svc',
  passwordRevision: 'p1',
  email: 'marissa@example.org',
  active: true,
  verified: false,
  passwordChangedAt: at(1),
  passwordChangeRequired: false,
  version: 0,
  createdAt: at(0),
  updatedAt: at(0),
  ...given,
})

/** Every optional member of a user. */
export const fullUser: Partial<User> = {
  passwordHash: '$argon2id$x',
  givenName: 'Marissa',
  familyName: 'Bloggs',
  phoneNumber: '+1 555',
  externalId: 'cn=marissa,dc=example',
  active: false,
  verified: true,
  salt: 'salt',
  passwordChangeRequired: true,
  lastLogonAt: at(10),
  previousLogonAt: at(9),
  profile: {
    name: { middleName: 'M.' },
    nickName: 'Mary',
    emails: [{ value: 'marissa@example.org', type: 'work', primary: true }, { value: 'm@example.org' }],
    addresses: [{ formatted: 'Main Street 1\nSpringfield', country: 'DE' }],
    enterprise: { manager: { value: 'u2' } },
    custom: { team: ['red', 'blue'] },
  },
  version: 4,
}

/** A group without a description. */
export const group = (given: Partial<Group> = {}): Group => ({
  zoneId: 'z1',
  id: 'g1',
  displayName: 'cloud.read',
  version: 0,
  createdAt: at(0),
  updatedAt: at(0),
  ...given,
})

/** An identity provider. */
export const provider = (given: Partial<IdentityProvider> = {}): IdentityProvider => ({
  zoneId: 'z1',
  id: 'i1',
  originKey: 'ldap',
  type: 'ldap',
  name: 'Directory',
  active: true,
  config: { baseUrl: 'ldap://x', nested: { list: [1, 2, null] } },
  version: 0,
  createdAt: at(0),
  updatedAt: at(0),
  ...given,
})

/** A signing key that only verifies. */
export const key = (given: Partial<SigningKeyRecord> = {}): SigningKeyRecord => ({
  zoneId: 'z1',
  keyId: 'k1',
  algorithm: 'RS256',
  publicKey: 'a public key\nin PEM',
  active: false,
  createdAt: at(0),
  ...given,
})

/** An approval. */
export const approval = (given: Partial<Approval> = {}): Approval => ({
  zoneId: 'z1',
  userId: 'u1',
  clientId: 'app',
  scope: 'openid',
  status: 'APPROVED',
  expiresAt: at(100),
  updatedAt: at(0),
  ...given,
})

/** A code without the optional members. */
export const code = (given: Partial<AuthorizationCode> = {}): AuthorizationCode => ({
  zoneId: 'z1',
  codeDigest: 'c1',
  clientId: 'app',
  userId: 'u1',
  scopes: ['openid'],
  authenticatedAt: at(0),
  amr: ['pwd'],
  grantId: 'grant',
  expiresAt: at(300),
  keptUntil: at(4000),
  ...given,
})

/** Every optional member of a code. */
export const fullCode: Partial<AuthorizationCode> = {
  redirectUri: 'http://localhost/callback',
  codeChallenge: 'challenge',
  codeChallengeMethod: 'S256',
  nonce: 'nonce',
  tokenFormat: 'opaque',
  sessionId: 'sid',
  revocationSignature: 'abc',
  jkt: 'thumbprint',
  resources: ['https://api.example.org/'],
}

/** A token without the optional members. */
export const token = (given: Partial<StoredToken> = {}): StoredToken => ({
  zoneId: 'z1',
  idDigest: 't1',
  kind: 'access_token',
  format: 'opaque',
  clientId: 'app',
  claims: {},
  issuedAt: at(0),
  expiresAt: at(600),
  ...given,
})

/** Every optional member of a token. */
export const fullToken: Partial<StoredToken> = {
  kind: 'refresh_token',
  format: 'jwt',
  userId: 'u1',
  grantId: 'grant',
  claims: { scope: ['openid'], cnf: { jkt: 'x' }, nothing: null },
  usedAt: at(7),
}

/** An anonymous session. */
export const session = (given: Partial<Session> = {}): Session => ({
  zoneId: 'z1',
  idDigest: 's1',
  createdAt: at(0),
  lastSeenAt: at(0),
  expiresAt: at(1800),
  ...given,
})

/** A sign-in. */
export const signIn: SignIn = {
  userId: 'u1',
  origin: 'svc',
  authenticatedAt: at(1),
  amr: ['pwd', 'otp'],
  sessionSalt: 'salt',
  passwordRevision: 'revision',
}

/** A session of a signed-in user. */
export const signedIn = (given: Partial<Session> = {}): Session & { signIn: SignIn } => ({
  ...session(given),
  signIn,
})
