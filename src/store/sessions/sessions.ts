import type { NewSession, Session, SignIn } from '../../model/sessions/session.ts'
import { statement } from '../database.ts'
import type { Database, Statement, Transaction, Value } from '../database.ts'
import { CLEAR_FAILURES } from '../events.ts'
import { JOINED_USER_COLUMNS, toJoinedUser } from '../users/user-rows.ts'
import type { JoinedUserRow } from '../users/user-rows.ts'
import { ROWS_AT_ONCE } from '../deletion/portions.ts'
import { endSessions, noteEnded } from './ended-sessions.ts'
import { fromJson, timeOrNull, toJson, withoutNulls } from '../rows.ts'
import { clientsIn, lineOf } from './session-clients.ts'
import { insertInto, list, SESSION_COLUMNS } from '../schema.ts'
import type { InsertedSessionRow, SessionRow } from '../schema.ts'
import type { SessionStore } from '../store.ts'
import { RECORD_LOGON } from '../users/users.ts'

interface Key {
  zone_id: string
  id_digest: string
}

const FIND = statement<Key, SessionRow>(
  `select ${list(SESSION_COLUMNS)} from sessions where zone_id = :zone_id and id_digest = :id_digest`,
)
const FIND_WITH_USER = statement<Key, SessionRow & JoinedUserRow>(
  `select ${list(SESSION_COLUMNS.map(column => `sessions.${column} as ${column}`))}, ${JOINED_USER_COLUMNS}
   from sessions left join users on users.zone_id = sessions.zone_id and users.id = sessions.user_id
   where sessions.zone_id = :zone_id and sessions.id_digest = :id_digest`,
)
const INSERT = statement<InsertedSessionRow>(insertInto('sessions', [...SESSION_COLUMNS, 'sealed_id_token']))
const SEALED_ID_TOKEN = statement<Key, { sealed_id_token: string | null }>(
  `select sealed_id_token from sessions where zone_id = :zone_id and id_digest = :id_digest`,
)
const DELETE = statement<Key>(`delete from sessions where zone_id = :zone_id and id_digest = :id_digest`)
// One statement, so that concurrent additions are both kept.
const ADD_CLIENT = statement<Key & { added: string }>(
  `update sessions set clients = coalesce(clients, '') || :added
   where zone_id = :zone_id and id_digest = :id_digest and user_id is not null`,
)
const ADD_NOTIFIED_CLIENT = statement<Key & { added: string }>(
  `update sessions set clients = coalesce(clients, '') || :added, tells = 1
   where zone_id = :zone_id and id_digest = :id_digest and user_id is not null`,
)
const LIST_OF_USER = statement<{ zone_id: string; user_id: string; now: number }, SessionRow>(
  `select ${list(SESSION_COLUMNS)} from sessions
   where zone_id = :zone_id and user_id = :user_id and expires_at > :now order by last_seen_at desc limit 100`,
)
const LIST_OF_PROVIDER = statement<{ zone_id: string; provider_session: string; now: number }, SessionRow>(
  `select ${list(SESSION_COLUMNS)} from sessions
   where zone_id = :zone_id and provider_session = :provider_session and expires_at > :now limit 100`,
)
const LIST_OF_PROVIDER_AND_USER = statement<
  { zone_id: string; provider_session: string; user_id: string; now: number },
  SessionRow
>(
  `select ${list(SESSION_COLUMNS)} from sessions
   where zone_id = :zone_id and provider_session = :provider_session and user_id = :user_id and expires_at > :now limit 100`,
)
interface Others {
  zone_id: string
  user_id: string
  kept: string
}
const SOME_OTHERS = statement<Others, { id_digest: string }>(
  `select id_digest from sessions
   where zone_id = :zone_id and user_id = :user_id and id_digest <> :kept limit ${ROWS_AT_ONCE}`,
)

const NOTE_ONE = noteEnded<Key>(`zone_id = :zone_id and id_digest = :id_digest`)
/** Locks the row, so that no client is added to a session that is being replaced. */
const HOLD = statement<Key, Pick<SessionRow, 'session_salt' | 'clients'> & { tells: number | null }>(
  `update sessions set tells = tells where zone_id = :zone_id and id_digest = :id_digest
   returning tells, session_salt, clients`,
)
const SET_NOTIFIED = statement<Key>(`update sessions set tells = 1 where zone_id = :zone_id and id_digest = :id_digest`)

const TAKE_APPROVAL = statement<Key & { pending_approval: string }>(
  `update sessions set pending_approval = null
   where zone_id = :zone_id and id_digest = :id_digest and pending_approval = :pending_approval`,
)

/** The columns that `update` may change, in the order in which a statement names them. */
const CHANGEABLE = ['last_seen_at', 'saved_request', 'pending_approval'] as const

// One statement for each subset of columns: seven, made on first use.
const updates = new Map<string, Statement<Key & Record<string, Value>, never>>()

function updateOf(columns: readonly string[]): Statement<Key & Record<string, Value>, never> {
  const name = list(columns)
  const cached = updates.get(name)
  if (cached !== undefined) return cached
  const set = columns.map(column => `${column} = :${column}`)
  const made = statement<Key & Record<string, Value>>(
    `update sessions set ${list(set)} where zone_id = :zone_id and id_digest = :id_digest`,
  )
  updates.set(name, made)
  return made
}

/** Implements `SessionStore` for both databases. */
export function createSessions(db: Database): SessionStore {
  return {
    async find(zoneId, idDigest) {
      const [row] = await db.read(FIND, { zone_id: zoneId, id_digest: idDigest })
      return row && toSession(row)
    },
    async findWithUser(zoneId, idDigest) {
      const [row] = await db.read(FIND_WITH_USER, { zone_id: zoneId, id_digest: idDigest })
      return row && { session: toSession(row), user: toJoinedUser(row) }
    },
    async insert(zoneId, session) {
      await db.write(INSERT, toRow(zoneId, session))
    },
    async update(zoneId, idDigest, change) {
      const given: Record<string, Value> = {}
      if (change.lastSeenAt !== undefined) given['last_seen_at'] = change.lastSeenAt.getTime()
      if ('savedRequest' in change) given['saved_request'] = change.savedRequest ?? null
      if ('pendingApproval' in change) given['pending_approval'] = change.pendingApproval ?? null
      const columns = CHANGEABLE.filter(column => column in given)
      if (columns.length === 0) return
      await db.write(updateOf(columns), { ...given, zone_id: zoneId, id_digest: idDigest })
    },
    async takePendingApproval(zoneId, idDigest, pendingApproval) {
      const key = { zone_id: zoneId, id_digest: idDigest, pending_approval: pendingApproval }
      return (await db.write(TAKE_APPROVAL, key)).changes > 0
    },
    async addClient(zoneId, idDigest, { clientId, isNotified }) {
      const added = lineOf(clientId)
      await db.write(isNotified ? ADD_NOTIFIED_CLIENT : ADD_CLIENT, { zone_id: zoneId, id_digest: idDigest, added })
    },
    async listOfUser(zoneId, userId, now) {
      const rows = await db.read(LIST_OF_USER, { zone_id: zoneId, user_id: userId, now: now.getTime() })
      return rows.map(toSession)
    },
    async listOfProvider(zoneId, { providerSession, userId }, now) {
      const key = { zone_id: zoneId, provider_session: providerSession, now: now.getTime() }
      const rows =
        userId === undefined
          ? await db.read(LIST_OF_PROVIDER, key)
          : await db.read(LIST_OF_PROVIDER_AND_USER, { ...key, user_id: userId })
      return rows.map(toSession)
    },
    async sealedLogoutHint(zoneId, idDigest) {
      const [row] = await db.read(SEALED_ID_TOKEN, { zone_id: zoneId, id_digest: idDigest })
      return row?.sealed_id_token ?? undefined
    },
    async deleteSomeOthers(zoneId, { userId, kept }) {
      const others = { zone_id: zoneId, user_id: userId, kept }
      // Concurrent calls may select the same rows; the one that deletes none checks whether others are left.
      for (;;) {
        const some = await db.read(SOME_OTHERS, others)
        const ended = await db.transaction(within => endSessions(within, zoneId, some))
        if (ended > 0 || some.length === 0) return ended
      }
    },
    async replace(zoneId, oldDigest, session) {
      await db.transaction(within => replace(within, zoneId, { oldDigest, session }))
    },
    async replaceAndClear(zoneId, oldDigest, session) {
      return db.transaction(async within => {
        if (!(await replace(within, zoneId, { oldDigest, session, isNeeded: true }))) return false
        await within.run(CLEAR_FAILURES, { zone_id: zoneId, user_id: session.signIn.userId })
        return true
      })
    },
    async replaceAtLogon(zoneId, oldDigest, session, { keepsFailures = false } = {}) {
      await db.transaction(async within => {
        const { userId } = session.signIn
        // Before the session: what ends all access of the user locks in this order.
        await within.run(RECORD_LOGON, { zone_id: zoneId, id: userId, at: session.createdAt.getTime() })
        await replace(within, zoneId, { oldDigest, session })
        if (!keepsFailures) await within.run(CLEAR_FAILURES, { zone_id: zoneId, user_id: userId })
      })
    },
    async delete(zoneId, idDigest) {
      const key = { zone_id: zoneId, id_digest: idDigest }
      await db.transaction(async within => {
        for (const each of [...NOTE_ONE, DELETE]) await within.run(each, key)
      })
    },
  }
}

/**
 * False, and nothing is written, if the old session is needed and gone. Where the same sign-in continues under another id,
 * clients, also those that were added since the old one was read, are notified when the new one ends; where another takes its
 * place, they are notified of the old one now.
 */
async function replace(
  within: Transaction,
  zoneId: string,
  { oldDigest, session, isNeeded = false }: { oldDigest: string | undefined; session: NewSession; isNeeded?: boolean },
): Promise<boolean> {
  const row = toRow(zoneId, session)
  let isNotified = false
  if (oldDigest !== undefined) {
    const key = { zone_id: zoneId, id_digest: oldDigest }
    const [old] = (await within.run(HOLD, key)).rows
    const goesOn = old?.session_salt === session.signIn.sessionSalt
    isNotified = old?.tells === 1 && goesOn
    if (old?.tells === 1 && !goesOn) for (const note of NOTE_ONE) await within.run(note, key)
    if (goesOn) row.clients = old.clients
    const { changes } = await within.run(DELETE, key)
    if (isNeeded && changes === 0) return false
  }
  await within.run(INSERT, row)
  if (isNotified) await within.run(SET_NOTIFIED, { zone_id: zoneId, id_digest: session.idDigest })
  return true
}

/** Adds a client to a session inside a transaction; does nothing when the session is gone or anonymous. */
export const addClientTo = (
  within: Transaction,
  zoneId: string,
  { idDigest, clientId, isNotified }: { idDigest: string; clientId: string; isNotified: boolean },
) =>
  within.run(isNotified ? ADD_NOTIFIED_CLIENT : ADD_CLIENT, {
    zone_id: zoneId,
    id_digest: idDigest,
    added: lineOf(clientId),
  })

const toRow = (zoneId: string, session: Session & Pick<NewSession, 'sealedLogoutHint'>): InsertedSessionRow => ({
  zone_id: zoneId,
  id_digest: session.idDigest,
  user_id: session.signIn?.userId ?? null,
  origin: session.signIn?.origin ?? null,
  // Earlier versions need a time.
  authenticated_at: timeOrNull(session.signIn && (session.signIn.authenticatedAt ?? session.createdAt)),
  is_time_unknown: session.signIn && !session.signIn.authenticatedAt ? 1 : null,
  was_demanded: session.signIn?.wasDemanded ? 1 : null,
  amr: session.signIn === undefined ? null : toJson(session.signIn.amr),
  acr: session.signIn?.acr === undefined ? null : toJson(session.signIn.acr),
  session_salt: session.signIn?.sessionSalt ?? null,
  user_agent: session.signIn?.userAgent ?? null,
  remote_address: session.signIn?.remoteAddress ?? null,
  provider_session: session.signIn?.providerSession ?? null,
  by_path: session.signIn?.byPath ? 1 : null,
  sealed_id_token: session.sealedLogoutHint ?? null,
  password_revision: session.signIn?.passwordRevision ?? null,
  clients: session.clients?.map(lineOf).join('') ?? null,
  saved_request: session.savedRequest ?? null,
  pending_approval: session.pendingApproval ?? null,
  created_at: session.createdAt.getTime(),
  last_seen_at: session.lastSeenAt.getTime(),
  expires_at: session.expiresAt.getTime(),
})

const toSession = (row: SessionRow): Session =>
  withoutNulls<Session>({
    zoneId: row.zone_id,
    idDigest: row.id_digest,
    signIn: toSignIn(row),
    savedRequest: row.saved_request,
    pendingApproval: row.pending_approval,
    clients: row.clients === null ? null : clientsIn(row.clients),
    createdAt: new Date(row.created_at),
    lastSeenAt: new Date(row.last_seen_at),
    expiresAt: new Date(row.expires_at),
  })

function toSignIn(row: SessionRow): SignIn | null {
  const { user_id: userId, origin, authenticated_at: authenticatedAt, amr, session_salt: sessionSalt } = row
  if (userId === null || origin === null || authenticatedAt === null || amr === null || sessionSalt === null) {
    return null
  }
  return withoutNulls<SignIn>({
    userId,
    origin,
    authenticatedAt: row.is_time_unknown === 1 ? null : new Date(authenticatedAt),
    wasDemanded: row.was_demanded === 1 ? true : null,
    amr: fromJson<string[]>(amr),
    acr: row.acr === null ? null : fromJson<string[]>(row.acr),
    sessionSalt,
    passwordRevision: row.password_revision,
    userAgent: row.user_agent,
    remoteAddress: row.remote_address,
    providerSession: row.provider_session,
    byPath: row.by_path === 1 ? true : null,
  })
}
