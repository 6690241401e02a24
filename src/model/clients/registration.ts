// Limits for clients that register themselves (RFC 7591). Everything that they get requires the approval of a user, and
// nothing gives administrative rights, regardless of the settings of the zone.
import { REGISTRABLE_GRANT_TYPES } from '../../records/zone-config.ts'
import type { REGISTRATION_MODES } from '../../records/zone-config.ts'
import type { Client } from './client.ts'
import { isRestricted } from '../tokens/restricted-scopes.ts'
import type { Service } from '../service.ts'
import type { Zone } from '../zones/zone.ts'

/** What a zone lets clients register. */
export interface RegistrationPolicy {
  readonly mode: (typeof REGISTRATION_MODES)[number]
  readonly maxClients: number
  readonly scopes: readonly string[]
  readonly grantTypes: readonly string[]
  /** The allowed values of `resource`. */
  readonly resources: readonly string[]
}

const DEFAULT_MAX_CLIENTS = 1000
const DEFAULT_SCOPES = ['openid', 'profile', 'email', 'phone', 'address']
const DEFAULT_GRANT_TYPES = ['authorization_code', 'refresh_token']

/** First words of the scopes of our own APIs; some of them need no right but the account of the user. */
const OWN_SCOPES: ReadonlySet<string> = new Set([
  'approvals',
  'clients',
  'groups',
  'idps',
  'oauth',
  'password',
  'scim',
  'sps',
  'uaa',
  'zones',
])

/** Whether a client that registered itself may have the scope: none of this server's own, and no wildcard. */
function isRegistrableScope(scope: string, service: Service): boolean {
  const [first = ''] = scope.toLowerCase().split('.')
  const isOwn = OWN_SCOPES.has(first) || first === service.name
  return !isOwn && !scope.includes('*') && !/[\s,]/.test(scope) && !isRestricted(scope, service)
}

/** The problem of the scopes of a zone's policy, as a predicate of the member's name. */
export function scopesProblem(
  { scopes = [] }: NonNullable<Zone['config']['registration']> = {},
  service: Service,
): string | undefined {
  const wrong = scopes.find(scope => !isRegistrableScope(scope, service))
  return wrong === undefined ? undefined : `must not have ${wrong}, which self-registered clients cannot have`
}

/** The policy of the zone, with its defaults. */
export function registrationPolicy({ config }: Pick<Zone, 'config'>, service: Service): RegistrationPolicy {
  const {
    mode = 'off',
    maxClients = DEFAULT_MAX_CLIENTS,
    scopes,
    grantTypes,
    resources = [],
  } = config.registration ?? {}
  return {
    mode,
    maxClients,
    scopes: (scopes ?? DEFAULT_SCOPES).filter(scope => isRegistrableScope(scope, service)),
    grantTypes: grantTypes ?? DEFAULT_GRANT_TYPES,
    resources,
  }
}

/** Whether an administrator gave the client more than a registration can; its registration token can then no longer change it. */
export function isElevated(
  client: Client,
  { resources }: Pick<RegistrationPolicy, 'resources'>,
  service: Service,
): boolean {
  const none = service.scope('none')
  const isRegistrable = (grant: string): boolean => REGISTRABLE_GRANT_TYPES.some(each => each === grant)
  return (
    client.authorities.some(authority => authority !== none) ||
    client.resources?.some(resource => !resources.includes(resource)) === true ||
    client.autoapprove === true ||
    client.autoapprove.length > 0 ||
    !client.authorizedGrantTypes.every(isRegistrable) ||
    !client.scope.every(scope => scope === none || isRegistrableScope(scope, service))
  )
}

/** An initial access token (RFC 7591 §3): lets its holder register clients. */
export interface RegistrationToken {
  readonly id: string
  readonly tokenDigest: string
  readonly label?: string
  readonly createdAt: Date
  readonly expiresAt: Date
  /** How many clients it may register. */
  readonly maxUses: number
  readonly uses: number
}
