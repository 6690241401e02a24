import { nestingTable } from '../groups/nesting.ts'
import { normalizeUserNames } from '../users/normalized-names.ts'
import type { Migration } from './migration.ts'

/** The first of `MIGRATIONS`. */
export const EARLY_MIGRATIONS: readonly Migration[] = [
  {
    id: '0001-first',
    kind: 'expand',
    statements: ({ text, integer, flag, sequence, tableEnd }) => [
      `create table zones (id ${text} primary key, subdomain ${text} not null, subdomain_lower ${text} not null unique,
        name ${text} not null, description ${text}, active ${flag} not null, version ${integer} not null,
        config ${text} not null, created_at ${integer} not null, updated_at ${integer} not null)${tableEnd}`,

      `create table clients (zone_id ${text} not null, client_id ${text} not null, secrets ${text} not null,
        authorized_grant_types ${text} not null, redirect_uris ${text} not null, scope ${text} not null,
        authorities ${text} not null, autoapprove ${text} not null, allow_public ${flag},
        access_token_seconds ${integer}, refresh_token_seconds ${integer}, name ${text}, allowed_providers ${text},
        required_user_groups ${text} not null, token_salt ${text}, jwks ${text}, jwks_uri ${text},
        additional ${text} not null, created_at ${integer} not null, updated_at ${integer} not null,
        primary key (zone_id, client_id))${tableEnd}`,

      `create table users (zone_id ${text} not null, id ${text} not null, user_name ${text} not null,
        user_name_lower ${text} not null, origin ${text} not null, password_hash ${text},
        password_revision ${text} not null, email ${text} not null, given_name ${text}, family_name ${text},
        phone_number ${text}, external_id ${text}, active ${flag} not null, verified ${flag} not null, salt ${text},
        password_changed_at ${integer} not null, password_change_required ${flag} not null,
        last_logon_at ${integer}, previous_logon_at ${integer}, version ${integer} not null,
        created_at ${integer} not null, updated_at ${integer} not null,
        primary key (zone_id, id), unique (zone_id, origin, user_name_lower))${tableEnd}`,

      `create table groups (zone_id ${text} not null, id ${text} not null, display_name ${text} not null,
        display_name_lower ${text} not null, description ${text}, version ${integer} not null,
        created_at ${integer} not null, updated_at ${integer} not null,
        primary key (zone_id, id), unique (zone_id, display_name_lower))${tableEnd}`,

      `create table group_members (zone_id ${text} not null, group_id ${text} not null, member_id ${text} not null,
        member_type ${text} not null, origin ${text} not null,
        primary key (zone_id, group_id, member_id),
        foreign key (zone_id, group_id) references groups (zone_id, id) on delete cascade)${tableEnd}`,
      `create index group_members_by_member on group_members (zone_id, member_id)`,

      `create table external_groups (zone_id ${text} not null, group_id ${text} not null, origin ${text} not null,
        external_group ${text} not null,
        primary key (zone_id, origin, external_group, group_id),
        foreign key (zone_id, group_id) references groups (zone_id, id) on delete cascade)${tableEnd}`,
      `create index external_groups_by_group on external_groups (zone_id, group_id)`,

      `create table identity_providers (zone_id ${text} not null, id ${text} not null, origin_key ${text} not null,
        type ${text} not null, name ${text} not null, active ${flag} not null, config ${text} not null,
        version ${integer} not null, created_at ${integer} not null, updated_at ${integer} not null,
        primary key (zone_id, id), unique (zone_id, origin_key))${tableEnd}`,

      `create table signing_keys (zone_id ${text} not null, key_id ${text} not null, algorithm ${text} not null,
        sealed_private_key ${text}, public_key ${text} not null, active ${flag} not null,
        created_at ${integer} not null, primary key (zone_id, key_id))${tableEnd}`,
      `create unique index signing_keys_active on signing_keys (zone_id) where active = 1`,

      `create table approvals (zone_id ${text} not null, user_id ${text} not null, client_id ${text} not null,
        scope ${text} not null, status ${text} not null, expires_at ${integer} not null,
        updated_at ${integer} not null, primary key (zone_id, user_id, client_id, scope))${tableEnd}`,
      `create index approvals_by_expiry on approvals (expires_at)`,

      `create table authorization_codes (zone_id ${text} not null, code_digest ${text} not null,
        client_id ${text} not null, user_id ${text} not null, redirect_uri ${text}, scopes ${text} not null,
        code_challenge ${text}, code_challenge_method ${text}, nonce ${text}, token_format ${text},
        authenticated_at ${integer} not null, amr ${text} not null, session_id ${text}, grant_id ${text} not null,
        expires_at ${integer} not null, kept_until ${integer} not null, used_at ${integer},
        primary key (zone_id, code_digest))${tableEnd}`,
      // Two indexes, so that a search for unused codes does not scan hours of used ones.
      `create index authorization_codes_unused on authorization_codes (expires_at) where used_at is null`,
      `create index authorization_codes_used on authorization_codes (kept_until) where used_at is not null`,

      `create table tokens (zone_id ${text} not null, id_digest ${text} not null, kind ${text} not null,
        format ${text} not null, client_id ${text} not null, user_id ${text}, grant_id ${text},
        claims ${text} not null, used_at ${integer}, issued_at ${integer} not null, expires_at ${integer} not null,
        primary key (zone_id, id_digest))${tableEnd}`,
      `create index tokens_by_expiry on tokens (expires_at)`,
      // Partial, so that client_credentials tokens need one index entry less.
      `create index tokens_by_grant on tokens (zone_id, grant_id) where grant_id is not null`,
      `create index tokens_refresh on tokens (zone_id, client_id, user_id) where kind = 'refresh_token'`,

      `create table revoked_grants (zone_id ${text} not null, grant_id ${text} not null,
        expires_at ${integer} not null, primary key (zone_id, grant_id))${tableEnd}`,
      `create index revoked_grants_by_expiry on revoked_grants (expires_at)`,

      `create table sessions (zone_id ${text} not null, id_digest ${text} not null, user_id ${text}, origin ${text},
        authenticated_at ${integer}, amr ${text}, session_salt ${text}, saved_request ${text},
        pending_approval ${text}, created_at ${integer} not null, last_seen_at ${integer} not null,
        expires_at ${integer} not null, primary key (zone_id, id_digest))${tableEnd}`,
      `create index sessions_by_expiry on sessions (expires_at)`,

      `create table sign_in_failures (id ${sequence}, zone_id ${text} not null, user_id ${text} not null,
        failed_at ${integer} not null)${tableEnd}`,
      `create index sign_in_failures_by_user on sign_in_failures (zone_id, user_id, failed_at)`,
      `create index sign_in_failures_by_time on sign_in_failures (failed_at)`,

      `create table bootstrap_records (zone_id ${text} not null, kind ${text} not null, record_key ${text} not null,
        definition_digest ${text} not null, primary key (zone_id, kind, record_key))${tableEnd}`,

      // SQLite's notifications to other processes; empty in PostgreSQL, which has LISTEN.
      `create table changes (id ${sequence}, change ${text} not null, changed_at ${integer} not null)${tableEnd}`,
      `create index changes_by_time on changes (changed_at)`,
    ],
  },
  {
    id: '0002-token-operations',
    kind: 'contract',
    statements: ({ text, integer, tableEnd }) => [
      // For listing and revoking tokens by owner; the first replaces an index of refresh tokens only.
      `drop index tokens_refresh`,
      `create index tokens_by_client on tokens (zone_id, client_id, user_id)`,
      `create index tokens_by_user on tokens (zone_id, user_id) where user_id is not null`,

      // Now also holds the ids of revoked JWTs that have no row.
      `alter table revoked_grants rename to revocations`,
      `alter table revocations rename column grant_id to revoked_id`,

      `alter table authorization_codes add column az_attr ${text}`,
      `alter table signing_keys add column expires_at ${integer}`,
      `alter table signing_keys add column certificate ${text}`,
      `create index signing_keys_by_expiry on signing_keys (expires_at) where expires_at is not null`,

      // Users of external providers may be identified by e-mail address only.
      `create index users_by_email on users (zone_id, origin, lower(email))`,

      // One per purpose and user: a new code replaces the earlier one.
      `create table one_time_codes (zone_id ${text} not null, purpose ${text} not null, user_id ${text} not null,
        code_digest ${text} not null, expires_at ${integer} not null,
        primary key (zone_id, purpose, user_id))${tableEnd}`,
      `create unique index one_time_codes_by_digest on one_time_codes (zone_id, purpose, code_digest)`,
      `create index one_time_codes_by_expiry on one_time_codes (expires_at)`,

      `create table used_assertions (zone_id ${text} not null, id_digest ${text} not null,
        expires_at ${integer} not null, primary key (zone_id, id_digest))${tableEnd}`,
      `create index used_assertions_by_expiry on used_assertions (expires_at)`,
    ],
  },
  {
    id: '0003-own-sessions',
    kind: 'expand',
    statements: ({ text }) => [
      // For the list of a user's sessions; partial, since most rows are anonymous.
      `alter table sessions add column user_agent ${text}`,
      `alter table sessions add column clients ${text}`,
      `create index sessions_by_user on sessions (zone_id, user_id) where user_id is not null`,
    ],
  },
  {
    id: '0004-management',
    kind: 'expand',
    statements: ({ text, integer, flag }) => [
      // Counts every write, for optimistic locking.
      ...['zones', 'clients', 'identity_providers'].map(
        table => `alter table ${table} add column revision ${integer} not null default 0`,
      ),
      `alter table clients add column show_on_home_page ${flag} not null default 1`,
      `alter table clients add column app_launch_url ${text}`,
      `alter table clients add column app_icon ${text}`,
      `alter table clients add column created_by ${text}`,
      // Distinguishes a record from a deleted one with the same id.
      `alter table clients add column incarnation ${text}`,
      `create index clients_on_home_page on clients (zone_id, client_id) where app_launch_url is not null`,
      // Filters ignore case; with the id, the index covers the query.
      `create index clients_by_lower_id on clients (zone_id, lower(client_id), client_id)`,
      // Approvals are deleted with their client.
      `create index approvals_by_client on approvals (zone_id, client_id)`,

      // For keyset pagination of zones, oldest first.
      `create index zones_by_creation on zones (created_at, id)`,

      // The provider's issuer or SAML entity id, unique by type in the zone.
      `alter table identity_providers add column external_key ${text}`,
      `create unique index identity_providers_external on identity_providers (zone_id, type, external_key)
        where external_key is not null`,
      `alter table identity_providers add column alias_id ${text}`,
      `alter table identity_providers add column alias_zone_id ${text}`,
    ],
  },
  {
    id: '0005-one-account-for-each-external-id',
    kind: 'contract',
    statements: () => [
      // Earlier versions matched users by name, so a renamed user may have several accounts. The one used last keeps the
      // external id; the others stay for an administrator to inspect and cannot be signed in to.
      `update users set external_id = external_id || ' replaced ' || id
        where external_id <> '' and password_hash is null and exists (
        select 1 from users later where later.zone_id = users.zone_id and later.origin = users.origin
        and later.external_id = users.external_id and later.password_hash is null and later.id <> users.id
        and (coalesce(later.last_logon_at, later.created_at) > coalesce(users.last_logon_at, users.created_at)
          or (coalesce(later.last_logon_at, later.created_at) = coalesce(users.last_logon_at, users.created_at)
            and later.id > users.id)))`,
      // Not for accounts with a password: their external ids are free-form.
      `create unique index users_by_external_id on users (zone_id, origin, external_id)
        where external_id <> '' and password_hash is null`,
    ],
  },
  {
    id: '0006-clocks-and-disks',
    kind: 'expand',
    statements: ({ text, integer, tableEnd }) => [
      // Detects password changes by revision, not by time: a clock may be set back.
      `alter table sessions add column password_revision ${text}`,
      `alter table one_time_codes add column password_revision ${text}`,

      // One row, rewritten to check that the database is writable.
      `create table probes (id ${integer} primary key, probed_at ${integer} not null)${tableEnd}`,
    ],
  },
  {
    id: '0007-codes-end-with-passwords',
    kind: 'expand',
    statements: ({ text }) => [
      // Codes are bound to the same revocation signature as tokens.
      `alter table authorization_codes add column rev_sig ${text}`,
    ],
  },
  {
    id: '0008-profiles',
    kind: 'contract',
    // What SCIM 2.0 and OpenID Connect know of a user besides names, address and state.
    statements: ({ text }) => [`alter table users add column profile ${text}`],
    after: { table: 'users', run: normalizeUserNames },
  },
  {
    id: '0009-many-users',
    kind: 'contract',
    statements: ({ text, integer, flag, tableEnd }) => [
      // For filters: the first value of each attribute is also a column of `users`.
      `create table user_values (zone_id ${text} not null, user_id ${text} not null, attribute ${text} not null,
        position ${integer} not null, value ${text} not null, value_lower ${text} not null, type ${text},
        is_primary ${flag} not null, primary key (zone_id, user_id, attribute, position))${tableEnd}`,
      ...[
        ['emails', 'email'],
        ['phoneNumbers', 'phone_number'],
      ].map(
        ([attribute, column]) =>
          `insert into user_values (zone_id, user_id, attribute, position, value, value_lower, is_primary)
            select zone_id, id, '${attribute}', 0, ${column}, lower(${column}), 1 from users where ${column} <> ''`,
      ),
      `create index user_values_by_value on user_values (zone_id, attribute, value_lower, user_id)`,

      // Counting a million rows takes too long for a request. The number of users is the sum of a zone's totals.
      `create table user_counts (zone_id ${text} not null, slot ${integer} not null, total ${integer} not null,
        removed ${integer} not null, primary key (zone_id, slot))${tableEnd}`,
      `insert into user_counts (zone_id, slot, total, removed) select zone_id, 0, count(*), 0 from users group by zone_id`,

      // For keyset pagination, and for users that are found by name without an origin.
      `create index users_by_creation on users (zone_id, created_at, id)`,
      `create index users_by_change on users (zone_id, updated_at, id)`,
      `create index users_by_name on users (zone_id, user_name_lower, id)`,
      `create index users_by_foreign_id on users (zone_id, external_id, id) where external_id is not null`,
    ],
  },
  {
    id: '0010-nested-groups',
    kind: 'contract',
    statements: types => [...nestingTable(types), `alter table external_groups add column created_at ${types.integer}`],
  },
  {
    id: '0011-external-ids-of-groups',
    kind: 'expand',
    // RFC 7643 §3.1: a provisioning client finds a resource by the id that it has for it.
    statements: ({ text }) => [
      `alter table groups add column external_id ${text}`,
      `create index groups_by_foreign_id on groups (zone_id, external_id, id) where external_id is not null`,
    ],
  },
  {
    id: '0012-aliases-of-users',
    kind: 'expand',
    statements: ({ text }) => [
      `alter table users add column alias_id ${text}`,
      `alter table users add column alias_zone_id ${text}`,
    ],
  },
  {
    id: '0013-codes-and-mails',
    kind: 'contract',
    statements: ({ text, integer, tableEnd }) => [
      // Passcodes of the last five minutes are lost.
      `drop table one_time_codes`,
      `create table one_time_codes (zone_id ${text} not null, purpose ${text} not null, code_digest ${text} not null,
        slot ${text}, user_id ${text}, password_revision ${text}, data ${text}, expires_at ${integer} not null,
        primary key (zone_id, code_digest))${tableEnd}`,
      `create unique index one_time_codes_by_slot on one_time_codes (zone_id, slot) where slot is not null`,
      `create index one_time_codes_by_user on one_time_codes (zone_id, user_id) where user_id is not null`,
      `create index one_time_codes_by_expiry on one_time_codes (expires_at)`,

      `create table outgoing_mails (zone_id ${text} not null, id ${text} not null, sealed ${text} not null,
        created_at ${integer} not null, next_attempt_at ${integer} not null, attempts ${integer} not null,
        useful_until ${integer} not null, primary key (zone_id, id))${tableEnd}`,
      `create index outgoing_mails_by_attempt on outgoing_mails (next_attempt_at)`,
    ],
  },
]
