// The users of SCIM, over the records and rules that every API of users shares.
import { isDeepStrictEqual } from 'node:util'
import { mapInBatches } from '../../../base/concurrency/in-batches.ts'
import { memberOf } from '../../../base/json.ts'
import { hasPrimaryEmail } from '../../../model/users/user.ts'
import type { User } from '../../../model/users/user.ts'
import type { CursorPage, Page } from '../../../store/store.ts'
import { findUser } from '../../../users/user-changes.ts'
import { noSuchResource } from '../../../users/refusal.ts'
import { namesOf } from '../schemas/attribute.ts'
import type { Json, Names } from '../schemas/attribute.ts'
import { ScimError } from '../error.ts'
import { checkMatch, deleteMatching } from '../meta.ts'
import { passwordHashProblem } from '../../../model/users/password-hash.ts'
import { readOperations } from '../patch/patch-operations.ts'
import type { Operation } from '../patch/patch-operations.ts'
import { applyPatch } from '../patch/patch.ts'
import { readResource, writable } from '../requests/reader.ts'
import type { Change, Context, Resource, Resources } from './resources.ts'
import { ENTERPRISE_USER, OWN_USER, USER } from '../schemas/schemas.ts'
import type { Selection } from '../requests/selection.ts'
import { definitionOf, userToJson } from './user-resource.ts'
import type { UserDefinition } from './user-resource.ts'
import type { AdminDeps } from '../../deps.ts'

/** Users made into resources at once: each may be in hundreds of groups. */
const BATCH = 16

/** One instance serves every zone. */
export function createScimUsers(deps: AdminDeps): Resources {
  const { store, users, groupsShown, inDefaultGroups, service } = deps
  const internalOrigin = service.name
  const adminScope = service.scope('admin')
  const names = namesOf(USER)

  async function shown(
    { zone, base }: Context,
    records: readonly User[],
    selection: Selection,
  ): Promise<readonly Resource[]> {
    const ids = records.map(({ id }) => id)
    const groups = selection.wants('groups') ? await groupsShown(zone, ids) : undefined
    const show = async (user: User): Promise<Resource> => {
      const json = selection.of(userToJson(user, { base, groups: groups?.get(user.id) ?? [] }))
      const isOfVersion = groups === undefined && !showsUnversioned(json)
      return { id: user.id, version: user.version, json, isOfVersion }
    }
    return mapInBatches(records, show, BATCH)
  }

  async function shownOne(context: Context, user: User, selection: Selection): Promise<Resource> {
    const [resource] = await shown(context, [user], selection)
    if (!resource) throw noSuchResource('User', user.id)
    return resource
  }

  /**
   * Changes a user by what `compute` makes of the resource: once to see whether there is anything to change, and again by
   * the record that is written.
   */
  async function change(
    context: Context,
    { id, condition, selection, check }: Change,
    compute: (before: Json) => Json,
  ): Promise<Resource> {
    const { zone, base, by } = context
    function after(user: User): Json {
      checkMatch(condition, user.version)
      const before = userToJson(user, { base })
      const changed = compute(before)
      check?.(writable(names, identified(before)), writable(names, identified(changed)))
      return changed
    }
    const current = await findUser(store, zone, id)
    const wanted = after(current)
    const definition = definitionOf(wanted, current)
    const { password, passwordHash } = definition
    if (passwordHash !== undefined) {
      throw new ScimError('mutability', 'passwordHash can only be set when the user is created')
    }
    if (password === undefined && isDeepStrictEqual(withDefinition(current, definition), current)) {
      return shownOne(context, current, selection) // RFC 7644 §3.5.2: there is nothing to change
    }
    const written = await users.change(zone, id, user => withDefinition(user, definitionOf(after(user), user)), {
      by,
      password,
    })
    return shownOne(context, written, selection)
  }

  return {
    names,

    async read(context, id, selection) {
      const user = await findUser(store, context.zone, id)
      return shownOne(context, user, selection)
    },

    async list(context, query, selection): Promise<Page<Resource>> {
      const filter = await inDefaultGroups(context.zone, query.filter)
      const { records, totalResults } = await store.users.list(context.zone.id, { ...query, filter, dialect: 'scim' })
      return { records: await shown(context, records, selection), totalResults }
    },

    async page(context, query, selection): Promise<CursorPage<Resource>> {
      const filter = await inDefaultGroups(context.zone, query.filter)
      const { records, ...positions } = await store.users.page(context.zone.id, { ...query, filter, dialect: 'scim' })
      return { ...positions, records: await shown(context, records, selection) }
    },

    async create(context, body, selection) {
      const definition = definitionOf(readResource(names, body))
      const { password, passwordHash, origin = internalOrigin, ...record } = definition
      if (origin !== internalOrigin && (password ?? passwordHash) !== undefined) {
        throw new ScimError('invalidValue', 'The password is managed by the identity provider of the user')
      }
      if (passwordHash !== undefined) checkPasswordHash(passwordHash, { password, by: context.by, adminScope })
      const user = await users.create(context.zone, {
        draft: { active: true, verified: true, ...record, origin },
        password,
        passwordHash,
        withoutPassword: true,
        by: context.by,
      })
      return shownOne(context, user, selection)
    },

    replace(context, request) {
      const sent = readResource(names, request.body)
      return change(context, request, before => replacement(sent, before))
    },

    patch(context, request) {
      const operations = readOperations(names, request.body)
      return change(context, request, before => patched(names, before, operations))
    },

    async delete(context, id, condition) {
      const { zone, by } = context
      await deleteMatching(
        condition,
        () => findUser(store, zone, id),
        expected => users.delete(zone, id, { by, ...(expected !== undefined && { expected }) }),
      )
    },
  }
}

/** What sign-ins, new passwords and the verification of an address change without a new version. */
const UNVERSIONED = ['verified', 'passwordLastModified', 'lastLogonTime', 'previousLogonTime']

const showsUnversioned = (json: Json): boolean =>
  memberOf(json['meta'], 'lastModified') !== undefined ||
  UNVERSIONED.some(name => memberOf(json[OWN_USER], name) !== undefined)

/** Only an administrator of the server may bring a hash, without a password, and only one that can be verified here. */
function checkPasswordHash(
  passwordHash: string,
  {
    password,
    by,
    adminScope,
  }: { readonly password: string | undefined; readonly by: Context['by']; readonly adminScope: string },
): void {
  if (!by.scopes.includes(adminScope)) throw new ScimError(403, `passwordHash needs ${adminScope}`)
  if (password !== undefined) throw new ScimError('invalidValue', 'password and passwordHash exclude each other')
  const problem = passwordHashProblem(passwordHash)
  if (problem !== undefined) throw new ScimError('invalidValue', `passwordHash ${problem}`)
}

/** The resource after a PUT, which replaces everything except attributes that every account has (RFC 7644 §3.5.1). */
function replacement(sent: Json, before: Json): Json {
  const [own, kept] = [Object(sent[OWN_USER]), Object(before[OWN_USER])]
  if (own['origin'] !== undefined && own['origin'] !== kept['origin']) {
    throw new ScimError('mutability', `${OWN_USER}:origin can no longer be changed`)
  }
  const always = { origin: kept['origin'], verified: kept['verified'] }
  return { active: before['active'], ...sent, [OWN_USER]: { ...always, ...own } }
}

/** Stands for the id of the manager that a PATCH leaves as it is; no id has this character. */
const SAME_MANAGER = '\0'

/** The resource after a PATCH. The address of the manager follows from the id, and replaces it where it is sent alone. */
function patched(names: Names, before: Json, operations: readonly Operation[]): Json {
  const { $ref: _, ...known } = managerOf(before)
  const marked = known['value'] === undefined ? known : { ...known, value: SAME_MANAGER }
  const after = applyPatch(names, withManager(before, marked), operations)
  const { value, $ref } = managerOf(after)
  if (value !== SAME_MANAGER) return after
  return withManager(after, $ref === undefined ? known : { $ref })
}

const managerOf = (resource: Json): Json => Object(memberOf(resource[ENTERPRISE_USER], 'manager'))

/** The resource with these members of the manager, if it has one. */
const withManager = (resource: Json, members: Json): Json =>
  memberOf(resource[ENTERPRISE_USER], 'manager') === undefined
    ? resource
    : { ...resource, [ENTERPRISE_USER]: { ...Object(resource[ENTERPRISE_USER]), manager: members } }

/** The resource with nothing of the manager but the id, which determines the rest. */
function identified(resource: Json): Json {
  const { value } = managerOf(resource)
  return value === undefined ? resource : withManager(resource, { value })
}

/** The record with everything that a resource represents replaced. */
function withDefinition(user: User, definition: UserDefinition): User {
  const { password: _password, passwordHash: _hash, ...specified } = withManagerName(user, definition)
  const cleared: Partial<Record<keyof User, unknown>> = { ...user }
  for (const name of CLEARED) delete cleared[name]
  const marked = markedProfile(user, definition)
  return { ...(cleared as User), ...specified, ...marked, origin: user.origin } // only optional members are gone
}

/** Keeps the name of the same manager, which requests cannot set. */
function withManagerName({ profile: before }: User, definition: UserDefinition): UserDefinition {
  const { profile } = definition
  const [known, wanted] = [before?.enterprise?.manager, profile?.enterprise?.manager]
  if (known?.displayName === undefined || wanted === undefined || wanted.value !== known.value) return definition
  return { ...definition, profile: { ...profile, enterprise: { ...profile?.enterprise, manager: known } } }
}

/** Keeps `primary` of the only address, which UAA's record shows and SCIM 2.0 omits from the stored list. */
function markedProfile(user: User, { email, profile }: UserDefinition): Pick<User, 'profile'> {
  if (profile?.emails !== undefined || email !== user.email || !hasPrimaryEmail(user)) return {}
  return { profile: { ...profile, emails: [{ value: email, primary: true }] } }
}

/** What a definition without them leaves unset. */
const CLEARED = ['givenName', 'familyName', 'phoneNumber', 'externalId', 'profile'] as const
