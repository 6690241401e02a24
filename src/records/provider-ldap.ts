// The settings of an LDAP directory (§6.4). Most are only checked at sign-in.
import { choice, externalMembers, number, text, boolean } from './provider.ts'
import { section } from './settings.ts'
import type { SettingsOf } from './settings.ts'

/** A zone has one directory at most, whose origin is `ldap`. */
export const ldapSettings = section({
  unknown: 'ignored',
  members: {
    ...externalMembers,
    ldapProfileFile: choice(
      ['ldap/ldap-simple-bind.xml', 'ldap/ldap-search-and-bind.xml', 'ldap/ldap-search-and-compare.xml'],
      null,
    ),
    baseUrl: text(null, { about: 'Addresses of the directory with ldap:// or ldaps://, with spaces in between.' }),
    referral: choice(['follow', 'ignore', 'throw'], null),
    skipSSLVerification: boolean(false),
    tlsConfiguration: choice(['none', 'simple', 'external'], 'none'),
    caCertificates: text(undefined, {
      about:
        'Certificates (PEM) of the only trusted authorities for the directory, instead of those that the server trusts.',
    }),
    userDNPattern: text(null),
    userDNPatternDelimiter: text(null),
    bindUserDn: text(null),
    bindPassword: text(undefined, { secret: true }),
    userSearchBase: text(null),
    userSearchFilter: text(null, { about: 'Filter in which {0} stands for the user name.' }),
    passwordAttributeName: text(null),
    passwordEncoder: choice(['org.cloudfoundry.identity.uaa.provider.ldap.DynamicPasswordComparator'], null),
    localPasswordCompare: boolean(null),
    mailAttributeName: text('mail'),
    mailSubstitute: text(null),
    mailSubstituteOverridesLdap: boolean(false),
    ldapGroupFile: choice(
      [
        'ldap/ldap-groups-null.xml',
        'ldap/ldap-groups-as-scopes.xml',
        'ldap/ldap-groups-map-to-scopes.xml',
        'ldap/ldap-groups-populator.xml',
      ],
      null,
    ),
    groupSearchBase: text(null),
    groupSearchFilter: text(null),
    groupsIgnorePartialResults: boolean(null),
    autoAddGroups: boolean(true),
    groupSearchSubTree: boolean(true),
    maxGroupSearchDepth: number(10),
    groupRoleAttribute: text(null),
  },
})

/** The stored settings. */
export type LdapProviderConfig = SettingsOf<typeof ldapSettings>
