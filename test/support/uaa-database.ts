// A PostgreSQL database as UAA's migrations leave it (schema 4.110), with rows as UAA writes them.
import { Client } from 'pg'
import type { TestDatabase } from './databases.ts'
import { emptyDatabase } from './databases.ts'
import { WITHOUT_MARIADB } from './mariadb.ts'
import { emptyMysqlUaa } from './uaa-mysql.ts'

const SCHEMA = `
create table schema_version (version varchar(50), description varchar(200), success boolean);
insert into schema_version values ('4.110', 'Add ExternalKey To Identity Provider', true);
create table identity_zone (id varchar(36) primary key, created timestamp default current_timestamp,
  lastmodified timestamp default current_timestamp, version bigint default 0, subdomain varchar(255) not null,
  name varchar(255) not null, description text, config text,
  enable_redirect_uri_check boolean not null default true, active boolean not null default true);
create unique index subdomain on identity_zone (subdomain);
create table identity_provider (id varchar(36) primary key, created timestamp default current_timestamp,
  lastmodified timestamp default current_timestamp, version bigint default 0, identity_zone_id varchar(36) not null,
  name varchar(255) not null, origin_key varchar(36) not null, type varchar(255) not null, config text,
  active boolean not null default true, alias_id varchar(36), alias_zid varchar(36), external_key text);
create unique index key_in_zone on identity_provider (identity_zone_id, origin_key);
create unique index identity_provider_ext_key_zid__idx on identity_provider (identity_zone_id, type, external_key);
create table users (id char(36) primary key, created timestamp not null default current_timestamp,
  lastmodified timestamp not null default current_timestamp, version bigint not null default 0, username varchar(255) not null,
  password varchar(255) not null, email varchar(255) not null, givenname varchar(255), familyname varchar(255),
  active boolean default true, phonenumber varchar(255), authorities varchar(1024) default 'uaa.user',
  verified boolean not null default false, origin varchar(36) not null default 'uaa', external_id varchar(255),
  identity_zone_id varchar(36) not null default 'uaa', salt varchar(36), passwd_lastmodified timestamp,
  legacy_verification_behavior boolean not null default false, passwd_change_required boolean not null default false,
  last_logon_success_time bigint, previous_logon_success_time bigint, alias_id varchar(36), alias_zid varchar(36));
create unique index users_unique_key on users (origin, lower(username), identity_zone_id);
create table user_info (user_id varchar(36) primary key, info text not null);
create table groups (id varchar(36) primary key, displayname varchar(255) not null, created timestamp not null default current_timestamp,
  lastmodified timestamp not null default current_timestamp, version bigint not null default 0,
  identity_zone_id varchar(36) not null default 'uaa', description varchar(255));
create unique index groups_unique_key on groups (displayname, identity_zone_id);
create table group_membership (id serial primary key, group_id varchar(36) not null, member_id varchar(36) not null,
  member_type varchar(8) not null default 'USER', authorities varchar(255) not null default 'READ',
  added timestamp not null default current_timestamp, origin varchar(36) not null default 'uaa', identity_zone_id varchar(36) default 'uaa');
create unique index group_membership_unique_key on group_membership (identity_zone_id, member_id, group_id);
create table external_group_mapping (id serial primary key, group_id varchar(36) not null, external_group varchar(255) not null,
  added timestamp not null default current_timestamp, origin varchar(36), identity_zone_id varchar(36));
create unique index external_group_unique_key on external_group_mapping (identity_zone_id, origin, external_group, group_id);
create table oauth_client_details (client_id varchar(255) not null, resource_ids varchar(1024), client_secret varchar(256),
  scope text, authorized_grant_types varchar(256), web_server_redirect_uri text, authorities text,
  access_token_validity integer, refresh_token_validity integer default 0, additional_information text,
  autoapprove text, identity_zone_id varchar(36) not null default 'uaa', lastmodified timestamp not null default current_timestamp,
  show_on_home_page boolean not null default true, app_launch_url varchar(1024), app_icon bytea, created_by char(36),
  required_user_groups varchar(1024), client_jwt_config text, primary key (client_id, identity_zone_id));
create table authz_approvals (user_id varchar(36) not null, client_id varchar(255) not null, scope varchar(255) not null,
  expiresat timestamp not null default current_timestamp, status varchar(50) not null default 'APPROVED', lastmodifiedat timestamp not null default current_timestamp,
  identity_zone_id varchar(36), primary key (user_id, client_id, scope));
create table revocable_tokens (token_id varchar(36) primary key, client_id varchar(255) not null, user_id varchar(36), format varchar(255),
  response_type varchar(25) not null, issued_at bigint not null, expires_at bigint not null, scope text, data text not null,
  identity_zone_id varchar(36) not null default 'uaa');
create table oauth_code (id serial primary key, code varchar(256), authentication bytea, created timestamp default current_timestamp,
  expiresat bigint not null default 0, user_id varchar(36), client_id varchar(36), identity_zone_id varchar(36));
create table expiring_code_store (code varchar(255) primary key, expiresat bigint not null, data text not null, intent text,
  identity_zone_id varchar(36) not null default 'uaa');
create table sec_audit (id serial primary key, principal_id varchar(255) not null, event_type integer not null,
  origin varchar(255) not null, event_data varchar(255), created timestamp default current_timestamp, identity_zone_id varchar(36));`

/** Why a suite is not run, in a fast run. */
export const WITHOUT_POSTGRES = process.env['LATCHKEY_TEST_FAST'] !== undefined && 'a UAA needs a PostgreSQL'

/** As the migrations put it there. */
const DEFAULT_ZONE = {
  id: 'uaa',
  created: '2000-01-01',
  lastmodified: '2000-01-01',
  subdomain: '',
  name: 'uaa',
  description: 'The system zone for backwards compatibility',
}
const IDLE = ['uaa', 'login-server', 'ldap', 'keystone'].map(name => ({
  id: `00000000-0000-4000-8000-0000000${name.length.toString().padStart(5, '0')}`,
  identity_zone_id: 'uaa',
  name,
  origin_key: name,
  type: name,
}))

/** A row: its columns by name. */
export type TestRow = Readonly<Record<string, string | number | boolean | Buffer | null>>

/** A separate database of a UAA. */
export interface TestUaa extends TestDatabase {
  /** Adds a row; objects are written as JSON by the caller. */
  insert(table: string, row: TestRow): Promise<void>
  /** Runs a statement. */
  run(sql: string): Promise<readonly object[]>
}

/** The databases that UAA is used with, and why the tests with each are skipped. */
export const UAA_ENGINES = [
  { name: 'PostgreSQL', skip: WITHOUT_POSTGRES, empty: emptyPostgresUaa },
  { name: 'MySQL', skip: WITHOUT_MARIADB, empty: emptyMysqlUaa },
] as const

/** Creates the schema with the rows that every UAA has; `config` is that of the default zone. */
export async function freshUaa(config: object | null = null, empty = emptyPostgresUaa): Promise<TestUaa> {
  const uaa = await empty()
  await uaa.insert('identity_zone', { ...DEFAULT_ZONE, config: config && JSON.stringify(config) })
  for (const row of IDLE) await uaa.insert('identity_provider', row)
  return uaa
}

async function emptyPostgresUaa(): Promise<TestUaa> {
  const database = await emptyDatabase('postgres')
  const client = new Client({ connectionString: database.url })
  await client.connect()
  await client.query(SCHEMA)
  return {
    url: database.url,
    async insert(table, row) {
      const columns = Object.keys(row)
      const places = columns.map((_, index) => `$${index + 1}`).join(', ')
      await client.query(`insert into ${table} (${columns.join(', ')}) values (${places})`, Object.values(row))
    },
    run: async sql => (await client.query<object>(sql)).rows,
    async drop() {
      await client.end()
      await database.drop()
    },
  }
}

/** bcrypt hashes of cost 10, as in UAA, by plaintext. */
export const UAA_HASHES = {
  koala: '$2a$10$ilpX63KM97nwO57zj5JGpu5wS/DcB/br5zvXCSHKrPygmY0zNgtFq',
  appclientsecret: '$2a$10$bjipCe6GjtFMHr09YG49DeCZcR3v.IcA9l8LSjaLxYKDKK48qW9OG',
  'second-secret': '$2a$10$6VBE7JmYZXHpCmEEBDIloeAxgoQD8s83qpHIMYaST0DkCvH68L0SG',
  '': '$2a$10$WDuAMoYu1OHsaHojVBzXMuiSxWkMPDuvPLL/./gasLZgaEhK.YPWu',
} as const
