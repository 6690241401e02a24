// The schema of the configuration file, used by the loader and, through editor-schema.ts, by editors. Types and keys
// only; rules across keys are checked in records/ and keys/.
import { SIGNING_ALGORITHMS } from '../model/tokens/signing-key.ts'
import { clientFields, clientSecretFields } from '../records/client.ts'
import { sentSchemas, settingsSchema } from '../records/json-schema.ts'
import { zoneConfigSettings } from '../records/zone-config.ts'
import { auditSchema } from './sections/audit.ts'
import { corsSchema } from './sections/cors.ts'
import { databaseOptionsSchema } from './sections/database.ts'
import { hashCostSchema } from './sections/hash-cost.ts'
import { logSchema } from './sections/log.ts'
import { managementSchema } from './sections/management.ts'
import { masterKeySchemas } from './keys/master-key.ts'
import { mutualTlsSchema } from './sections/mutual-tls.ts'
import { operationsSchemas, trustedProxiesSchema } from './sections/operations.ts'
import { tlsSchema } from './sections/tls.ts'
import { tracingSchema } from './sections/tracing.ts'
import { pagesSchemas } from './sections/pages.ts'
import { passwordSchema } from './sections/policies.ts'
import { pkcs11Schema } from './keys/pkcs11.ts'
import { rateLimitSchema } from './sections/ratelimit.ts'
import { settingsSchemas } from './sections/settings.ts'
import { namePartSchemas, userProfileSchemas } from './records/user-profile-schema.ts'

const text = (description: string) => ({ type: 'string', description }) as const
const flag = (description: string) => ({ type: 'boolean', description }) as const
const fileOf = (what: string) =>
  text(`A file, relative to this one, that contains ${what}; a final line break is dropped.`)
const groupNames = (description: string) =>
  ({ type: 'array', items: { type: 'string', maxLength: 255 }, description }) as const
const listOf = (name: string, description: string) =>
  ({ type: 'array', items: { $ref: `#/definitions/${name}` }, description }) as const

const signingKeys = {
  type: 'object',
  description:
    'The signing keys of the default zone. Absent: one RS256 key is generated at first start and stored in the database.',
  additionalProperties: false,
  required: ['active', 'keys'],
  properties: {
    active: text(
      'The id of the key that signs; the others only verify. `latchkey keys activate` may choose another later.',
    ),
    keys: {
      type: 'object',
      minProperties: 1,
      description: 'Keys by id.',
      additionalProperties: {
        type: 'object',
        additionalProperties: false,
        required: ['alg'],
        properties: {
          alg: { enum: [...SIGNING_ALGORITHMS], description: 'The JWS algorithm.' },
          pem: text(
            'The private key in PEM: RSA with at least 2048 bits, EC on the curve of the algorithm, or Ed25519.',
          ),
          pem_file: fileOf('the private key in PEM'),
          secret: text(
            'The shared secret of HS256, HS384 or HS512: at least 32, 48 or 64 bytes. Stored encrypted, never published.',
          ),
          secret_file: fileOf('the shared secret'),
          pkcs11: pkcs11Schema,
          cert: text(
            'X.509 certificates of the key in PEM, its own first; published with the key while they are valid.',
          ),
          cert_file: fileOf('the certificates in PEM'),
        },
      },
    },
  },
} as const

const smtp = {
  type: 'object',
  description: 'The mail server. Without it, mails are written to the log.',
  additionalProperties: false,
  required: ['host'],
  properties: {
    host: text('Host name of the mail server.'),
    port: { type: 'integer', minimum: 1, maximum: 65_535, description: 'Port; 25 by default, 465 with `secure`.' },
    from: text('Address of the sender of every mail; default `admin@` and the host of base_url.'),
    user: text('User name, if the server requires one; needs TLS unless the host is loopback.'),
    password: text('Password of the user.'),
    password_file: fileOf('the password'),
    secure: { ...flag('TLS from the first byte.'), default: false },
    starttls: { ...flag('Refuse to send unless the connection was upgraded to TLS.'), default: false },
    rate: {
      type: 'integer',
      minimum: 1,
      maximum: 1000,
      default: 10,
      description: 'Mails per second of all processes.',
    },
  },
} as const

const client = {
  type: 'object',
  description:
    'A client in the shape of POST /oauth/clients; properties that are not listed here are stored as attributes.',
  required: ['client_id'],
  properties: {
    ...sentSchemas(clientFields),
    ...sentSchemas(clientSecretFields),
    client_secret_file: fileOf('the secret'),
    secondary_client_secret_file: fileOf('the second secret'),
    showOnHomePage: flag(
      'Whether the home page shows it, which also requires appLaunchUrl; false if only the other two are set.',
    ),
    appLaunchUrl: text('Start URL of the application, for the home page.'),
    appIcon: text('Icon on the home page: a PNG in base64.'),
    lastModified: { description: 'Ignored, as in the API.' },
  },
} as const

const user = {
  type: 'object',
  description: 'A user in the shape of POST /Users; groups are names.',
  additionalProperties: false,
  required: ['userName', 'emails'],
  properties: {
    userName: { ...text('Unique within the origin, ignoring case.'), minLength: 1, maxLength: 255 },
    password: text('Required for internal users; exempt from the password policy; stored as a hash.'),
    password_file: fileOf('the password'),
    name: {
      type: 'object',
      description: 'The parts of the name.',
      additionalProperties: false,
      properties: {
        givenName: text('Given name.'),
        familyName: text('Family name.'),
        ...namePartSchemas,
      },
    },
    emails: {
      type: 'array',
      minItems: 1,
      maxItems: 1,
      description: 'Exactly one.',
      items: {
        type: 'object',
        additionalProperties: false,
        required: ['value'],
        properties: {
          value: { ...text('The address.'), minLength: 1, maxLength: 255 },
          type: text('Not stored.'),
          primary: flag('Not stored.'),
        },
      },
    },
    phoneNumbers: {
      type: 'array',
      description: 'The first one is stored.',
      items: {
        type: 'object',
        additionalProperties: false,
        required: ['value'],
        properties: { value: text('The number.'), type: text('Not stored.') },
      },
    },
    active: { ...flag('Whether the user may sign in.'), default: true },
    verified: { ...flag('Whether the e-mail address is verified.'), default: true },
    origin: { ...text('Origin key of the provider; default the internal one.'), minLength: 1, maxLength: 36 },
    externalId: { ...text('An id in another system.'), maxLength: 255 },
    salt: { ...text("Changing it makes the user's tokens invalid."), maxLength: 36 },
    groups: groupNames('Groups to add the user to; missing ones are created.'),
    ...userProfileSchemas,
  },
} as const

const identityProvider = {
  type: 'object',
  description: 'An identity provider in the shape of POST /identity-providers.',
  additionalProperties: false,
  required: ['originKey', 'type', 'name'],
  properties: {
    originKey: { ...text('Unique in the zone; must be `ldap` for that type.'), minLength: 1, maxLength: 36 },
    type: text('The service name for the internal provider, ldap, saml, oauth2.0, oidc1.0 or keystone.'),
    name: { ...text('Display name.'), minLength: 1, maxLength: 255 },
    active: { ...flag('Whether the provider is active.'), default: true },
    config: {
      type: ['object', 'string'],
      description: 'The settings, as an object or a JSON string. Secrets are stored encrypted.',
    },
  },
} as const

const bootstrapLists = {
  groups: listOf('group', 'Groups; their names are the scopes that members may receive.'),
  clients: listOf('client', 'Clients.'),
  users: listOf('user', 'Users.'),
  default_groups: groupNames('Groups that every user of the zone has.'),
  external_groups: listOf('externalGroup', 'Mappings of a provider’s groups to groups here.'),
  identity_providers: listOf('identityProvider', 'Identity providers.'),
} as const

// The service name affects only defaults, which the schema does not contain.
const zoneConfigSchema = settingsSchema(zoneConfigSettings(''))

/** JSON Schema (draft 7) of the configuration file. */
export const CONFIG_SCHEMA = {
  $schema: 'http://json-schema.org/draft-07/schema#',
  title: 'Latchkey configuration',
  description: '${NAME} and ${NAME:-default} in any string are replaced from the environment; $${ is a literal ${.',
  type: 'object',
  additionalProperties: false,
  properties: {
    base_url: text('Where clients reach the server, http or https; may have a path. Default http://localhost:<port>.'),
    service: {
      ...text('Replaces uaa in names of the interface: scopes, cookie names, the default zone and its provider.'),
      pattern: '^[a-z][a-z0-9]*$',
      patternErrorMessage: 'must be a lower-case letter and then lower-case letters and digits',
      default: 'svc',
    },
    compatibility: {
      enum: ['standard', 'uaa'],
      default: 'standard',
      description: 'Which behaviour to use where standards and UAA 77 differ.',
    },
    database: {
      ...text('sqlite:<path>, sqlite::memory: or postgres://user:password@host/database.'),
      default: 'sqlite:./data/latchkey.db',
    },
    database_file: fileOf('the database URL'),
    database_options: databaseOptionsSchema,
    workers: { type: 'integer', minimum: 1, maximum: 64, default: 1, description: 'Processes that share the socket.' },
    listen: {
      type: 'object',
      additionalProperties: false,
      description: 'The listening socket.',
      properties: {
        host: { ...text('Address or name to listen on.'), default: '127.0.0.1' },
        port: { type: 'integer', minimum: 0, maximum: 65_535, default: 8080, description: '0 takes any free port.' },
        trusted_proxies: trustedProxiesSchema,
        tls: tlsSchema,
        management: managementSchema,
      },
    },
    ...masterKeySchemas,
    smtp,
    signing_keys: signingKeys,
    saml: {
      type: 'object',
      additionalProperties: false,
      description: 'The SAML service provider.',
      properties: {
        entity_id: {
          ...text('Entity id; other zones prefix it (or the host, if it is a URL) with their subdomain and a dot.'),
          minLength: 1,
        },
        max_authentication_age: {
          type: 'integer',
          minimum: 1,
          maximum: 315_360_000,
          default: 864_000,
          description: 'Seconds that a sign-in at a provider may be ago, also where the assertion is new.',
        },
        active: text('The id of the key that signs and that providers encrypt for; the others only decrypt.'),
        keys: {
          type: 'object',
          description:
            'Key pairs of the default zone by id, also used by zones without their own. Absent: one is generated at first use and stored in the database.',
          additionalProperties: {
            type: 'object',
            additionalProperties: false,
            properties: {
              pem: text('The private key in PEM, RSA or EC.'),
              pem_file: fileOf('the private key in PEM'),
              passphrase: text('The passphrase of an encrypted private key.'),
              passphrase_file: fileOf('the passphrase'),
              cert: text('X.509 certificates of the key in PEM, its own first.'),
              cert_file: fileOf('the certificates in PEM'),
            },
          },
        },
      },
    },
    passkeys: {
      type: 'object',
      additionalProperties: false,
      description: 'Requirements for authenticators that create passkeys.',
      properties: {
        attestation_roots: text(
          'X.509 certificates in PEM of the makers of authenticators: a passkey whose attestation leads to one of them signs in at the level phrh. Absent: no attestation is requested.',
        ),
        attestation_roots_file: fileOf('the certificates in PEM'),
      },
    },
    mutual_tls: mutualTlsSchema,
    outbound: {
      type: 'object',
      additionalProperties: false,
      description: 'Requests of the server to addresses named by clients and providers.',
      properties: {
        allow_private: {
          ...flag('Whether these addresses may be private or loopback.'),
          default: false,
        },
      },
    },
    passwords: hashCostSchema,
    password: passwordSchema,
    session: {
      type: 'object',
      additionalProperties: false,
      description: 'Browser sessions.',
      properties: {
        same_site: { enum: ['lax', 'none'], default: 'lax', description: 'SameSite of the session cookie.' },
      },
    },
    audit: auditSchema,
    log: logSchema,
    tracing: tracingSchema,
    ...settingsSchemas,
    ...operationsSchemas,
    ...pagesSchemas,
    cors: corsSchema,
    ratelimit: rateLimitSchema,
    zone_config: { $ref: '#/definitions/zoneConfig' },
    bootstrap: {
      type: 'object',
      additionalProperties: false,
      description:
        'Records that are applied at start; docs/operate.md says whether the file or the API takes precedence.',
      properties: { ...bootstrapLists, identity_zones: listOf('identityZone', 'Further zones.') },
    },
  },
  definitions: {
    zoneConfig: zoneConfigSchema,
    group: {
      type: 'object',
      additionalProperties: false,
      required: ['displayName'],
      properties: {
        displayName: { ...text('Unique in the zone, ignoring case.'), minLength: 1, maxLength: 255 },
        description: { ...text('Shown on the approval page.'), maxLength: 255 },
      },
    },
    client,
    user,
    externalGroup: {
      type: 'object',
      additionalProperties: false,
      required: ['displayName', 'externalGroup'],
      properties: {
        displayName: { ...text('Group of this server; created if missing.'), minLength: 1, maxLength: 255 },
        externalGroup: { ...text('Group name at the provider, compared in lower case.'), minLength: 1 },
        origin: { ...text('Origin key of the provider.'), minLength: 1, maxLength: 36, default: 'ldap' },
      },
    },
    identityProvider,
    identityZone: {
      type: 'object',
      additionalProperties: false,
      required: ['id', 'subdomain', 'name'],
      properties: {
        id: { ...text('Never changes.'), minLength: 1, maxLength: 36 },
        subdomain: { ...text('Precedes the host of base_url.'), minLength: 1, maxLength: 255 },
        name: { ...text('Display name.'), minLength: 1, maxLength: 255 },
        description: text('Purpose of the zone.'),
        active: { ...flag('Whether the zone serves requests.'), default: true },
        config: { $ref: '#/definitions/zoneConfig' },
        bootstrap: {
          type: 'object',
          additionalProperties: false,
          description: 'The same keys as in the main bootstrap, inside this zone.',
          properties: bootstrapLists,
        },
      },
    },
  },
} as const
