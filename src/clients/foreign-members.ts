/** Maps spellings of other systems, which would silently become attributes, to the names here. */
const OWN_NAMES: Readonly<Record<string, string>> = {
  'access-token-validity': 'access_token_validity',
  'app-icon': 'appIcon',
  'app-launch-url': 'appLaunchUrl',
  'authorized-grant-types': 'authorized_grant_types',
  grant_types: 'authorized_grant_types',
  'redirect-uri': 'redirect_uri',
  redirect_uris: 'redirect_uri',
  'refresh-token-validity': 'refresh_token_validity',
  'show-on-homepage': 'showOnHomePage',
}

/** Members of a client as other systems spell them, such as those of RFC 7591, each with its own name here. */
export const foreignMembersIn = (client: object): readonly { readonly foreign: string; readonly own: string }[] =>
  Object.entries(OWN_NAMES)
    .filter(([foreign]) => Object.hasOwn(client, foreign))
    .map(([foreign, own]) => ({ foreign, own }))
