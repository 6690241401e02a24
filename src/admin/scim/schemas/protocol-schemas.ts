// The schemas of the documents that describe the server (RFC 7643 §8.7.2, RFC 9865 §4); nothing reads requests by them.
import type { Attribute, Schema } from './attribute.ts'

const readOnly = (
  name: string,
  type: Attribute['type'],
  more: Pick<Attribute, 'description'> & Partial<Attribute>,
): Attribute => ({ name, type, mutability: 'readOnly', ...more })

const required = { required: true } as const
const list = { multiValued: true } as const
const exact = { caseExact: true } as const

const supported = readOnly('supported', 'boolean', { description: 'Whether the operation is supported.', ...required })
const feature = (name: string, description: string, ...more: readonly Attribute[]): Attribute =>
  readOnly(name, 'complex', { description, ...required, subAttributes: [supported, ...more] })
const external = { referenceTypes: ['external'], ...exact }

const serviceProviderConfig: Schema = {
  id: 'urn:ietf:params:scim:schemas:core:2.0:ServiceProviderConfig',
  name: 'ServiceProviderConfig',
  description: 'What the server supports.',
  attributes: [
    readOnly('documentationUri', 'reference', { description: 'URL of the documentation.', ...external }),
    feature('patch', 'PATCH.'),
    feature(
      'bulk',
      'Many operations in one request.',
      readOnly('maxOperations', 'integer', { description: 'Maximum number of operations per request.', ...required }),
      readOnly('maxPayloadSize', 'integer', { description: 'Maximum size of a request in bytes.', ...required }),
    ),
    feature(
      'filter',
      'Filters.',
      readOnly('maxResults', 'integer', { description: 'Maximum number of resources per response.', ...required }),
    ),
    feature('changePassword', 'Changes of passwords.'),
    feature('sort', 'Sorting.'),
    feature('etag', 'Versions.'),
    readOnly('pagination', 'complex', {
      description: 'Pages of lists (RFC 9865).',
      subAttributes: [
        readOnly('cursor', 'boolean', { description: 'Whether pages by cursor are supported.', ...required }),
        readOnly('index', 'boolean', { description: 'Whether pages by index are supported.', ...required }),
        readOnly('defaultPaginationMethod', 'string', {
          description: 'The default pagination method.',
          canonicalValues: ['cursor', 'index'],
        }),
        readOnly('defaultPageSize', 'integer', { description: 'Default page size.' }),
        readOnly('maxPageSize', 'integer', { description: 'Maximum page size.' }),
        readOnly('cursorTimeout', 'integer', { description: 'Seconds after which a cursor expires.' }),
      ],
    }),
    readOnly('authenticationSchemes', 'complex', {
      description: 'How clients authenticate.',
      ...required,
      ...list,
      subAttributes: [
        readOnly('type', 'string', {
          description: 'The scheme.',
          ...required,
          canonicalValues: ['oauth', 'oauth2', 'oauthbearertoken', 'httpbasic', 'httpdigest'],
        }),
        readOnly('name', 'string', { description: 'Its name.', ...required }),
        readOnly('description', 'string', { description: 'What it is.', ...required }),
        readOnly('specUri', 'reference', { description: 'Its specification.', ...external }),
        readOnly('documentationUri', 'reference', { description: 'URL of the documentation.', ...external }),
        readOnly('primary', 'boolean', { description: 'Whether it is the preferred one.' }),
      ],
    }),
  ],
}

const resourceType: Schema = {
  id: 'urn:ietf:params:scim:schemas:core:2.0:ResourceType',
  name: 'ResourceType',
  description: 'A type of resource.',
  attributes: [
    readOnly('id', 'string', { description: 'Its id.', ...exact }),
    readOnly('name', 'string', { description: 'Its name.', ...required, ...exact }),
    readOnly('description', 'string', { description: 'What it is.' }),
    readOnly('endpoint', 'reference', { description: 'Its path.', ...required, referenceTypes: ['uri'], ...exact }),
    readOnly('schema', 'reference', { description: 'Its schema.', ...required, referenceTypes: ['uri'], ...exact }),
    readOnly('schemaExtensions', 'complex', {
      description: 'The extensions of its schema.',
      ...list,
      subAttributes: [
        readOnly('schema', 'reference', {
          description: 'The extension.',
          ...required,
          referenceTypes: ['uri'],
          ...exact,
        }),
        readOnly('required', 'boolean', { description: 'Whether a resource must have it.', ...required }),
      ],
    }),
  ],
}

const characteristics: readonly Attribute[] = [
  readOnly('name', 'string', { description: 'Its name.', ...required, ...exact }),
  readOnly('type', 'string', {
    description: 'Its type.',
    ...required,
    canonicalValues: ['string', 'boolean', 'decimal', 'integer', 'dateTime', 'reference', 'binary', 'complex'],
  }),
  readOnly('multiValued', 'boolean', { description: 'Whether it has many values.', ...required }),
  readOnly('description', 'string', { description: 'What it is.' }),
  readOnly('required', 'boolean', { description: 'Whether a resource must have it.', ...required }),
  readOnly('canonicalValues', 'string', { description: 'Suggested values.', ...list }),
  readOnly('caseExact', 'boolean', { description: 'Whether it is case-sensitive.' }),
  readOnly('mutability', 'string', {
    description: 'Who may change it.',
    canonicalValues: ['readOnly', 'readWrite', 'immutable', 'writeOnly'],
  }),
  readOnly('returned', 'string', {
    description: 'When responses contain it.',
    canonicalValues: ['always', 'never', 'default', 'request'],
  }),
  readOnly('uniqueness', 'string', {
    description: 'Where it is unique.',
    canonicalValues: ['none', 'server', 'global'],
  }),
  readOnly('referenceTypes', 'string', { description: 'What it can refer to.', ...list, ...exact }),
]

const schema: Schema = {
  id: 'urn:ietf:params:scim:schemas:core:2.0:Schema',
  name: 'Schema',
  description: 'A schema.',
  attributes: [
    readOnly('id', 'string', { description: 'Its URN.', ...required, ...exact }),
    readOnly('name', 'string', { description: 'Its name.', ...exact }),
    readOnly('description', 'string', { description: 'What it is.' }),
    readOnly('attributes', 'complex', {
      description: 'Its attributes.',
      ...required,
      ...list,
      subAttributes: [
        ...characteristics,
        readOnly('subAttributes', 'complex', {
          description: 'The attributes inside a complex one.',
          ...list,
          subAttributes: characteristics,
        }),
      ],
    }),
  ],
}

/** All of them. */
export const PROTOCOL_SCHEMAS: readonly Schema[] = [serviceProviderConfig, resourceType, schema]
