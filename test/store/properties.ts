// Records with any content are read as they were written.
import assert from 'node:assert/strict'
import { it } from 'node:test'
import fc from 'fast-check'
import type { Client } from '../../src/model/clients/client.ts'
import type { Session } from '../../src/model/sessions/session.ts'
import type { AuthorizationCode, StoredToken } from '../../src/model/tokens/token.ts'
import type { User } from '../../src/model/users/user.ts'
import type { Zone } from '../../src/model/zones/zone.ts'
import type { Store } from '../../src/store/store.ts'
import { client, code, session, token, user, zone } from './records.ts'
import { anyCodePoint } from '../support/code-points.ts'

const RUNS = { numRuns: 40 }

const text = fc.string({ unit: anyCodePoint }).filter(value => !value.includes('\0'))
const texts = fc.array(text, { maxLength: 4 })
const date = fc.date({ noInvalidDate: true })
const whole = fc.maxSafeInteger()
// JSON knows no negative zero, and no object without a prototype.
const json = fc
  .dictionary(fc.string(), fc.jsonValue(), { maxKeys: 4 })
  .map((value): unknown => JSON.parse(JSON.stringify(value)))

/** Records of the members given, in the names of the models: the required ones always, the others sometimes. */
const members = <T extends object>(required: object, optional: object): fc.Arbitrary<Partial<T>> =>
  fc
    .tuple(fc.record({ ...required }), fc.record({ ...optional }, { requiredKeys: [] }))
    .map(([always, sometimes]): Partial<T> => ({ ...always, ...sometimes }))

const zones = members<Zone>(
  { name: text, active: fc.boolean(), version: whole, config: json, createdAt: date, updatedAt: date },
  { description: text },
)
const clients = members<Client>(
  {
    secrets: fc.array(fc.record({ hash: text, revision: text }, { noNullPrototype: true }), { maxLength: 2 }),
    authorizedGrantTypes: texts,
    redirectUris: texts,
    scope: texts,
    authorities: texts,
    autoapprove: fc.oneof(fc.constant(true), texts),
    requiredUserGroups: texts,
    additional: json,
    createdAt: date,
    updatedAt: date,
  },
  {
    allowPublic: fc.boolean(),
    accessTokenSeconds: whole,
    refreshTokenSeconds: whole,
    name: text,
    allowedProviders: texts,
    tokenSalt: text,
    jwks: text,
    jwksUri: text,
  },
)
const users = members<User>(
  {
    email: text,
    passwordRevision: text,
    active: fc.boolean(),
    verified: fc.boolean(),
    passwordChangedAt: date,
    passwordChangeRequired: fc.boolean(),
    version: whole,
    createdAt: date,
    updatedAt: date,
  },
  {
    passwordHash: text,
    givenName: text,
    familyName: text,
    phoneNumber: text,
    externalId: text,
    salt: text,
    lastLogonAt: date,
    previousLogonAt: date,
  },
)
/** Zero is stored for a time that is unknown. */
const knownDate = date.filter(moment => moment.getTime() !== 0)
const codes = members<AuthorizationCode>(
  {
    clientId: text,
    userId: text,
    scopes: texts,
    amr: texts,
    authenticatedAt: knownDate,
    grantId: text,
    expiresAt: date,
  },
  { redirectUri: text, codeChallenge: text, codeChallengeMethod: fc.constantFrom('S256', 'plain'), nonce: text },
)
const tokens = members<StoredToken>(
  {
    kind: fc.constantFrom('access_token', 'refresh_token'),
    format: fc.constantFrom('jwt', 'opaque'),
    clientId: text,
    claims: json,
    issuedAt: date,
    expiresAt: date,
  },
  { userId: text, grantId: text, usedAt: date },
)
const sessions = members<Session>(
  { createdAt: date, lastSeenAt: date, expiresAt: date },
  {
    savedRequest: text,
    pendingApproval: text,
    signIn: fc.record(
      { userId: text, origin: text, authenticatedAt: date, amr: texts, sessionSalt: text },
      { noNullPrototype: true },
    ),
  },
)

/** Registers the properties; each stores its records in a zone of its own. */
export function propertyCases(store: () => Store): void {
  let count = 0
  const next = (): string => `p${(count += 1)}`

  function holds<T extends object>(
    name: string,
    arbitrary: fc.Arbitrary<Partial<T>>,
    roundTrip: (given: Partial<T>) => Promise<{ want: unknown; found: unknown }>,
  ): void {
    it(`with any ${name}`, () =>
      fc.assert(
        fc.asyncProperty(arbitrary, async given => {
          const { want, found } = await roundTrip(given)
          assert.deepEqual(found, want)
        }),
        RUNS,
      ))
  }

  const zoneId = 'properties'
  holds<Zone>('a zone', zones, async given => {
    const id = next()
    const want = zone({ ...given, id, subdomain: id })
    await store().zones.insert(want)
    return { want, found: await store().zones.find(id) }
  })
  holds<Client>('a client', clients, async given => {
    const want = client({ ...given, zoneId, clientId: next() })
    await store().clients.insert(zoneId, want)
    return { want, found: await store().clients.find(zoneId, want.clientId) }
  })
  holds<User>('a user', users, async given => {
    const id = next()
    const want = user({ ...given, zoneId, id, userName: id, origin: id })
    await store().users.insert(zoneId, want)
    return { want, found: await store().users.find(zoneId, id) }
  })
  holds<AuthorizationCode>('a code', codes, async given => {
    const want = code({ ...given, zoneId, codeDigest: next() })
    await store().codes.insert(zoneId, want)
    const found = await store().codes.redeem(zoneId, want.codeDigest, new Date(0))
    return { want: { outcome: 'redeemed', code: want, user: undefined }, found }
  })
  holds<User>('an account that comes with its code', users, async given => {
    const id = next()
    const want = user({ ...given, zoneId, id, userName: id, origin: id })
    await store().users.insert(zoneId, want)
    await store().codes.insert(zoneId, code({ zoneId, codeDigest: id, userId: id }))
    const redemption = await store().codes.redeem(zoneId, id, new Date(0))
    return { want: { ...want, groupNames: [] }, found: redemption.outcome === 'redeemed' && redemption.user }
  })
  holds<StoredToken>('a token', tokens, async given => {
    const want = token({ ...given, zoneId, idDigest: next() })
    await store().tokens.insert(zoneId, want)
    return { want, found: await store().tokens.find(zoneId, want.idDigest) }
  })
  holds<Session>('a session', sessions, async given => {
    const want = session({ ...given, zoneId, idDigest: next() })
    await store().sessions.insert(zoneId, want)
    return { want, found: await store().sessions.find(zoneId, want.idDigest) }
  })
}
