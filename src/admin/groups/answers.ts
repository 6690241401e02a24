// Responses with members. A group may have a hundred thousand: they are read in pages, and streamed at the pace of the client.
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { FastifyReply } from 'fastify'
import type { Group } from '../../model/users/group.ts'
import type { MemberPage, Store } from '../../store/store.ts'
import { SCHEMAS } from '../resources/dialect.ts'
import { sendPieces } from '../resources/pieces.ts'
import { groupHead, memberToJson } from './json.ts'

/** Members per page. */
const PAGE = 1000

/** Parts of a JSON array without its brackets: one for each page that is not empty. */
async function* pieces<T>(
  list: (page: MemberPage) => Promise<readonly T[]>,
  { idOf, show, count = PAGE }: { idOf: (item: T) => string; show: (item: T) => unknown; count?: number },
): AsyncGenerator<string> {
  let after: string | undefined
  for (;;) {
    const page = await list({ count, after })
    if (page.length > 0) yield (after === undefined ? '' : ',') + page.map(item => JSON.stringify(show(item))).join(',')
    if (page.length < count) return
    after = page.map(idOf).at(-1)
    await nextTurn()
  }
}

/** The members of a group, for `sendPieces`. */
export const memberPieces = ({ groups }: Pick<Store, 'groups'>, { zoneId, id }: Group): AsyncGenerator<string> =>
  pieces(page => groups.listMembers(zoneId, id, page), { idOf: member => member.memberId, show: memberToJson })

/** All remaining parts, for records that are deleted before the response is sent. */
export async function collected(parts: AsyncIterable<string>): Promise<readonly string[]> {
  const all = []
  for await (const part of parts) all.push(part)
  return all
}

/** Records are larger than members. */
const RECORDS_PAGE = 200

/** As `memberPieces`, with the record of each member that is still there. */
export const recordPieces = (
  { groups }: Pick<Store, 'groups'>,
  { zoneId, id }: Group,
  show: (record: Awaited<ReturnType<Store['groups']['listMemberRecords']>>[number]) => unknown,
): AsyncGenerator<string> =>
  pieces(page => groups.listMemberRecords(zoneId, id, page), {
    idOf: ({ member }) => member.memberId,
    show,
    count: RECORDS_PAGE,
  })

/** The JSON before and after the members of a group. */
const frameOf = (group: Group): { readonly before: string; readonly after: string } => ({
  before: `${JSON.stringify(groupHead(group)).slice(0, -1)},"members":[`,
  after: `],"schemas":${JSON.stringify(SCHEMAS)}}`,
})

/** Sends a group with its members and its version. */
export const sendGroup = (
  reply: FastifyReply,
  group: Group,
  { members, status = 200 }: { readonly members: AsyncIterable<string> | Iterable<string>; readonly status?: number },
): Promise<FastifyReply> =>
  sendPieces(reply.status(status).header('etag', `"${group.version}"`), members, frameOf(group))
