// Approval of scopes: the page, its form, and the records of the decisions. The request is stored in the session and
// never read from the form, which only approves or denies.
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Approval } from '../../model/users/approval.ts'
import { displayName } from '../../model/clients/client.ts'
import { OAuthError } from '../../model/oauth-error.ts'
import { isAutoApproved } from '../../model/tokens/scopes.ts'
import { approvalPage } from '../../pages/approval.ts'
import { textsIn } from '../../pages/texts/texts.ts'
import { PageError, prefersPage } from '../../web/answers.ts'
import type { Form } from '../../web/requests/form.ts'
import { ownPath } from '../../web/requests/own-path.ts'
import { findScopeDescriptions } from '../../web/scope-descriptions.ts'
import { recordDecisions } from '../approval-decisions.ts'
import { approvalModel } from './approval-model.ts'
import { AUTHORIZE_PATH, checkedRequest, found } from './context.ts'
import type { AuthorizeContext } from './context.ts'
import type { ApprovalQuestion } from './next-step.ts'
import { RedirectRefusal } from './response/redirect.ts'
import type { OAuthDeps } from '../deps.ts'

/** Characters of base64: the icon is embedded in the page. */
const MAX_ICON_LENGTH = 16_384

/** Shows the page; the session keeps the request, so that the answer cannot change it. A program gets JSON instead. */
export async function askForApproval(
  context: AuthorizeContext,
  question: ApprovalQuestion,
  deps: OAuthDeps,
): Promise<FastifyReply> {
  const { request, reply, form, program } = context
  const query = context.query()
  const { store, pages, urls, service, behaviour } = deps
  const authorization = checkedRequest(context)
  const { client, target } = authorization
  const { scopes } = question
  const originalUri = `${urls.ofZone(request.zone)}${AUTHORIZE_PATH}?${query}`
  const scopeNames = scopes.map(each => each.scope)
  // A session cookie that comes with a token may belong to another user, who must not be asked for this.
  if (!program) await keepPending(request, { query, listed: scopeNames }, deps)
  const descriptionOf = await findScopeDescriptions(request.zone, scopeNames, deps)
  const path = `${urls.pathOf(request.zone)}${AUTHORIZE_PATH}`
  if (program || !prefersPage(request)) {
    const textOf = (scope: string): string => descriptionOf(textsIn('en'), scope) // a program has no language
    const noneScope = service.scope('none')
    const toLoginServer = program?.by === 'login-server'
    const parts = { question, form, toLoginServer, originalUri, path, noneScope, textOf, behaviour }
    return reply.send(approvalModel(authorization, parts))
  }
  const chrome = await pages.chrome(request, reply, { form: true })
  const icon = (await store.clients.findMetadata(request.zone.id, client.clientId))?.appIcon
  const page = approvalPage(chrome, {
    clientName: displayName(client),
    clientIcon: icon !== undefined && icon.length <= MAX_ICON_LENGTH ? icon : undefined,
    redirectUri: target.redirectUri,
    userName: request.user?.userName ?? '',
    action: path,
    formRedirectUri: originalUri,
    links: { website: client.clientUri, policy: client.policyUri, terms: client.tosUri },
    registeredUris: client.registration && client.redirectUris,
    documentUrl: client.registration?.byDocument && client.clientId,
    resources: authorization.resources,
    scopes: scopes.map(({ scope, state }, index) => ({
      name: `scope.${index}`,
      value: `scope.${scope}`,
      text: descriptionOf(chrome.texts, scope),
      state,
    })),
  })
  return pages.send(reply, page)
}

/** A request that is pending approval: its query, and the scopes that the question lists. */
interface PendingRequest {
  readonly query: string
  readonly listed: readonly string[]
}

// Unambiguous, because a query has no `#`, and a scope no space.
const formatPending = ({ query, listed }: PendingRequest): string => `${query}#${listed.join(' ')}`

function parsePending(text: string): PendingRequest {
  const [query = '', ...rest] = text.split('#')
  return { query, listed: rest.join('#').split(' ') }
}

/** Stores the request in the session until it is answered. */
export const keepPending = (request: FastifyRequest, pending: PendingRequest, { sessions }: OAuthDeps): Promise<void> =>
  sessions.setPendingApproval(request, formatPending(pending))

/** The stored request, which can be answered once; undefined when the browser was redirected to sign-in. */
export async function takePendingRequest(
  { request, reply }: Pick<AuthorizeContext, 'request' | 'reply'>,
  answer: Form,
  { sessions, denial, urls }: OAuthDeps,
): Promise<PendingRequest | undefined> {
  const shown = answer.get('form_redirect_uri')
  const signedIn = await sessions.signedIn(request)
  if (!signedIn) {
    // The session ended while the page was open: the page is shown again after a new sign-in.
    const path = ownPath(urls.addressesOf(request.zone), shown)
    const isOurs = path?.startsWith(`${AUTHORIZE_PATH}?`) === true
    await denial.askToSignIn(request, reply, isOurs ? { path, reauthenticate: false } : undefined)
    return undefined
  }
  const text = signedIn.session.pendingApproval
  if (text === undefined) throw nothingPending()
  const pending = parsePending(text)
  if (shown !== undefined && shown !== `${urls.ofZone(request.zone)}${AUTHORIZE_PATH}?${pending.query}`) {
    throw new PageError(400, 'Changes were detected from the original authorization request.', {
      code: 'invalid_request',
    })
  }
  if (!(await sessions.takePendingApproval(request, text))) throw nothingPending()
  return pending
}

const nothingPending = (): PageError =>
  new PageError(400, 'Cannot approve uninitialized authorization request.', { code: 'invalid_request' })

/** Records the answer to the question; refuses when the user denied, or approved scopes that were not requested. */
export async function recordApproval(context: AuthorizeContext, deps: OAuthDeps): Promise<void> {
  const { request, answer, scopes } = context
  if (!answer || !scopes || scopes instanceof OAuthError) return
  const { behaviour } = deps
  const { client, target, forceConsent } = checkedRequest(context)
  const { user } = found(context.authenticatedUser)
  const { form, listed = scopes } = answer
  if (form.get('user_oauth_approval') !== 'true') {
    throw new RedirectRefusal(target, new OAuthError('access_denied', 'User denied access'))
  }
  const ticked = form.names.filter(name => /^scope\.\d+$/.test(name)).flatMap(name => form.all(name))
  if (ticked.some(value => !value.startsWith('scope.') || !scopes.includes(value.slice('scope.'.length)))) {
    const description = 'The requested scopes are invalid. Please use valid scope names in the request.'
    // UAA: in the query, regardless of the requested mode. See docs/compatibility.md, R1.
    const mode = behaviour.errorsLikeSuccess ? undefined : 'query'
    throw new RedirectRefusal(target, new OAuthError('invalid_scope', description), mode)
  }
  const decisions = scopes
    // One that could not be granted when the question was asked stays undecided.
    .filter(scope => listed.includes(scope) && (forceConsent || !isAutoApproved(client, scope)))
    .map(scope => {
      const status: Approval['status'] = ticked.includes(`scope.${scope}`) ? 'APPROVED' : 'DENIED'
      return { scope, status }
    })
  await recordDecisions(request, { user, client, decisions }, deps)
}

/** Finds the user's current approvals for the client; no look-up where everything is approved automatically. */
export async function findApprovals(context: AuthorizeContext, { store, clock }: OAuthDeps): Promise<void> {
  const { client, forceConsent } = checkedRequest(context)
  const scopes = found(context.scopes)
  const isAutomatic =
    !forceConsent && (scopes instanceof OAuthError || scopes.every(each => isAutoApproved(client, each)))
  const { user } = found(context.authenticatedUser)
  context.approvals = isAutomatic
    ? []
    : await store.approvals.list(context.request.zone.id, user.id, client.clientId, clock.now())
}
