// What users can see and change themselves: name and language, approvals of clients, sessions and events of the account.
import type { FastifyReply, FastifyRequest } from 'fastify'
import { OAuthError } from '../../model/oauth-error.ts'
import { OWN_NAMES } from '../../model/users/user.ts'
import { findClientSummary } from '../../token/client-summary.ts'
import { decideAgain, replaceApprovals } from '../../users/approvals.ts'
import { acceptedLanguage, acceptedName, withOwnDetails } from '../../users/own-details.ts'
import type { OwnDetails } from '../../users/own-details.ts'
import type { On } from '../../web/deferred-routes.ts'
import { goTo } from '../../web/redirect.ts'
import type { Form } from '../../web/requests/form.ts'
import { originOf } from '../../web/requests/request-context.ts'
import { postedForm } from '../../web/route.ts'
import type { AccountPage } from './account-pages.ts'
import { rightsOf, showProfile, userOf } from './profile-page.ts'
import type { LoginDeps } from '../deps.ts'

const PATH = '/profile'

/** What a form changes; its result is the query of the page that the browser returns to. */
type Change = (request: FastifyRequest, form: Form, deps: LoginDeps) => Promise<string | undefined>

/** The query for the message. UAA: says nothing about what succeeds. */
const succeeded = (code: string, { behaviour }: LoginDeps): string | undefined =>
  behaviour.ownWords ? `success_message_code=${code}` : undefined

/**
 * `GET` and `POST /profile`; `POST /profile/details`, which changes name and language, and `POST /profile/sessions`, which
 * ends the user's other sessions.
 */
export function profileHandlers(on: On<AccountPage>, deps: LoginDeps): void {
  const accept = async (request: FastifyRequest, reply: FastifyReply, change: Change): Promise<FastifyReply> => {
    const query = await change(request, postedForm(request), deps)
    const suffix = query === undefined ? '' : `?${query}`
    return goTo(reply, PATH + suffix, deps.urls)
  }

  on('GET /profile', (request, reply) => showProfile(request, reply, deps))
  on('POST /profile/details', (request, reply) => accept(request, reply, changeDetails))
  on('POST /profile', (request, reply) => accept(request, reply, changeApprovals))
  on('POST /profile/sessions', (request, reply) => accept(request, reply, endSessions))
}

const changeDetails: Change = async (request, form, deps) => {
  const details = detailsIn(form)
  if (!details) return 'error_message_code=details.invalid'
  const user = userOf(request)
  const rights = await rightsOf(request, deps)
  const changesName = OWN_NAMES.some(name => details[name] !== undefined)
  if ((changesName && !rights.names) || (details.language !== undefined && !rights.language)) {
    return 'error_message_code=details.refused'
  }
  if (withOwnDetails(user, details) !== user) {
    const { id } = user
    const by = { ...originOf(request), userId: id, scopes: [], ofDefaultZone: false }
    try {
      await deps.users.change(request.zone, id, user => withOwnDetails(user, details), { by })
    } catch (error) {
      // An alias that must not change, or others who were faster.
      if (error instanceof OAuthError) return 'error_message_code=details.refused'
      throw error
    }
  }
  return 'success_message_code=details.saved'
}

const changeApprovals: Change = async (request, form, deps) => {
  const isUpdate = form.get('update') !== undefined
  if (!isUpdate && form.get('delete') === undefined) return undefined
  const clientId = form.get('clientId') ?? ''
  if (!(await findClientSummary(deps.store, request.zone, clientId))) {
    return 'error_message_code=request.invalid_parameter'
  }
  const owner = { zone: request.zone, userId: userOf(request).id, origin: originOf(request) }
  if (!isUpdate) {
    await replaceApprovals(owner, { clientId, approvals: [] }, deps)
    return succeeded('access.revoked', deps)
  }
  const prefix = `${clientId}-`
  const ticked = form.all('checkedScopes').filter(value => value.startsWith(prefix))
  const approvedScopes = new Set(ticked.map(value => value.slice(prefix.length)))
  const listedScopes = form.get('listedScopes')?.split(' ') // UAA: absent
  await decideAgain(owner, { clientId, approvedScopes, ...(listedScopes && { listedScopes }) }, deps)
  return succeeded('access.changed', deps)
}

const endSessions: Change = async (request, form, { sessions, audit }) => {
  const recordEnd = (): void =>
    audit({
      type: 'SessionsEndedEvent',
      zoneId: request.zone.id,
      principal: userOf(request).id,
      ...originOf(request),
    })
  const handle = form.get('session')
  if (handle === undefined && form.get('others') === 'true') {
    await sessions.endOthers(request)
    recordEnd()
    return 'success_message_code=session.others_signed_out'
  }
  if (handle === undefined || !(await sessions.endOther(request, handle))) {
    return 'error_message_code=session.unknown'
  }
  recordEnd()
  return 'success_message_code=session.signed_out'
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
