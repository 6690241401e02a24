// All changes to the schema, for both databases. Never edit a released migration; append a new one.
import { EARLY_MIGRATIONS } from './early-migrations.ts'
import type { Migration } from './migration.ts'
import { KINDS_ID } from './state.ts'

/** In the order in which they are applied. */
export const MIGRATIONS: readonly Migration[] = [
  ...EARLY_MIGRATIONS,
  {
    id: '0014-account-events',
    kind: 'expand',
    statements: ({ text, integer, flag, sequence, tableEnd }) => [
      `alter table sessions add column remote_address ${text}`,

      `create table account_events (id ${sequence}, zone_id ${text} not null, user_id ${text} not null,
        type ${text} not null, happened_at ${integer} not null, by_other ${flag} not null, remote_address ${text},
        user_agent ${text}, client_id ${text})${tableEnd}`,
      `create index account_events_by_user on account_events (zone_id, user_id, type, id)`,
      `create index account_events_by_time on account_events (happened_at)`,
    ],
  },
  {
    id: '0015-mail-sender',
    kind: 'expand',
    statements: ({ text, integer, tableEnd }) => [
      `create table leases (name ${text} not null primary key, holder ${text} not null,
        expires_at ${integer} not null)${tableEnd}`,
      `create index outgoing_mails_by_creation on outgoing_mails (created_at)`,
      `create index outgoing_mails_by_end on outgoing_mails (useful_until)`,
    ],
  },
  {
    id: '0016-provider-roles',
    kind: 'expand',
    statements: ({ text }) => [`alter table users add column provider_roles ${text}`],
  },
  {
    id: '0017-authentication-classes',
    kind: 'expand',
    statements: ({ text }) => [
      `alter table sessions add column acr ${text}`,
      `alter table authorization_codes add column acr ${text}`,
    ],
  },
  {
    id: '0018-provider-sessions',
    kind: 'expand',
    statements: ({ text }) => [
      `alter table sessions add column provider_session ${text}`,
      `alter table sessions add column sealed_id_token ${text}`,
      // For the back-channel logout; partial, since few rows have one.
      `create index sessions_by_provider on sessions (zone_id, provider_session) where provider_session is not null`,
    ],
  },
  {
    id: '0019-server-keys',
    kind: 'expand',
    statements: ({ text, integer, tableEnd }) => [
      `create table server_keys (name ${text} not null primary key, sealed_private_key ${text} not null,
        certificate ${text} not null, created_at ${integer} not null)${tableEnd}`,
    ],
  },
  {
    id: '0020-second-factors',
    kind: 'contract',
    statements: ({ text, integer, tableEnd }) => [
      `alter table users add column factors ${text}`,
      `create table passkeys (zone_id ${text} not null, credential_id ${text} not null, id ${text} not null,
        user_id ${text} not null, public_key ${text} not null, counter ${integer} not null, transports ${text} not null,
        aaguid ${text} not null, is_backed_up ${integer} not null, is_attested ${integer} not null, name ${text} not null,
        created_at ${integer} not null, last_used_at ${integer}, primary key (zone_id, credential_id))${tableEnd}`,
      `create index passkeys_by_user on passkeys (zone_id, user_id)`,
      `create table totp_secrets (zone_id ${text} not null, user_id ${text} not null, sealed_secret ${text} not null,
        last_step ${integer} not null, created_at ${integer} not null, last_used_at ${integer},
        primary key (zone_id, user_id))${tableEnd}`,
      `create table factor_codes (zone_id ${text} not null, user_id ${text} not null, code_digest ${text} not null,
        kind ${text} not null, created_at ${integer} not null, expires_at ${integer},
        primary key (zone_id, user_id, code_digest))${tableEnd}`,
      `create index factor_codes_by_expiry on factor_codes (expires_at) where expires_at is not null`,
      // Values of providers that look like levels of this server: `foreignClasses` stores them with a leading blank.
      ...['sessions', 'authorization_codes'].map(table => {
        const marked = ['1', '2', 'phr', 'phrh'].reduce(
          (acr, level) => `replace(${acr}, '"${level}"', '" ${level}"')`,
          'acr',
        )
        return `update ${table} set acr = ${marked} where acr is not null`
      }),
    ],
  },
  {
    id: '0021-bound-codes',
    kind: 'expand',
    statements: ({ text }) => [
      `alter table authorization_codes add column jkt ${text}`,
      `alter table authorization_codes add column resources ${text}`,
    ],
  },
  {
    id: '0022-used-proofs',
    kind: 'expand',
    statements: ({ text, integer, tableEnd }) => [
      `create table used_proofs (zone_id ${text} not null, id_digest ${text} not null,
        expires_at ${integer} not null, primary key (zone_id, id_digest))${tableEnd}`,
      `create index used_proofs_by_expiry on used_proofs (expires_at)`,
    ],
  },
  {
    id: '0023-registered-clients',
    kind: 'expand',
    statements: ({ text, integer, tableEnd }) => [
      `alter table clients add column registration ${text}`,
      // They are counted at every registration.
      `create index clients_registered on clients (zone_id) where registration is not null`,
      `create table registration_tokens (zone_id ${text} not null, id ${text} not null, token_digest ${text} not null,
        label ${text}, created_at ${integer} not null, expires_at ${integer} not null, max_uses ${integer} not null,
        uses ${integer} not null, primary key (zone_id, id))${tableEnd}`,
      `create unique index registration_tokens_by_digest on registration_tokens (zone_id, token_digest)`,
      `create index registration_tokens_by_expiry on registration_tokens (expires_at)`,
    ],
  },
  {
    id: '0024-pushed-requests',
    kind: 'expand',
    statements: ({ text, integer, tableEnd }) => [
      `create table pushed_requests (zone_id ${text} not null, id_digest ${text} not null, client_id ${text} not null,
        parameters ${text} not null, is_signed ${integer} not null, expires_at ${integer} not null,
        kept_until ${integer} not null, primary key (zone_id, id_digest))${tableEnd}`,
      `create index pushed_requests_by_client on pushed_requests (zone_id, client_id)`,
      `create index pushed_requests_by_expiry on pushed_requests (kept_until)`,
    ],
  },
  {
    id: '0024-ended-sessions',
    kind: 'expand',
    statements: ({ text, integer, tableEnd }) => [
      `alter table sessions add column tells ${integer}`,
      `create table ended_sessions (zone_id ${text} not null, id ${text} not null, user_id ${text} not null,
        session_salt ${text} not null, clients ${text} not null, next_attempt_at ${integer} not null,
        attempts ${integer} not null, primary key (zone_id, id))${tableEnd}`,
      `create index ended_sessions_due on ended_sessions (next_attempt_at)`,
    ],
  },
  {
    id: '0025-device-codes',
    kind: 'expand',
    statements: ({ text, integer, tableEnd }) => [
      `create table device_codes (zone_id ${text} not null, code_digest ${text} not null, user_code_digest ${text} not null,
        client_id ${text} not null, request ${text} not null, state ${text} not null, decision ${text},
        entries ${integer} not null, interval_seconds ${integer} not null, polled_at ${integer},
        expires_at ${integer} not null, primary key (zone_id, code_digest))${tableEnd}`,
      `create unique index device_codes_by_user_code on device_codes (zone_id, user_code_digest)`,
      `create index device_codes_by_expiry on device_codes (expires_at)`,
    ],
  },
  {
    id: '0026-addresses-of-sessions',
    kind: 'expand',
    statements: ({ integer }) =>
      ['sessions', 'ended_sessions'].map(table => `alter table ${table} add column by_path ${integer}`),
  },
  {
    id: '0027-audit-trail',
    kind: 'expand',
    statements: ({ text, integer, tableEnd }) => [
      `create table audit_entries (zone_id ${text} not null, number ${integer} not null, happened_at ${integer} not null,
        type ${text} not null, principal ${text} not null, client_id ${text}, remote_address ${text}, facts ${text} not null,
        hash ${text} not null, primary key (zone_id, number))${tableEnd}`,
      `create index audit_entries_by_principal on audit_entries (zone_id, principal, number)`,
      `create index audit_entries_by_time on audit_entries (zone_id, happened_at)`,
      `create table audit_chains (zone_id ${text} not null primary key, base_number ${integer} not null,
        base_hash ${text} not null, head_number ${integer} not null, head_hash ${text} not null,
        seal ${text} not null)${tableEnd}`,
      `create table audit_deliveries (zone_id ${text} not null, webhook ${text} not null, number ${integer} not null,
        next_attempt_at ${integer} not null, attempts ${integer} not null, primary key (zone_id, webhook))${tableEnd}`,
    ],
  },
  {
    id: '0028-actors-of-the-audit-trail',
    kind: 'expand',
    statements: ({ text }) => [
      `alter table audit_entries add column actor ${text}`,
      `create index audit_entries_by_actor on audit_entries (zone_id, actor, number) where actor is not null`,
    ],
  },
  {
    id: '0029-rate-counts',
    kind: 'expand',
    statements: ({ text, integer, tableEnd }) => [
      `create table rate_counts (counted ${text} not null primary key, total ${integer} not null,
        began_at ${integer} not null, ends_at ${integer} not null)${tableEnd}`,
      `create index rate_counts_by_end on rate_counts (ends_at)`,
    ],
  },
  {
    id: '0030-formats-of-external-ids',
    kind: 'expand',
    statements: ({ text }) => [`alter table users add column external_id_format ${text}`],
  },
  {
    // Lets a version determine whether it may work with the changes of a newer one.
    id: KINDS_ID,
    kind: 'expand',
    statements: ({ text }) => [`alter table migrations add column kind ${text}`],
  },
  {
    // Disabling a provider ends its sessions, however many others the zone has.
    id: '0031-sessions-of-origins',
    kind: 'expand',
    statements: () => [`create index sessions_by_origin on sessions (zone_id, origin) where origin is not null`],
  },
  {
    id: '0032-deletions',
    kind: 'expand',
    statements: ({ text, integer, tableEnd }) => [
      `create table deletions (zone ${text} not null, user_id ${text} not null, seen_at ${integer},
        primary key (zone, user_id))${tableEnd}`,
      `create index deletions_by_time on deletions (seen_at)`,
    ],
  },
  {
    id: '0033-deleted-clients',
    kind: 'expand',
    statements: ({ text, integer, tableEnd }) => [
      `create table deleted_clients (zone ${text} not null, client_id ${text} not null, seen_at ${integer},
        primary key (zone, client_id))${tableEnd}`,
      `create index deleted_clients_by_time on deleted_clients (seen_at)`,
    ],
  },
  {
    // A provider that is being deleted, in portions: it is refused, and continued after a restart.
    id: '0034-deleted-providers',
    kind: 'expand',
    statements: ({ flag }) => [
      `alter table identity_providers add column deleted ${flag}`,
      `create index identity_providers_deleted on identity_providers (zone_id, origin_key) where deleted is not null`,
    ],
  },
  {
    id: '0035-passkeys-that-verified',
    kind: 'expand',
    statements: ({ flag }) => [`alter table passkeys add column has_verified_user ${flag}`],
  },
  {
    id: '0036-backup-eligibility',
    kind: 'expand',
    statements: ({ flag }) => [`alter table passkeys add column is_backup_eligible ${flag}`],
  },
  {
    // Earlier versions count attempts for all clients of a session together.
    id: '0037-logout-progress',
    kind: 'expand',
    statements: ({ text, integer }) => [
      `alter table ended_sessions add column progress ${text}`,
      `alter table ended_sessions add column began_at ${integer}`,
    ],
  },
  {
    // Null counts as known, as before: sessions end within twelve hours.
    id: '0038-unknown-times-of-sign-ins',
    kind: 'expand',
    statements: ({ flag }) => [`alter table sessions add column is_time_unknown ${flag}`],
  },
  {
    id: '0039-demanded-sign-ins',
    kind: 'expand',
    statements: ({ flag }) => [`alter table sessions add column was_demanded ${flag}`],
  },
  {
    // These two find the groups that a user reaches whatever PostgreSQL's statistics say about zones: see `groups/nesting.ts`.
    id: '0040-groups-by-id',
    kind: 'expand',
    statements: () => [`create index groups_by_id on groups (id)`],
  },
  {
    id: '0041-pairs-by-inner-group',
    kind: 'expand',
    statements: () => [`create index group_nesting_by_inner on group_nesting (inner_id, zone_id, outer_id)`],
  },
]
