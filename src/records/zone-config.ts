// The settings of a zone in `/identity-zones` and the configuration file. Includes settings without effect, so that
// requests for UAA are accepted.
import { isAbsoluteUri } from '../base/text/absolute-uri.ts'
import * as v from 'valibot'
import { isJsonRecord } from '../base/json.ts'
import type { JsonRecord } from '../base/json.ts'
import { ACCESS_TOKEN_TYPES, MAX_POLICY_NAMES } from './client.ts'
import { limitOrFlag, MAX_SECONDS } from './kinds.ts'
import { PROFILES } from './profiles.ts'
import { PROTOCOLS } from './protocols.ts'
import type { Protocol } from './protocols.ts'
import { section, setting } from './settings.ts'
import { FACTOR_METHODS } from './user.ts'
import type { Setting, SettingsOf } from './settings.ts'

/** Which users must prove a second factor: none, those who have one, all, or members of some groups. */
export const REQUIREMENTS = ['off', 'optional', 'required', 'groups'] as const

/** Who may register clients by themselves. */
export const REGISTRATION_MODES = ['off', 'token', 'open'] as const

/** The grants that a registered client may have: none without a user who approves what it gets. */
export const REGISTRABLE_GRANT_TYPES = ['authorization_code', 'implicit', 'refresh_token'] as const

/** A colour of a banner. */
export const COLOUR = '^(?:\\s*|#(?:[0-9a-fA-F]{3}|[0-9a-fA-F]{6}))$'

/** The beginning of a link of a banner or consent. */
export const WEB_LINK = '^(?:https?://|\\s*$)'

/** The beginning of any other link of a zone: a URL or a path; may be empty. */
const LINK = '^(?:https?://|/[^/\\\\]|/?$)'

/** The beginning of an entry of `links.logout.whitelist`, which may be a pattern. */
export const LOGOUT_TARGET = '^(?:https?://|http\\*://|/[^/\\\\]|/$)'

const MAX_STRINGS = 1000
const MAX_PROMPTS = 100
/** Every page shows them. */
const MAX_FOOTER_LINKS = 100

const flag = <const U>(unset: U, about?: string) =>
  setting({ kind: v.boolean(), needs: 'true or false', unset, ...(about !== undefined && { about }) })

const string = <const U>(unset: U, { about, pattern }: { about?: string; pattern?: string } = {}) =>
  setting({
    kind: v.string(),
    needs: 'a string',
    unset,
    ...(about !== undefined && { about }),
    ...(pattern !== undefined && { schema: { pattern } }),
  })

/** Integers of 32 bits, as in UAA. */
const number = <const U>(unset: U, { about, min = -1 }: { about?: string; min?: number } = {}) =>
  setting({
    kind: v.pipe(v.number(), v.integer(), v.minValue(min), v.maxValue(MAX_SECONDS)),
    needs: `a whole number from ${min} to ${MAX_SECONDS}`,
    unset,
    ...(about !== undefined && { about }),
  })

const strings = <const U>(unset: U, { about, pattern }: { about?: string; pattern?: string } = {}) =>
  setting({
    kind: v.pipe(v.array(v.string()), v.maxLength(MAX_STRINGS), v.readonly()),
    needs: `a list of at most ${MAX_STRINGS} strings`,
    unset,
    ...(about !== undefined && { about }),
    ...(pattern !== undefined && { schema: { items: { type: 'string', pattern } } }),
  })

/** Omitted from answers while it is unset, as in UAA; null is accepted. */
const optional = <const S extends Setting>(described: S) => ({ ...described, optional: true }) as const

/** What the name of a group is. */
const GROUP_NAME = { type: 'string', pattern: '^[^\\u0000]*[^\\s\\u0000][^\\u0000]*$', maxLength: 255 }

const groupNames = <const U>(unset: U, about: string) =>
  setting({ ...strings(unset, { about }), schema: { items: GROUP_NAME } })

/** A short list of names that are compared at sign-ins. */
const fewNames = (about: string, items?: JsonRecord) =>
  setting({
    kind: v.pipe(v.array(v.string()), v.minLength(1), v.maxLength(MAX_POLICY_NAMES), v.readonly()),
    needs: `a list of 1 to ${MAX_POLICY_NAMES} strings`,
    unset: undefined,
    about,
    ...(items && { schema: { items } }),
  })

const choice = <const W extends readonly string[], const U>(words: W, unset: U, about?: string) =>
  setting({
    kind: v.picklist(words),
    needs: `one of ${words.join(', ')}`,
    unset,
    ...(about !== undefined && { about }),
  })

/** Accepted in any case, like UAA; stored and shown in lower case. */
const inAnyCase = <const W extends readonly string[], const U>(word: {
  readonly kind: v.PicklistSchema<W, undefined>
  readonly needs: string
  readonly unset: U
}) =>
  setting({
    ...word,
    kind: v.pipe(
      v.unknown(),
      v.transform(value => (typeof value === 'string' ? value.toLowerCase() : value)),
      word.kind,
    ),
    schema: { enum: word.kind.options },
  })

/** If there are only patterns, the list of exact values is empty, not the default. */
function explicitCors(kept: JsonRecord): JsonRecord {
  const closed = (texts: string, patterns: string): object => {
    const list = kept[patterns]
    return Array.isArray(list) && list.length > 0 && (kept[texts] ?? null) === null ? { [texts]: [] } : {}
  }
  return {
    ...kept,
    ...closed('allowedOrigins', 'allowedOriginPatterns'),
    ...closed('allowedUris', 'allowedUriPatterns'),
  }
}

/** One part of the policy of cross-origin requests; patterns are regular expressions for the whole origin or path. */
const cors = section({
  members: {
    allowedOrigins: strings(['.*']),
    allowedOriginPatterns: strings([]),
    allowedUris: strings(['.*']),
    allowedUriPatterns: strings([]),
    allowedHeaders: strings(['Accept', 'Authorization', 'Content-Type']),
    allowedMethods: strings(['GET']),
    allowedCredentials: flag(false, "Whether a page may call with the user's cookies."),
    maxAge: number(1_728_000, { about: 'Seconds that a browser may cache the response to a preflight.' }),
  },
  // Sending back what was shown does not replace the server's policy.
  dropped: 'when default',
  explicit: explicitCors,
})

const PROMPTS = [
  { name: 'username', type: 'text', text: 'Email' },
  { name: 'password', type: 'password', text: 'Password' },
  { name: 'passcode', type: 'password', text: 'Temporary Authentication Code (Get on at /passcode)' },
]

const signingKeys = {
  type: 'object',
  description: 'Signing keys by id; they are stored encrypted and apart from the other settings.',
  additionalProperties: {
    type: 'object',
    additionalProperties: false,
    required: ['signingKey'],
    properties: {
      signingKey: {
        type: 'string',
        minLength: 1,
        description: 'The private key in PEM; any other string is a shared secret (HS256 unless signingAlg differs).',
      },
      signingAlg: { type: 'string', description: 'JWS algorithm; absent: the default for the key.' },
      signingCert: { type: 'string', description: 'X.509 certificates of the key in PEM, its own first.' },
    },
  },
}

/** The default of `userConfig.defaultGroups`: groups that every user has. */
export const standardDefaultGroups = (serviceName: string): readonly string[] => [
  'openid',
  'password.write',
  `${serviceName}.user`,
  'approvals.me',
  'profile',
  'roles',
  'user_attributes',
  `${serviceName}.offline_token`,
]

const PROTOCOL_SWITCHES = Object.fromEntries(
  Object.entries(PROTOCOLS).map(([name, about]) => [name, flag(undefined, about)]),
) as Readonly<Record<Protocol, ReturnType<typeof flag<undefined>>>> // every protocol has its switch

/** All settings except keys, which are read separately (`tokenPolicy.keys`, `samlConfig.keys`). */
export const zoneConfigSettings = (serviceName: string) =>
  section({
    about: "A zone's settings, in the shape of the zone API.",
    notNull: true,
    members: {
      clientSecretPolicy: section({
        members: {
          minLength: number(-1),
          maxLength: number(-1),
          requireUpperCaseCharacter: number(-1),
          requireLowerCaseCharacter: number(-1),
          requireDigit: number(-1),
          requireSpecialCharacter: number(-1),
          expireSecretInMonths: setting({ ...number(undefined), dropped: 'always' }),
        },
      }),
      tokenPolicy: section({
        about: 'Lifetimes and policies of tokens.',
        members: {
          accessTokenValidity: number(-1, { about: 'Seconds; -1 is the default of the server.' }),
          refreshTokenValidity: number(-1, { about: 'Seconds; -1 is the default of the server.' }),
          jwtRevocable: flag(false, 'Whether JWT access tokens are stored and can be revoked.'),
          refreshTokenUnique: setting({
            kind: limitOrFlag,
            needs: 'true, false or a whole number from -1',
            unset: false,
            about:
              'Maximum number of refresh tokens that a user has of a client: true is 1; false, -1 and 0 are no limit.',
          }),
          refreshTokenRotate: flag(false, 'A new refresh token at each refresh.'),
          refreshTokenFormat: inAnyCase(choice(['opaque', 'jwt'], 'opaque')),
          accessTokenType: choice(
            ACCESS_TOKEN_TYPES,
            undefined,
            'The `typ` of JWT access tokens; JWT unless set. RFC 9068 has at+jwt. A client may have its own.',
          ),
          activeKeyId: setting({ ...string(null, { about: 'Id of the key that signs.' }), schema: { maxLength: 255 } }),
        },
        others: { keys: signingKeys },
      }),
      samlConfig: section({
        about: 'The SAML service provider of the zone.',
        members: {
          requestSigned: flag(true),
          wantAssertionSigned: flag(true),
          disableInResponseToCheck: flag(false),
          entityID: optional(string(null, { about: "Absent: the server's, with the subdomain and a dot before it." })),
          activeKeyId: optional(string(null)),
        },
      }),
      corsPolicy: section({
        about: 'Which pages of other origins may call the zone; absent parts are those of the server.',
        notNull: true,
        members: { xhrConfiguration: cors, defaultConfiguration: cors },
      }),
      links: section({
        members: {
          selfService: section({
            members: {
              selfServiceLinksEnabled: flag(true),
              signup: string(null, { pattern: LINK }),
              passwd: string(null, { pattern: LINK }),
            },
          }),
          homeRedirect: optional(string(null, { pattern: LINK })),
          logout: section({
            members: {
              redirectUrl: string('/login', { pattern: LINK }),
              redirectParameterName: string('redirect'),
              disableRedirectParameter: setting({ ...flag(false), dropped: 'always' }),
              whitelist: strings(null, { pattern: LOGOUT_TARGET }),
            },
          }),
        },
      }),
      prompts: setting({
        kind: v.pipe(
          v.array(v.object({ name: v.string(), type: v.string(), text: v.string() })),
          v.maxLength(MAX_PROMPTS),
          v.readonly(),
        ),
        needs: `a list of at most ${MAX_PROMPTS} objects with name, type, text`,
        unset: PROMPTS,
        dropped: 'when default',
        about: 'The fields of the sign-in form.',
      }),
      idpDiscoveryEnabled: flag(false),
      accountChooserEnabled: flag(false),
      branding: section({
        about: 'Names, logos (base64 PNG) and texts of the pages.',
        optional: true,
        members: {
          companyName: string(undefined),
          productLogo: string(undefined),
          squareLogo: string(undefined),
          footerLegalText: string(undefined),
          footerLinks: setting({
            // An array is an object to valibot's `record`.
            kind: v.pipe(
              v.custom<JsonRecord>(value => isJsonRecord(value) && Object.keys(value).length <= MAX_FOOTER_LINKS),
              v.record(v.string(), v.string()),
            ),
            needs: `an object of at most ${MAX_FOOTER_LINKS} strings`,
            unset: undefined,
            schema: {
              type: 'object',
              maxProperties: MAX_FOOTER_LINKS,
              additionalProperties: { type: 'string', pattern: LINK },
            },
          }),
          banner: section({
            optional: true,
            members: {
              text: string(undefined),
              logo: string(undefined),
              link: string(undefined, { pattern: WEB_LINK }),
              textColor: string(undefined, { pattern: COLOUR }),
              backgroundColor: string(undefined, { pattern: COLOUR }),
            },
          }),
          consent: section({
            about: 'What users have to agree to before they get an account.',
            optional: true,
            required: ['text'],
            members: { text: string(undefined), link: string(undefined, { pattern: WEB_LINK }) },
          }),
        },
      }),
      userConfig: section({
        members: {
          defaultGroups: groupNames(standardDefaultGroups(serviceName), 'Groups that every user has.'),
          allowedGroups: optional(groupNames(null, 'When set, users have only these groups and the default ones.')),
          maxUsers: number(-1, { min: -(2 ** 31) }), // -1 is no limit; other negative numbers are refused elsewhere
          checkOriginEnabled: flag(false),
          allowOriginLoop: flag(true),
        },
      }),
      secondFactor: section({
        about: 'Who signs in with a second factor. A change that does not name it keeps it; null removes it.',
        optional: true,
        unknown: 'refused', // a misspelt member would weaken the policy
        members: {
          requirement: choice(
            REQUIREMENTS,
            undefined,
            'Which users need one: none (off), users who have one (optional), all (required), or members of groups (groups).',
          ),
          groups: fewNames('Whose members must have one, with `requirement: groups`.', GROUP_NAME),
          methods: setting({
            kind: v.pipe(
              v.array(v.picklist(FACTOR_METHODS)),
              v.minLength(1),
              v.maxLength(FACTOR_METHODS.length),
              v.readonly(),
            ),
            needs: `a list of ${FACTOR_METHODS.join(', ')}`,
            unset: undefined,
            about: 'Which factors are accepted; all unless set.',
          }),
          rememberDays: setting({
            kind: v.pipe(v.number(), v.integer(), v.minValue(0), v.maxValue(365)),
            needs: 'a whole number from 0 to 365',
            unset: undefined,
            about: 'Days that a browser may be remembered; 0, the default, is never.',
          }),
          origins: fewNames('The providers to whose users it applies; all unless set.'),
        },
      }),
      protocols: section({
        about: 'Which additional protocols the zone supports; absent ones depend on the mode of the server.',
        optional: true,
        unknown: 'refused', // a misspelt name would leave a protocol on
        members: PROTOCOL_SWITCHES,
      }),
      profile: choice(PROFILES, undefined, 'The profile of FAPI that every client must meet.'),
      requireDpopNonce: flag(
        undefined,
        'Whether every DPoP proof must have a nonce of this server, so that none can be created in advance (RFC 9449 §8); yes unless set.',
      ),
      registration: section({
        about: 'Who may register clients without an administrator (RFC 7591), and the limits for such clients.',
        optional: true,
        unknown: 'refused', // a misspelt limit would have no effect
        members: {
          mode: choice(
            REGISTRATION_MODES,
            undefined,
            'off, the default; token: with an initial access token that an administrator created; open: any caller.',
          ),
          maxClients: setting({
            kind: v.pipe(v.number(), v.integer(), v.minValue(0), v.maxValue(1_000_000)),
            needs: 'a whole number from 0 to 1000000',
            unset: undefined,
            about: 'Maximum number of self-registered clients; 1000 unless set.',
          }),
          scopes: fewNames('Scopes that they may have; those of OpenID Connect unless set.'),
          resources: setting({
            kind: v.pipe(
              v.array(v.pipe(v.string(), v.check(isAbsoluteUri))),
              v.minLength(1),
              v.maxLength(MAX_POLICY_NAMES),
              v.readonly(),
            ),
            needs: `a list of 1 to ${MAX_POLICY_NAMES} absolute URIs without a fragment`,
            unset: undefined,
            about: 'Resources that they may name in requests (RFC 8707); none unless set.',
            schema: { items: { type: 'string', pattern: '^[A-Za-z][A-Za-z0-9+.-]*:[^\\s#]+$', maxLength: 1024 } },
          }),
          grantTypes: setting({
            kind: v.pipe(v.array(v.picklist(REGISTRABLE_GRANT_TYPES)), v.minLength(1), v.readonly()),
            needs: `a list of ${REGISTRABLE_GRANT_TYPES.join(', ')}`,
            unset: undefined,
            about: 'Grants that they may use; authorization_code and refresh_token unless set.',
          }),
        },
      }),
      requirePushedRequests: flag(undefined, 'Whether every authorization request must be pushed (RFC 9126).'),
      issuer: setting({
        kind: v.string(),
        needs: 'a string',
        unset: undefined,
        notNull: true,
        about: 'Base of the issuer instead of the URL of the zone.',
        schema: {
          pattern: '^https?://[^\\s?#\\\\]+$',
          patternErrorMessage: 'must begin with https:// or http://, without query and fragment',
        },
      }),
      defaultIdentityProvider: optional(string(null, { about: 'Origin of the provider used by default.' })),
      require_nonce: flag(undefined, 'Whether every authorization request that returns an ID token must have a nonce.'),
    },
  })

type Described = SettingsOf<ReturnType<typeof zoneConfigSettings>>

/** A key pair of a zone's SAML service provider; the private key is encrypted with the master key. */
export interface SamlKey {
  /** Sealed: PKCS#8 PEM. */
  readonly sealedKey: string
  /** X.509 certificates in PEM, its own first. */
  readonly certificate: string
}

/** A zone's settings; absent ones have the defaults of the description. */
export interface ZoneConfig extends Omit<Described, 'samlConfig'> {
  readonly samlConfig?: Described['samlConfig'] & { readonly keys?: Readonly<Record<string, SamlKey>> }
}
