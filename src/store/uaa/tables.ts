// The tables of a UAA that an import reads, each value cast to one type: an old database, or a copy that another program made of
// one in MySQL, may have columns of other types.

/** A column of the result and the SQL that fills it, and the type that this has. */
type Columns = Readonly<Record<string, readonly [sql: string, type: 'text' | 'flag' | 'number']>>

type Cell<T> = T extends 'flag' ? boolean | null : T extends 'number' ? number | null : string | null
type RowOfColumns<C extends Columns> = { readonly [K in keyof C]: Cell<C[K][1]> }

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

const table = <const C extends Columns>(described: UaaTable<C>): UaaTable<C> => described

const text = (column: string) => [`cast(${column} as text)`, 'text'] as const
const flag = (column: string) => [`cast(${column} as boolean)`, 'flag'] as const
const number = (column: string) => [`cast(${column} as double precision)`, 'number'] as const
/** Milliseconds since 1970. UAA writes its own time zone, which is taken for UTC. */
const time = (column: string) =>
  [`cast(floor(extract(epoch from ${column}) * 1000) as double precision)`, 'number'] as const

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
      appIcon: [`encode(app_icon, 'base64')`, 'text'],
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
      info: [`(select cast(info as text) from user_info where user_info.user_id = users.id limit 1)`, 'text'],
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
      zoneId: [
        `(select cast(identity_zone_id as text) from groups where groups.id = group_membership.group_id)`,
        'text',
      ],
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
      zoneId: [
        `(select cast(identity_zone_id as text) from groups where groups.id = external_group_mapping.group_id)`,
        'text',
      ],
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
      zoneId: [`(select cast(identity_zone_id as text) from users where users.id = authz_approvals.user_id)`, 'text'],
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
