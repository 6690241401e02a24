// What the profile page shows: the details of the account, the approvals of clients, sessions and events.
import type { FastifyReply, FastifyRequest } from 'fastify'
import { switchesIn } from '../../accounts/switches.ts'
import { languageIn } from '../../model/language.ts'
import { SECURITY_PATH } from '../../model/sessions/fresh-sign-in.ts'
import type { AccountEventType } from '../../model/users/account-event.ts'
import { isAbout, offersPasskeySignIn, secondFactorPolicy } from '../../model/users/second-factor.ts'
import { describeUserAgent } from '../../model/users/user-agent.ts'
import { preferredLanguage } from '../../model/users/user.ts'
import type { User } from '../../model/users/user.ts'
import type { Message } from '../../pages/parts/messages.ts'
import type { Device, ShownEvent } from '../../pages/accounts/profile-activity.ts'
import type { OtherProvider } from '../../pages/accounts/profile-details.ts'
import { profileMessage, profilePage } from '../../pages/accounts/profile.ts'
import type { ApprovedClient } from '../../pages/accounts/profile.ts'
import type { Texts } from '../../pages/texts/texts.ts'
import { findClientSummary } from '../../token/client-summary.ts'
import type { Form } from '../../web/requests/form.ts'
import { queryForm } from '../../web/requests/query.ts'
import { findScopeDescriptions } from '../../web/scope-descriptions.ts'
import type { LoginDeps } from '../deps.ts'

/** Maximum number of events on the page. */
const MAX_EVENTS = 30
const PRECISE: ReadonlySet<AccountEventType> = new Set(['password-changed', 'email-changed'])

/** Answers with the page. */
export async function showProfile(
  request: FastifyRequest,
  reply: FastifyReply,
  deps: LoginDeps,
): Promise<FastifyReply> {
  const { pages, clock, urls, behaviour, service } = deps
  const user = userOf(request)
  const { zone } = request
  const chrome = await pages.chrome(request, reply, { form: true })
  const { texts } = chrome
  const policy = secondFactorPolicy(zone, behaviour)
  const [rights, provider, clients, devices, events] = await Promise.all([
    rightsOf(request, deps),
    otherProviderOf(user, deps),
    clientsOf(request, texts, deps),
    devicesOf(request, texts, deps),
    eventsOf(user, texts, deps),
  ])
  /** The URL of another page of the account. */
  const pageAt = (path: string): string => urls.pathOf(zone) + path
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
    ...(rights.names && { changeEmail: pageAt('/change_email'), changePassword: pageAt('/change_password') }),
    passwordChangedAt: user.passwordChangedAt,
    provider,
    signsInWithPasskey: offersPasskeySignIn(policy, service.name) && user.factors?.methods.includes('passkey') === true,
    ...(isAbout(policy, user) && {
      security: { path: pageAt(SECURITY_PATH), methods: user.factors?.methods ?? [] },
    }),
    message: messageOf(texts, queryForm(request)),
    clients,
    devices,
    events,
    now: clock.now(),
  })
  return pages.send(reply, page)
}

/** The user whose account it is. */
export function userOf(request: FastifyRequest): User {
  if (!request.user) throw new Error('the page requires a signed-in user')
  return request.user
}

/** Another provider manages the names of its users, but never the language. */
export async function rightsOf(
  request: FastifyRequest,
  { store, service }: Pick<LoginDeps, 'store' | 'service'>,
): Promise<{ readonly names: boolean; readonly language: boolean }> {
  const isInternal = userOf(request).origin === service.name
  const { ownAccounts } = await switchesIn(request.zone, { store, serviceName: service.name })
  return { names: isInternal && ownAccounts, language: !isInternal || ownAccounts }
}

async function otherProviderOf(
  { zoneId, origin, externalId }: User,
  { store, service }: LoginDeps,
): Promise<OtherProvider | undefined> {
  if (origin === service.name) return undefined
  const provider = await store.providers.findByOrigin(zoneId, origin)
  return { name: provider?.name ?? origin, origin, externalId }
}

/** Omits deleted clients, whose approvals have no effect. */
async function clientsOf(request: FastifyRequest, texts: Texts, deps: LoginDeps): Promise<readonly ApprovedClient[]> {
  const { store, clock } = deps
  const { zone } = request
  const approvals = await store.approvals.listOfUser(zone.id, userOf(request).id, clock.now())
  const scopes = [...new Set(approvals.map(each => each.scope))]
  const descriptionOf = await findScopeDescriptions(zone, scopes, deps)
  const byClient = Map.groupBy(approvals, approval => approval.clientId)
  const clients = await Promise.all(
    Array.from(byClient, async ([clientId, decisions]) => {
      const client = await findClientSummary(store, zone, clientId)
      if (!client) return []
      const decided = decisions.map(({ scope, status }) => ({
        scope,
        text: descriptionOf(texts, scope),
        approved: status === 'APPROVED',
      }))
      return [{ clientId, name: client.name, scopes: decided }]
    }),
  )
  return clients.flat()
}

/** Grouped by what can be distinguished, the current device first. */
async function devicesOf(request: FastifyRequest, texts: Texts, { sessions }: LoginDeps): Promise<readonly Device[]> {
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

async function eventsOf(
  { id, zoneId }: User,
  texts: Texts,
  { store, history }: LoginDeps,
): Promise<readonly ShownEvent[]> {
  const all = await history.list({ id: zoneId }, id)
  // The times of more specific events, which replace general ones.
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

function messageOf(texts: Texts, query: Form): Message | undefined {
  const error = query.get('error_message_code')
  const success = query.get('success_message_code')
  if (error !== undefined) return profileMessage(texts, 'error', error)
  return success === undefined ? undefined : profileMessage(texts, 'success', success)
}
