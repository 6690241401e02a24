// What users can see and change themselves: name and language, approvals of clients, sessions and events of the account.
import { findClientSummary } from '../../token/client-summary.ts'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { switchesIn } from '../../accounts/switches.ts'
import type { Clock } from '../../base/clock.ts'
import type { AccountEventType } from '../../model/users/account-event.ts'
import type { Behaviour } from '../../model/compatibility.ts'
import type { Audit } from '../../model/audit/event.ts'
import { SECURITY_PATH } from '../../model/sessions/fresh-sign-in.ts'
import { languageIn } from '../../model/language.ts'
import { OAuthError } from '../../model/oauth-error.ts'
import { isAbout, secondFactorPolicy } from '../../model/users/second-factor.ts'
import type { Service } from '../../model/service.ts'
import type { Urls } from '../../model/urls.ts'
import { describeUserAgent } from '../../model/users/user-agent.ts'
import { OWN_NAMES, preferredLanguage } from '../../model/users/user.ts'
import type { User } from '../../model/users/user.ts'
import type { Message } from '../../pages/messages.ts'
import { profileMessage, profilePage } from '../../pages/profile.ts'
import type { ApprovedClient } from '../../pages/profile.ts'
import type { Device, ShownEvent } from '../../pages/profile-activity.ts'
import type { OtherProvider } from '../../pages/profile-details.ts'
import type { Texts } from '../../pages/texts/texts.ts'
import type { Store } from '../../store/store.ts'
import { decideAgain, replaceApprovals } from '../../users/approvals.ts'
import type { ApprovalOwner } from '../../users/approvals.ts'
import type { AccountHistory } from '../../users/account-history.ts'
import { acceptedLanguage, acceptedName, withOwnDetails } from '../../users/own-details.ts'
import type { OwnDetails } from '../../users/own-details.ts'
import type { Users } from '../../users/users.ts'
import type { Csrf } from '../../web/sessions/csrf.ts'
import type { Denial } from '../../web/sessions/denial.ts'
import type { Form } from '../../web/requests/form.ts'
import { EMPTY_FORM } from '../../web/requests/form.ts'
import type { PageWriter } from '../../web/pages.ts'
import { queryForm } from '../../web/requests/query.ts'
import { originOf } from '../../web/requests/request-context.ts'
import { bodyForm } from '../../web/route.ts'
import { findScopeDescriptions } from '../../web/scope-descriptions.ts'
import type { Sessions } from '../../web/sessions/session.ts'
import type { On } from '../../web/deferred-routes.ts'
import type { AccountPage } from './account-pages.ts'

/** Dependencies of `profileHandlers`. */
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
  readonly users: Users
  readonly history: AccountHistory
}

const PATH = '/profile'
/** Events on the page. */
const MAX_EVENTS = 30
const PRECISE: ReadonlySet<AccountEventType> = new Set(['password-changed', 'email-changed'])

/**
 * `GET` and `POST /profile`; `POST /profile/details`, which changes name and language, and `POST /profile/sessions`, which
 * ends the user's other sessions.
 */
export function profileHandlers(on: On<AccountPage>, deps: ProfileDeps): void {
  const { store, sessions, denial, csrf, pages, clock, urls, service, users, history, behaviour } = deps

  on('GET /profile', async (request, reply) => {
    const user = userOf(request)
    const { zone } = request
    const chrome = await pages.chrome(request, reply, { form: true })
    const { texts } = chrome
    const [rights, provider, clients, devices, events] = await Promise.all([
      rightsOf(request),
      otherProviderOf(user),
      clientsOf(user, texts),
      devicesOf(request, texts),
      eventsOf(user, texts),
    ])
    const page = profilePage(chrome, {
      userName: user.userName,
      email: user.email,
      names: {
        givenName: user.givenName ?? '',
        familyName: user.familyName ?? '',
        displayName: user.profile?.displayName ?? '',
      },
      language: languageIn(preferredLanguage(user)),
      mayChange: rights,
      ...(rights.names && {
        changeEmail: pageOf(request, '/change_email'),
        changePassword: pageOf(request, '/change_password'),
      }),
      provider,
      ...(isAbout(secondFactorPolicy(zone, behaviour), user) && {
        security: { path: pageOf(request, SECURITY_PATH), methods: user.factors?.methods ?? [] },
      }),
      message: messageOf(texts, queryForm(request)),
      clients,
      devices,
      events,
      now: clock.now(),
    })
    return pages.send(reply, page)

    /** Omits deleted clients, whose approvals have no effect. */
    async function clientsOf({ id }: User, texts: Texts): Promise<readonly ApprovedClient[]> {
      const approvals = await store.approvals.listOfUser(zone.id, id, clock.now())
      const scopes = [...new Set(approvals.map(each => each.scope))]
      const descriptionOf = await findScopeDescriptions(zone, scopes, deps)
      const byClient = Map.groupBy(approvals, approval => approval.clientId)
      const clients = await Promise.all(
        Array.from(byClient, async ([clientId, decisions]) => {
          const client = await findClientSummary(store, zone, clientId)
          if (!client) return []
          const scopes = decisions.map(({ scope, status }) => ({
            scope,
            text: descriptionOf(texts, scope),
            approved: status === 'APPROVED',
          }))
          return [{ clientId, name: client.name, scopes }]
        }),
      )
      return clients.flat()
    }
  })

  on('POST /profile/details', async (request, reply) => {
    if (!(await csrf.isGenuine(request))) return denial.refuseForgery(request, reply)
    const details = detailsIn(bodyForm(request) ?? EMPTY_FORM)
    if (!details) return back(request, reply, 'error_message_code=details.invalid')
    const user = userOf(request)
    const rights = await rightsOf(request)
    const changesName = OWN_NAMES.some(name => details[name] !== undefined)
    if ((changesName && !rights.names) || (details.language !== undefined && !rights.language)) {
      return back(request, reply, 'error_message_code=details.refused')
    }
    if (withOwnDetails(user, details) !== user) {
      const { id } = user
      const by = { ...originOf(request), userId: id, scopes: [], ofDefaultZone: false }
      try {
        await users.change(request.zone, id, user => withOwnDetails(user, details), { by })
      } catch (error) {
        // An alias that must not change, or others who were faster.
        if (error instanceof OAuthError) return back(request, reply, 'error_message_code=details.refused')
        throw error
      }
    }
    return back(request, reply, 'success_message_code=details.saved')
  })

  on('POST /profile', async (request, reply) => {
    if (!(await csrf.isGenuine(request))) return denial.refuseForgery(request, reply)
    const form = bodyForm(request) ?? EMPTY_FORM
    const isUpdate = form.get('update') !== undefined
    if (!isUpdate && form.get('delete') === undefined) return back(request, reply)
    const clientId = form.get('clientId') ?? ''
    if (!(await findClientSummary(store, request.zone, clientId))) {
      return back(request, reply, 'error_message_code=request.invalid_parameter')
    }
    if (isUpdate) {
      const prefix = `${clientId}-`
      const ticked = form.all('checkedScopes').filter(value => value.startsWith(prefix))
      const approvedScopes = new Set(ticked.map(value => value.slice(prefix.length)))
      await decideAgain(ownerIn(request), { clientId, approvedScopes }, deps)
    } else await replaceApprovals(ownerIn(request), { clientId, approvals: [] }, deps)
    return back(request, reply)
  })

  on('POST /profile/sessions', async (request, reply) => {
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

  /** Names are those of the provider, where there is another; the language never is. */
  async function rightsOf(request: FastifyRequest): Promise<{ readonly names: boolean; readonly language: boolean }> {
    const isInternal = userOf(request).origin === service.name
    const { ownAccounts } = await switchesIn(request.zone, { store, serviceName: service.name })
    return { names: isInternal && ownAccounts, language: !isInternal || ownAccounts }
  }

  async function otherProviderOf({ zoneId, origin, externalId }: User): Promise<OtherProvider | undefined> {
    if (origin === service.name) return undefined
    const provider = await store.providers.findByOrigin(zoneId, origin)
    return { name: provider?.name ?? origin, origin, externalId }
  }

  /** Grouped by what can be distinguished, the current device first. */
  async function devicesOf(request: FastifyRequest, texts: Texts): Promise<readonly Device[]> {
    const own = (await sessions.ownSessions(request)).toSorted((a, b) => Number(b.isCurrent) - Number(a.isCurrent))
    const byName = Map.groupBy(own, ({ session }) => describeUserAgent(session.signIn.userAgent, texts.browsers))
    return Array.from(byName, ([name, each]) => ({
      name,
      sessions: each.map(({ session, handle, isCurrent }) => ({
        handle,
        isCurrent,
        address: session.signIn.remoteAddress,
        signedInAt: session.createdAt, // at a provider it may have been earlier
        lastSeenAt: session.lastSeenAt,
      })),
    }))
  }

  async function eventsOf({ id, zoneId }: User, texts: Texts): Promise<readonly ShownEvent[]> {
    const all = await history.list({ id: zoneId }, id)
    // Instants of more specific events, which replace general ones.
    const precise = new Set(all.filter(({ type }) => PRECISE.has(type)).map(({ at }) => at.getTime()))
    const shown = all.filter(({ type, at }) => type !== 'details-changed' || !precise.has(at.getTime()))
    return Promise.all(
      shown.slice(0, MAX_EVENTS).map(async ({ type, at, byOther, userAgent, remoteAddress, clientId }) => {
        const client = clientId === undefined ? undefined : await findClientSummary(store, { id: zoneId }, clientId)
        return {
          type,
          at,
          byOther,
          device: userAgent === undefined ? undefined : describeUserAgent(userAgent, texts.browsers),
          address: remoteAddress,
          clientName: client?.name,
        }
      }),
    )
  }

  /** The URL of another page of the account. */
  const pageOf = ({ zone }: FastifyRequest, path: string): string => urls.pathOf(zone) + path

  const back = (request: FastifyRequest, reply: FastifyReply, query?: string): FastifyReply =>
    reply.redirect(urls.ofZone(request.zone) + PATH + (query === undefined ? '' : `?${query}`), 302)

  const reportEnded = (request: FastifyRequest): void =>
    deps.audit({
      type: 'SessionsEndedEvent',
      zoneId: request.zone.id,
      principal: userOf(request).id,
      ...originOf(request),
    })

  const ownerIn = (request: FastifyRequest): ApprovalOwner => {
    return { zone: request.zone, userId: userOf(request).id, origin: originOf(request) }
  }
}

function userOf(request: FastifyRequest): User {
  if (!request.user) throw new Error('the page requires a signed-in user')
  return request.user
}

/** The submitted details; undefined for an invalid name or an unknown language. */
function detailsIn(form: Form): OwnDetails | undefined {
  const names: Partial<Record<(typeof OWN_NAMES)[number], string>> = {}
  for (const name of OWN_NAMES) {
    const sent = form.get(name)
    if (sent === undefined) continue
    const accepted = acceptedName(sent)
    if (accepted === undefined) return undefined
    names[name] = accepted
  }
  const sent = form.get('language')
  const language = sent === undefined ? undefined : acceptedLanguage(sent)
  return sent !== undefined && language === undefined ? undefined : { ...names, language }
}

function messageOf(texts: Texts, query: Form): Message | undefined {
  const error = query.get('error_message_code')
  const success = query.get('success_message_code')
  if (error !== undefined) return profileMessage(texts, 'error', error)
  return success === undefined ? undefined : profileMessage(texts, 'success', success)
}
