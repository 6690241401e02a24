// The SCIM resources of this server: each attribute once, with the location of its value in the record.
import type { Attribute, ResourceType, Schema } from './attribute.ts'
import { COMMON } from './attribute.ts'

const text = (name: string, description: string, more: Partial<Attribute> = {}): Attribute => ({
  name,
  type: 'string',
  description,
  ...more,
})

const display = text('display', 'A name to show.', { at: 'display' })
const primary: Attribute = {
  name: 'primary',
  type: 'boolean',
  description: 'Whether this is the preferred value; true for one value at most.',
  at: 'primary',
}
const typeOf = (...canonicalValues: readonly string[]): Attribute =>
  text('type', 'What the value is for.', { at: 'type', ...(canonicalValues.length > 0 && { canonicalValues }) })

/** A list of values with type, name and mark of preference (RFC 7643 §2.4). */
const values = (
  name: string,
  description: string,
  {
    types = [],
    value = {},
    more = {},
  }: { types?: readonly string[]; value?: Partial<Attribute>; more?: Partial<Attribute> } = {},
): Attribute => ({
  name,
  type: 'complex',
  multiValued: true,
  description,
  at: `profile.${name}`,
  ...more,
  subAttributes: [
    text('value', 'The value.', { required: true, at: 'value', ...value }),
    display,
    typeOf(...types),
    primary,
  ],
})

const externalId = text('externalId', 'The id in the system that provides the resource.', {
  caseExact: true,
  at: 'externalId',
})

const COMMON_TYPES = ['work', 'home', 'other']

/** RFC 7643 §4.1. */
const user: Schema = {
  id: 'urn:ietf:params:scim:schemas:core:2.0:User',
  name: 'User',
  description: 'User Account',
  attributes: [
    text('userName', 'The name that the user signs in with.', {
      required: true,
      uniqueness: 'server',
      at: 'userName',
    }),
    {
      name: 'name',
      type: 'complex',
      description: "The parts of the user's name.",
      subAttributes: [
        text('formatted', 'The whole name.', { at: 'profile.name.formatted' }),
        text('familyName', 'The family name.', { at: 'familyName' }),
        text('givenName', 'The given name.', { at: 'givenName' }),
        text('middleName', 'The middle names.', { at: 'profile.name.middleName' }),
        text('honorificPrefix', 'Titles before the name.', { at: 'profile.name.honorificPrefix' }),
        text('honorificSuffix', 'Titles after the name.', { at: 'profile.name.honorificSuffix' }),
      ],
    },
    text('displayName', 'The name to show.', { at: 'profile.displayName' }),
    text('nickName', 'How the user is addressed casually.', { at: 'profile.nickName' }),
    {
      name: 'profileUrl',
      type: 'reference',
      description: "The address of the user's page.",
      referenceTypes: ['external'],
      caseExact: true,
      at: 'profile.profileUrl',
    },
    text('title', 'The title, such as "Vice President".', { at: 'profile.title' }),
    text('userType', 'The relationship to the organization.', { at: 'profile.userType' }),
    text('preferredLanguage', 'Languages, as in Accept-Language.', { at: 'profile.preferredLanguage' }),
    text('locale', 'The language and country for formats.', { at: 'profile.locale' }),
    text('timezone', 'The time zone, as in the IANA database.', { at: 'profile.timezone' }),
    {
      name: 'active',
      type: 'boolean',
      description: 'Whether the user can sign in; false ends sessions and tokens.',
      required: true,
      defaulted: true,
      at: 'active',
    },
    text('password', 'A new password.', { mutability: 'writeOnly', returned: 'never', caseExact: true }),
    // Every account has an address; a user name that is one can replace it.
    values('emails', 'E-mail addresses; the primary one is used.', {
      types: COMMON_TYPES,
      more: { required: true, defaulted: true },
    }),
    values('phoneNumbers', 'Telephone numbers.', {
      types: ['work', 'home', 'mobile', 'fax', 'pager', 'other'],
    }),
    values('ims', 'Addresses for instant messages.', {
      types: ['aim', 'gtalk', 'icq', 'xmpp', 'msn', 'skype', 'qq', 'yahoo'],
    }),
    values('photos', 'Addresses of images.', {
      types: ['photo', 'thumbnail'],
      value: { type: 'reference', referenceTypes: ['external'], caseExact: true },
    }),
    {
      name: 'addresses',
      type: 'complex',
      multiValued: true,
      description: 'Postal addresses.',
      at: 'profile.addresses',
      subAttributes: [
        text('formatted', 'The whole address, in lines.', { at: 'formatted' }),
        text('streetAddress', 'Street and number.', { at: 'streetAddress' }),
        text('locality', 'City.', { at: 'locality' }),
        text('region', 'State or region.', { at: 'region' }),
        text('postalCode', 'Postal code.', { at: 'postalCode' }),
        text('country', 'Country, as in ISO 3166-1 alpha-2.', { at: 'country' }),
        typeOf(...COMMON_TYPES),
        primary,
      ],
    },
    {
      name: 'groups',
      type: 'complex',
      multiValued: true,
      description: 'The groups of the user, direct and through other groups; changed at the groups.',
      mutability: 'readOnly',
      subAttributes: [
        text('value', 'The id of the group.', { mutability: 'readOnly', caseExact: true }),
        {
          name: '$ref',
          type: 'reference',
          description: 'The URL of the group.',
          referenceTypes: ['User', 'Group'],
          mutability: 'readOnly',
          caseExact: true,
        },
        text('display', 'The name of the group.', { mutability: 'readOnly' }),
        text('type', 'Direct, or through another group.', {
          mutability: 'readOnly',
          canonicalValues: ['direct', 'indirect'],
        }),
      ],
    },
    values('entitlements', 'What the user is entitled to.'),
    values('roles', 'Roles of the user.'),
    values('x509Certificates', 'Certificates.', { value: { type: 'binary', caseExact: true } }),
  ],
}

/** RFC 7643 §4.3. */
const enterprise: Schema = {
  id: 'urn:ietf:params:scim:schemas:extension:enterprise:2.0:User',
  name: 'EnterpriseUser',
  description: 'Enterprise User',
  attributes: [
    text('employeeNumber', 'The number of the employee.', { at: 'profile.enterprise.employeeNumber' }),
    text('costCenter', 'The name of a cost center.', { at: 'profile.enterprise.costCenter' }),
    text('organization', 'The name of an organization.', { at: 'profile.enterprise.organization' }),
    text('division', 'The name of a division.', { at: 'profile.enterprise.division' }),
    text('department', 'The name of a department.', { at: 'profile.enterprise.department' }),
    {
      name: 'manager',
      type: 'complex',
      description: "The user's manager.",
      subAttributes: [
        text('value', "The id of the manager's account.", { caseExact: true, at: 'profile.enterprise.manager.value' }),
        {
          name: '$ref',
          type: 'reference',
          description: "The URL of the manager's account.",
          referenceTypes: ['User'],
          caseExact: true,
        },
        text('displayName', 'The name of the manager.', {
          mutability: 'readOnly',
          at: 'profile.enterprise.manager.displayName',
        }),
      ],
    },
  ],
}

const OWN = 'urn:ietf:params:scim:schemas:extension:latchkey:2.0'

const moment = (name: string, description: string, at: string): Attribute => ({
  name,
  type: 'dateTime',
  description,
  mutability: 'readOnly',
  returned: 'request',
  at,
})

/** Attributes that RFC 7643 does not have. */
const ownUser: Schema = {
  id: `${OWN}:User`,
  name: 'LatchkeyUser',
  description: 'Latchkey User',
  attributes: [
    text('origin', 'The key of the identity provider that the user signs in with.', {
      mutability: 'immutable',
      caseExact: true,
      at: 'origin',
    }),
    {
      name: 'verified',
      type: 'boolean',
      description: 'Whether the e-mail address is verified.',
      required: true,
      defaulted: true,
      at: 'verified',
    },
    text('gender', 'The gender (OpenID Connect Core §5.1).', { at: 'profile.gender' }),
    text('birthdate', 'The birthday (OpenID Connect Core §5.1).', { at: 'profile.birthdate' }),
    text('website', 'The address of a web page (OpenID Connect Core §5.1).', { at: 'profile.website' }),
    {
      name: 'customAttributes',
      type: 'complex',
      multiValued: true,
      maxValues: 500,
      description: "The organization's own attributes. A name with several values has several entries.",
      subAttributes: [
        text('name', 'The name of the attribute.', { caseExact: true, required: true }),
        text('value', 'One value of it.', { required: true }),
      ],
    },
    text('passwordHash', 'A bcrypt or argon2id hash instead of a password, for imports by an administrator.', {
      unlisted: true,
      mutability: 'writeOnly',
      returned: 'never',
      caseExact: true,
    }),
    moment('passwordLastModified', 'When the password was last changed.', 'passwordChangedAt'),
    moment('lastLogonTime', 'The last sign-in.', 'lastLogonAt'),
    moment('previousLogonTime', 'The sign-in before.', 'previousLogonAt'),
  ],
}

/** RFC 7643 §4.2. */
const group: Schema = {
  id: 'urn:ietf:params:scim:schemas:core:2.0:Group',
  name: 'Group',
  description: 'Group',
  attributes: [
    text('displayName', 'The name of the group: the scope that its members can have.', {
      required: true,
      uniqueness: 'server',
      at: 'displayName',
    }),
    {
      name: 'members',
      type: 'complex',
      multiValued: true,
      maxValues: 10_000, // of one request, or of a filter
      description: 'Users and groups that are in the group.',
      subAttributes: [
        text('value', 'The id of the member.', { mutability: 'immutable', caseExact: true }),
        {
          name: '$ref',
          type: 'reference',
          description: 'The URL of the member.',
          referenceTypes: ['User', 'Group'],
          mutability: 'immutable',
          caseExact: true,
        },
        text('type', 'The type of the member.', { mutability: 'immutable', canonicalValues: ['User', 'Group'] }),
        text('display', 'The name of the member.', { mutability: 'readOnly', returned: 'request' }),
      ],
    },
  ],
}

const ownGroup: Schema = {
  id: `${OWN}:Group`,
  name: 'LatchkeyGroup',
  description: 'Latchkey Group',
  attributes: [text('description', 'What the group is for, as pages show it.', { at: 'description' })],
}

/** Users. */
export const USER: ResourceType = {
  name: 'User',
  endpoint: '/Users',
  description: 'User Account',
  common: [...COMMON, externalId],
  schema: user,
  extensions: [enterprise, ownUser],
}

/** Groups. */
export const GROUP: ResourceType = {
  name: 'Group',
  endpoint: '/Groups',
  description: 'Group',
  common: [...COMMON, externalId],
  schema: group,
  extensions: [ownGroup],
}

/** The URN of the enterprise extension. */
export const ENTERPRISE_USER = enterprise.id
/** The URN of the own extension of users. */
export const OWN_USER = ownUser.id
/** The URN of the own extension of groups. */
export const OWN_GROUP = ownGroup.id
