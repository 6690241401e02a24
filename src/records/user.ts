// The record of a user, as the APIs, the configuration and the database have it. `wire` and the names of filters are those of
// UAA's `/Users`, which nests some fields: `name.givenName`, `emails[0].value`.
import { flag, own, string } from './kinds.ts'
import { profileKind } from './profile.ts'
import { describeRecord } from './record.ts'
import type { RecordOf, RowOf } from './record.ts'
import { keyFields, metaFields } from './resource.ts'

/** The kinds of second factor that count; recovery codes stand in for either. */
export const FACTOR_METHODS = ['passkey', 'totp'] as const
/** See `FACTOR_METHODS`. */
export type FactorMethod = (typeof FACTOR_METHODS)[number]

/** The second factors of an account. */
export interface UserFactors {
  readonly methods: readonly FactorMethod[]
  /** Incremented by each change that invalidates remembered browsers. */
  readonly revision: number
  /** Whether the user declined a passkey; it is not offered again. */
  readonly hasDeclined?: true
}

/** The fields of a user. */
export const userFields = describeRecord({
  ...keyFields,
  /** As written; unique with the origin inside the zone, regardless of case and Unicode form. */
  userName: {
    wire: 'userName',
    kind: string,
    column: 'user_name',
    storage: 'text',
    required: true,
    filter: 'text',
    sort: true,
    schema: { minLength: 1, maxLength: 255 },
  },
  /** The key of the provider that the user signs in with. */
  origin: {
    wire: 'origin',
    kind: string,
    column: 'origin',
    storage: 'text',
    filter: 'text',
    sort: true,
    schema: { maxLength: 36 },
    about: 'The key of the identity provider that the user signs in with.',
  },
  /** Absent for accounts of other providers: they never sign in with a password here. */
  passwordHash: { kind: own<string>(), column: 'password_hash', storage: 'text', optional: true },
  /** The value that `rev_sig` uses; changes only with the password, not when its hash is upgraded. */
  passwordRevision: { kind: own<string>(), column: 'password_revision', storage: 'text' },
  /** Which second factors the account has; absent for one that never had any. Written by `store.factors` only. */
  factors: { kind: own<UserFactors>(), column: 'factors', storage: 'json', optional: true },
  /** The primary one. */
  email: { kind: string, column: 'email', storage: 'text' },
  givenName: {
    kind: string,
    column: 'given_name',
    storage: 'text',
    optional: true,
    attribute: 'givenname',
    filter: 'text',
    sort: true,
  },
  familyName: {
    kind: string,
    column: 'family_name',
    storage: 'text',
    optional: true,
    attribute: 'familyname',
    filter: 'text',
    sort: true,
  },
  /** The first one. */
  phoneNumber: { kind: string, column: 'phone_number', storage: 'text', optional: true },
  externalId: {
    wire: 'externalId',
    kind: string,
    column: 'external_id',
    storage: 'text',
    optional: true,
    attribute: 'external_id',
    filter: 'text',
    sort: true,
    schema: { maxLength: 255 },
    about: "The user's id in the system that provides the account.",
  },
  /** The format of an external id that comes from a SAML NameID; absent until the first sign-in with it. */
  externalIdFormat: { kind: own<string>(), column: 'external_id_format', storage: 'text', optional: true },
  active: {
    wire: 'active',
    kind: flag,
    column: 'active',
    storage: 'flag',
    filter: 'flag',
    sort: true,
    about: 'Whether the user can sign in; setting it to false ends tokens and sessions.',
  },
  verified: {
    wire: 'verified',
    kind: flag,
    column: 'verified',
    storage: 'flag',
    filter: 'flag',
    sort: true,
    about: 'Whether the e-mail address is verified.',
  },
  salt: {
    wire: 'salt',
    kind: string,
    column: 'salt',
    storage: 'text',
    optional: true,
    schema: { maxLength: 36 },
    about: 'Part of the revocation signature (`rev_sig`): a new value invalidates all tokens.',
  },
  passwordChangedAt: {
    wire: 'passwordLastModified',
    sent: 'never',
    kind: own<Date>(),
    column: 'password_changed_at',
    storage: 'time',
    attribute: 'passwd_lastmodified',
    filter: 'date',
    sort: true,
  },
  passwordChangeRequired: {
    kind: own<boolean>(),
    column: 'password_change_required',
    storage: 'flag',
    attribute: 'passwd_change_required',
    filter: 'flag',
  },
  lastLogonAt: {
    wire: 'lastLogonTime',
    sent: 'never',
    kind: own<Date>(),
    column: 'last_logon_at',
    storage: 'time',
    optional: true,
    attribute: 'last_logon_success_time',
    filter: 'date',
    sort: true,
  },
  previousLogonAt: {
    wire: 'previousLogonTime',
    sent: 'never',
    kind: own<Date>(),
    column: 'previous_logon_at',
    storage: 'time',
    optional: true,
    attribute: 'previous_logon_success_time',
    filter: 'date',
    sort: true,
  },
  /** The copy of this user in another zone; each names the other. */
  aliasId: {
    wire: 'aliasId',
    kind: string,
    column: 'alias_id',
    storage: 'text',
    optional: true,
    attribute: 'alias_id',
    sort: true,
  },
  aliasZoneId: {
    wire: 'aliasZid',
    kind: string,
    column: 'alias_zone_id',
    storage: 'text',
    optional: true,
    attribute: 'alias_zid',
    sort: true,
  },
  /** Sent by the provider at the last sign-in: claim `roles`. */
  providerRoles: { kind: own<readonly string[]>(), column: 'provider_roles', storage: 'json', optional: true },
  profile: { kind: profileKind, column: 'profile', storage: 'json', optional: true },
  ...metaFields,
})

/** A user as described. */
export interface UserFields extends RecordOf<typeof userFields> {}

/** A user as the database keeps it, without what is only there to find it. */
export interface UserFieldsRow extends RowOf<typeof userFields> {}
