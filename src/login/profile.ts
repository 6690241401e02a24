// What people can see and change themselves: approvals of clients, and sessions of the account.
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Clock } from '../base/clock.ts'
import { displayName } from '../model/client.ts'
import type { Behaviour } from '../model/compatibility.ts'
import type { Audit } from '../model/event.ts'
import type { Service } from '../model/service.ts'
import type { Urls } from '../model/urls.ts'
import { describeUserAgent } from '../model/user-agent.ts'
import type { User } from '../model/user.ts'
import type { Message } from '../pages/messages.ts'
import { profileMessage, profilePage } from '../pages/profile.ts'
import type { ApprovedClient } from '../pages/profile.ts'
import { scopeText } from '../pages/texts/texts.ts'
import type { Texts } from '../pages/texts/texts.ts'
import type { Store } from '../store/store.ts'
import { decideAgain, replaceApprovals } from '../users/approvals.ts'
import type { ApprovalOwner } from '../users/approvals.ts'
import type { Csrf } from '../web/csrf.ts'
import type { Denial } from '../web/denial.ts'
import type { Form } from '../web/form.ts'
import { EMPTY_FORM } from '../web/form.ts'
import type { PageWriter } from '../web/pages.ts'
import { queryForm } from '../web/query.ts'
import { originOf } from '../web/request-context.ts'
import { bodyForm } from '../web/route.ts'
import type { Sessions } from '../web/session.ts'

/** Dependencies of `profileEndpoints`. */
export interface ProfileDeps {
  readonly store: Store
  readonly sessions: Sessions
  readonly denial: Denial
  readonly csrf: Csrf
  readonly pages: PageWriter
  readonly clock: Clock
  readonly urls: Urls
  readonly service: Service
  readonly behaviour: Behaviour
  readonly audit: Audit
}

const PATH = '/profile'
const config = { access: { by: 'session' }, audience: 'page' } as const

/** `GET` and `POST /profile`, and `POST /profile/sessions`, which ends the person's other sessions. */
export function profileEndpoints(app: FastifyInstance, deps: ProfileDeps): void {
  const { store, sessions, denial, csrf, pages, clock, urls, service } = deps

  app.get(PATH, { config }, async (request, reply) => {
    const person = personOf(request)
    const { zone } = request
    const own = await sessions.ownSessions(request)
    const chrome = await pages.chrome(request, reply, { form: true })
    const page = profilePage(chrome, {
      userName: person.userName,
      email: person.email,
      message: messageOf(chrome.texts, queryForm(request)),
      clients: await clientsOf(person, chrome.texts),
      sessions: own.map(({ session, handle, isCurrent }) => ({
        handle,
        isCurrent,
        name: describeUserAgent(session.signIn.userAgent, chrome.texts.browsers),
        signedInAt: session.signIn.authenticatedAt,
        lastSeenAt: session.lastSeenAt,
      })),
      now: clock.now(),
    })
    return pages.send(reply, page)

    /** Omits deleted clients, whose approvals have no effect. */
    async function clientsOf({ id }: User, texts: Texts): Promise<readonly ApprovedClient[]> {
      const approvals = await store.approvals.listOfUser(zone.id, id, clock.now())
      const groups = await store.groups.findByNames(zone.id, [...new Set(approvals.map(each => each.scope))])
      const sentences = new Map(groups.map(group => [group.displayName.toLowerCase(), group.description]))
      const byClient = Map.groupBy(approvals, approval => approval.clientId)
      const clients = await Promise.all(
        Array.from(byClient, async ([clientId, decisions]) => {
          const client = await store.clients.find(zone.id, clientId)
          if (!client) return []
          const scopes = decisions.map(({ scope, status }) => ({
            scope,
            text: sentences.get(scope.toLowerCase()) ?? scopeText(texts, scope, service),
            approved: status === 'APPROVED',
          }))
          return [{ clientId, name: displayName(client), scopes }]
        }),
      )
      return clients.flat()
    }
  })

  app.post(PATH, { config }, async (request, reply) => {
    if (!(await csrf.isGenuine(request))) return denial.refuseForgery(request, reply)
    const form = bodyForm(request) ?? EMPTY_FORM
    const clientId = form.get('clientId') ?? ''
    const isKnown = (await store.clients.find(request.zone.id, clientId)) !== undefined
    if (isKnown && form.get('update') !== undefined) {
      const prefix = `${clientId}-`
      const ticked = form.all('checkedScopes').filter(value => value.startsWith(prefix))
      const approvedScopes = new Set(ticked.map(value => value.slice(prefix.length)))
      await decideAgain(ownerIn(request), { clientId, approvedScopes }, deps)
    } else if (isKnown && form.get('delete') !== undefined) {
      await replaceApprovals(ownerIn(request), { clientId, approvals: [] }, deps)
    } else return back(request, reply, 'error_message_code=request.invalid_parameter')
    return back(request, reply)
  })

  app.post(`${PATH}/sessions`, { config }, async (request, reply) => {
    if (!(await csrf.isGenuine(request))) return denial.refuseForgery(request, reply)
    const form = bodyForm(request) ?? EMPTY_FORM
    const handle = form.get('session')
    if (handle === undefined && form.get('others') === 'true') {
      await sessions.endOthers(request)
      reportEnded(request)
      return back(request, reply, 'success_message_code=session.others_signed_out')
    }
    const isEnded = handle !== undefined && (await sessions.endOther(request, handle))
    if (isEnded) reportEnded(request)
    return back(
      request,
      reply,
      isEnded ? 'success_message_code=session.signed_out' : 'error_message_code=session.unknown',
    )
  })

  const back = (request: FastifyRequest, reply: FastifyReply, query?: string): FastifyReply =>
    reply.redirect(urls.ofZone(request.zone) + PATH + (query === undefined ? '' : `?${query}`), 302)

  const reportEnded = (request: FastifyRequest): void =>
    deps.audit({
      type: 'SessionsEndedEvent',
      zoneId: request.zone.id,
      principal: personOf(request).id,
      ...originOf(request),
    })

  const ownerIn = (request: FastifyRequest): ApprovalOwner => {
    return { zone: request.zone, userId: personOf(request).id, origin: originOf(request) }
  }
}

function personOf(request: FastifyRequest): User {
  if (!request.person) throw new Error('a page for who is signed in was asked for by nobody')
  return request.person
}

function messageOf(texts: Texts, query: Form): Message | undefined {
  const error = query.get('error_message_code')
  const success = query.get('success_message_code')
  if (error !== undefined) return profileMessage(texts, 'error', error)
  return success === undefined ? undefined : profileMessage(texts, 'success', success)
}
