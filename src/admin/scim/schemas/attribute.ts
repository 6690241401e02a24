// The description of a SCIM resource (RFC 7643 §7), and the lookup of its attributes by name. Parsing, responses, PATCH paths,
// filters and `/Schemas` are all derived from descriptions; none of them names a specific attribute.

/** RFC 7643 §2.3, without the types that no attribute has. */
type AttributeType = 'string' | 'boolean' | 'integer' | 'dateTime' | 'reference' | 'binary' | 'complex'

/** One attribute; what is absent has the default of RFC 7643 §2.2. */
export interface Attribute {
  readonly name: string
  readonly type: AttributeType
  readonly description: string
  readonly multiValued?: true
  readonly required?: true
  /** For a required attribute: a request may omit it, because the server has a value. */
  readonly defaulted?: true
  readonly caseExact?: true
  readonly mutability?: 'readOnly' | 'immutable' | 'writeOnly'
  readonly returned?: 'always' | 'never' | 'request'
  readonly uniqueness?: 'server'
  readonly canonicalValues?: readonly string[]
  readonly referenceTypes?: readonly string[]
  readonly subAttributes?: readonly Attribute[]
  /** Maximum length of a list; `MAX_VALUES` unless given. */
  readonly maxValues?: number
  /** Whether `/Schemas` omits it, because few callers may use it. */
  readonly unlisted?: true
  /** The members of the record that hold it, joined by dots. Absent for what is computed. */
  readonly at?: string
}

/** As many values as a list of a profile can have. */
export const MAX_VALUES = 100

/** A schema: a resource's own, or an extension of it. */
export interface Schema {
  readonly id: string
  readonly name: string
  readonly description: string
  readonly attributes: readonly Attribute[]
}

/** A type of resource (RFC 7643 §6). */
export interface ResourceType {
  readonly name: 'User' | 'Group'
  readonly endpoint: '/Users' | '/Groups'
  readonly description: string
  /** Attributes besides those of `schema` that no schema lists. */
  readonly common: readonly Attribute[]
  readonly schema: Schema
  readonly extensions: readonly Schema[]
}

/** A resource, or a part of one, with the names of the description. Extensions are members named by their URN. */
export type Json = Readonly<Record<string, unknown>>

/** Attributes that every resource has (RFC 7643 §3.1). */
export const COMMON: readonly Attribute[] = [
  {
    name: 'schemas',
    type: 'reference',
    description: 'The schemas of the resource.',
    multiValued: true,
    caseExact: true,
    mutability: 'readOnly',
    returned: 'always',
  },
  {
    name: 'id',
    type: 'string',
    description: 'The identifier of the resource.',
    caseExact: true,
    mutability: 'readOnly',
    returned: 'always',
    uniqueness: 'server',
  },
  {
    name: 'meta',
    type: 'complex',
    description: 'Metadata of the resource.',
    mutability: 'readOnly',
    subAttributes: [
      {
        name: 'resourceType',
        type: 'string',
        description: 'The type of resource.',
        mutability: 'readOnly',
        caseExact: true,
      },
      {
        name: 'created',
        type: 'dateTime',
        description: 'When it was created.',
        mutability: 'readOnly',
      },
      {
        name: 'lastModified',
        type: 'dateTime',
        description: 'When it was last changed.',
        mutability: 'readOnly',
      },
      { name: 'location', type: 'string', description: 'Its URL.', mutability: 'readOnly', caseExact: true },
      {
        name: 'version',
        type: 'string',
        description: 'Its version, as in ETag.',
        mutability: 'readOnly',
        caseExact: true,
      },
    ],
  },
]

/** An attribute path without a filter (RFC 7644 §3.10), resolved: the attribute, with the extension that owns it. */
export interface ResolvedPath {
  /** The URN of the extension; absent for the resource's own schema. */
  readonly extension?: string
  readonly attribute: Attribute
  readonly sub?: Attribute
}

/** Finds attributes by the names that requests use, in any case (RFC 7643 §2.1). */
export interface Names {
  /** By path without a filter: `userName`, `name.givenName`, `urn:…:User:department`. */
  find(path: string): ResolvedPath | undefined
  extension(urn: string): Schema | undefined
  /** The resource's own attributes and the common ones. */
  readonly own: readonly Attribute[]
  readonly type: ResourceType
}

/** The index of a type; made once. */
export function namesOf(type: ResourceType): Names {
  const own = [...type.common, ...type.schema.attributes]
  const schemas = new Map<string, { readonly extension?: Schema; readonly attributes: readonly Attribute[] }>([
    [type.schema.id.toLowerCase(), { attributes: own }],
    ...type.extensions.map(
      extension => [extension.id.toLowerCase(), { extension, attributes: extension.attributes }] as const,
    ),
  ])

  /** The schema that a path begins with, and the rest. */
  function splitUrn(path: string): { readonly urn: string | undefined; readonly rest: string } {
    const lower = path.toLowerCase()
    for (const urn of schemas.keys()) if (lower.startsWith(`${urn}:`)) return { urn, rest: path.slice(urn.length + 1) }
    return { urn: undefined, rest: path }
  }

  return {
    own,
    type,
    find(path) {
      const { urn, rest } = splitUrn(path)
      const [name = '', subName, ...more] = rest.split('.')
      const { extension, attributes } = (urn !== undefined && schemas.get(urn)) || { attributes: own }
      const attribute = named(attributes, name)
      if (!attribute || more.length > 0) return undefined
      const sub = subName === undefined ? undefined : named(attribute.subAttributes ?? [], subName)
      if (subName !== undefined && !sub) return undefined
      return { attribute, ...(extension && { extension: extension.id }), ...(sub && { sub }) }
    },
    extension: urn => schemas.get(urn.toLowerCase())?.extension,
  }
}

/** The attribute of this name, in any case. */
export function named(attributes: readonly Attribute[], name: string): Attribute | undefined {
  const lower = name.toLowerCase()
  return attributes.find(attribute => attribute.name.toLowerCase() === lower)
}

/** The full name of an attribute path, as in error messages. */
export const nameOf = ({ extension, attribute, sub }: ResolvedPath): string =>
  `${extension === undefined ? '' : `${extension}:`}${attribute.name}${sub ? `.${sub.name}` : ''}`
