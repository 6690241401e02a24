// The page where a user enters the code of a device and decides about it (RFC 8628 §3.3). A link may fill in the code, and
// never more: who asks, from where and for what is shown first, to a signed-in user.
import type { FastifyReply, FastifyRequest } from 'fastify'
import { addSeconds } from '../../base/clock.ts'
import type { Clock } from '../../base/clock.ts'
import { parseJson } from '../../base/json.ts'
import type { Random } from '../../base/random.ts'
import { digest } from '../../base/secrets.ts'
import { APPROVAL_SECONDS } from '../../model/users/approval.ts'
import { allowsProvider, displayName, mayUseGrant } from '../../model/clients/client.ts'
import type { Client } from '../../model/clients/client.ts'
import type { Behaviour } from '../../model/compatibility.ts'
import { enteredUserCode, shownUserCode } from '../../model/tokens/device-code.ts'
import type { DeviceRequest } from '../../model/tokens/device-code.ts'
import type { Audit } from '../../model/audit/event.ts'
import { OAuthError } from '../../model/oauth-error.ts'
import { approvedScopes, isAutoApproved, userScopes } from '../../model/tokens/scopes.ts'
import type { GrantedScopes, UserGroups } from '../../model/tokens/scopes.ts'
import type { Service } from '../../model/service.ts'
import { SECOND_FACTOR } from '../../model/sessions/sign-in-demands.ts'
import type { User } from '../../model/users/user.ts'
import { describeUserAgent } from '../../model/users/user-agent.ts'
import type { Zone } from '../../model/zones/zone.ts'
import { deviceCodePage, deviceDecisionPage, deviceDonePage } from '../../pages/device.ts'
import type { DeviceProblem } from '../../pages/device.ts'
import { scopeText } from '../../pages/texts/texts.ts'
import type { Texts } from '../../pages/texts/texts.ts'
import type { Store } from '../../store/store.ts'
import { revocationSignature } from '../../token/revocation-signature.ts'
import type { Csrf } from '../../web/sessions/csrf.ts'
import type { On } from '../../web/deferred-routes.ts'
import type { Denial } from '../../web/sessions/denial.ts'
import { EMPTY_FORM } from '../../web/requests/form.ts'
import { callerKey } from '../../web/limits/limits.ts'
import type { Limits } from '../../web/limits/limits.ts'
import type { PageWriter } from '../../web/pages.ts'
import { queryForm } from '../../web/requests/query.ts'
import { contextOf, originOf } from '../../web/requests/request-context.ts'
import { bodyForm } from '../../web/route.ts'
import type { SignedInUser } from '../../web/sessions/current-session.ts'
import type { Sessions } from '../../web/sessions/session.ts'
import type { SignInDemands } from '../../web/sessions/sign-in-demands.ts'
import { lackingLevel } from '../lacking-level.ts'
import { DEVICE_PATH, requireDeviceProtocol } from './routes.ts'
import type { DeviceRoute } from './routes.ts'

/** Dependencies of the page. */
export interface DevicePageDeps {
  readonly store: Store
  readonly sessions: Sessions
  readonly denial: Denial
  readonly csrf: Csrf
  readonly pages: PageWriter
  readonly limits: Limits
  readonly signInDemands: SignInDemands
  readonly groupsOf: (zone: Zone, user: User) => Promise<UserGroups>
  readonly clock: Clock
  readonly random: Random
  readonly service: Service
  readonly behaviour: Behaviour
  readonly audit: Audit
}

const TYPE = 'urn:ietf:params:oauth:grant-type:device_code'

/** A device that waits for a decision, and what the user can let it have. */
interface DeviceQuestion {
  readonly device: DeviceRequest
  readonly client: Client
  readonly scopes: GrantedScopes
}

/** `GET` and `POST /device`, and `POST /device/decision`. */
export function devicePageHandlers(on: On<DeviceRoute>, deps: DevicePageDeps): void {
  const { store, sessions, denial, csrf, pages, limits, signInDemands, clock, random, behaviour, audit } = deps

  /** The page again, with the code filled in; `client_id` lets the sign-in pages show the application. */
  const pathOf = (code: string | undefined, client?: Client): string => {
    if (code === undefined) return DEVICE_PATH
    const forClient = client ? `&client_id=${encodeURIComponent(client.clientId)}` : ''
    return `${DEVICE_PATH}?user_code=${shownUserCode(code)}${forClient}`
  }

  /** The signed-in user without outstanding steps; undefined when the browser was redirected. */
  async function signedInUserOf(
    request: FastifyRequest,
    reply: FastifyReply,
    code: string | undefined,
  ): Promise<SignedInUser | undefined> {
    requireDeviceProtocol(request, deps)
    const path = pathOf(code)
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

  async function askForCode(
    request: FastifyRequest,
    reply: FastifyReply,
    { code, problem }: { readonly code?: string | undefined; readonly problem?: DeviceProblem },
  ): Promise<FastifyReply> {
    const chrome = await pages.chrome(request, reply, { form: true })
    const userCode = code === undefined ? undefined : shownUserCode(code)
    return pages.send(reply.status(problem === undefined ? 200 : 422), deviceCodePage(chrome, { userCode, problem }))
  }

  /** The device with the code. Wrong ones are counted: by the user, who may have many addresses, and by the address. */
  async function find(
    request: FastifyRequest,
    { user }: SignedInUser,
    code: string | undefined,
  ): Promise<{ readonly device: DeviceRequest; readonly client: Client } | undefined> {
    const { zone } = request
    const userKey = `${zone.id} ${user.id}`
    const caller = callerKey(contextOf(request), 'user-code')
    const isWrong = (found: unknown): boolean => found === undefined
    const enter = async () => {
      const device = code === undefined ? undefined : await store.devices.enter(zone.id, digest(code), clock.now())
      const client = device && (await store.clients.find(zone.id, device.clientId))
      return device && client && mayUseGrant(client, TYPE) ? { device, client } : undefined
    }
    // From the beginning, so that codes tried at once count, too.
    return limits.wrongUserCodes.attempt(
      userKey,
      () => limits.wrongUserCodesAt.attempt(caller, enter, isWrong),
      isWrong,
    )
  }

  /** What the device asks for, as far as this user can give it; undefined when the request is answered otherwise. */
  async function examine(
    request: FastifyRequest,
    reply: FastifyReply,
    { signedIn, code }: { readonly signedIn: SignedInUser; readonly code: string | undefined },
  ): Promise<DeviceQuestion | undefined> {
    const { zone } = request
    const { user, session } = signedIn
    const found = await find(request, signedIn, code)
    if (!found) {
      await askForCode(request, reply, { problem: { kind: 'unknown' } })
      return undefined
    }
    const { client, device } = found
    const refuse = async (): Promise<undefined> => {
      await askForCode(request, reply, { problem: { kind: 'refused', clientName: displayName(client) } })
      return undefined
    }
    if (!allowsProvider(client, user.origin)) return refuse()
    const lacking = await lackingLevel(zone, { client, user, acr: session.signIn.acr }, deps)
    if (lacking?.methods.length === 0) return refuse()
    if (lacking) {
      await signInDemands.raise(request, reply, SECOND_FACTOR, pathOf(code, client))
      return undefined
    }
    try {
      const scopes = userScopes(client, device.scopes, await deps.groupsOf(zone, user), behaviour)
      return { device, client, scopes }
    } catch (error) {
      if (error instanceof OAuthError) return refuse()
      throw error
    }
  }

  async function askForDecision(
    request: FastifyRequest,
    reply: FastifyReply,
    { code, asked, user }: { readonly code: string; readonly asked: DeviceQuestion; readonly user: User },
  ): Promise<FastifyReply> {
    const { device, client, scopes } = asked
    const chrome = await pages.chrome(request, reply, { form: true })
    const groups = await store.groups.findByNames(request.zone.id, scopes)
    const sentences = new Map(groups.map(group => [group.displayName.toLowerCase(), group.description]))
    const page = deviceDecisionPage(chrome, {
      clientName: displayName(client),
      userCode: shownUserCode(code),
      userName: user.userName,
      address: device.remoteAddress,
      program: programOf(device, chrome.texts),
      requestedAt: device.requestedAt,
      isSelfRegistered: client.registration !== undefined,
      scopes: scopes.map(scope => ({
        scope,
        text: sentences.get(scope.toLowerCase()) ?? scopeText(chrome.texts, scope, deps.service),
      })),
    })
    return pages.send(reply, page)
  }

  /** What the user allowed counts for the next time, too, and is among what they can take back. */
  async function recordApproval(
    request: FastifyRequest,
    user: User,
    { client, scopes }: DeviceQuestion,
  ): Promise<void> {
    const { zoneId } = user
    const { clientId } = client
    const now = clock.now()
    const decisions = scopes
      .filter(scope => !isAutoApproved(client, scope))
      .map(scope => ({
        zoneId,
        userId: user.id,
        clientId,
        scope,
        status: 'APPROVED' as const,
        expiresAt: addSeconds(now, APPROVAL_SECONDS),
        updatedAt: now,
      }))
    if (decisions.length === 0) return
    await store.approvals.save(zoneId, decisions)
    const data = decisions.map(({ scope, status }) => `${scope} ${status}`).join(', ')
    audit({ type: 'ApprovalModifiedEvent', zoneId, principal: user.id, ...originOf(request), clientId, data })
  }

  on('GET /device', async (request, reply) => {
    const code = enteredUserCode(queryForm(request).get('user_code') ?? '')
    const signedIn = await signedInUserOf(request, reply, code)
    return signedIn ? askForCode(request, reply, { code }) : reply
  })

  on('POST /device', async (request, reply) => {
    const code = enteredUserCode((bodyForm(request) ?? EMPTY_FORM).get('user_code') ?? '')
    const signedIn = await signedInUserOf(request, reply, code)
    if (!signedIn) return reply
    if (!(await csrf.isGenuine(request))) return denial.refuseForgery(request, reply)
    const asked = await examine(request, reply, { signedIn, code })
    if (!asked || code === undefined) return reply
    return askForDecision(request, reply, { code, asked, user: signedIn.user })
  })

  on('POST /device/decision', async (request, reply) => {
    const form = bodyForm(request) ?? EMPTY_FORM
    const code = enteredUserCode(form.get('user_code') ?? '')
    const signedIn = await signedInUserOf(request, reply, code)
    if (!signedIn) return reply
    if (!(await csrf.isGenuine(request))) return denial.refuseForgery(request, reply)
    const asked = await examine(request, reply, { signedIn, code })
    if (!asked || code === undefined) return reply
    const { user, session } = signedIn
    const { client, device } = asked
    const isAllowed = form.get('user_oauth_approval') === 'true'
    // What the client may ask for may be more by now than what the page said.
    const shown = parseJson(form.get('scopes') ?? '')
    const scopes = approvedScopes(asked.scopes, scope => Array.isArray(shown) && shown.includes(scope))
    if (isAllowed && scopes.length === 0) return askForDecision(request, reply, { code, asked, user })
    if (isAllowed) await recordApproval(request, user, { ...asked, scopes })
    const { authenticatedAt, amr, acr } = session.signIn
    const decision = {
      userId: user.id,
      scopes,
      authenticatedAt,
      amr,
      acr,
      grantId: random.hex(16),
      revocationSignature: revocationSignature(client, user),
    }
    const { zone } = request
    const isDecided = await store.devices.decide(zone.id, digest(code), isAllowed ? decision : undefined, clock.now())
    if (!isDecided) return askForCode(request, reply, { problem: { kind: 'unknown' } })
    audit({
      type: isAllowed ? 'DeviceApprovedEvent' : 'DeviceDeniedEvent',
      zoneId: zone.id,
      principal: user.id,
      clientId: client.clientId,
      ...originOf(request),
      data: JSON.stringify({ scopes, from: device.remoteAddress }),
    })
    const chrome = await pages.chrome(request, reply)
    return pages.send(reply, deviceDonePage(chrome, { clientName: displayName(client), isAllowed }))
  })
}

/** In our words: a program can claim anything about itself. */
function programOf({ userAgent }: DeviceRequest, { browsers }: Texts): string | undefined {
  const described = describeUserAgent(userAgent, browsers)
  return described === browsers.unknown ? undefined : described
}
