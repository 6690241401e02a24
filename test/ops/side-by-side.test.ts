// An upgrade without downtime: while this version serves requests, one to come adds to the schema and serves beside it; then this
// version starts again.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { migrateDatabase } from '../../src/store/migrations/maintenance.ts'
import type { Migration } from '../../src/store/migrations/migration.ts'
import { MIGRATIONS } from '../../src/store/migrations/migrations.ts'
import { DATABASE_KINDS, freshDatabase } from '../support/databases.ts'
import { tokensOf } from '../support/oauth.ts'
import { defaultBootstrap, startServer } from '../support/server.ts'
import type { TestServer } from '../support/server.ts'

const CHANGED = ['users', 'clients', 'groups', 'zones', 'sessions', 'tokens', 'authorization_codes', 'leases'] as const
/** A future version: columns that this one does not fill, an index, a table. */
const NEXT: readonly Migration[] = [
  ...MIGRATIONS,
  ...CHANGED.map(
    (table): Migration => ({
      id: `9001-notes-of-${table}`,
      kind: 'expand',
      statements: ({ text, integer }) => [
        `alter table ${table} add column note ${text}`,
        `alter table ${table} add column weight ${integer} not null default 7`,
        `create index ${table}_by_note on ${table} (note) where note is not null`,
      ],
    }),
  ),
  {
    id: '9002-badges',
    kind: 'expand',
    statements: ({ text, tableEnd }) => [`create table badges (id ${text} primary key)${tableEnd}`],
  },
]

const bootstrap = {
  ...defaultBootstrap,
  clients: [
    ...defaultBootstrap.clients,
    {
      client_id: 'admin',
      client_secret: 'admin-secret',
      authorized_grant_types: ['client_credentials'],
      authorities: ['svc.admin', 'scim.read', 'scim.write'],
    },
  ],
}

const expect = (status: number, answer: { readonly status: number; readonly text: string }): void =>
  assert.equal(answer.status, status, answer.text)

/** The operations of users, programs and administrators, once each. */
async function use(server: TestServer, name: string): Promise<void> {
  const browser = server.browser()
  expect(302, await browser.signIn('marissa', 'koala'))
  expect(200, await browser.send('/profile'))
  const own = tokensOf(await server.token({ grant_type: 'client_credentials' }, { basic: ['admin', 'admin-secret'] }))
  const bearer = own.access_token
  const first = tokensOf(
    await server.token(
      { grant_type: 'password', username: 'marissa', password: 'koala' },
      { basic: ['app', 'app-secret'] },
    ),
  )
  const { refresh_token } = first
  expect(200, await server.token({ grant_type: 'refresh_token', refresh_token }, { basic: ['app', 'app-secret'] }))
  const json = { 'content-type': 'application/json' }
  const body = JSON.stringify({
    userName: name,
    emails: [{ value: `${name}@example.org` }],
    password: 'secret-Secret-1',
  })
  const made = await server.send('/Users', { body, bearer, headers: json })
  expect(201, made)
  const { id } = made.json<{ id: string }>()
  const change = { method: 'PATCH', bearer, headers: { ...json, 'if-match': '*' } }
  expect(200, await server.send(`/Users/${id}`, { ...change, body: JSON.stringify({ name: { givenName: 'New' } }) }))
  const group = await server.send('/Groups', {
    body: JSON.stringify({ displayName: name, members: [{ value: id, type: 'USER' }] }),
    bearer,
    headers: json,
  })
  expect(201, group)
  const client = { client_id: name, client_secret: 'secret', authorized_grant_types: ['client_credentials'] }
  expect(201, await server.send('/oauth/clients', { body: JSON.stringify(client), bearer, headers: json }))
  expect(200, await server.token({ grant_type: 'client_credentials' }, { basic: [name, 'secret'] }))
  expect(200, await server.send(`/Users?filter=${encodeURIComponent(`userName eq "${name}"`)}`, { bearer }))
  expect(200, await server.send(`/Users/${id}`, { method: 'DELETE', bearer }))
}

for (const kind of DATABASE_KINDS) {
  describe(`Two versions on one ${kind} database`, () => {
    it('serve together while the newer one migrates, and the older one restarts', async t => {
      const database = await freshDatabase(kind)
      const servers: TestServer[] = []
      t.after(async () => {
        for (const server of servers) await server.stop()
        await database.drop()
      })
      const start = async (): Promise<TestServer> => {
        const server = await startServer({ database: database.url, config: { bootstrap } })
        servers.push(server)
        return server
      }
      let rounds = 0
      let phase = 'before'
      const over = new AbortController()
      const seen = new Set<string>()
      async function keepUsing(server: TestServer): Promise<void> {
        while (!over.signal.aborted) {
          await use(server, `n${(rounds += 1)}`)
          seen.add(`${servers.indexOf(server)} ${phase}`)
        }
      }
      /** Resolves when every server has been in use continuously since then. */
      async function untilUsed(now: string): Promise<void> {
        phase = now
        const known = servers.map((_, index) => `${index} ${now}`)
        while (!known.every(each => seen.has(each))) await Promise.race([use(older, `n${(rounds += 1)}`), failed])
      }
      const older = await start()
      const users = [keepUsing(older), keepUsing(older)]
      const failed = Promise.all(users)
      await untilUsed('before')
      phase = 'migrating'
      const migrating = migrateDatabase(database.url, { clock: older.clock, migrations: NEXT })
      await Promise.race([migrating, failed])
      const newer = await start()
      users.push(keepUsing(newer))
      await untilUsed('migrated')
      const again = await start()
      users.push(keepUsing(again))
      await untilUsed('back')
      over.abort()
      await Promise.all(users)
      assert.equal((await migrating).applied.length, CHANGED.length + 1)
      for (const server of servers) assert.deepEqual(server.faults, [])
    })
  })
}
