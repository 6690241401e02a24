// Finds the device of a user code, and the scopes that the user can grant it.
import type { FastifyRequest } from 'fastify'
import { digest } from '../../base/secrets.ts'
import { allowsProvider, displayName, mayUseGrant } from '../../model/clients/client.ts'
import type { Client } from '../../model/clients/client.ts'
import { OAuthError } from '../../model/oauth-error.ts'
import type { DeviceRequest } from '../../model/tokens/device-code.ts'
import { userScopes } from '../../model/tokens/scopes.ts'
import type { GrantedScopes } from '../../model/tokens/scopes.ts'
import type { User } from '../../model/users/user.ts'
import type { DeviceProblem } from '../../pages/device.ts'
import { callerKey } from '../../web/limits/limits.ts'
import { contextOf } from '../../web/requests/request-context.ts'
import type { SignedInUser } from '../../web/sessions/current-session.ts'
import { lackingLevel } from '../lacking-level.ts'
import type { OAuthDeps } from '../deps.ts'
import { DEVICE_CODE } from '../../model/clients/grant-types.ts'

/** A device that waits for a decision, and the client that it runs. */
interface WaitingDevice {
  readonly code: string
  readonly device: DeviceRequest
  readonly client: Client
}

/** The same with the scopes that the user can grant. */
export interface DeviceQuestion extends WaitingDevice {
  readonly scopes: GrantedScopes
}

/** Whether the user may decide. */
type DeviceExamination =
  | { readonly outcome: 'decide'; readonly question: DeviceQuestion }
  | { readonly outcome: 'problem'; readonly problem: DeviceProblem }
  /** The client requires a stronger sign-in. */
  | { readonly outcome: 'step-up'; readonly client: Client }

/** Finds the device with the code, and those of the requested scopes that this user can grant. */
export async function examineCode(
  request: FastifyRequest,
  { signedIn, code }: { readonly signedIn: SignedInUser; readonly code: string | undefined },
  deps: OAuthDeps,
): Promise<DeviceExamination> {
  const { zone } = request
  const { user, session } = signedIn
  const waiting = await findWaitingDevice(request, { user, code }, deps)
  if (!waiting) return { outcome: 'problem', problem: { kind: 'unknown' } }
  const { client, device } = waiting
  const refused = { outcome: 'problem', problem: { kind: 'refused', clientName: displayName(client) } } as const
  if (!allowsProvider(client, user.origin)) return refused
  const lacking = await lackingLevel(zone, { client, user, acr: session.signIn.acr }, deps)
  if (lacking?.methods.length === 0) return refused
  if (lacking) return { outcome: 'step-up', client }
  try {
    const scopes = userScopes({ client, requested: device.scopes }, await deps.groupsOf(zone, user), deps.behaviour)
    return { outcome: 'decide', question: { ...waiting, scopes } }
  } catch (error) {
    if (error instanceof OAuthError) return refused
    throw error
  }
}

/** The device with the code. Counts wrong codes per user, who may have many addresses, and per address. */
function findWaitingDevice(
  request: FastifyRequest,
  { user, code }: { readonly user: User; readonly code: string | undefined },
  { store, limits, clock }: OAuthDeps,
): Promise<WaitingDevice | undefined> {
  const { zone } = request
  const userKey = `${zone.id} ${user.id}`
  const caller = callerKey(contextOf(request), 'user-code')
  const isWrong = (found: unknown): boolean => found === undefined
  const enter = async (): Promise<WaitingDevice | undefined> => {
    if (code === undefined) return undefined
    const device = await store.devices.enter(zone.id, digest(code), clock.now())
    const client = device && (await store.clients.find(zone.id, device.clientId))
    return device && client && mayUseGrant(client, DEVICE_CODE) ? { code, device, client } : undefined
  }
  // Counted before the check, so that concurrent attempts count too.
  return limits.wrongUserCodes.attempt(userKey, () => limits.wrongUserCodesAt.attempt(caller, enter, isWrong), isWrong)
}
