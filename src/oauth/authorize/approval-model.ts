// The approval page as JSON, for programs that ask the user themselves.
import { displayName } from '../../model/clients/client.ts'
import type { Behaviour } from '../../model/compatibility.ts'
import { audience } from '../../token/claims.ts'
import type { Form } from '../../web/requests/form.ts'
import type { AuthorizationRequest } from './context.ts'
import type { ApprovalQuestion, ScopeDecision } from './next-step.ts'

const MESSAGE = 'To confirm or deny access POST to the following locations with the parameters requested.'

/** Parameters that the model repeats in `uaa`; others may be secrets that were sent to the wrong place. */
const REPEATED = [
  'response_type',
  'redirect_uri',
  'state',
  'client_id',
  'scope',
  'nonce',
  'prompt',
  'max_age',
  'response_mode',
  'login_hint',
  'code_challenge',
  'code_challenge_method',
] as const

/** Parameters that are repeated to a login server, which names the user. */
const REPEATED_TO_LOGIN_SERVER = [...REPEATED, 'source', 'username', 'user_id', 'origin'] as const

/** The approval request, and how the authorization request and its URLs are written. */
interface ApprovalModelParts {
  readonly question: ApprovalQuestion
  /** The parameters of the request. */
  readonly form: Form
  /** Whether a login server asks the user. */
  readonly toLoginServer: boolean
  readonly originalUri: string
  /** Path of the endpoint on this host. */
  readonly path: string
  readonly noneScope: string
  readonly textOf: (scope: string) => string
  readonly behaviour: Behaviour
}

/** The members in the order of the reference system; see row A19 for those that differ. */
export function approvalModel(authorization: AuthorizationRequest, parts: ApprovalModelParts): object {
  const { client, target } = authorization
  const { question, originalUri, path, textOf, behaviour } = parts
  const listed = (...states: readonly ScopeDecision['state'][]) =>
    question.scopes
      .filter(({ state }) => states.includes(state))
      .map(({ scope }) => ({ code: `scope.${scope}`, text: textOf(scope) }))
  const option = (value: 'true' | 'false') => ({
    path,
    location: originalUri.replace(/[?].*$/s, ''),
    value,
    key: 'user_oauth_approval',
  })
  const shared = {
    approved_scopes: listed('approved'),
    denied_scopes: listed('denied'),
    options: { confirm: option('true'), deny: option('false') },
    redirect_uri: target.redirectUri.replace(/[?#].*$/s, ''),
    undecided_scopes: listed('undecided'),
    scopes: listed('undecided', 'approved', 'denied'),
    message: MESSAGE,
    client_display_name: displayName(client),
  }
  if (!behaviour.ownApprovalModel) return { auth_request: requestInUaa(authorization, parts), ...shared }
  const { clientId } = client
  const { redirectUri, state } = target
  const scope = question.scopes.map(each => each.scope)
  const request = { client_id: clientId, redirect_uri: redirectUri, scope, state }
  return { auth_request: request, ...shared, client_id: clientId, original_uri: originalUri }
}

/** UAA: the request in the form of its own object. */
function requestInUaa(
  { client, target, responseType }: AuthorizationRequest,
  { question, form, toLoginServer, noneScope }: ApprovalModelParts,
): object {
  const { clientId } = client
  const resources = audience(clientId, question.asked, noneScope).filter(resource => resource !== clientId)
  return {
    clientId,
    scope: question.asked,
    requestParameters: Object.fromEntries(
      (toLoginServer ? REPEATED_TO_LOGIN_SERVER : REPEATED).flatMap(name => {
        const value = form.get(name)
        return value === undefined ? [] : [[name, value] as const]
      }),
    ),
    approvalParameters: {},
    state: target.state ?? null,
    responseTypes: [...responseType],
    resourceIds: [clientId, ...resources],
    authorities: client.authorities.map(authority => ({ authority })),
    approved: false,
    redirectUri: target.redirectUri,
    extensions: {},
  }
}
