// The resources that a request names (RFC 8707 §2): the audience of the access token.
import { isAbsoluteUri } from '../../base/text/absolute-uri.ts'
import type { Client } from '../clients/client.ts'
import { OAuthError } from '../oauth-error.ts'

/** Each is in every token. */
const MAX_RESOURCES = 10

const refuse = (description: string): OAuthError => new OAuthError('invalid_target', description, { rule: 'resource' })

const BARE_HOST = /^https?:\/\/[^/?#]+(\/?)$/i

/**
 * The spelling of the record, whose names these are. Only the slash after a bare host may differ, which changes nothing (RFC 3986
 * §6.2.3): libraries that parse the URI of an API add one.
 */
export function spellingAmong(names: readonly string[], sent: string): string | undefined {
  if (names.includes(sent)) return sent
  const [, slash] = BARE_HOST.exec(sent) ?? []
  if (slash === undefined) return undefined
  const other = slash === '' ? `${sent}/` : sent.slice(0, -1)
  return names.includes(other) ? other : undefined
}

/**
 * The resources among the values, each once, as the client's record has them. Throws `invalid_target` for one that is no
 * absolute URI or has a fragment, and for one that the record does not have.
 */
export function namedResources(values: readonly string[], client: Client): readonly string[] {
  const sent = new Set(values.filter(value => value !== ''))
  if (sent.size > MAX_RESOURCES) throw refuse(`A request must not have more than ${MAX_RESOURCES} resources`)
  const named = new Set<string>()
  for (const resource of sent) {
    if (!isAbsoluteUri(resource)) throw refuse('A resource must be an absolute URI without a fragment')
    const spelling = spellingAmong(client.resources ?? [], resource)
    if (spelling === undefined) throw refuse('This client may not request a token for this resource')
    named.add(spelling)
  }
  return [...named]
}

/**
 * What an access token is for: the resources that the request names, each of which must be among those that were granted
 * before, if any were; without a name all that were granted and that the client still has (RFC 8707 §2.2). Throws
 * `invalid_target` where none is left: a token without a resource would be for more than was granted.
 */
export function resourcesFor(
  values: readonly string[],
  {
    granted,
    client,
    isOfUser,
  }: { readonly granted: readonly string[] | undefined; readonly client: Client; readonly isOfUser: boolean },
): readonly string[] | undefined {
  const named = namedResources(values, client)
  if (named.length === 0) return granted && stillAllowed(granted, client)
  // Nobody but the user judges a client that no administrator created, by what the approval page showed.
  const allowed = granted ?? (isOfUser && client.registration ? [] : named)
  if (!named.every(each => allowed.includes(each))) throw refuse('The resource was not granted')
  return named
}

function stillAllowed(granted: readonly string[], { resources = [] }: Client): readonly string[] {
  const left = granted.filter(resource => resources.includes(resource))
  if (left.length === 0) throw refuse('This client may no longer request a token for the granted resources')
  return left
}
