// UAA's `/Users`: lists, and one user at a time.
import { issueCode } from '../../accounts/codes.ts'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { addSeconds } from '../../base/clock.ts'
import { memberOf } from '../../base/json.ts'
import { REQUESTED_APPROVAL_SECONDS } from '../../model/users/approval.ts'
import { isScopeOf } from '../../model/tokens/scopes.ts'
import { OAuthError } from '../../model/oauth-error.ts'
import type { User } from '../../model/users/user.ts'
import type { Zone } from '../../model/zones/zone.ts'
import { AlreadyExists } from '../../store/store.ts'
import { findUser } from '../../users/user-changes.ts'
import { createDefaultGroupFilter } from '../../users/groups/default-group-filter.ts'
import { createGroupRights } from '../../users/groups/group-rights.ts'
import type { GroupCaller } from '../../users/groups/group-rights.ts'
import { reportCode } from '../accounts/code-issued.ts'
import { callerOf, groupCallerOf, serverCallerOf } from '../resources/caller.ts'
import { hasRight } from '../../web/callers/bearer.ts'
import type { On } from '../../web/deferred-routes.ts'
import { jsonBody, sendJson } from '../../web/requests/json.ts'
import { queryForm } from '../../web/requests/query.ts'
import { escapedFilter, findPage, readListParameters, selected, wants } from '../resources/list.ts'
import type { ListParameters, ListRules, Resource } from '../resources/list.ts'
import { sendListPieces } from '../resources/pieces.ts'
import { refuseResource } from '../../users/refusal.ts'
import { expectedVersion, requiredVersion, sendVersioned } from '../resources/versions.ts'
import type { ExpectedVersion } from '../resources/versions.ts'
import { SCHEMAS } from '../resources/dialect.ts'
import { readUserBody } from './body.ts'
import type { UserBody } from './body.ts'
import { userIdsHandlers } from './ids.ts'
import { passwordHandler } from './password.ts'
import { createUserViews, userToJson } from './record.ts'
import type { Shown, UserViews } from './record.ts'
import type { UserRoute } from './routes.ts'
import { userSessionHandlers } from './sessions.ts'
import { statusHandler } from './status.ts'
import { differsInNamesOnly, draftOf, originIn, patched, replaced } from './wanted.ts'
import type { AdminDeps } from '../deps.ts'

interface OfUser {
  readonly Params: { readonly id: string }
}

/** The handlers of `/Users` with everything below it, and `/ids/Users`. */
export function userHandlers(on: On<UserRoute>, deps: AdminDeps): void {
  const views = createUserViews(deps)
  listHandler(on, deps, views)
  writingHandlers(on, deps, views)
  verifyHandler(on, deps)
  verifyLinkHandler(on, deps)
  statusHandler(on, deps)
  passwordHandler(on, deps)
  userIdsHandlers(on, deps)
  userSessionHandlers(on, deps)
}

const valuesIn = (entries: unknown): unknown =>
  Array.isArray(entries) ? entries.map(entry => memberOf(entry, 'value')) : null

/** UAA: short names for the parts of a name, and lists for the values of addresses. */
const MAPPED: ListRules['attributes'] = new Map<string, (resource: Resource) => unknown>([
  ['givenName', ({ name }) => memberOf(name, 'givenName')],
  ['familyName', ({ name }) => memberOf(name, 'familyName')],
  ['name.givenName', () => null],
  ['name.familyName', () => null],
  ['emails.value', ({ emails }) => valuesIn(emails)],
  ['phoneNumbers.value', ({ phoneNumbers }) => valuesIn(phoneNumbers)],
])

const RULES: ListRules = {
  defaults: { filter: 'id pr', sortBy: 'created' },
  isDescending: sortOrder => sortOrder !== 'ascending', // UAA: any other value
  lenient: { startIndex: true, count: false },
  allowsNot: false,
  ordersBySeveral: true,
  attributePaths: true,
  attributes: MAPPED,
  schemas: SCHEMAS,
  refuse: message => refuseResource('scim', message),
  refuseFilter: ({ filter, sortBy }, cause) =>
    refuseResource('scim', `Invalid filter expression: [${escapedFilter(filter)}] [${escapedFilter(sortBy)}]`, {
      detail: cause.message,
      cause,
    }),
}

function listHandler(on: On<UserRoute>, deps: AdminDeps, views: UserViews): void {
  const { store, behaviour, settings } = deps
  const inDefaultGroups = createDefaultGroupFilter(deps, 'uaa')
  on('GET /Users', async (request, reply) => {
    const parameters = readListParameters(queryForm(request), RULES, { behaviour, maxCount: settings.maxCounts.users })
    const { records, totalResults } = await findPage(parameters, RULES, async query =>
      store.users.list(request.zone.id, {
        ...query,
        filter: await inDefaultGroups(request.zone, query.filter),
        profiles: 'primary email',
      }),
    )
    const shown = { groups: wants(parameters, 'groups'), approvals: wants(parameters, 'approvals') }
    const texts = userTexts(request.zone, records, { parameters, shown, views })
    return sendListPieces(reply, texts, { parameters, rules: RULES, totalResults })
  })
}

/** Number of users whose groups are read together: each may be in hundreds. */
const BATCH = 50

/** The users as JSON, with commas between them. */
async function* userTexts(
  zone: Zone,
  users: readonly User[],
  {
    parameters,
    shown,
    views,
  }: { readonly parameters: ListParameters; readonly shown: Shown; readonly views: UserViews },
): AsyncGenerator<string> {
  for (let start = 0; start < users.length; start += BATCH) {
    const resources = await views.ofMany(zone, users.slice(start, start + BATCH), shown)
    const texts = resources.map(resource => JSON.stringify(selected(resource, parameters.attributes, RULES)))
    yield (start === 0 ? '' : ',') + texts.join(',')
    await nextTurn()
  }
}

const INVALID_SELF_EDIT =
  'Users are only allowed to edit their own User settings when internal user storage is enabled, and in that case they may only edit the givenName and familyName.'

const invalidSelfEdit = (): OAuthError => new OAuthError('invalid_self_edit', INVALID_SELF_EDIT)

/** Undefined for any version, as the store expects. */
const versionOf = (expected: ExpectedVersion | undefined): number | undefined =>
  expected === 'any' ? undefined : expected

function writingHandlers(on: On<UserRoute>, deps: AdminDeps, views: UserViews): void {
  const { store, service, users } = deps
  const internalOrigin = service.name

  const by = (request: FastifyRequest): GroupCaller => serverCallerOf(request, service)

  /** Users without a right to write users may change the names of their own account, if it is an internal one. */
  function isSelfEdit(request: FastifyRequest, id: string): boolean {
    const rights = { scopes: [service.scope('admin'), 'scim.write'] }
    return request.bearer?.user?.id === id && !hasRight(request, rights, service)
  }

  on('POST /Users', async (request, reply) => {
    const body = readUserBody(jsonBody(request))
    await users.checkManageable(request.zone, originIn(body, internalOrigin))
    const draft = draftOf(body, internalOrigin)
    const approvals = await decisionsOf(body, request.zone.id, deps)
    const user = await users.create(request.zone, {
      draft,
      password: body.password,
      approvals,
      by: by(request),
    })
    return sendVersioned(reply, await views.of(request.zone, user), { version: user.version, status: 201 })
  })

  on<OfUser>('GET /Users/:id', async (request, reply) => {
    const user = await findUser(store, request.zone, request.params.id)
    return sendVersioned(reply, await views.of(request.zone, user), user)
  })

  /** Applies the change in the body; `compute` is run on the stored user. */
  async function update(
    request: FastifyRequest<OfUser>,
    reply: FastifyReply,
    { body, compute }: { readonly body: UserBody; readonly compute: (user: User) => User },
  ): Promise<FastifyReply> {
    const { zone, params } = request
    const isSelf = isSelfEdit(request, params.id)
    const change = isSelf ? (user: User): User => namesOnly(user, body, compute) : compute
    if (isSelf) {
      const stored = await store.users.find(zone.id, params.id)
      if (stored?.origin !== internalOrigin) throw invalidSelfEdit()
      change(stored)
    }
    const expected = versionOf(requiredVersion(request))
    const user = await users.change(zone, params.id, change, { expected, by: by(request) }).catch((cause: unknown) => {
      if (!(cause instanceof AlreadyExists)) throw cause
      throw refuseResource('scim', 'The user name or the external id is already in use', { cause })
    })
    return sendVersioned(reply, await views.of(zone, user), user)
  }

  on<OfUser>('PUT /Users/:id', async (request, reply) => {
    const body = readUserBody(jsonBody(request))
    const origin = originIn(body, internalOrigin)
    await users.checkManageable(request.zone, origin)
    return update(request, reply, {
      body,
      compute: user => {
        if (origin === user.origin) return replaced(user, body)
        throw refuseResource('invalid_scim_resource', "Cannot change user's origin in update operation.")
      },
    })
  })

  on<OfUser>('PATCH /Users/:id', async (request, reply) => {
    const body = readUserBody(jsonBody(request))
    return update(request, reply, { body, compute: user => patched(user, body) })
  })

  on<OfUser>('DELETE /Users/:id', async (request, reply) => {
    const { zone, params } = request
    const expected = versionOf(expectedVersion(request))
    const before = await findUser(store, zone, params.id)
    const view = await views.of(zone, before)
    await users
      .delete(zone, params.id, { expected, by: by(request) })
      .catch((error: unknown) => Promise.reject(staleAs422(error)))
    return sendVersioned(reply, view, before)
  })
}

/** The decisions in the body, for scopes that their clients have. */
async function decisionsOf({ approvals }: UserBody, zoneId: string, { store, clock }: AdminDeps) {
  const now = clock.now()
  for (const [clientId, ofClient] of Map.groupBy(approvals, approval => approval.clientId)) {
    const client = await store.clients.find(zoneId, clientId)
    if (!client) throw refuseResource('scim', `There is no client with the id ${clientId}`)
    const foreign = ofClient.find(({ scope }) => !isScopeOf(client, scope))
    if (foreign) throw refuseResource('scim', `The client ${clientId} has no scope ${foreign.scope}`)
  }
  return approvals.map(({ expiresAt = addSeconds(now, REQUESTED_APPROVAL_SECONDS), ...approval }) => ({
    ...approval,
    expiresAt,
    updatedAt: now,
  }))
}

/** The changed user, if only the names differ; throws `invalid_self_edit` otherwise. */
function namesOnly(user: User, body: UserBody, compute: (user: User) => User): User {
  if (body.displayName !== undefined) throw invalidSelfEdit()
  let after: User
  try {
    after = compute(user)
  } catch (error) {
    throw error instanceof OAuthError ? invalidSelfEdit() : error
  }
  if (!differsInNamesOnly(user, after)) throw invalidSelfEdit()
  return after
}

/** UAA: a stale version is a conflict for changes, and 422 for a deletion and a verification. */
function staleAs422(error: unknown): unknown {
  if (!(error instanceof OAuthError) || error.error !== 'scim_resource_conflict') return error
  return refuseResource('scim', error.message, { status: 422, cause: error })
}

/** The link of a mail that the caller sends; opening it leaves the password of the account unchanged. */
function verifyLinkHandler(on: On<UserRoute>, deps: AdminDeps): void {
  const { store, service, users, urls } = deps
  const rights = createGroupRights(deps)
  on<OfUser>('GET /Users/:id/verify-link', async (request, reply) => {
    const { zone, params, bearer } = request
    await users.checkManageable(zone, service.name)
    const query = queryForm(request)
    const redirectUri = query.get('redirect_uri')
    if (redirectUri === undefined) throw refuseResource('scim', 'The parameter redirect_uri is missing')
    const user = await findUser(store, zone, params.id)
    if (user.verified) throw refuseResource('user_already_verified', 'This user has already been verified.')
    await rights.checkUser(user, groupCallerOf(request, service))
    // The URL is checked when the code is used.
    const data = { clientId: query.get('client_id') ?? bearer?.client.clientId, redirectUri }
    const { value } = await issueCode(zone, { purpose: 'sign-up', user, data }, deps)
    reportCode(request, { user, use: 'verification' }, deps)
    return sendJson(reply, { verify_link: `${urls.ofZone(zone)}/verify_user?code=${value}` })
  })
}

function verifyHandler(on: On<UserRoute>, deps: AdminDeps): void {
  const { store, service, users } = deps
  const rights = createGroupRights(deps)
  on<OfUser>('GET /Users/:id/verify', async (request, reply) => {
    const { zone, params } = request
    await users.checkManageable(zone, service.name) // UAA: for users of other origins, too
    const expected = versionOf(expectedVersion(request))
    const before = await store.users.find(zone.id, params.id)
    if (before?.verified === false) await rights.checkUser(before, groupCallerOf(request, service))
    const user = await users
      .verify(zone, params.id, { expected, by: callerOf(request) })
      .catch((error: unknown) => Promise.reject(staleAs422(error)))
    return sendVersioned(reply, userToJson(user), user)
  })
}
