// Parses the body of `POST /explain`: one of three kinds of question.
import { isStorable } from '../../base/text/storable-text.ts'
import type { JsonRecord } from '../../base/json.ts'
import { TOKEN_GRANT_TYPES } from '../../model/clients/grant-types.ts'
import { OAuthError } from '../../model/oauth-error.ts'
import type { PlannedRequest, PlannedUser } from './planned-request.ts'

/** The question. */
export type Question =
  | { readonly kind: 'planned'; readonly planned: PlannedRequest }
  /** Its value, or the id of one that is stored. */
  | { readonly kind: 'token'; readonly token: string }
  | { readonly kind: 'refusal'; readonly requestId?: string; readonly event?: number }

/** Longer than a token may be, so that an oversized one is explained rather than refused. */
const MAX_TOKEN_LENGTH = 65_536
const MAX_LENGTH = 2000
const MAX_RESOURCES = 20

const PLANNED = [
  'client_id',
  'grant_type',
  'user_id',
  'username',
  'origin',
  'scope',
  'resource',
  'acr_values',
  'token_format',
  'refresh_token',
  'subject_token',
  'audience',
]
const MEMBERS: ReadonlySet<string> = new Set([...PLANNED, 'token', 'request_id', 'event'])

/** Throws `invalid_request` for anything but one complete question. */
export function readQuestion(body: JsonRecord): Question {
  const unknown = Object.keys(body).find(name => !MEMBERS.has(name))
  if (unknown !== undefined) throw refuse(`Unknown member ${unknown.slice(0, 100)}`)
  const has = (name: string): boolean => body[name] !== undefined
  const kinds = [PLANNED.some(has), has('token'), has('request_id'), has('event')].filter(Boolean)
  if (kinds.length !== 1) {
    throw refuse('The body must have either client_id and grant_type, or token, or request_id, or event')
  }
  const token = textIn(body, 'token', MAX_TOKEN_LENGTH)
  if (token !== undefined) return { kind: 'token', token }
  const requestId = textIn(body, 'request_id', MAX_LENGTH)
  if (requestId !== undefined) return { kind: 'refusal', requestId }
  if (has('event')) return { kind: 'refusal', event: eventIn(body) }
  return { kind: 'planned', planned: plannedIn(body) }
}

function plannedIn(body: JsonRecord): PlannedRequest {
  const text = (name: string): string | undefined => textIn(body, name, MAX_LENGTH)
  const clientId = text('client_id')
  const grantType = text('grant_type')
  if (clientId === undefined || grantType === undefined) throw refuse('client_id and grant_type are required')
  if (!TOKEN_GRANT_TYPES.some(type => type === grantType)) {
    throw refuse(`grant_type must be one of ${TOKEN_GRANT_TYPES.join(', ')}`)
  }
  const tokenFormat = text('token_format')
  if (tokenFormat !== undefined && tokenFormat !== 'jwt' && tokenFormat !== 'opaque') {
    throw refuse('token_format must be jwt or opaque')
  }
  return {
    clientId,
    grantType,
    user: userIn(text),
    scope: textIn(body, 'scope', MAX_TOKEN_LENGTH), // a thousand, of any length
    resources: resourcesIn(body),
    acrValues: text('acr_values'),
    tokenFormat,
    refreshToken: textIn(body, 'refresh_token', MAX_TOKEN_LENGTH),
    subjectToken: textIn(body, 'subject_token', MAX_TOKEN_LENGTH),
    audience: text('audience'),
  }
}

function userIn(text: (name: string) => string | undefined): PlannedUser | undefined {
  const id = text('user_id')
  const userName = text('username')
  const origin = text('origin')
  if (id !== undefined && (userName !== undefined || origin !== undefined)) {
    throw refuse('Use either user_id, or username and origin')
  }
  if (id !== undefined) return { id }
  if (userName !== undefined) return { userName, origin }
  if (origin !== undefined) throw refuse('origin requires username')
  return undefined
}

function resourcesIn(body: JsonRecord): readonly string[] {
  const given: unknown = body['resource'] ?? []
  const list: readonly unknown[] = Array.isArray(given) ? given : [given]
  if (list.length > MAX_RESOURCES) throw refuse(`resource has at most ${MAX_RESOURCES} values`)
  return list.map(each => {
    if (typeof each === 'string' && each.length <= MAX_LENGTH && isStorable(each)) return each
    throw refuse('resource must be a string or a list of strings')
  })
}

/** A number of the audit trail. */
function eventIn({ event }: JsonRecord): number {
  if (typeof event === 'number' && Number.isSafeInteger(event) && event > 0) return event
  throw refuse('event must be the number of an event')
}

function textIn(body: JsonRecord, name: string, maxLength: number): string | undefined {
  const value = body[name]
  if (value === undefined) return undefined
  if (typeof value === 'string' && value !== '' && value.length <= maxLength && isStorable(value)) return value
  throw refuse(`${name} must be a string of 1 to ${maxLength} characters without U+0000`)
}

const refuse = (description: string): OAuthError => new OAuthError('invalid_request', description)
