// The rules of single members of a client, in the words of UAA's API. metadata-rules.ts has those of later standards.
import type { LimitedCaller } from '../model/clients/client-caller.ts'
import type { Client } from '../model/clients/client.ts'
import { CLASSIC_GRANT_TYPES, GRANT_TYPES } from '../model/clients/grant-types.ts'
import { isBlank, secretProblem } from '../model/clients/secret-policy.ts'
import type { SecretPolicy } from '../model/clients/secret-policy.ts'
import type { Service } from '../model/service.ts'
import { policyProblem } from '../model/users/second-factor.ts'
import { isExactRedirectUri, isRedirectPattern } from './redirect-uri-form.ts'

/** A violated rule: the member, and the message of the API. */
export interface ClientProblem {
  readonly key: string
  readonly message: string
}

/** Inputs of the rules. */
export interface ClientRules {
  readonly service: Service
  readonly exactRedirectUri: boolean
  /** Row N1: whether the message about an unknown grant names those of newer standards. */
  readonly furtherProtocols: boolean
  /** Row C13: whether the configuration may have unknown grants and self-service redirect URIs. */
  readonly lenientConfiguration?: boolean
}

/** The source of a record. */
export interface ClientReading {
  /** From the configuration, as a new client of the API, or as an update, which keeps the secrets. */
  readonly as: 'configured' | 'created' | 'updated'
  /** Whether a second secret is allowed. */
  readonly withSecondSecret: boolean
  /** The caller, unless it is an administrator. */
  readonly caller?: LimitedCaller | undefined
  /** The policy of new secrets, if any. */
  readonly secretPolicy?: SecretPolicy | undefined
}

/** Reports the problem of a member. */
export type Refuse = (key: string, message: string) => void

/** Grants that the server knows, and at least one. */
export function checkGrantTypes(
  grantTypes: readonly string[],
  { isLenient, furtherProtocols }: { readonly isLenient: boolean; readonly furtherProtocols: boolean },
  refuse: Refuse,
): void {
  const choices = `Must be one of: [${(furtherProtocols ? GRANT_TYPES : CLASSIC_GRANT_TYPES).join(', ')}]`
  if (grantTypes.length === 0) {
    refuse('authorized_grant_types', `An authorized grant type must be provided. ${choices}`)
  }
  if (isLenient) return // an unknown name grants nothing
  for (const grant of grantTypes.filter(grant => !GRANT_TYPES.some(type => type === grant))) {
    refuse('authorized_grant_types', `${grant} is not an allowed grant type. ${choices}`)
  }
}

/** Characters of a client's record: thousands are in the memory of each process, and hundreds in a list. */
const MAX_RECORD_LENGTH = 65_536

/** The problem of a record that has become too long, as a complete sentence. */
export function lengthProblem(client: object, before?: object): string | undefined {
  const length = JSON.stringify(client).length
  if (length <= MAX_RECORD_LENGTH || (before && length <= JSON.stringify(before).length)) return undefined
  return `A client must have at most ${MAX_RECORD_LENGTH} characters in all`
}

/** Each group of a user is compared with each scope: more wildcards would make a token of a user in many groups slow. */
const MAX_WILDCARDS = 5

/** Few wildcards in each scope. */
export function checkScopes(
  { scope = [], autoapprove }: Partial<Pick<Client, 'scope' | 'autoapprove'>>,
  refuse: Refuse,
): void {
  for (const [key, patterns] of [
    ['scope', scope],
    ['autoapprove', autoapprove === undefined || autoapprove === true ? [] : autoapprove],
  ] as const) {
    if (patterns.every(pattern => pattern.split('*').length <= MAX_WILDCARDS + 1)) continue
    refuse(key, `${key} must have at most ${MAX_WILDCARDS} wildcards in each entry`)
  }
}

/** An ID that is free to use, and fits into a path. */
export function checkId(clientId: string, service: Service, refuse: Refuse): void {
  if (clientId === '') refuse('client_id', 'A client_id must be provided.')
  if (clientId === service.name) refuse('client_id', `Not allowed: ${clientId} is a reserved client_id`)
  // RFC 3986 §5.2.4: programs remove such a segment from the path before they send it.
  if (clientId === '.' || clientId === '..') refuse('client_id', `Not allowed: client_id must not be ${clientId}`)
  if (/[/\\\p{Cc}]/u.test(clientId)) refuse('client_id', 'Not allowed characters: client_id must not contain / or \\')
  if (clientId.length > 255) refuse('client_id', 'client_id must have at most 255 characters')
}

/** Redirect URIs of the allowed form, and at least one where a grant redirects. */
export function checkRedirectUris(
  { redirectUris, grantTypes }: { readonly redirectUris: readonly string[]; readonly grantTypes: readonly string[] },
  { exactRedirectUri }: ClientRules,
  refuse: Refuse,
): void {
  const redirecting = ['authorization_code', 'implicit'].filter(grant => grantTypes.includes(grant))
  if (redirectUris.length === 0) {
    for (const grant of redirecting) {
      refuse('redirect_uri', `${grant} grant type requires at least one redirect URL.`)
    }
  }
  // UAA: validates them only on use. See docs/compatibility.md, A15.
  if (!exactRedirectUri && redirecting.length === 0) return
  const isUsable = exactRedirectUri ? isExactRedirectUri : isRedirectPattern
  const form = '; it must be an absolute URI of ASCII characters without * and #, which is compared exactly'
  const rule = exactRedirectUri ? form : '' // row M14
  for (const uri of redirectUris) {
    if (!isUsable(uri)) refuse('redirect_uri', `One of the redirect_uri is invalid: ${uri}${rule}`)
  }
}

/** New secrets satisfy the policy, and neither of two is blank. */
export function checkSecrets(
  { first, second }: { first: string | undefined; second: string | undefined },
  { as, secretPolicy: policy }: ClientReading,
  refuse: Refuse,
): void {
  if (as === 'updated') return
  // With a blank one and another, every caller would authenticate.
  if (second !== undefined && isBlank(second)) refuse('secondary_client_secret', 'A second secret must not be empty')
  else if (second !== undefined && first !== undefined && isBlank(first)) {
    refuse('client_secret', 'The first of two secrets must not be empty')
  }
  if (!policy) return
  const secrets = [
    ['client_secret', first ?? ''],
    ['secondary_client_secret', second ?? ''],
  ] as const
  for (const [key, secret] of secrets) {
    const problem = secretProblem(policy, secret)
    if (problem !== undefined) refuse(key, problem)
  }
}

/** The policy of second factors is consistent. */
export function checkSecondFactor(policy: Client['secondFactor'], refuse: Refuse): void {
  if (policy === undefined) return
  const problem = policyProblem(policy)
  if (problem) refuse('secondFactor', `secondFactor.${problem.member} ${problem.message}`)
}
