// Clients that register themselves, and the initial access tokens that allow it.
import type { RegistrationToken } from '../../model/clients/registration.ts'
import type { ClientRow } from '../../records/client.ts'
import { statement } from '../database.ts'
import type { Database } from '../database.ts'
import type { RegistrationStore } from './registration-store.ts'
import { fromJson, withoutNulls } from '../rows.ts'
import { insertInto, list } from '../schema.ts'
import { CLIENT_COLUMNS, toClientRow } from './client-rows.ts'

interface TokenRow {
  zone_id: string
  id: string
  token_digest: string
  label: string | null
  created_at: number
  expires_at: number
  max_uses: number
  uses: number
}

const TOKEN_COLUMNS = [
  'zone_id',
  'id',
  'token_digest',
  'label',
  'created_at',
  'expires_at',
  'max_uses',
  'uses',
] as const

const INSERT = statement<ClientRow & { created_by: string }>(insertInto('clients', [...CLIENT_COLUMNS, 'created_by']))
const COUNT = statement<{ zone_id: string }, { total: number }>(
  `select count(*) as total from clients where zone_id = :zone_id and registration is not null`,
)
const USE_TOKEN = statement<{ zone_id: string; id: string; now: number }>(
  `update registration_tokens set uses = uses + 1
   where zone_id = :zone_id and id = :id and uses < max_uses and expires_at > :now`,
)
/** What may follow a host in a list of URIs as JSON. */
const AFTER_HOST = ['/', ':', '?', '"']
const OF_HOST = statement<{ zone_id: string; a: string; b: string; c: string; d: string }, { client_id: string }>(
  `select client_id from clients where zone_id = :zone_id and registration is null
   and (lower(redirect_uris) like :a escape '!' or lower(redirect_uris) like :b escape '!'
     or lower(redirect_uris) like :c escape '!' or lower(redirect_uris) like :d escape '!') limit 1`,
)
const WITH_TEXT = statement<{ zone_id: string; text: string }, { redirect_uris: string }>(
  `select redirect_uris from clients where zone_id = :zone_id and registration is null
   and lower(redirect_uris) like :text escape '!'`,
)
const INSERT_TOKEN = statement<TokenRow>(insertInto('registration_tokens', TOKEN_COLUMNS))
const COUNT_TOKENS = statement<{ zone_id: string }, { total: number }>(
  `select count(*) as total from registration_tokens where zone_id = :zone_id`,
)
const FIND_TOKEN = statement<{ zone_id: string; token_digest: string }, TokenRow>(
  `select ${list(TOKEN_COLUMNS)} from registration_tokens where zone_id = :zone_id and token_digest = :token_digest`,
)
const LIST_TOKENS = statement<{ zone_id: string }, TokenRow>(
  `select ${list(TOKEN_COLUMNS)} from registration_tokens where zone_id = :zone_id order by created_at desc, id`,
)
const DELETE_TOKEN = statement<{ zone_id: string; id: string }>(
  `delete from registration_tokens where zone_id = :zone_id and id = :id`,
)

const toToken = (row: TokenRow): RegistrationToken => ({
  ...withoutNulls<{ label?: string }>({ label: row.label }),
  id: row.id,
  tokenDigest: row.token_digest,
  createdAt: new Date(row.created_at),
  expiresAt: new Date(row.expires_at),
  maxUses: row.max_uses,
  uses: row.uses,
})

/** For `like`. */
const literal = (text: string): string => text.toLowerCase().replace(/[%_!]/g, character => `!${character}`)

const lockOf = (zoneId: string): string => `registrations ${zoneId}`

/** Thrown within the transaction, so that the token is not consumed. */
class LimitReached extends Error {}

/** Implements `RegistrationStore` for both databases. */
export function createRegistrations(db: Database): RegistrationStore {
  return {
    async register(zoneId, { client, createdBy, maxClients, tokenId }, now) {
      const row = { ...toClientRow({ ...client, zoneId }), created_by: createdBy }
      try {
        return await db.transaction(async within => {
          await within.lock(lockOf(zoneId))
          if (tokenId !== undefined) {
            const used = await within.run(USE_TOKEN, { zone_id: zoneId, id: tokenId, now: now.getTime() })
            if (used.changes === 0) return 'used'
          }
          const [counted] = (await within.run(COUNT, { zone_id: zoneId })).rows
          if ((counted?.total ?? 0) >= maxClients) throw new LimitReached()
          await within.run(INSERT, row)
          await within.announce({ kind: 'clients', zoneId, key: client.clientId })
          return 'registered'
        })
      } catch (cause) {
        if (cause instanceof LimitReached) return 'full'
        throw cause
      }
    },
    async isHostTaken(zoneId, hostname) {
      const [a = '', b = '', c = '', d = ''] = AFTER_HOST.map(end => `%://${literal(hostname)}${end}%`)
      return (await db.scan(OF_HOST, { zone_id: zoneId, a, b, c, d })).length > 0
    },
    async isSchemeTaken(zoneId, scheme) {
      const like = `%"${literal(scheme)}%`
      return (await db.scan(OF_HOST, { zone_id: zoneId, a: like, b: like, c: like, d: like })).length > 0
    },
    async redirectUrisWith(zoneId, text) {
      const rows = await db.scan(WITH_TEXT, { zone_id: zoneId, text: `%${literal(text)}%` })
      return rows.map(row => fromJson<readonly string[]>(row.redirect_uris))
    },
    addToken: (zoneId, token, maxTokens) =>
      db.transaction(async within => {
        await within.lock(lockOf(zoneId))
        const [counted] = (await within.run(COUNT_TOKENS, { zone_id: zoneId })).rows
        if ((counted?.total ?? 0) >= maxTokens) return false
        await within.run(INSERT_TOKEN, {
          zone_id: zoneId,
          id: token.id,
          token_digest: token.tokenDigest,
          label: token.label ?? null,
          created_at: token.createdAt.getTime(),
          expires_at: token.expiresAt.getTime(),
          max_uses: token.maxUses,
          uses: token.uses,
        })
        return true
      }),
    async findToken(zoneId, tokenDigest) {
      const [row] = await db.read(FIND_TOKEN, { zone_id: zoneId, token_digest: tokenDigest })
      return row && toToken(row)
    },
    listTokens: async zoneId => (await db.read(LIST_TOKENS, { zone_id: zoneId })).map(toToken),
    deleteToken: async (zoneId, id) => (await db.write(DELETE_TOKEN, { zone_id: zoneId, id })).changes > 0,
  }
}
