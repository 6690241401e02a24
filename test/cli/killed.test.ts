// Changes of the schema, of sealed values and of a new database, each killed again and again at another statement. What comes
// of it is what comes of one that was not killed.
import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { describe, it } from 'node:test'
import { addSeconds, systemClock } from '../../src/base/clock.ts'
import { createRandom } from '../../src/base/random.ts'
import { runMasterKeyAction } from '../../src/cli/keys/master-key-actions.ts'
import { loadConfig } from '../../src/config.ts'
import { userNameKey } from '../../src/model/users/user.ts'
import { sealContexts } from '../../src/model/seal-contexts.ts'
import { migrationStatement, statement } from '../../src/store/database.ts'
import type { Database } from '../../src/store/database.ts'
import { openDatabase } from '../../src/store/engine/open-database.ts'
import { migrateDatabase, planOf } from '../../src/store/migrations/maintenance.ts'
import { MIGRATIONS } from '../../src/store/migrations/migrations.ts'
import { DATABASE_KINDS, emptyDatabase, freshDatabase } from '../support/databases.ts'
import type { DatabaseKind } from '../support/databases.ts'
import { runToEnd, serve } from '../support/process.ts'
import { startServer } from '../support/server.ts'
import { IS_FULL } from '../support/thinning.ts'
import { temporaryFolder } from '../support/config.ts'

const KILLER = pathToFileURL(join(import.meta.dirname, '../support/kill-at-statement.ts')).href
const clock = systemClock
const random = createRandom()

/** The environment of a process to be killed at a statement. */
const killedAt = (at: number, when: 'before' | 'after') => ({
  NODE_OPTIONS: `--import=${KILLER}`,
  KILL_AT: String(at),
  KILL_WHEN: when,
})

/** Runs it until it completes, killed later each time; `meanwhile` checks the state between. Returns the number of kills. */
async function runThroughKills(
  args: readonly string[],
  {
    from,
    step,
    folder,
    meanwhile,
  }: { readonly from: number; readonly step: number; readonly folder: string; readonly meanwhile: () => Promise<void> },
): Promise<number> {
  for (let kills = 0; ; kills += 1) {
    const env = killedAt(from + kills * step, kills % 2 === 0 ? 'before' : 'after')
    const { status, signal, stderr } = await runToEnd(args, { folder, env })
    await meanwhile()
    if (status === 0) return kills
    assert.ok(signal === 'SIGKILL' || status === 137, stderr) // by the launcher, where it started another Node.js
  }
}

/** The folder, now with the configuration. */
function writeConfig(folder: string, name: string, config: object): string {
  writeFileSync(join(folder, name), JSON.stringify(config))
  return folder
}

async function withDatabase<T>(url: string, work: (db: Database) => Promise<T>): Promise<T> {
  const db = await openDatabase(url, { clock, listener: { changed() {}, missed() {} }, onError() {} })
  try {
    return await work(db)
  } finally {
    await db.close()
  }
}

const SCHEMA: Readonly<Record<DatabaseKind, string>> = {
  sqlite: `select type || ' ' || sql as line from sqlite_schema where sql is not null order by 1`,
  postgres: `select table_name || ' ' || column_name || ' ' || data_type || ' ' || is_nullable as line
    from information_schema.columns where table_schema = current_schema()
    union all select indexdef from pg_indexes where schemaname = current_schema() order by 1`,
}
const schemaOf = (url: string, kind: DatabaseKind) =>
  withDatabase(url, db => db.read(statement<object, { line: string }>(SCHEMA[kind]), {}))

const OLD_USER = statement<{ id: string; name: string }>(
  `insert into users (zone_id, id, user_name, user_name_lower, origin, password_revision, email, active, verified,
     password_changed_at, password_change_required, version, created_at, updated_at)
   values ('svc', :id, :name, :name, 'svc', 'r', :id, 1, 1, 0, 0, 0, 0, 0)`,
)
const USERS = statement<object, { user_name: string; user_name_lower: string; addresses: number }>(
  `select user_name, user_name_lower, (select count(*) from user_values where user_id = users.id and attribute = 'emails')
     as addresses from users`,
)
const COUNT_USERS = statement<object, { count: number }>(`select count(*) as count from users`)

for (const kind of DATABASE_KINDS) {
  describe(`After being killed, on ${kind}`, () => {
    const folder = temporaryFolder()
    const names = Array.from({ length: 12 }, (_, index) => `Ｎame-é${index}`)

    it('migrations continue at the next start without loss', async () => {
      const [database, untouched] = [await emptyDatabase(kind), await emptyDatabase(kind)]
      await withDatabase(database.url, async db => {
        const { text, integer, tableEnd } = db.columnTypes
        const run = (sql: string) => db.write(migrationStatement(sql), {})
        await run(`create table migrations (id ${text} primary key, applied_at ${integer} not null)${tableEnd}`)
        for (const { id, statements } of MIGRATIONS) {
          if (id === '0008-profiles') break
          for (const sql of statements(db.columnTypes)) await run(sql)
          await run(`insert into migrations (id, applied_at) values ('${id}', 0)`)
        }
        for (const [index, name] of names.entries()) await db.write(OLD_USER, { id: `u${index}`, name })
      })
      let left = MIGRATIONS.length
      const kills = await runThroughKills(['migrate', '--database', database.url], {
        from: 24,
        step: IS_FULL ? 3 : 23,
        folder,
        meanwhile: async () => {
          const { pending } = await planOf(database.url, { clock })
          assert.ok(pending.length <= left)
          left = pending.length
          const [row] = await withDatabase(database.url, db => db.read(COUNT_USERS, {}))
          assert.equal(row?.count, names.length)
        },
      })
      assert.ok(kills >= 3, `killed ${kills} times`)
      await migrateDatabase(untouched.url, { clock })
      assert.deepEqual(await schemaOf(database.url, kind), await schemaOf(untouched.url, kind))
      const users = await withDatabase(database.url, db => db.read(USERS, {}))
      assert.deepEqual(users.map(user => user.user_name).toSorted(), names.toSorted())
      for (const { user_name: name, user_name_lower: key, addresses } of users) {
        assert.deepEqual([key, addresses], [userNameKey(name), 1])
      }
      for (const each of [database, untouched]) await each.drop()
    })

    it('re-encryption continues, and every value stays readable', async () => {
      const database = await freshDatabase(kind)
      const [first, second] = [random.bytes(32), random.bytes(32)]
      const server = await startServer({ database: database.url, masterKeys: [first] })
      const { store, vault } = server
      const mails = Array.from({ length: 130 }, (_, index) => `mail-${String(index).padStart(4, '0')}`)
      const now = clock.now()
      for (const id of mails) {
        const sealed = vault.seal(`text of ${id}`, sealContexts.mail({ zoneId: 'svc', id }))
        const usefulUntil = addSeconds(now, 3600)
        await store.mails.add({
          id,
          zoneId: 'svc',
          sealed,
          createdAt: now,
          nextAttemptAt: now,
          attempts: 0,
          usefulUntil,
        })
      }
      await server.stop()
      const options = { database: database.url }
      const act = async (...keys: readonly Buffer[]) =>
        runMasterKeyAction({ ...(await loadConfig({ options, env: {} })), masterKey: { from: 'value', keys } }, 'check')
      const found = async (...keys: readonly Buffer[]): Promise<readonly number[]> =>
        [...(await act(...keys)).output.matchAll(/^\S+ +(\d+)  (?:seals|opens)$/gm)].map(([, count]) => Number(count))
      const total = (await found(first))[0] ?? 0
      assert.ok(total > mails.length)
      const key = [second, first].map(each => each.toString('hex')).join(' ')
      let sealed = 0
      const kills = await runThroughKills(['master-key', 'reseal', '--config', 'reseal.json'], {
        from: 20,
        step: IS_FULL ? 37 : 67,
        folder: writeConfig(folder, 'reseal.json', { database: database.url, master_key: key }),
        meanwhile: async () => {
          const { output } = await act(second, first)
          assert.doesNotMatch(output, /missing|altered|No master key/)
          const [anew = 0, old = 0] = await found(second, first)
          assert.ok(anew >= sealed && anew + old === total, output)
          sealed = anew
        },
      })
      assert.ok(kills >= 3, `killed ${kills} times`)
      assert.deepEqual(await found(second), [total])
      await database.drop()
    })

    it('the first start is completed by the next one', async () => {
      const database = await emptyDatabase(kind)
      const bootstrap = {
        groups: [{ displayName: 'jobs.run' }],
        clients: [{ client_id: 'app', client_secret: 's', authorized_grant_types: ['client_credentials'] }],
        users: [
          {
            userName: 'nadia',
            password: 'a long password',
            emails: [{ value: 'nadia@example.org' }],
            groups: ['jobs.run'],
          },
        ],
      }
      const config = { database: database.url, bootstrap, master_key: random.hex(32) }
      const start = (env: Readonly<Record<string, string>>) => serve({ config, folder, env })
      let kills = 0
      for (const at of IS_FULL ? [40, 150, 215, 240, 260, 285] : [40, 150, 215]) {
        try {
          const server = await start(killedAt(at, kills % 2 === 0 ? 'before' : 'after'))
          await server.stop('SIGKILL')
        } catch {
          kills += 1
        }
      }
      assert.ok(kills >= 3, `killed ${kills} times`)
      const server = await start({})
      try {
        const token = (form: Readonly<Record<string, string>>) =>
          fetch(`${server.baseUrl}/oauth/token`, { method: 'POST', body: new URLSearchParams(form) })
        const form = { grant_type: 'client_credentials', client_id: 'app', client_secret: 's' }
        assert.equal((await token(form)).status, 200)
      } finally {
        assert.equal((await server.stop()).status, 0)
        await database.drop()
      }
    })
  })
}
