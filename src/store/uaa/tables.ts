// The tables of a UAA that an import reads. Each engine casts the values to one type: old databases, and copies that other
// programs made, may have columns of other types.

/** What a column becomes in JavaScript. */
type ColumnKind =
  /** A string. */
  | 'text'
  /** Bytes, as base64 that may have line breaks. */
  | 'base64'
  | 'flag'
  | 'number'
  /** Milliseconds since 1970. UAA writes its own time zone, which is taken for UTC. */
  | 'time'

/** A column of the table, or with `of` of the row of another table whose `key` is in the column `is` of this one. */
export interface UaaColumn<K extends ColumnKind = ColumnKind> {
  readonly kind: K
  readonly column: string
  readonly of?: { readonly table: string; readonly key: string; readonly is: string }
}

/** The members of a row by name. */
type Columns = Readonly<Record<string, UaaColumn>>

type Cell<K extends ColumnKind> = (K extends 'flag' ? boolean : K extends 'text' | 'base64' ? string : number) | null
type RowOfColumns<C extends Columns> = { readonly [K in keyof C]: Cell<C[K]['kind']> }

/** One table, always read in the same order. */
export interface UaaTable<C extends Columns = Columns> {
  readonly name: string
  readonly columns: C
  /** The columns to sort by. */
  readonly key: readonly string[]
  /** Rows that are in memory at a time. */
  readonly pageSize: number
  /** The columns without which the table is that of a UAA that is too old. */
  readonly needs: readonly string[]
}

/** A row, whose type the caller knows from the table. */
export type AnyUaaRow = Readonly<Record<string, Cell<ColumnKind>>>

const table = <const C extends Columns>(described: UaaTable<C>): UaaTable<C> => described

const column =
  <const K extends ColumnKind>(kind: K) =>
  (name: string, of?: UaaColumn['of']): UaaColumn<K> => ({ kind, column: name, ...(of && { of }) })

const text = column('text')
const flag = column('flag')
const number = column('number')
const time = column('time')

const RECORDS = 1000
/** Settings may hold logos and certificates. */
const SETTINGS = 50

/** The tables by what is in them. */
export const UAA_TABLES = {
  zones: table({
    name: 'identity_zone',
    columns: {
      id: text('id'),
      subdomain: text('subdomain'),
      name: text('name'),
      description: text('description'),
      config: text('config'),
      active: flag('active'),
      version: number('version'),
      created: time('created'),
      updated: time('lastmodified'),
    },
    key: ['id'],
    pageSize: SETTINGS,
    needs: ['config', 'active'],
  }),
  providers: table({
    name: 'identity_provider',
    columns: {
      id: text('id'),
      zoneId: text('identity_zone_id'),
      originKey: text('origin_key'),
      type: text('type'),
      name: text('name'),
      config: text('config'),
      active: flag('active'),
      version: number('version'),
      created: time('created'),
      updated: time('lastmodified'),
      aliasId: text('alias_id'),
      aliasZoneId: text('alias_zid'),
      externalKey: text('external_key'),
    },
    key: ['id'],
    pageSize: SETTINGS,
    needs: ['alias_id', 'alias_zid', 'external_key', 'active'],
  }),
  clients: table({
    name: 'oauth_client_details',
    columns: {
      clientId: text('client_id'),
      zoneId: text('identity_zone_id'),
      secret: text('client_secret'),
      scope: text('scope'),
      authorities: text('authorities'),
      grantTypes: text('authorized_grant_types'),
      redirectUris: text('web_server_redirect_uri'),
      autoapprove: text('autoapprove'),
      requiredUserGroups: text('required_user_groups'),
      accessTokenSeconds: number('access_token_validity'),
      refreshTokenSeconds: number('refresh_token_validity'),
      additional: text('additional_information'),
      jwtConfig: text('client_jwt_config'),
      updated: time('lastmodified'),
      showOnHomePage: flag('show_on_home_page'),
      appLaunchUrl: text('app_launch_url'),
      appIcon: column('base64')('app_icon'),
      createdBy: text('created_by'),
    },
    key: ['client_id', 'identity_zone_id'],
    pageSize: SETTINGS,
    needs: ['client_jwt_config', 'required_user_groups', 'created_by'],
  }),
  groups: table({
    name: 'groups',
    columns: {
      id: text('id'),
      zoneId: text('identity_zone_id'),
      displayName: text('displayname'),
      description: text('description'),
      version: number('version'),
      created: time('created'),
      updated: time('lastmodified'),
    },
    key: ['id'],
    pageSize: RECORDS,
    needs: ['identity_zone_id', 'description'],
  }),
  users: table({
    name: 'users',
    columns: {
      id: text('id'),
      zoneId: text('identity_zone_id'),
      origin: text('origin'),
      userName: text('username'),
      password: text('password'),
      email: text('email'),
      givenName: text('givenname'),
      familyName: text('familyname'),
      phoneNumber: text('phonenumber'),
      externalId: text('external_id'),
      active: flag('active'),
      verified: flag('verified'),
      legacyVerification: flag('legacy_verification_behavior'),
      salt: text('salt'),
      version: number('version'),
      created: time('created'),
      updated: time('lastmodified'),
      passwordChanged: time('passwd_lastmodified'),
      passwordChangeRequired: flag('passwd_change_required'),
      lastLogon: number('last_logon_success_time'),
      previousLogon: number('previous_logon_success_time'),
      aliasId: text('alias_id'),
      aliasZoneId: text('alias_zid'),
      info: text('info', { table: 'user_info', key: 'user_id', is: 'id' }),
    },
    key: ['id'],
    pageSize: RECORDS,
    needs: ['alias_id', 'alias_zid', 'passwd_change_required', 'previous_logon_success_time', 'salt'],
  }),
  members: table({
    name: 'group_membership',
    columns: {
      groupId: text('group_id'),
      memberId: text('member_id'),
      memberType: text('member_type'),
      origin: text('origin'),
      rowZoneId: text('identity_zone_id'),
      zoneId: text('identity_zone_id', { table: 'groups', key: 'id', is: 'group_id' }),
    },
    key: ['group_id', 'member_id'],
    pageSize: RECORDS,
    needs: ['origin', 'identity_zone_id'],
  }),
  externalGroups: table({
    name: 'external_group_mapping',
    columns: {
      groupId: text('group_id'),
      externalGroup: text('external_group'),
      origin: text('origin'),
      created: time('added'),
      rowZoneId: text('identity_zone_id'),
      zoneId: text('identity_zone_id', { table: 'groups', key: 'id', is: 'group_id' }),
    },
    key: ['id'],
    pageSize: RECORDS,
    needs: ['id', 'origin', 'identity_zone_id'],
  }),
  approvals: table({
    name: 'authz_approvals',
    columns: {
      userId: text('user_id'),
      clientId: text('client_id'),
      scope: text('scope'),
      status: text('status'),
      expires: time('expiresat'),
      updated: time('lastmodifiedat'),
      rowZoneId: text('identity_zone_id'),
      zoneId: text('identity_zone_id', { table: 'users', key: 'id', is: 'user_id' }),
    },
    key: ['user_id', 'client_id', 'scope'],
    pageSize: RECORDS,
    needs: ['user_id', 'identity_zone_id'],
  }),
  tokens: table({
    name: 'revocable_tokens',
    columns: {
      tokenId: text('token_id'),
      clientId: text('client_id'),
      userId: text('user_id'),
      format: text('format'),
      kind: text('response_type'),
      issued: number('issued_at'),
      expires: number('expires_at'),
      data: text('data'),
      zoneId: text('identity_zone_id'),
    },
    key: ['token_id'],
    pageSize: RECORDS,
    needs: ['identity_zone_id'],
  }),
} as const

/** What can be read. */
export type UaaTableName = keyof typeof UAA_TABLES

/** A row of a table. */
export type UaaRow<T extends UaaTableName> = RowOfColumns<(typeof UAA_TABLES)[T]['columns']>
