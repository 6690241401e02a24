// The outcomes of UAA's settings without a counterpart here. A rule applies to a setting and all below it; the longest one counts.

/** `imported`: it comes with UAA's database; `unused`: nothing needs it; `manual`: an operator must decide. */
export type Outcome = 'imported' | 'unused' | 'manual'

const IMPORTED = [
  'authentication.policy',
  'disableInternalAuth',
  'disableInternalUserManagement',
  'jwt.token.policy',
  'jwt.token.refresh',
  'jwt.token.revocable',
  'ldap',
  'links',
  'login.accountChooserEnabled',
  'login.allowOriginLoop',
  'login.allowedGroups',
  'login.branding',
  'login.checkOriginEnabled',
  'login.defaultIdentityProvider',
  'login.homeRedirect',
  'login.idpDiscoveryEnabled',
  'login.maxUsers',
  'login.oauth.providers',
  'login.prompt',
  'login.saml.activeKeyId',
  'login.saml.disableInResponseToCheck',
  'login.saml.keys',
  'login.saml.providers',
  'login.selfServiceLinksEnabled',
  'login.serviceProviderCertificate',
  'login.serviceProviderKey',
  'login.serviceProviderKeyPassword',
  'logout',
  'oauth.client.autoapprove',
  'oauth.client.override',
  'oauth.client.secret.policy',
  'oauth.clients',
  'oauth.user.authorities',
  'password.policy',
  'scim.external_groups',
  'scim.group_membership',
  'scim.groups',
  'scim.user',
  'scim.users',
] as const

const INERT = 'it had no effect in UAA'
const OWN = 'the server needs no setting for this'
const POOL = "it concerns UAA's own database, which import-uaa reads by --from"

const UNUSED: Readonly<Record<string, string>> = {
  LOGIN_SECRET: 'mails are sent by smtp',
  assetBaseUrl: OWN,
  brave: OWN,
  'client.secret.policy': INERT,
  cloud_controller: INERT,
  database: POOL,
  delete: 'UAA has deleted this at its last start',
  'delete.expirationRunTime': OWN,
  dump_requests: OWN,
  encryption: INERT,
  'jwt.token.verification-key': INERT,
  keystone: INERT,
  'ldap.ssl.sslCertificate': INERT,
  'ldap.ssl.sslCertificateAlias': INERT,
  logging: OWN,
  'login.addnew': INERT,
  'login.authorize': INERT,
  'login.saml.metadataRefreshInterval': OWN,
  'login.saml.socket': OWN,
  multitenant: INERT,
  name: INERT,
  'oauth.client.allowpublic': INERT,
  'oauth.openid.fallbackToAuthcode': INERT,
  'password-policy': INERT,
  platform: INERT,
  'rest.template': OWN,
  'servlet-session-purge-delay': OWN,
  'servlet.session-cookie.encode-base64': OWN,
  'servlet.session-store': 'sessions are in the database',
  'smtp.auth': 'a server with smtp.user authenticates',
  'smtp.sslprotocols': OWN,
  spring_profiles: OWN,
  tiles: INERT,
  'uaa.approvals': INERT,
  'uaa.limitedFunctionality.enabled': INERT,
  'uaa.login': INERT,
  'uaa.migrationsEnabled': 'database_options.migrate_at_start is true unless set',
  'uaa.token.url': 'mails are sent by smtp',
}

const ADDRESS =
  'base_url must be issuer.uri for the tokens of UAA to stay valid; zones.internal.hostnames has further hosts, with the same port and path'
const ORIGINS =
  'UAA reads origins instead, and so allowed every origin: list whole origins there, such as https://app\\.example\\.org'
const REFERENCES = 'providers that refer to it are refused by import-uaa: put the values into their settings first'
const LEGACY_KEY =
  'the key legacy-token-key: after the import, latchkey keys add --key-id legacy-token-key --pem-file FILE, and keys activate'
const PROXY = 'the proxy in front does this; name it in listen.trusted_proxies'

const BY_HAND: Readonly<Record<string, string>> = {
  allowUnverifiedUsers: 'users verify their address before they sign in',
  'cors.default.allowed.origin': ORIGINS,
  'cors.xhr.allowed.origin': ORIGINS,
  'csp.script-src': 'pages load no external scripts',
  'global.jwk': REFERENCES,
  https_port: PROXY,
  'jwt.client': REFERENCES,
  'jwt.token.policy.global': 'set tokenPolicy.accessTokenValidity and refreshTokenValidity of each zone that has none',
  'jwt.token.signing-alg': LEGACY_KEY,
  'jwt.token.signing-cert': LEGACY_KEY,
  'jwt.token.signing-key': LEGACY_KEY,
  'login.entityBaseURL': ADDRESS,
  'login.idpEntityAlias': 'UAA has written this provider into its database; check whether import-uaa imports it',
  'login.idpMetadata': 'UAA has written this provider into its database; check whether import-uaa imports it',
  'login.saml.signMetaData': 'metadata is always signed',
  'login.saml.signRequest': 'set samlConfig.requestSigned of the zones',
  'login.saml.signatureAlgorithm': 'SAML messages are signed with SHA-256',
  'login.saml.wantAssertionSigned': 'set samlConfig.wantAssertionSigned of the zones',
  'login.url': ADDRESS,
  notifications: 'mails are sent by smtp',
  'oauth.authorize.ssl': PROXY,
  'oauth.client.secret.policy.global': 'set clientSecretPolicy of each zone that has none',
  require_https: PROXY,
  'scim.delete.deactivate': 'users are deleted: set active to false instead',
  'servlet.filtered-headers': PROXY,
  'uaa.url': ADDRESS,
}

interface Rule {
  readonly outcome: Outcome
  readonly why: string
}

const RULES: ReadonlyMap<string, Rule> = new Map<string, Rule>([
  ...IMPORTED.map(key => [key, { outcome: 'imported', why: "it comes with UAA's database" }] as const),
  ...Object.entries(UNUSED).map(([key, why]) => [key, { outcome: 'unused', why }] as const),
  ...Object.entries(BY_HAND).map(([key, why]) => [key, { outcome: 'manual', why }] as const),
])

/** The rule for a setting, by the name of the setting that it is about. */
export function outcomeOf(key: string): Rule & { readonly rule: string } {
  const names = key.split('.')
  for (let count = names.length; count > 0; count -= 1) {
    const rule = names.slice(0, count).join('.')
    const found = RULES.get(rule)
    if (found) return { rule, ...found }
  }
  return { rule: key, outcome: 'manual', why: 'it has no counterpart here' }
}
