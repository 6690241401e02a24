// The zone's settings as the zone API has them. Members without an effect yet are
// known here too, so that a configuration that works elsewhere starts here.
import { ACCESS_TOKEN_TYPES } from '../records/client.ts'
import { COLOUR, LINK, LOGOUT_TARGET, WEB_LINK } from '../model/zone-rules.ts'
import { MAX_SECONDS } from '../records/kinds.ts'

const text = { type: ['string', 'null'] } as const
const link = { type: ['string', 'null'], pattern: LINK } as const
const flag = { type: 'boolean' } as const
const texts = { type: 'array', items: { type: 'string' } } as const
const number = { type: 'integer', minimum: -1, maximum: MAX_SECONDS } as const
/** Each becomes the name of a group. */
const groupNames = {
  type: 'array',
  items: { type: 'string', pattern: '^[^\\u0000]*[^\\s\\u0000][^\\u0000]*$', maxLength: 255 },
} as const

const closed = <P extends Record<string, unknown>>(properties: P) =>
  ({ type: 'object', additionalProperties: false, properties }) as const

const cors = closed({
  allowedOrigins: texts,
  allowedOriginPatterns: texts,
  allowedUris: texts,
  allowedUriPatterns: texts,
  allowedHeaders: texts,
  allowedMethods: texts,
  allowedCredentials: flag,
  maxAge: number,
})

const lifetime = { type: 'integer', minimum: -1, maximum: MAX_SECONDS } as const

/** JSON Schema of `config` of a zone. */
export const zoneConfigSchema = {
  ...closed({
    clientSecretPolicy: closed({
      minLength: number,
      maxLength: number,
      requireUpperCaseCharacter: number,
      requireLowerCaseCharacter: number,
      requireDigit: number,
      requireSpecialCharacter: number,
      expireSecretInMonths: number,
    }),
    tokenPolicy: {
      ...closed({
        accessTokenValidity: { ...lifetime, description: 'Seconds; -1 is the default of the server.' },
        refreshTokenValidity: { ...lifetime, description: 'Seconds; -1 is the default of the server.' },
        jwtRevocable: { ...flag, description: 'Whether JWT access tokens are stored and can be revoked.' },
        refreshTokenUnique: { ...flag, description: 'One refresh token per client and user.' },
        refreshTokenRotate: { ...flag, description: 'A new refresh token at each refresh.' },
        refreshTokenFormat: { enum: ['opaque', 'jwt'] },
        accessTokenType: {
          enum: ACCESS_TOKEN_TYPES,
          description:
            'The `typ` of JWT access tokens; JWT unless set. RFC 9068 has at+jwt. A client may have its own.',
        },
        activeKeyId: { ...text, maxLength: 255, description: 'Which of the keys signs.' },
        keys: {
          type: 'object',
          description: 'Signing keys by id; they are stored encrypted and apart from the other settings.',
          additionalProperties: {
            type: 'object',
            additionalProperties: false,
            required: ['signingKey'],
            properties: {
              signingKey: {
                type: 'string',
                description:
                  'The private key in PEM; any other text is a shared secret (HS256 unless signingAlg differs).',
              },
              signingAlg: { type: 'string', description: 'JWS algorithm; absent: the usual one for the key.' },
              signingCert: { type: 'string', description: 'X.509 certificates of the key in PEM, its own first.' },
            },
          },
        },
      }),
      description: 'Lifetimes and policies of tokens.',
    },
    samlConfig: {
      ...closed({
        requestSigned: flag,
        wantAssertionSigned: flag,
        disableInResponseToCheck: flag,
        entityID: text,
      }),
      description: 'The SAML service provider of the zone.',
    },
    corsPolicy: closed({ xhrConfiguration: cors, defaultConfiguration: cors }),
    links: closed({
      selfService: closed({ selfServiceLinksEnabled: flag, signup: link, passwd: link }),
      homeRedirect: link,
      logout: closed({
        redirectUrl: { type: 'string', pattern: LINK },
        redirectParameterName: { type: 'string' },
        disableRedirectParameter: flag,
        whitelist: { type: ['array', 'null'], items: { type: 'string', pattern: LOGOUT_TARGET } },
      }),
    }),
    prompts: {
      type: 'array',
      description: 'The fields of the sign-in form.',
      items: {
        ...closed({ name: { type: 'string' }, type: { type: 'string' }, text: { type: 'string' } }),
        required: ['name', 'type', 'text'],
      },
    },
    idpDiscoveryEnabled: flag,
    accountChooserEnabled: flag,
    branding: {
      ...closed({
        companyName: { type: 'string' },
        productLogo: { type: 'string' },
        squareLogo: { type: 'string' },
        footerLegalText: { type: 'string' },
        footerLinks: { type: 'object', additionalProperties: { type: 'string', pattern: LINK } },
        banner: closed({
          text: { type: 'string' },
          logo: { type: 'string' },
          link: { type: 'string', pattern: WEB_LINK },
          textColor: { type: 'string', pattern: COLOUR },
          backgroundColor: { type: 'string', pattern: COLOUR },
        }),
        consent: {
          ...closed({ text: { type: 'string' }, link: { type: 'string', pattern: WEB_LINK } }),
          required: ['text'],
        },
      }),
      description: 'Names, logos (base64 PNG) and texts of the pages.',
    },
    userConfig: closed({
      defaultGroups: { ...groupNames, description: 'Groups that every user has.' },
      allowedGroups: { ...groupNames, type: ['array', 'null'] },
      maxUsers: number,
      checkOriginEnabled: flag,
      allowOriginLoop: flag,
    }),
    issuer: {
      type: 'string',
      pattern: '^https?://',
      description: 'Base of the issuer instead of the URL of the zone.',
    },
    defaultIdentityProvider: { type: 'string', description: 'Origin that is used when nothing else chooses one.' },
    require_nonce: {
      ...flag,
      description: 'Whether every authorization request whose answer has an ID token must carry a nonce.',
    },
  }),
  description: "A zone's settings, in the shape of the zone API.",
} as const
