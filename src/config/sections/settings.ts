// The keys `jwt`, `authentication`, `oauth`, `login`, `scim` and `zones`: settings of the whole server, named as in
// UAA.
import type { CompatibilityMode } from '../../model/compatibility.ts'
import { NEEDED_CLAIMS, DEFAULT_SETTINGS } from '../../model/zones/settings.ts'
import type { TokenSettings } from '../../model/zones/settings.ts'
import type { OperationsFile } from './operations.ts'
import { lockoutSchema } from './policies.ts'
import type { PoliciesFile } from './policies.ts'
import type { Problems } from '../problems.ts'
import { section } from './section.ts'

/** The keys in the configuration file. */
export interface SettingsFile extends Pick<OperationsFile, 'uaa'> {
  readonly jwt?: {
    readonly token?: {
      readonly queryString?: { readonly enabled?: boolean }
      readonly refresh?: { readonly restrict_grant?: boolean; readonly grace_seconds?: number }
      readonly claims?: { readonly exclude?: readonly string[] }
    }
  }
  readonly authentication?: PoliciesFile['authentication'] & { readonly enableUriEncodingCompatibilityMode?: boolean }
  readonly oauth?: { readonly id_token?: { readonly disable?: boolean } }
  readonly login?: { readonly aliasEntitiesEnabled?: boolean }
  readonly scim?: { readonly userids_enabled?: boolean }
  readonly clientMaxCount?: number
  readonly userMaxCount?: number
  readonly groupMaxCount?: number
  readonly zones?: { readonly internal?: { readonly hostnames?: readonly string[] } }
}

const off = (description: string) => ({ type: 'boolean', default: false, description }) as const

/** More would delay other requests. */
const MAX_PAGE_SIZE = 1000
const maxCount = (what: string) =>
  ({
    type: 'integer',
    minimum: 1,
    maximum: MAX_PAGE_SIZE,
    default: 500,
    description: `Maximum number of ${what} on a page of a list; a larger count is reduced to it.`,
  }) as const

/** JSON Schema of the keys. */
export const settingsSchemas = {
  clientMaxCount: maxCount('clients'),
  userMaxCount: maxCount('users'),
  groupMaxCount: maxCount('groups'),
  jwt: section('Tokens.', {
    token: section('Tokens of every zone.', {
      queryString: section('Parameters in URLs.', {
        enabled: off(
          'Whether /oauth/token and /check_token read the query and the method GET, and tokens are taken from access_token in the query. Unsafe: URLs end up in logs and histories. Only with compatibility: uaa.',
        ),
      }),
      refresh: section('Refresh tokens.', {
        restrict_grant: off(
          'Whether refresh tokens are issued and accepted only if the granted scopes include <service>.offline_token.',
        ),
        grace_seconds: {
          type: 'integer',
          minimum: 0,
          maximum: 60,
          default: 0,
          description:
            'Seconds in which a client that did not receive the response may use a rotated refresh token again. 0: a second use always revokes all tokens of the grant. Has no effect with compatibility: uaa.',
        },
      }),
      claims: section('Claims.', {
        exclude: {
          type: 'array',
          items: { type: 'string', minLength: 1 },
          default: [],
          description: `Claims that are omitted from access and ID tokens. Not these, which are needed to verify them: ${[...NEEDED_CLAIMS].join(', ')}.`,
        },
      }),
    }),
  }),
  authentication: section('Authentication of clients, and the lockout of users.', {
    policy: lockoutSchema,
    enableUriEncodingCompatibilityMode: off(
      'Whether the parts of Basic credentials are read literally instead of form-encoded (RFC 6749 §2.3.1), unless the request has the header X-CF-ENCODED-CREDENTIALS: true.',
    ),
  }),
  oauth: section('The authorization endpoint.', {
    id_token: section('ID tokens.', {
      disable: off('Whether the authorization endpoint removes id_token from response_type.'),
    }),
  }),
  login: section('Sign-in.', {
    aliasEntitiesEnabled: off(
      'Whether an identity provider, and users of it, may have a synchronized copy in another zone.',
    ),
  }),
  scim: section('Users.', {
    userids_enabled: {
      type: 'boolean',
      default: true,
      description: 'Whether /ids/Users answers to tokens with the scope scim.userids.',
    },
  }),
  zones: section('Identity zones.', {
    internal: section('The default zone.', {
      hostnames: {
        type: 'array',
        items: { type: 'string', pattern: '^[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?$' },
        default: [],
        description:
          'Host names of the default zone besides the host of base_url and localhost, where responses then have their URLs. A label before one of them is the subdomain of another zone.',
      },
    }),
  }),
} as const

/** The settings, as far as their types are correct; reports forbidden values. */
export function settingsOf(
  file: SettingsFile,
  { compatibility, problems }: { compatibility: CompatibilityMode; problems: Problems },
): TokenSettings {
  const token = problems.hasValidTypes('jwt') ? (file.jwt?.token ?? {}) : {}
  const authentication = problems.hasValidTypes('authentication') ? file.authentication : undefined
  const oauth = problems.hasValidTypes('oauth') ? file.oauth : undefined
  const login = problems.hasValidTypes('login') ? file.login : undefined
  const scim = problems.hasValidTypes('scim') ? file.scim : undefined
  const zones = problems.hasValidTypes('zones') ? file.zones : undefined
  const hostnames = zones?.internal?.hostnames ?? DEFAULT_SETTINGS.internalHostnames
  const excludedClaims = token.claims?.exclude ?? DEFAULT_SETTINGS.excludedClaims
  for (const [index, name] of excludedClaims.entries()) {
    if (!NEEDED_CLAIMS.has(name)) continue
    problems.add(`jwt.token.claims.exclude[${index}]`, `${name} is needed to verify tokens and cannot be excluded`)
  }
  const queryString = token.queryString?.enabled ?? DEFAULT_SETTINGS.queryString
  if (queryString && compatibility !== 'uaa') {
    problems.add('jwt.token.queryString.enabled', 'is only allowed with compatibility: uaa')
  }
  const countOf = (name: 'clientMaxCount' | 'userMaxCount' | 'groupMaxCount'): number | undefined =>
    problems.hasValidTypes(name) ? file[name] : undefined
  const uaa = problems.hasValidTypes('uaa') ? file.uaa : undefined
  const unsafeMatching = uaa?.oauth?.redirect_uri?.allow_unsafe_matching ?? compatibility === 'uaa'
  if (unsafeMatching && compatibility !== 'uaa') {
    problems.add('uaa.oauth.redirect_uri.allow_unsafe_matching', 'is only allowed with compatibility: uaa')
  }
  return {
    queryString,
    strictRedirects: compatibility === 'uaa' && !unsafeMatching,
    restrictRefresh: token.refresh?.restrict_grant ?? DEFAULT_SETTINGS.restrictRefresh,
    refreshGraceSeconds: token.refresh?.grace_seconds ?? DEFAULT_SETTINGS.refreshGraceSeconds,
    excludedClaims: [...new Set(excludedClaims)],
    plainBasicCredentials: authentication?.enableUriEncodingCompatibilityMode ?? DEFAULT_SETTINGS.plainBasicCredentials,
    idTokenDisabled: oauth?.id_token?.disable ?? DEFAULT_SETTINGS.idTokenDisabled,
    userIdsDisabled: scim?.userids_enabled === false,
    maxCounts: {
      clients: countOf('clientMaxCount') ?? DEFAULT_SETTINGS.maxCounts.clients,
      users: countOf('userMaxCount') ?? DEFAULT_SETTINGS.maxCounts.users,
      groups: countOf('groupMaxCount') ?? DEFAULT_SETTINGS.maxCounts.groups,
    },
    aliasEntities: login?.aliasEntitiesEnabled ?? DEFAULT_SETTINGS.aliasEntities,
    internalHostnames: hostnames.map(name => name.toLowerCase()),
  }
}
