// The list of a zone's groups with their members, in UAA's dialect of SCIM.
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Group, Member } from '../../model/users/group.ts'
import type { Store } from '../../store/store.ts'
import { sendJson } from '../../web/requests/json.ts'
import { queryForm } from '../../web/requests/query.ts'
import { escapedFilter, findPage, listOf, readListParameters, selected, wants } from '../resources/list.ts'
import type { ListParameters, ListRules } from '../resources/list.ts'
import { sendListPieces } from '../resources/pieces.ts'
import { refuseResource } from '../../users/refusal.ts'
import { memberPieces } from './answers.ts'
import { SCHEMAS } from '../resources/dialect.ts'
import { groupHead, memberToJson } from './json.ts'
import type { On } from '../../web/deferred-routes.ts'
import type { GroupRoute } from './routes.ts'
import type { AdminDeps } from '../deps.ts'

const RULES: ListRules = {
  defaults: { filter: 'id pr', sortBy: 'created' },
  isDescending: sortOrder => sortOrder.toLowerCase() !== 'ascending', // UAA: any other value
  lenient: { startIndex: false, count: false },
  attributePaths: true,
  allowsNot: false,
  ordersBySeveral: true,
  schemas: SCHEMAS,
  refuse: message => refuseResource('scim', message),
  refuseFilter: ({ filter }, cause) =>
    refuseResource('scim', `Invalid filter expression: [${escapedFilter(filter)}]`, { cause, detail: cause.message }),
}

/** Number of groups whose members are read together, and of members at most. */
const BATCH = 64
const MAX_TOGETHER = 1000

/** `GET /Groups`. */
export function groupListHandler(on: On<GroupRoute>, deps: AdminDeps): void {
  const { store, behaviour, settings } = deps

  on('GET /Groups', async (request, reply) => {
    const parameters = readListParameters(queryForm(request), RULES, {
      behaviour,
      maxCount: settings.maxCounts.groups,
    })
    const { zone } = request
    const page = await findPage(parameters, RULES, query => store.groups.list(zone.id, query))
    const { totalResults } = page
    const records = parameters.count === 0 ? [] : page.records
    if (!wants(parameters, 'members') || records.length === 0) {
      return sendJson(reply, listOf(records.map(headOf), parameters, { rules: RULES, totalResults }))
    }
    return sendListPieces(reply, groupTexts(records, parameters, store), { parameters, rules: RULES, totalResults })
  })
}

const headOf = (group: Group) => ({ ...groupHead(group), schemas: SCHEMAS })

/** The groups as JSON, with commas between them. */
async function* groupTexts(
  groups: readonly Group[],
  parameters: ListParameters,
  store: Pick<Store, 'groups'>,
): AsyncGenerator<string> {
  for (let start = 0; start < groups.length; start += BATCH) {
    const batch = groups.slice(start, start + BATCH)
    const small = await membersOfSmall(batch, store)
    let text = ''
    for (const [index, group] of batch.entries()) {
      const { head, tail } = frameOf(group, parameters)
      text += (start + index === 0 ? '' : ',') + head
      const members = small.get(group.id)
      if (members) text += members.map(member => JSON.stringify(memberToJson(member))).join(',')
      else {
        yield text
        yield* memberPieces(store, group)
        text = ''
      }
      text += tail
    }
    yield text
    await nextTurn()
  }
}

/** The members of those groups that have few; the others are absent. */
async function membersOfSmall(
  batch: readonly Group[],
  { groups }: Pick<Store, 'groups'>,
): Promise<ReadonlyMap<string, readonly Member[]>> {
  const ids = batch.map(({ id }) => id)
  const rows = await groups.listMembersOfGroups(batch[0]?.zoneId ?? '', ids, MAX_TOGETHER)
  const byGroup = Map.groupBy(rows, ({ groupId }) => groupId)
  if (rows.length < MAX_TOGETHER) return new Map(ids.map(id => [id, byGroup.get(id) ?? []]))
  byGroup.delete(rows.at(-1)?.groupId ?? '') // perhaps incomplete
  return byGroup
}

/** A group with the requested attributes, split at the position of its members. */
function frameOf(group: Group, { attributes }: ListParameters): { readonly head: string; readonly tail: string } {
  const whole = { ...groupHead(group), members: [], schemas: SCHEMAS }
  const entries = Object.entries(selected(whole, attributes, RULES))
  const index = entries.findIndex(([name]) => name === 'members')
  const text = (some: typeof entries): string =>
    some.map(([name, value]) => `${JSON.stringify(name)}:${JSON.stringify(value)}`).join(',')
  const [before, after] = [text(entries.slice(0, index)), text(entries.slice(index + 1))]
  return {
    head: `{${before}${before === '' ? '' : ','}"members":[`,
    tail: `]${after === '' ? '' : ','}${after}}`,
  }
}
