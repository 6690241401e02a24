// What the self-service pages share: whether they are enabled, and their rate limits.
import type { FastifyReply, FastifyRequest } from 'fastify'
import { switchesIn } from '../../accounts/switches.ts'
import type { RequestedReturn } from '../../accounts/codes.ts'
import type { Background } from '../../base/concurrency/background.ts'
import { userNameKey } from '../../model/users/user.ts'
import type { User } from '../../model/users/user.ts'
import { PageError } from '../../web/answers.ts'
import { goTo } from '../../web/redirect.ts'
import type { Form } from '../../web/requests/form.ts'
import { siteKey } from '../../web/limits/limits.ts'
import type { Limits } from '../../web/limits/limits.ts'
import type { Taken } from '../../web/limits/shared-limits.ts'
import { TooManyRequests } from '../../web/limits/too-many-requests.ts'
import { contextOf } from '../../web/requests/request-context.ts'
import { createTypedNames } from '../sign-in/typed-name.ts'
import type { LoginDeps } from '../deps.ts'

/** Refuses where the zone has its self-service off: 404. */
export async function checkSelfService(request: FastifyRequest, { store, service }: LoginDeps): Promise<void> {
  const { selfService } = await switchesIn(request.zone, { store, serviceName: service.name })
  if (!selfService) throw new PageError(404, 'Self service is disabled.')
}

/** The message if the two passwords of a form differ or are empty. */
export const MISMATCH = 'Passwords must match and not be empty.'

/** The value of a field that the page's form always sends; 400 without it. */
export function requiredField(form: Form, name: string): string {
  const value = form.get(name)
  if (value === undefined) throw new PageError(400, 'A field of the form is missing.')
  return value
}

/** The page that says that a mail was sent. */
export const EMAIL_SENT_PATH = '/email_sent'

const MAX_CLIENT_ID_LENGTH = 255
const MAX_URI_LENGTH = 2000

/** The requested return; checked when it is used. Values too long to be registered count as absent. */
export function readRequestedReturn(form: Form): RequestedReturn {
  const upTo = (value: string | undefined, max: number) =>
    value === '' || (value?.length ?? 0) > max ? undefined : value
  return {
    clientId: upTo(form.get('client_id'), MAX_CLIENT_ID_LENGTH),
    redirectUri: upTo(form.get('redirect_uri'), MAX_URI_LENGTH),
  }
}

/** Counts a mail that the request causes, before it is known whether there is an account. Throws `TooManyRequests`. */
export async function countMail(
  request: FastifyRequest,
  address: string,
  { mailsBy, mailsTo, mailsOfZone }: Limits,
): Promise<void> {
  const zoneId = request.zone.id
  const to = JSON.stringify([zoneId, userNameKey(address)]) // as accounts are found
  const wanted = [
    () => mailsBy.take(siteKey(contextOf(request))),
    () => mailsTo.take(to),
    () => mailsOfZone.take(zoneId), // last, so that one place or address alone uses up nothing of it
  ]
  const taken: Taken[] = []
  try {
    for (const take of wanted) taken.push(await take())
  } catch (refusal) {
    for (const one of taken) one.release()
    throw refusal
  }
}

/** Counts a mail to the account, whichever name was entered; false, and not counted, if the limit is reached. */
export async function countMailOf({ zoneId, id }: User, { mailsTo }: Pick<Limits, 'mailsTo'>): Promise<boolean> {
  try {
    await mailsTo.take(JSON.stringify([zoneId, 'account', id]))
    return true
  } catch (refusal) {
    if (refusal instanceof TooManyRequests) return false
    throw refusal
  }
}

/** Runs the task after the answer. Throws 503 while too many tasks wait. */
export function runLater(background: Background, task: () => Promise<void>): void {
  if (!background.run(task)) throw new PageError(503, 'Too many sign-ins at the moment. Try again in a few seconds.')
}

/** A URL as a value in the query of a redirect. UAA: leaves colons and slashes as they are. */
const inQuery = (url: string): string => encodeURIComponent(url).replaceAll('%3A', ':').replaceAll('%2F', '/')

/** The completed action, and where to continue after a sign-in: the result of `returnUrl` for the client. */
interface Done {
  /** A message of the sign-in page. */
  readonly success: string
  /** Who signs in next. */
  readonly userName: string
  readonly clientId: string | undefined
  readonly url: string | undefined
}

/**
 * Redirects to the sign-in page, which continues to the URL. That page follows no URL of another host in its query, where UAA
 * names it; so a path of our own waits for the sign-in, and `/continue` checks the URL once more.
 */
export async function redirectToSignIn(
  request: FastifyRequest,
  reply: FastifyReply,
  { success, userName, clientId, url }: Done,
  { sessions, urls, behaviour }: LoginDeps,
): Promise<FastifyReply> {
  if (behaviour.keepTypedName) createTypedNames({ urls, shownAt: '/login' }).keep(reply, userName)
  if (clientId !== undefined && url !== undefined && !(await sessions.signedIn(request))) {
    const query = new URLSearchParams({ client_id: clientId, redirect_uri: url })
    await sessions.saveRequest(request, reply, { path: `/continue?${query.toString()}`, reauthenticate: false })
  }
  const way = url === undefined ? '' : `&form_redirect_uri=${inQuery(url)}`
  return goTo(reply, `/login?success=${success}${way}`, urls)
}
