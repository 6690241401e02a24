// The page where a user enters the code of a device and decides about it (RFC 8628 §3.3). A link may only fill in the code:
// a signed-in user always sees the client, its address and the scopes before deciding.
import type { FastifyReply } from 'fastify'
import { parseJson } from '../../base/json.ts'
import { displayName } from '../../model/clients/client.ts'
import type { Client } from '../../model/clients/client.ts'
import { SECOND_FACTOR } from '../../model/sessions/sign-in-demands.ts'
import { enteredUserCode, shownUserCode } from '../../model/tokens/device-code.ts'
import type { DeviceRequest } from '../../model/tokens/device-code.ts'
import { approvedScopes } from '../../model/tokens/scopes.ts'
import { describeUserAgent } from '../../model/users/user-agent.ts'
import { deviceCodePage, deviceDecisionPage, deviceDonePage } from '../../pages/device.ts'
import type { DeviceProblem } from '../../pages/device.ts'
import type { Texts } from '../../pages/texts/texts.ts'
import type { On } from '../../web/deferred-routes.ts'
import type { Exchange } from '../../web/exchange.ts'
import type { Form } from '../../web/requests/form.ts'
import { queryForm } from '../../web/requests/query.ts'
import { postedForm } from '../../web/route.ts'
import { findScopeDescriptions } from '../../web/scope-descriptions.ts'
import type { SignedInUser } from '../../web/sessions/current-session.ts'
import { decideOnce } from './device-decision.ts'
import { examineCode } from './device-question.ts'
import type { DeviceQuestion } from './device-question.ts'
import { DEVICE_PATH, requireDeviceProtocol } from './routes.ts'
import type { DeviceRoute } from './routes.ts'
import type { OAuthDeps } from '../deps.ts'

/** The device request that a signed-in user decides about. */
interface AskedUser {
  readonly signedIn: SignedInUser
  readonly question: DeviceQuestion
}

/** `GET` and `POST /device`, and `POST /device/decision`. */
export function devicePageHandlers(on: On<DeviceRoute>, deps: OAuthDeps): void {
  on('GET /device', async (request, reply) => {
    const code = codeIn(queryForm(request))
    const signedIn = await requireSignedInUser({ request, reply }, code, deps)
    return signedIn ? askForCode({ request, reply }, { code }, deps) : reply
  })

  on('POST /device', async (request, reply) => {
    const asked = await requireQuestion({ request, reply }, deps)
    return asked ? askForDecision({ request, reply }, asked, deps) : reply
  })

  on('POST /device/decision', async (request, reply) => {
    const asked = await requireQuestion({ request, reply }, deps)
    return asked ? acceptDecision({ request, reply }, asked, deps) : reply
  })
}

const codeIn = (form: Form): string | undefined => enteredUserCode(form.get('user_code') ?? '')

/** The page again, with the code filled in; `client_id` lets the sign-in pages show the application. */
function pathWith(code: string | undefined, client?: Client): string {
  if (code === undefined) return DEVICE_PATH
  const forClient = client ? `&client_id=${encodeURIComponent(client.clientId)}` : ''
  return `${DEVICE_PATH}?user_code=${shownUserCode(code)}${forClient}`
}

/** The signed-in user without outstanding steps; undefined when the browser was redirected. */
async function requireSignedInUser(
  { request, reply }: Exchange,
  code: string | undefined,
  deps: OAuthDeps,
): Promise<SignedInUser | undefined> {
  const { sessions, denial, signInDemands } = deps
  requireDeviceProtocol(request, deps)
  const path = pathWith(code)
  const signedIn = await sessions.signedIn(request)
  if (!signedIn) {
    await denial.askToSignIn(request, reply, { path, reauthenticate: false })
    return undefined
  }
  const demand = await signInDemands.open(request, signedIn)
  if (!demand) return signedIn
  await signInDemands.raise(request, reply, demand, path)
  return undefined
}

/** The user and the device of the submitted code; undefined when the request is answered otherwise. */
async function requireQuestion(exchange: Exchange, deps: OAuthDeps): Promise<AskedUser | undefined> {
  const { request, reply } = exchange
  const code = codeIn(postedForm(request))
  const signedIn = await requireSignedInUser(exchange, code, deps)
  if (!signedIn) return undefined
  if (!(await deps.csrf.isGenuine(request))) {
    await deps.denial.refuseForgery(request, reply)
    return undefined
  }
  const examination = await examineCode(request, { signedIn, code }, deps)
  switch (examination.outcome) {
    case 'decide':
      return { signedIn, question: examination.question }
    case 'problem':
      await askForCode(exchange, { problem: examination.problem }, deps)
      return undefined
    case 'step-up':
      await deps.signInDemands.raise(request, reply, SECOND_FACTOR, pathWith(code, examination.client))
      return undefined
  }
}

async function askForCode(
  { request, reply }: Exchange,
  { code, problem }: { readonly code?: string | undefined; readonly problem?: DeviceProblem },
  { pages }: OAuthDeps,
): Promise<FastifyReply> {
  const chrome = await pages.chrome(request, reply, { form: true })
  const userCode = code === undefined ? undefined : shownUserCode(code)
  return pages.send(reply.status(problem === undefined ? 200 : 422), deviceCodePage(chrome, { userCode, problem }))
}

async function askForDecision(
  { request, reply }: Exchange,
  { signedIn, question }: AskedUser,
  deps: OAuthDeps,
): Promise<FastifyReply> {
  const { pages } = deps
  const { code, device, client, scopes } = question
  const chrome = await pages.chrome(request, reply, { form: true })
  const descriptionOf = await findScopeDescriptions(request.zone, scopes, deps)
  const page = deviceDecisionPage(chrome, {
    clientName: displayName(client),
    userCode: shownUserCode(code),
    userName: signedIn.user.userName,
    address: device.remoteAddress,
    program: programOf(device, chrome.texts),
    requestedAt: device.requestedAt,
    isSelfRegistered: client.registration !== undefined,
    resources: device.resources,
    scopes: scopes.map(scope => ({ scope, text: descriptionOf(chrome.texts, scope) })),
  })
  return pages.send(reply, page)
}

async function acceptDecision(exchange: Exchange, asked: AskedUser, deps: OAuthDeps): Promise<FastifyReply> {
  const { request, reply } = exchange
  const { pages } = deps
  const { signedIn, question } = asked
  const form = postedForm(request)
  const isAllowed = form.get('user_oauth_approval') === 'true'
  // The client's allowed scopes may have grown since the page was shown.
  const shown = parseJson(form.get('scopes') ?? '')
  const scopes = approvedScopes(question.scopes, scope => Array.isArray(shown) && shown.includes(scope))
  if (isAllowed && scopes.length === 0) return askForDecision(exchange, asked, deps)
  const isDecided = await decideOnce(request, { signedIn, question, scopes, isAllowed }, deps)
  if (!isDecided) return askForCode(exchange, { problem: { kind: 'unknown' } }, deps)
  const chrome = await pages.chrome(request, reply)
  return pages.send(reply, deviceDonePage(chrome, { clientName: displayName(question.client), isAllowed }))
}

/** Only our own text: a program can claim anything about itself. */
function programOf({ userAgent }: DeviceRequest, { browsers }: Texts): string | undefined {
  const described = describeUserAgent(userAgent, browsers)
  return described === browsers.unknown ? undefined : described
}
