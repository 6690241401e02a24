// Refusals in the stored audit trail: the request, the rule, and the detail that the caller does not get. Only there, where
// administrators read it (`/explain`); never a token, a code or any other secret of the caller.
import type { Client } from '../model/clients/client.ts'
import { OAuthError } from '../model/oauth-error.ts'
import type { OAuthErrorCode } from '../model/oauth-error.ts'
import type { RequestContext } from '../model/request.ts'
import type { Params } from './params.ts'
import type { OAuthDeps } from './deps.ts'

/** A refused request of a known client. */
interface RefusedRequest {
  readonly context: RequestContext
  readonly client: Client
  readonly params: Params
  readonly endpoint: string
  readonly userId?: string | undefined
}

/** Errors after which a client goes on: it polls, asks the user to sign in, or repeats its proof with the nonce. */
const EXPECTED: ReadonlySet<OAuthErrorCode> = new Set([
  'authorization_pending',
  'slow_down',
  'login_required',
  'use_dpop_nonce',
])

/** Limit for the data of an event, counted as JSON, which escapes some characters as six. */
const MAX_LENGTH = 330

function cut(text: string): string {
  const short = text.slice(0, MAX_LENGTH)
  let [kept, length] = ['', 0]
  for (const character of short) {
    length += JSON.stringify(character).length - 2
    if (length > MAX_LENGTH) break
    kept += character
  }
  return kept
}

/** Records a refusal; ignores any other error. */
export function recordRefusal(
  error: unknown,
  { context, client, params, endpoint, userId }: RefusedRequest,
  { recordEvent }: OAuthDeps,
): void {
  if (!recordEvent || !(error instanceof OAuthError) || EXPECTED.has(error.error)) return
  if (error.rule === 'bad-credentials') return // the sign-in has events of its own
  const { zone, remoteAddress } = context
  const user = error.userId ?? userId
  const requested = (name: string): Record<string, string> => {
    const value = params.get(name)
    return value === undefined ? {} : { [name]: cut(value) }
  }
  const data = {
    endpoint,
    error: error.error,
    description: cut(error.message),
    ...(error.detail !== undefined && { detail: cut(error.detail) }),
    ...(error.rule && { rule: error.rule }),
    ...(user !== undefined && { user_id: user }),
    ...requested('grant_type'),
    ...requested('response_type'),
    ...requested('scope'),
    ...requested('resource'),
    ...requested('acr_values'),
    ...requested('audience'),
  }
  recordEvent({
    type: 'TokenRefusedEvent',
    zoneId: zone.id,
    principal: user ?? client.clientId,
    clientId: client.clientId,
    remoteAddress,
    data: JSON.stringify(data),
  })
}

/** Does the work; a refusal is recorded. */
export async function recordingRefusals<T>(of: RefusedRequest, deps: OAuthDeps, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    recordRefusal(error, of, deps)
    throw error
  }
}
