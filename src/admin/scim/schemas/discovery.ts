// The discovery documents of SCIM (RFC 7644 §4, RFC 7643 §5 to §7): supported features, resource types and schemas, all derived
// from the descriptions.
import type { Attribute, Json, ResourceType, Schema } from './attribute.ts'
import { PROTOCOL_SCHEMAS } from './protocol-schemas.ts'
import { GROUP, USER } from './schemas.ts'

/** Limits of requests, announced in `/ServiceProviderConfig` and enforced by the endpoints. */
export const LIMITS = {
  maxResults: 500,
  defaultPageSize: 100,
  maxOperations: 1000,
  maxPayloadSize: 1024 * 1024,
} as const

const SCHEMA = 'urn:ietf:params:scim:schemas:core:2.0:Schema'
const RESOURCE_TYPE = 'urn:ietf:params:scim:schemas:core:2.0:ResourceType'
const CONFIG = 'urn:ietf:params:scim:schemas:core:2.0:ServiceProviderConfig'
/** The schema of lists (RFC 7644 §3.4.2). */
export const LIST_SCHEMA = 'urn:ietf:params:scim:api:messages:2.0:ListResponse'

/** Where the documents are, and what they depend on. */
export interface DiscoveryFacts {
  /** The URL of `/scim/v2` in the zone. */
  readonly base: string
  /** The key of the internal provider. */
  readonly internalOrigin: string
}

/** Documents that do not change while the server runs, as one list. */
export const listOfAll = (resources: readonly Json[]): Json => ({
  schemas: [LIST_SCHEMA],
  totalResults: resources.length,
  itemsPerPage: resources.length,
  startIndex: 1,
  Resources: resources,
})

/** `/ServiceProviderConfig`. */
export const serviceProviderConfig = ({ base }: DiscoveryFacts): Json => ({
  schemas: [CONFIG],
  documentationUri: 'https://www.rfc-editor.org/rfc/rfc7644',
  patch: { supported: true },
  bulk: { supported: true, maxOperations: LIMITS.maxOperations, maxPayloadSize: LIMITS.maxPayloadSize },
  filter: { supported: true, maxResults: LIMITS.maxResults },
  changePassword: { supported: true },
  sort: { supported: true },
  etag: { supported: true },
  pagination: {
    cursor: true,
    index: true,
    defaultPaginationMethod: 'index',
    defaultPageSize: LIMITS.defaultPageSize,
    maxPageSize: LIMITS.maxResults,
  },
  authenticationSchemes: [
    {
      type: 'oauthbearertoken',
      name: 'OAuth Bearer Token',
      description: 'An access token of this zone (RFC 6750).',
      specUri: 'https://www.rfc-editor.org/rfc/rfc6750',
      primary: true,
    },
  ],
  meta: { resourceType: 'ServiceProviderConfig', location: `${base}/ServiceProviderConfig` },
})

const TYPES: readonly ResourceType[] = [USER, GROUP]

/** `/ResourceTypes`. */
export const resourceTypes = ({ base }: DiscoveryFacts): readonly (Json & { readonly id: string })[] =>
  TYPES.map(({ name, endpoint, description, schema, extensions }) => ({
    schemas: [RESOURCE_TYPE],
    id: name,
    name,
    endpoint,
    description,
    schema: schema.id,
    schemaExtensions: extensions.map(({ id }) => ({ schema: id, required: false })),
    meta: { resourceType: 'ResourceType', location: `${base}/ResourceTypes/${name}` },
  }))

/** `/Schemas`. */
export const schemas = (facts: DiscoveryFacts): readonly (Json & { readonly id: string })[] =>
  [...TYPES.flatMap(({ schema, extensions }) => [schema, ...extensions]), ...PROTOCOL_SCHEMAS].map(schema =>
    schemaJson(schema, facts),
  )

const schemaJson = (
  { id, name, description, attributes }: Schema,
  facts: DiscoveryFacts,
): Json & { readonly id: string } => ({
  schemas: [SCHEMA],
  id,
  name,
  description,
  attributes: attributes.filter(({ unlisted }) => !unlisted).map(attribute => attributeJson(attribute, facts)),
  meta: { resourceType: 'Schema', location: `${facts.base}/Schemas/${id}` },
})

/** RFC 7643 §7. */
function attributeJson(attribute: Attribute, facts: DiscoveryFacts): Json {
  const { name, type, description, subAttributes, referenceTypes } = attribute
  const canonicalValues = name === 'origin' ? [facts.internalOrigin] : attribute.canonicalValues
  return {
    name,
    type,
    multiValued: attribute.multiValued ?? false,
    description,
    required: attribute.required ?? false,
    ...(type !== 'complex' && type !== 'boolean' && { caseExact: attribute.caseExact ?? false }),
    ...(canonicalValues && { canonicalValues }),
    mutability: attribute.mutability ?? 'readWrite',
    returned: attribute.returned ?? 'default',
    ...(type !== 'boolean' && { uniqueness: attribute.uniqueness ?? 'none' }),
    ...(referenceTypes && { referenceTypes }),
    ...(subAttributes && { subAttributes: subAttributes.map(sub => attributeJson(sub, facts)) }),
  }
}
