// The second factors of a user, for administrators: listing and removing them, and a code for a user without a factor at
// hand. Nothing in the list can be used to sign in. UAA has no such API.
import type { FastifyRequest } from 'fastify'
import { createFactors } from '../../accounts/factors.ts'
import type { Factors } from '../../accounts/factors.ts'
import type { FactorOwner } from '../../accounts/factor-changes.ts'
import type { JsonRecord } from '../../base/json.ts'
import type { FactorCodesLeft, Passkey, Totp } from '../../model/users/passkey.ts'
import { asksForSecondFactor, isAbout, secondFactorPolicy } from '../../model/users/second-factor.ts'
import type { User } from '../../model/users/user.ts'
import { findUser } from '../../users/user-changes.ts'
import { createGroupRights } from '../../users/groups/group-rights.ts'
import type { On } from '../../web/deferred-routes.ts'
import { jsonBody, sendJson } from '../../web/requests/json.ts'
import { auditOriginOf } from '../../web/requests/requester.ts'
import { groupCallerOf } from '../resources/caller.ts'
import { noSuchResource, refuseResource } from '../../users/refusal.ts'
import type { UserFactorRoute } from './routes.ts'
import type { AdminDeps } from '../deps.ts'

interface OfUser {
  readonly Params: { readonly id: string }
}
interface OfPasskey {
  readonly Params: { readonly id: string; readonly passkey: string }
}

const DEFAULT_BYPASS_SECONDS = 60 * 60
const MIN_BYPASS_SECONDS = 60
/** From the time that a help desk call takes up to a week. */
const MAX_BYPASS_SECONDS = 7 * 24 * 60 * 60

/** `/Users/{id}/mfa` and everything below it. */
export function userFactorHandlers(on: On<UserFactorRoute>, deps: AdminDeps): void {
  const { store, clock, service, behaviour, pages, groupsOf } = deps
  const { changes }: Factors = createFactors(deps)
  const rights = createGroupRights(deps)

  const userOf = ({ zone, params }: FastifyRequest<OfUser>): Promise<User> => findUser(store, zone, params.id)

  /** Refuses changes of factors of users with more rights than the caller, and of the caller's own. */
  async function ownerOf(request: FastifyRequest<OfUser>): Promise<FactorOwner> {
    const { zone, bearer } = request
    const user = await userOf(request)
    if (bearer?.user?.id === user.id && bearer.user.zoneId === user.zoneId) {
      // A token does not prove a recent sign-in, which the pages require.
      throw refuseResource('invalid_self_edit', 'Users change their own second factors in their profile')
    }
    await rights.checkUser(user, groupCallerOf(request, service))
    const frame = await pages.mailFrame(request, user)
    return { zone, user, from: auditOriginOf(request), frame, byOther: true }
  }

  /** Refuses with 404 if there was nothing to remove. */
  function refuseNothing(isRemoved: boolean, { user }: FactorOwner, what: string): void {
    if (!isRemoved) throw refuseResource('scim_resource_not_found', `User ${user.id} has no ${what}`)
  }

  on<OfUser>('GET /Users/:id/mfa', async (request, reply) => {
    const { zone } = request
    const user = await userOf(request)
    const policy = secondFactorPolicy(zone, behaviour)
    const [passkeys, totp, codes, { groups }] = await Promise.all([
      store.factors.passkeysOf(zone.id, user.id),
      store.factors.totpOf(zone.id, user.id),
      store.factors.codesLeft(zone.id, user.id, clock.now()),
      groupsOf(zone, user),
    ])
    return sendJson(reply, {
      required: asksForSecondFactor(policy, user, groups),
      methods: user.factors?.methods ?? [],
      ...factorsToJson({ passkeys, totp, codes }),
    })
  })

  on<OfUser>('DELETE /Users/:id/mfa', async (request, reply) => {
    const owner = await ownerOf(request)
    const { zone, user } = owner
    const { recovery, bypassUntil } = await store.factors.codesLeft(zone.id, user.id, clock.now())
    const isEmpty = (user.factors?.methods ?? []).length === 0 && recovery === 0 && bypassUntil === undefined
    if (!isEmpty) await changes.reset(owner) // no mail without a change
    return reply.status(204).send()
  })

  on<OfPasskey>('DELETE /Users/:id/mfa/passkeys/:passkey', async (request, reply) => {
    const owner = await ownerOf(request)
    refuseNothing(await changes.removePasskey(owner, request.params.passkey), owner, 'such passkey')
    return reply.status(204).send()
  })

  on<OfUser>('DELETE /Users/:id/mfa/totp', async (request, reply) => {
    const owner = await ownerOf(request)
    refuseNothing(await changes.removeTotp(owner), owner, 'authenticator app')
    return reply.status(204).send()
  })

  on<OfUser>('DELETE /Users/:id/mfa/recovery-codes', async (request, reply) => {
    const owner = await ownerOf(request)
    refuseNothing(await changes.removeRecoveryCodes(owner), owner, 'recovery codes')
    return reply.status(204).send()
  })

  on<OfUser>('POST /Users/:id/mfa/bypass', async (request, reply) => {
    const seconds = bypassSeconds(jsonBody(request))
    const owner = await ownerOf(request)
    if (!isAbout(secondFactorPolicy(request.zone, behaviour), owner.user)) {
      throw refuseResource('scim', 'The zone requires no second factor of this user')
    }
    const bypass = await changes.bypass(owner, seconds)
    if (!bypass) throw noSuchResource('User', owner.user.id)
    return sendJson(reply, { code: bypass.code, expires_at: bypass.expiresAt.toISOString() }, 201)
  })

  on<OfUser>('DELETE /Users/:id/mfa/bypass', async (request, reply) => {
    const owner = await ownerOf(request)
    refuseNothing(await changes.removeBypass(owner), owner, 'bypass code')
    return reply.status(204).send()
  })
}

/** Lifetime of the code. */
function bypassSeconds(body: JsonRecord): number {
  const { expires_in: seconds = DEFAULT_BYPASS_SECONDS, ...others } = body
  const [unknown] = Object.keys(others)
  if (unknown !== undefined) throw refuseResource('scim', `Unrecognized field "${unknown.slice(0, 100)}"`)
  const isWhole = typeof seconds === 'number' && Number.isInteger(seconds)
  if (isWhole && seconds >= MIN_BYPASS_SECONDS && seconds <= MAX_BYPASS_SECONDS) return seconds
  throw refuseResource(
    'scim',
    `expires_in must be a whole number of seconds from ${MIN_BYPASS_SECONDS} to ${MAX_BYPASS_SECONDS}`,
  )
}

/** Without credential ids, keys and secrets. */
function factorsToJson({
  passkeys,
  totp,
  codes: { recovery, recoveryCreatedAt, bypassUntil },
}: {
  readonly passkeys: readonly Passkey[]
  readonly totp: Totp | undefined
  readonly codes: FactorCodesLeft
}): JsonRecord {
  const used = ({ lastUsedAt }: Passkey | Totp): JsonRecord =>
    lastUsedAt === undefined ? {} : { last_used_at: lastUsedAt.toISOString() }
  return {
    passkeys: passkeys.map(passkey => ({
      id: passkey.id,
      name: passkey.name,
      created_at: passkey.createdAt.toISOString(),
      ...used(passkey),
      backed_up: passkey.isBackedUp,
      attested: passkey.isAttested,
    })),
    ...(totp && { totp: { created_at: totp.createdAt.toISOString(), ...used(totp) } }),
    recovery_codes: {
      left: recovery,
      ...(recoveryCreatedAt && { created_at: recoveryCreatedAt.toISOString() }),
    },
    ...(bypassUntil && { bypass: { expires_at: bypassUntil.toISOString() } }),
  }
}
