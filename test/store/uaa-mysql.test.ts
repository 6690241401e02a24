import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import type { RowDataPacket } from 'mysql2'
import { StoreUnavailable } from '../../src/store/store.ts'
import { openUaaDatabase } from '../../src/store/uaa/uaa-database.ts'
import { connectTo, mariaDb, WITHOUT_MARIADB } from '../support/mariadb.ts'
import type { MariaDb } from '../support/mariadb.ts'
import { freshUaa, UAA_ENGINES } from '../support/uaa-database.ts'
import type { TestUaa } from '../support/uaa-database.ts'

const freshMysqlUaa = (): Promise<TestUaa> => freshUaa(null, UAA_ENGINES[1].empty)

const ID = '11111111-1111-4111-8111-111111111111'
const user = { id: ID, username: 'Jürgen 🔑', password: 'hash', email: 'j@example.org' }

/** The rows of a table as read by an import. */
async function rowsOf(url: string, table: 'users' | 'clients' | 'approvals' | 'members'): Promise<readonly object[]> {
  const source = await openUaaDatabase(url)
  try {
    return await allOf(source.rows(table))
  } finally {
    await source.close()
  }
}

async function allOf(rows: AsyncIterable<object>): Promise<readonly object[]> {
  const all: object[] = []
  for await (const row of rows) all.push(row)
  return all
}

/** These members of a row. */
const part = (row: object | undefined, ...names: readonly string[]): Record<string, unknown> =>
  Object.fromEntries(names.map(name => [name, Reflect.get(Object(row), name)]))

describe('A UAA database on MySQL', { skip: WITHOUT_MARIADB }, () => {
  let server: MariaDb
  let uaa: TestUaa
  before(async () => {
    server = await mariaDb()
    uaa = await freshMysqlUaa()
    await uaa.insert('users', {
      ...user,
      created: '2024-02-29 23:59:59',
      lastModified: null,
      verified: true,
      active: false,
      last_logon_success_time: 1_700_000_000_123,
    })
    await uaa.insert('user_info', { user_id: ID, info: '{"roles":["ä"]}' })
  })
  after(() => uaa.drop())

  it('is read with booleans, times and numbers as from PostgreSQL', async () => {
    const [row] = await rowsOf(uaa.url, 'users')
    assert.deepEqual(
      part(row, 'id', 'userName', 'verified', 'active', 'created', 'updated', 'lastLogon', 'version', 'info'),
      {
        id: ID,
        userName: 'Jürgen 🔑',
        verified: true,
        active: false,
        created: Date.UTC(2024, 1, 29, 23, 59, 59),
        updated: null,
        lastLogon: 1_700_000_000_123,
        version: 0,
        info: '{"roles":["ä"]}',
      },
    )
  })

  it('is read with dates before 1970, after 2038 and of zero', async () => {
    await uaa.run(`set session sql_mode = ''`)
    await uaa.insert('authz_approvals', { user_id: ID, client_id: 'a', scope: 's', expiresat: '1969-12-31 23:59:59' })
    await uaa.insert('authz_approvals', { user_id: ID, client_id: 'b', scope: 's', expiresat: '2999-01-01 00:00:00' })
    await uaa.run(
      `insert into authz_approvals (user_id, client_id, scope, expiresat) values ('${ID}', 'c', 's', '0000-00-00')`,
    )
    const rows = await rowsOf(uaa.url, 'approvals')
    assert.deepEqual(
      rows.map(row => part(row, 'clientId', 'expires', 'zoneId')),
      [
        { clientId: 'a', expires: -1000, zoneId: 'uaa' },
        { clientId: 'b', expires: Date.UTC(2999, 0), zoneId: 'uaa' },
        { clientId: 'c', expires: null, zoneId: 'uaa' },
      ],
    )
  })

  it('is read with booleans of other column types', async () => {
    const other = await freshMysqlUaa()
    try {
      await other.run(`alter table users modify active decimal(1), modify verified bit(1)`)
      await other.insert('users', { ...user, active: 0, verified: 0 })
      const rows = await rowsOf(other.url, 'users')
      assert.deepEqual(
        rows.map(row => part(row, 'active', 'verified')),
        [{ active: false, verified: false }],
      )
    } finally {
      await other.drop()
    }
  })

  it('is read with icons in base64', async () => {
    const icon = Buffer.alloc(100, 'icon')
    await uaa.insert('oauth_client_details', { client_id: 'tile', app_icon: icon })
    const [row] = await rowsOf(uaa.url, 'clients')
    assert.deepEqual(Buffer.from(String(part(row, 'appIcon')['appIcon']), 'base64'), icon)
  })

  it('is read in a snapshot taken when opened', async () => {
    const source = await openUaaDatabase(uaa.url)
    try {
      await uaa.insert('users', { ...user, id: 'later', username: 'later' })
      assert.equal((await allOf(source.rows('users'))).length, 1)
    } finally {
      await source.close()
      await uaa.run(`delete from users where id = 'later'`)
    }
  })

  it('is streamed: closing midway ends the connection', async () => {
    const large = await freshMysqlUaa()
    try {
      await large.run(
        `insert into users (id, username, password, email) select seq, seq, 'x', 'x@example.org' from seq_1_to_50000`,
      )
      const source = await openUaaDatabase(large.url)
      let read = 0
      for await (const row of source.rows('users')) {
        assert.ok(row.id)
        read += 1
        if (read === 2500) break
      }
      await source.close()
      assert.equal(read, 2500)
      assert.equal((await rowsOf(large.url, 'users')).length, 50_000)
    } finally {
      await large.drop()
    }
  })

  it('is read with its own session settings, independent of server defaults', async () => {
    const defaults = { sql_select_limit: 1, max_statement_time: 0.001 }
    const administration = await connectTo(server)
    try {
      for (const [name, value] of Object.entries(defaults)) await administration.query(`set global ${name} = ${value}`)
      const source = await openUaaDatabase(uaa.url)
      assert.equal((await allOf(source.rows('approvals'))).length, 3)
      await source.close()
    } finally {
      for (const name of Object.keys(defaults)) await administration.query(`set global ${name} = default`)
      await administration.end()
    }
  })

  it('fails if the connection is lost, during a table or before one', { timeout: 60_000 }, async () => {
    const large = await freshMysqlUaa()
    const administration = await connectTo(server)
    const [own] = await large.run('select connection_id() as id')
    /** Ends the import's connection, which may still run an earlier query. */
    const lose = async (): Promise<void> => {
      const database = new URL(large.url).pathname.slice(1)
      for (;;) {
        const [threads] = await administration.query<RowDataPacket[]>(
          'select id from information_schema.processlist where db = ? and id <> ? order by id desc limit 1',
          [database, Reflect.get(Object(own), 'id')],
        )
        if (threads[0]) return void (await administration.query(`kill ${String(threads[0]['id'])}`))
      }
    }
    try {
      await large.run(
        `insert into users (id, username, password, email) select seq, seq, repeat('x', 250), 'x' from seq_1_to_100000`,
      )
      const source = await openUaaDatabase(large.url)
      const read = async (): Promise<void> => {
        let count = 0
        for await (const row of source.rows('users')) {
          assert.ok(row.id)
          count += 1
          if (count === 1000) await lose()
        }
      }
      await assert.rejects(read(), StoreUnavailable) // its message depends on what the server was doing
      await assert.rejects(allOf(source.rows('groups')), StoreUnavailable)
      await source.close()
      const idle = await openUaaDatabase(large.url)
      await lose()
      await assert.rejects(allOf(idle.rows('users')), StoreUnavailable)
      await idle.close()
    } finally {
      await administration.end()
      await large.drop()
    }
  })

  it('is rejected if a column or table is missing', async () => {
    const old = await freshMysqlUaa()
    try {
      await old.run(`alter table users drop column alias_zid`)
      await assert.rejects(openUaaDatabase(old.url), {
        message: "UAA's database lacks users.alias_zid: bring UAA to its schema 4.110 or a later one first",
      })
      await old.run(`drop table identity_zone`)
      await assert.rejects(openUaaDatabase(old.url), {
        message: "UAA's database: there is no table identity_zone in it, or its user has no access to that table",
      })
    } finally {
      await old.drop()
    }
  })

  it('is rejected if the user may not read a table, which is named', async () => {
    const { pathname } = new URL(uaa.url)
    const database = pathname.slice(1)
    const administration = await connectTo(server)
    try {
      await administration.query(`create user reader@'%' identified by 'pw'`)
      const url = `mysql://reader:pw@127.0.0.1:${server.port}/${database}`
      await assert.rejects(openUaaDatabase(url), { message: /Access denied for user 'reader'@'%' to database/ })
      await administration.query(`grant insert on ${database}.* to reader@'%'`)
      await assert.rejects(openUaaDatabase(url), {
        message: /^UAA's database: its user may not read the tables authz_approvals, .*users: grant it select on them$/,
      })
      await administration.query(`grant select on ${database}.* to reader@'%'`)
      assert.equal((await rowsOf(url, 'users')).length, 1)
    } finally {
      await administration.query(`drop user if exists reader@'%'`)
      await administration.end()
    }
  })

  it('is read by one writing import at a time, and by concurrent dry runs', async () => {
    const first = await openUaaDatabase(uaa.url, { isAlone: true })
    await assert.rejects(openUaaDatabase(uaa.url, { isAlone: true }), {
      message: "UAA's database: another import is under way: wait until it has ended",
    })
    assert.equal((await rowsOf(uaa.url, 'users')).length, 1)
    await first.close()
    await (await openUaaDatabase(uaa.url, { isAlone: true })).close()
  })

  it('is named in the error if it is unreachable or the password is wrong', async () => {
    await assert.rejects(openUaaDatabase('mysql://uaa:pw@127.0.0.1:9/uaa'), error => {
      assert.ok(error instanceof StoreUnavailable)
      assert.match(error.message, /^UAA's database: connect ECONNREFUSED/)
      return true
    })
    await assert.rejects(openUaaDatabase(`mysql://latchkey:wrong@127.0.0.1:${server.port}/uaa`), {
      message: /^UAA's database: Access denied for user 'latchkey'/,
    })
  })

  it('is verified by TLS if the URL has a certification authority', async () => {
    const byName = uaa.url.replace('127.0.0.1', 'localhost')
    const trusting = `sslrootcert=${encodeURIComponent(server.certificateFile)}`
    assert.equal((await rowsOf(`${byName}?${trusting}`, 'users')).length, 1)
    await assert.rejects(openUaaDatabase(`${uaa.url}?${trusting}`), {
      message: /^UAA's database: TLS requires the name/,
    })
    await assert.rejects(openUaaDatabase('mysql://uaa:pw@192.0.2.1/uaa'), {
      message: /^UAA's database: TLS requires the name/,
    })
    await assert.rejects(openUaaDatabase(`${byName}?sslmode=verify-full`), { message: /^UAA's database: self-signed/ })
    const byAnother = uaa.url.replace('127.0.0.1', '127.1') // the same address, and no name of the certificate
    await assert.rejects(openUaaDatabase(`${byAnother}?${trusting}`), {
      message: /^UAA's database: Hostname.*altnames/,
    })
  })
})
