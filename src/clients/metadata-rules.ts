// Rules between the members of client metadata, for every way in which a client is written.
import { isAbsoluteUri } from '../base/text/absolute-uri.ts'
import { subjectProblem } from '../model/clients/mutual-tls.ts'
import { sectorProblem } from '../model/tokens/subject.ts'
import { backchannelProblem, frontchannelProblem, initiateLoginProblem, isProtectedUri } from './logout-uris.ts'
import type { ClientDefinition } from './client-json.ts'
import type { ClientProblem } from './client-rules.ts'

/** The members that the rules read. */
type RuledMembers = Partial<ClientDefinition> & Pick<ClientDefinition, 'redirectUris' | 'authorizedGrantTypes'>

/** Finds what is wrong; undefined for nothing. */
export type MetadataRule = (members: RuledMembers) => ClientProblem | undefined

const sector: MetadataRule = members => {
  const message = sectorProblem(members)
  return message === undefined ? undefined : { key: 'sector_identifier_uri', message }
}

/** RFC 8707 §2: any other value could never be requested. */
const resources: MetadataRule = ({ resources: named = [] }) => {
  const position = named.findIndex(resource => !isAbsoluteUri(resource))
  const message = `resources[${position}] must be an absolute URI without a fragment`
  return position === -1 ? undefined : { key: 'resources', message }
}

/** RFC 9101 §5.2: nothing is fetched from any other address. A fragment is the digest of the content. */
const requestUris: MetadataRule = ({ requestUris: named = [] }) => {
  const position = named.findIndex(uri => !isProtectedUri(uri))
  const message = `request_uris[${position}] must be an https URL without credentials`
  return position === -1 ? undefined : { key: 'request_uris', message }
}

/** Every rule. A new protocol adds its own. */
const RULES: readonly MetadataRule[] = [
  sector,
  subjectProblem,
  frontchannelProblem,
  backchannelProblem,
  initiateLoginProblem,
  resources,
  requestUris,
]

const OF_ENCRYPTION =
  /^(?:id_token|userinfo|request_object|authorization|introspection)_encrypt(?:ed_response|ion)_(?:alg|enc)$/

/**
 * Whether a member asks for encryption, which is not supported: a client that sets it would expect encrypted responses. `none`
 * is what discovery offers.
 */
export const asksForEncryption = (name: string, value: unknown): boolean =>
  OF_ENCRYPTION.test(name) && !['', 'none', null, undefined].some(absent => absent === value)

/** The problem of the metadata of a client. */
export const metadataProblems = (members: RuledMembers): readonly ClientProblem[] =>
  RULES.flatMap(rule => rule(members) ?? [])
