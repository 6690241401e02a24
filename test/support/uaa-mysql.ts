// A database as the migrations of UAA leave it in MySQL or MariaDB (schema 4.110): names in mixed case, flags as numbers, and times
// that may be missing.
import { randomBytes } from 'node:crypto'
import { ADMINISTRATOR, connectTo, mariaDb } from './mariadb.ts'
import type { TestRow, TestUaa } from './uaa-database.ts'

const SCHEMA = `
create table schema_version (version varchar(50), description varchar(200), success bool);
insert into schema_version values ('4.110', 'Add ExternalKey To Identity Provider', true);
create table identity_zone (id varchar(36) not null primary key, created timestamp not null default current_timestamp,
  lastModified timestamp null, version bigint not null default 0, subdomain varchar(255) not null unique, name varchar(255) not null,
  description longtext, config longtext, enable_redirect_uri_check boolean not null default true,
  active boolean not null default true);
create table identity_provider (id varchar(36) not null primary key, created timestamp not null default current_timestamp,
  lastModified timestamp null, version bigint not null default 0, identity_zone_id varchar(36) not null,
  name varchar(255) not null, origin_key varchar(36) not null, type varchar(255) not null, config longtext,
  active boolean not null default true, alias_id varchar(36), alias_zid varchar(36), external_key varchar(512),
  unique key key_in_zone (identity_zone_id, origin_key));
create table users (id char(36) not null primary key, created timestamp not null default current_timestamp,
  lastModified timestamp null, version bigint not null default 0, username varchar(255) not null,
  password varchar(255) not null, email varchar(255) not null, authorities varchar(1024) default 'uaa.user',
  givenName varchar(255), familyName varchar(255), active boolean not null default true, phoneNumber varchar(255),
  verified boolean not null default false, origin varchar(36) not null default 'uaa', external_id varchar(255),
  identity_zone_id varchar(36) default 'uaa', salt varchar(36), passwd_lastmodified timestamp null,
  legacy_verification_behavior boolean not null default false, passwd_change_required boolean not null default false,
  last_logon_success_time bigint, previous_logon_success_time bigint, alias_id varchar(36), alias_zid varchar(36),
  unique key users_unique_key (username, origin, identity_zone_id));
create table user_info (user_id varchar(36) not null primary key, info longtext not null);
create table \`groups\` (id varchar(36) not null primary key, displayName varchar(255) not null,
  created timestamp not null default current_timestamp, lastModified timestamp null, version int not null default 0,
  identity_zone_id varchar(36) not null default 'uaa', description varchar(255),
  unique key groups_unique_key (displayName, identity_zone_id));
create table group_membership (id int unsigned not null auto_increment primary key, group_id varchar(36) not null,
  member_id varchar(36) not null, member_type varchar(8) not null default 'USER',
  authorities varchar(255) not null default 'READ', added timestamp not null default current_timestamp,
  identity_provider_id varchar(36), origin varchar(36) not null default 'uaa', identity_zone_id varchar(36) default 'uaa',
  unique key group_membership_unique_key (group_id, member_id));
create table external_group_mapping (id int unsigned not null auto_increment primary key, group_id varchar(36) not null,
  external_group varchar(255) not null, added timestamp not null default current_timestamp, origin varchar(36),
  identity_zone_id varchar(36), unique key external_group_unique_key (origin, external_group(190), group_id));
create table oauth_client_details (client_id varchar(255) not null, resource_ids varchar(1024), client_secret varchar(256),
  scope mediumtext, authorized_grant_types varchar(256), web_server_redirect_uri text, authorities mediumtext,
  access_token_validity int, refresh_token_validity int default 0, additional_information text,
  autoapprove varchar(1024), identity_zone_id varchar(36) not null default 'uaa', lastModified timestamp not null default current_timestamp,
  show_on_home_page boolean not null default true, app_launch_url varchar(1024), app_icon mediumblob, created_by char(36),
  required_user_groups varchar(1024), client_jwt_config text, primary key (client_id, identity_zone_id));
create table authz_approvals (user_id varchar(36) not null, client_id varchar(255) not null, scope varchar(255) not null,
  expiresat datetime not null default '2001-01-01 01:01:01', status varchar(50) not null default 'APPROVED',
  lastmodifiedat timestamp not null default current_timestamp, identity_zone_id varchar(36),
  primary key (user_id, client_id, scope(190)));
create table revocable_tokens (token_id varchar(36) not null primary key, client_id varchar(255) not null, user_id varchar(36),
  format varchar(255), response_type varchar(25) not null, issued_at bigint not null, expires_at bigint not null,
  scope varchar(1000), data mediumtext not null, identity_zone_id varchar(36) not null default 'uaa');`

/** Creates a database with UAA's tables, and with nothing in them. */
export async function emptyMysqlUaa(): Promise<TestUaa> {
  const server = await mariaDb()
  const name = `uaa_${randomBytes(8).toString('hex')}`
  const administration = await connectTo(server)
  await administration.query(`create database ${name} character set utf8mb4 collate utf8mb4_general_ci`)
  await administration.end()
  const connection = await connectTo(server, name)
  // As JSON in a statement is written for PostgreSQL.
  await connection.query(`set sql_mode = 'NO_BACKSLASH_ESCAPES', time_zone = '+00:00'`)
  for (const statement of SCHEMA.split(';\n')) await connection.query(statement)
  const { user, password } = ADMINISTRATOR
  return {
    url: `mysql://${user}:${encodeURIComponent(password)}@127.0.0.1:${server.port}/${name}`,
    async insert(table, row: TestRow) {
      const columns = Object.keys(row)
      const places = columns.map(() => '?').join(', ')
      const names = columns.map(column => `\`${column}\``).join(', ')
      await connection.execute(`insert into \`${table}\` (${names}) values (${places})`, Object.values(row))
    },
    async run(sql) {
      const [rows] = await connection.query(sql)
      return Array.isArray(rows) ? rows : []
    },
    async drop() {
      await connection.query(`drop database ${name}`)
      await connection.end()
    },
  }
}
