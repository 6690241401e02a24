// The schemas of the documents that describe the server (RFC 7643 §8.7.2, RFC 9865 §4); nothing reads requests by them.
import type { Attribute, Schema } from './attribute.ts'

const readOnly = (
  name: string,
  type: Attribute['type'],
  description: string,
  more: Partial<Attribute> = {},
): Attribute => ({ name, type, description, mutability: 'readOnly', ...more })

const required = { required: true } as const
const list = { multiValued: true } as const
const exact = { caseExact: true } as const

const supported = readOnly('supported', 'boolean', 'Whether the operation is supported.', required)
const feature = (name: string, description: string, ...more: readonly Attribute[]): Attribute =>
  readOnly(name, 'complex', description, { ...required, subAttributes: [supported, ...more] })
const external = { referenceTypes: ['external'], ...exact }

const serviceProviderConfig: Schema = {
  id: 'urn:ietf:params:scim:schemas:core:2.0:ServiceProviderConfig',
  name: 'ServiceProviderConfig',
  description: 'What the server supports.',
  attributes: [
    readOnly('documentationUri', 'reference', 'URL of the documentation.', external),
    feature('patch', 'PATCH.'),
    feature(
      'bulk',
      'Many operations in one request.',
      readOnly('maxOperations', 'integer', 'Maximum number of operations per request.', required),
      readOnly('maxPayloadSize', 'integer', 'Maximum size of a request in bytes.', required),
    ),
    feature(
      'filter',
      'Filters.',
      readOnly('maxResults', 'integer', 'Maximum number of resources per response.', required),
    ),
    feature('changePassword', 'Changes of passwords.'),
    feature('sort', 'Sorting.'),
    feature('etag', 'Versions.'),
    readOnly('pagination', 'complex', 'Pages of lists (RFC 9865).', {
      subAttributes: [
        readOnly('cursor', 'boolean', 'Whether pages by cursor are supported.', required),
        readOnly('index', 'boolean', 'Whether pages by index are supported.', required),
        readOnly('defaultPaginationMethod', 'string', 'The default pagination method.', {
          canonicalValues: ['cursor', 'index'],
        }),
        readOnly('defaultPageSize', 'integer', 'Default page size.'),
        readOnly('maxPageSize', 'integer', 'Maximum page size.'),
        readOnly('cursorTimeout', 'integer', 'Seconds after which a cursor expires.'),
      ],
    }),
    readOnly('authenticationSchemes', 'complex', 'How clients authenticate.', {
      ...required,
      ...list,
      subAttributes: [
        readOnly('type', 'string', 'The scheme.', {
          ...required,
          canonicalValues: ['oauth', 'oauth2', 'oauthbearertoken', 'httpbasic', 'httpdigest'],
        }),
        readOnly('name', 'string', 'Its name.', required),
        readOnly('description', 'string', 'What it is.', required),
        readOnly('specUri', 'reference', 'Its specification.', external),
        readOnly('documentationUri', 'reference', 'URL of the documentation.', external),
        readOnly('primary', 'boolean', 'Whether it is the preferred one.'),
      ],
    }),
  ],
}

const resourceType: Schema = {
  id: 'urn:ietf:params:scim:schemas:core:2.0:ResourceType',
  name: 'ResourceType',
  description: 'A type of resource.',
  attributes: [
    readOnly('id', 'string', 'Its id.', exact),
    readOnly('name', 'string', 'Its name.', { ...required, ...exact }),
    readOnly('description', 'string', 'What it is.'),
    readOnly('endpoint', 'reference', 'Its path.', { ...required, referenceTypes: ['uri'], ...exact }),
    readOnly('schema', 'reference', 'Its schema.', { ...required, referenceTypes: ['uri'], ...exact }),
    readOnly('schemaExtensions', 'complex', 'The extensions of its schema.', {
      ...list,
      subAttributes: [
        readOnly('schema', 'reference', 'The extension.', { ...required, referenceTypes: ['uri'], ...exact }),
        readOnly('required', 'boolean', 'Whether a resource must have it.', required),
      ],
    }),
  ],
}

const characteristics: readonly Attribute[] = [
  readOnly('name', 'string', 'Its name.', { ...required, ...exact }),
  readOnly('type', 'string', 'Its type.', {
    ...required,
    canonicalValues: ['string', 'boolean', 'decimal', 'integer', 'dateTime', 'reference', 'binary', 'complex'],
  }),
  readOnly('multiValued', 'boolean', 'Whether it has many values.', required),
  readOnly('description', 'string', 'What it is.'),
  readOnly('required', 'boolean', 'Whether a resource must have it.', required),
  readOnly('canonicalValues', 'string', 'Suggested values.', list),
  readOnly('caseExact', 'boolean', 'Whether it is case-sensitive.'),
  readOnly('mutability', 'string', 'Who may change it.', {
    canonicalValues: ['readOnly', 'readWrite', 'immutable', 'writeOnly'],
  }),
  readOnly('returned', 'string', 'When responses contain it.', {
    canonicalValues: ['always', 'never', 'default', 'request'],
  }),
  readOnly('uniqueness', 'string', 'Where it is unique.', { canonicalValues: ['none', 'server', 'global'] }),
  readOnly('referenceTypes', 'string', 'What it can refer to.', { ...list, ...exact }),
]

const schema: Schema = {
  id: 'urn:ietf:params:scim:schemas:core:2.0:Schema',
  name: 'Schema',
  description: 'A schema.',
  attributes: [
    readOnly('id', 'string', 'Its URN.', { ...required, ...exact }),
    readOnly('name', 'string', 'Its name.', exact),
    readOnly('description', 'string', 'What it is.'),
    readOnly('attributes', 'complex', 'Its attributes.', {
      ...required,
      ...list,
      subAttributes: [
        ...characteristics,
        readOnly('subAttributes', 'complex', 'The attributes inside a complex one.', {
          ...list,
          subAttributes: characteristics,
        }),
      ],
    }),
  ],
}

/** All of them. */
export const PROTOCOL_SCHEMAS: readonly Schema[] = [serviceProviderConfig, resourceType, schema]
