// The settings of OAuth 2.0 and OpenID Connect providers (§6.6).
import * as v from 'valibot'
import { isJsonRecord, parseJson } from '../base/json.ts'
import type { JsonRecord } from '../base/json.ts'
import { string } from './kinds.ts'
import { acrMapping, externalMembers, listOfRecords, text, stringMap, stringList, boolean, url } from './provider.ts'
import { section, setting } from './settings.ts'
import type { SettingsOf } from './settings.ts'

/** The default is kept, and shown, as no mode at all. */
const groupMappingMode = setting({
  kind: v.pipe(
    v.picklist(['AS_SCOPES', 'EXPLICITLY_MAPPED']),
    v.transform(value => (value === 'AS_SCOPES' ? value : undefined)),
  ),
  needs: 'one of AS_SCOPES, EXPLICITLY_MAPPED',
  about: 'Whether groups of the provider are looked up in /Groups/External, or are names of groups here.',
})

const KEY_MEMBERS = ['kid', 'key', 'cert', 'alg', 'iss', 'sub', 'aud']

// A null says that the key is to be forgotten, where an absent one is kept.
const isOwnKey = (value: unknown): value is boolean | JsonRecord =>
  typeof value === 'boolean' ||
  (isJsonRecord(value) && KEY_MEMBERS.every(name => v.is(v.nullish(string), ownMember(value, name))))
const ownMember = (value: JsonRecord, name: string): unknown => (Object.hasOwn(value, name) ? value[name] : undefined)

const jwtClientAuthentication = setting({
  kind: v.pipe(
    v.custom<boolean | JsonRecord>(isOwnKey),
    v.transform(value =>
      typeof value === 'boolean'
        ? value || undefined
        : Object.fromEntries(KEY_MEMBERS.flatMap(name => (Object.hasOwn(value, name) ? [[name, value[name]]] : []))),
    ),
  ),
  needs: `true or an object of strings: ${KEY_MEMBERS.join(', ')}`,
  unset: null,
  optional: true, // as in UAA
  secret: { member: 'key' },
  about:
    'How this server authenticates with a signed JWT: true for the active key of the zone, or a separate key. References are not resolved.',
  schema: {
    type: ['boolean', 'object'],
    properties: Object.fromEntries(KEY_MEMBERS.map(name => [name, { type: ['string', 'null'] }])),
  },
})

/** A verification key in PEM or as JWK is public; any other string is a secret that is shared with the provider. */
function isSharedKey(value: string): boolean {
  if (value.includes('-----BEGIN ')) return false
  const parsed = parseJson(value)
  const keys: readonly unknown[] = isJsonRecord(parsed) && Array.isArray(parsed['keys']) ? parsed['keys'] : [parsed]
  return !keys.every(key => isJsonRecord(key) && !Object.hasOwn(key, 'k'))
}

const addresses = {
  authUrl: url(null),
  tokenUrl: url(null),
  tokenKeyUrl: url(null),
  tokenKey: text(null, { secret: isSharedKey, about: 'The verification key in PEM or as JWK, or a shared secret.' }),
  userInfoUrl: url(null, { about: 'Called for claims that tokens lack.' }),
}

const linkText = setting({
  // cf-java-client declares it as a boolean.
  kind: v.pipe(v.union([string, v.boolean()]), v.transform(String), v.string()),
  needs: 'a string',
  unset: null,
  about: 'Text of its link on the sign-in page.',
})

const relyingParty = {
  logoutUrl: url(null),
  performRpInitiatedLogout: boolean(true),
  issuer: text(null),
  relyingPartyId: text(null, { about: 'Client id of this server at the provider.' }),
  relyingPartySecret: text(undefined, { secret: true }),
  authMethod: text(null, {
    about: 'How this server authenticates; by default by the secret or the key of the record.',
    schema: { examples: ['client_secret_basic', 'client_secret_post', 'none', 'private_key_jwt'] },
  }),
  clientAuthInBody: boolean(false),
  pkce: boolean(true),
  scopes: stringList(null),
  responseType: text('code', {
    about: 'code; or with tokens through the browser: id_token, id_token token, code id_token, code token.',
  }),
  linkText,
  showLinkText: boolean(true),
  skipSslValidation: boolean(false),
  userPropagationParameter: text(null, { about: 'Parameter of the authorization request that carries the user name.' }),
  groupMappingMode,
  acrMapping,
  cacheJwks: boolean(true, {
    about: 'Whether its keys are cached; otherwise they are fetched every 30 seconds at most.',
  }),
}

/** OAuth 2.0, where users are described by an endpoint. */
export const oauthSettings = section({
  unknown: 'ignored',
  members: { ...externalMembers, ...addresses, checkTokenUrl: url(null), ...relyingParty },
})

/** OpenID Connect, where they are described by a token. */
export const oidcSettings = section({
  unknown: 'ignored',
  members: {
    ...externalMembers,
    discoveryUrl: url(null, { about: 'Discovery document, with the settings that the record omits.' }),
    ...addresses,
    ...relyingParty,
    jwtClientAuthentication,
    authorizedParties: stringList(undefined, {
      about:
        'Values of azp besides relyingPartyId that a token of the provider may have when a client presents it as an assertion (jwt-bearer).',
    }),
    passwordGrantEnabled: boolean(false, {
      about: 'Whether clients may send user names and passwords of its users (password grant).',
    }),
    setForwardHeader: boolean(false),
    prompts: listOfRecords(['name', 'type', 'text'], undefined),
    additionalAuthzParameters: stringMap(undefined),
  },
})

/** The stored settings; also those of OAuth 2.0 except `checkTokenUrl`. */
export type OidcProviderConfig = SettingsOf<typeof oidcSettings>
