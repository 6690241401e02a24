// The approval page and its answer. What was asked is kept in the session and never taken from the answer, which only
// says yes or no.
import type { FastifyReply, FastifyRequest } from 'fastify'
import { addSeconds } from '../../base/clock.ts'
import type { Clock } from '../../base/clock.ts'
import type { Approval } from '../../model/approval.ts'
import { APPROVAL_SECONDS } from '../../model/approval.ts'
import { displayName } from '../../model/client.ts'
import type { Behaviour } from '../../model/compatibility.ts'
import type { Audit } from '../../model/event.ts'
import { OAuthError } from '../../model/oauth-error.ts'
import { isAutoApproved } from '../../model/scopes.ts'
import type { GrantedScopes } from '../../model/scopes.ts'
import type { Service } from '../../model/service.ts'
import type { Urls } from '../../model/urls.ts'
import type { User } from '../../model/user.ts'
import { approvalPage } from '../../pages/approval.ts'
import { scopeText, textsIn } from '../../pages/texts/texts.ts'
import type { Texts } from '../../pages/texts/texts.ts'
import type { Store } from '../../store/store.ts'
import { PageError, prefersPage } from '../../web/answers.ts'
import type { Denial } from '../../web/denial.ts'
import type { Form } from '../../web/form.ts'
import { ownPath } from '../../web/own-path.ts'
import type { PageWriter } from '../../web/pages.ts'
import type { Sessions } from '../../web/session.ts'
import type { AuthorizationRequest } from './request.ts'
import type { Passage } from './response.ts'
import { approvalModel } from './approval-model.ts'
import type { ApprovalQuestion } from './next-step.ts'
import { RedirectRefusal } from './respond.ts'

/** What approving needs. */
export interface ApprovalDeps {
  readonly store: Store
  readonly sessions: Sessions
  readonly denial: Denial
  readonly pages: PageWriter
  readonly clock: Clock
  readonly urls: Urls
  readonly service: Service
  readonly behaviour: Behaviour
  readonly audit: Audit
}

/** Where the endpoint is, below the base URL. */
export const AUTHORIZE_PATH = '/oauth/authorize'

/** One request of a browser. */
interface Exchange {
  readonly request: FastifyRequest
  readonly reply: FastifyReply
}

/** Asks a person for approval, and takes the answer. */
export interface Approvals {
  /** Shows the page, and remembers the request in the session, where a browser asks. */
  ask(passage: Passage, authorization: AuthorizationRequest, question: ApprovalQuestion): Promise<FastifyReply>
  /** The query of the request that is answered, once only; undefined when the reply is sent already. */
  recall(exchange: Exchange, answer: Form): Promise<string | undefined>
  /** Stores the decisions; throws a `RedirectRefusal` when the person denied, or ticked what was not asked. */
  record(
    user: User,
    authorization: AuthorizationRequest,
    given: { readonly asked: GrantedScopes; readonly answer: Form; readonly remoteAddress: string },
  ): Promise<void>
}

/** One instance serves every zone. */
export function createApprovals(deps: ApprovalDeps): Approvals {
  const { store, sessions, denial, pages, clock, urls, service, behaviour, audit } = deps

  return {
    async ask({ request, reply, form, query, bearer, isDirect }, authorization, question) {
      const { scopes } = question
      const { client, target } = authorization
      const originalUri = `${urls.ofZone(request.zone)}${AUTHORIZE_PATH}?${query}`
      // A session whose cookie comes with a token may be somebody else's, who must not be asked for this.
      if (!bearer && !isDirect) await sessions.setPendingApproval(request, query)
      const groups = await store.groups.findByNames(
        request.zone.id,
        scopes.map(each => each.scope),
      )
      const sentences = new Map(groups.map(group => [group.displayName.toLowerCase(), group.description]))
      const textIn = (texts: Texts, scope: string): string =>
        sentences.get(scope.toLowerCase()) ?? scopeText(texts, scope, service)
      if (!prefersPage(request)) {
        const textOf = (scope: string): string => textIn(textsIn('en'), scope) // a program has no language
        const path = `${urls.pathOf(request.zone)}${AUTHORIZE_PATH}`
        const noneScope = service.scope('none')
        return reply.send(
          approvalModel(authorization, { question, form, originalUri, path, noneScope, textOf, behaviour }),
        )
      }
      const chrome = await pages.chrome(request, reply, { form: true })
      const page = approvalPage(chrome, {
        clientName: displayName(client),
        redirectUri: target.redirectUri,
        userName: request.person?.userName ?? '',
        action: `${urls.pathOf(request.zone)}${AUTHORIZE_PATH}`,
        formRedirectUri: originalUri,
        scopes: scopes.map(({ scope, state }, index) => ({
          name: `scope.${index}`,
          value: `scope.${scope}`,
          text: textIn(chrome.texts, scope),
          state,
        })),
      })
      return pages.send(reply, page)
    },

    async recall({ request, reply }, answer) {
      const base = urls.ofZone(request.zone)
      const shown = answer.get('form_redirect_uri')
      const path = ownPath(urls.addressesOf(request.zone), shown)
      const asked = path?.startsWith(`${AUTHORIZE_PATH}?`) === true ? path : undefined
      const visitor = await sessions.visitor(request)
      if (!visitor) {
        // The session ended while the page was open: the question is asked again after a new sign-in.
        await denial.askToSignIn(
          request,
          reply,
          asked === undefined ? undefined : { path: asked, reauthenticate: false },
        )
        return undefined
      }
      const query = visitor.session.pendingApproval
      if (query === undefined) {
        throw new PageError(400, 'Cannot approve uninitialized authorization request.', { code: 'invalid_request' })
      }
      if (shown !== undefined && shown !== `${base}${AUTHORIZE_PATH}?${query}`) {
        throw new PageError(400, 'Changes were detected from the original authorization request.', {
          code: 'invalid_request',
        })
      }
      await sessions.setPendingApproval(request, undefined)
      return query
    },

    async record(user, authorization, { asked, answer, remoteAddress }) {
      const { client, target } = authorization
      const { zoneId } = user
      if (answer.get('user_oauth_approval') !== 'true') {
        throw new RedirectRefusal(target, new OAuthError('access_denied', 'User denied access'))
      }
      const ticked = answer.names.filter(name => /^scope\.\d+$/.test(name)).flatMap(name => answer.all(name))
      if (ticked.some(value => !value.startsWith('scope.') || !asked.includes(value.slice('scope.'.length)))) {
        const description = 'The requested scopes are invalid. Please use valid scope names in the request.'
        // UAA: in the query, whatever was asked for. See docs/compatibility.md, R1.
        const mode = behaviour.errorsLikeSuccess ? undefined : 'query'
        throw new RedirectRefusal(target, new OAuthError('invalid_scope', description), mode)
      }
      const now = clock.now()
      const decisions = asked
        .filter(scope => authorization.forceConsent || !isAutoApproved(client, scope))
        .map(
          (scope): Approval => ({
            zoneId,
            userId: user.id,
            clientId: client.clientId,
            scope,
            status: ticked.includes(`scope.${scope}`) ? 'APPROVED' : 'DENIED',
            expiresAt: addSeconds(now, APPROVAL_SECONDS),
            updatedAt: now,
          }),
        )
      await store.approvals.save(zoneId, decisions)
      const data = decisions.map(({ scope, status }) => `${scope} ${status}`).join(', ')
      const { clientId } = client
      audit({ type: 'ApprovalModifiedEvent', zoneId, principal: user.id, clientId, remoteAddress, data })
    },
  }
}
