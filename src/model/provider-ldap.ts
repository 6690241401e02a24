// The record of an LDAP directory (§6.4). What stands in no comment there is not validated: the directory says at login.
import { ABSENT, EXTERNAL_MEMBERS, FLAG, member, oneOf, TEXT, WHOLE } from './provider-members.ts'
import type { ProviderRecordType } from './provider-types.ts'

const PROFILES = ['simple-bind', 'search-and-bind', 'search-and-compare'].map(name => `ldap/ldap-${name}.xml`)
const GROUPS = ['null', 'as-scopes', 'map-to-scopes', 'populator'].map(name => `ldap/ldap-groups-${name}.xml`)

/** A zone has one directory at most, whose origin is `ldap`. */
export const LDAP_RECORD: ProviderRecordType = {
  type: 'ldap',
  needsConfig: false,
  members: [
    ...EXTERNAL_MEMBERS,
    member('ldapProfileFile', oneOf(...PROFILES)),
    member('baseUrl', TEXT),
    member('referral', oneOf('follow', 'ignore', 'throw')),
    member('skipSSLVerification', FLAG, false),
    member('tlsConfiguration', oneOf('none', 'simple', 'external'), 'none'),
    member('userDNPattern', TEXT),
    member('userDNPatternDelimiter', TEXT),
    member('bindUserDn', TEXT),
    member('bindPassword', TEXT, ABSENT),
    member('userSearchBase', TEXT),
    member('userSearchFilter', TEXT),
    member('passwordAttributeName', TEXT),
    member('passwordEncoder', oneOf('org.cloudfoundry.identity.uaa.provider.ldap.DynamicPasswordComparator')),
    member('localPasswordCompare', FLAG),
    member('mailAttributeName', TEXT, 'mail'),
    member('mailSubstitute', TEXT),
    member('mailSubstituteOverridesLdap', FLAG, false),
    member('ldapGroupFile', oneOf(...GROUPS)),
    member('groupSearchBase', TEXT),
    member('groupSearchFilter', TEXT),
    member('groupsIgnorePartialResults', FLAG),
    member('autoAddGroups', FLAG, true),
    member('groupSearchSubTree', FLAG, true),
    member('maxGroupSearchDepth', WHOLE, 10),
    member('groupRoleAttribute', TEXT),
  ],
  check: () => [],
  computed: () => ({}),
  externalKey: () => undefined,
}
