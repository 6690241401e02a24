import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import {
  chmodSync,
  chownSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { commandRunner } from '../support/commands.ts'
import { temporaryFolder } from '../support/config.ts'
import type { ServerProcess } from '../support/process.ts'
import { runToEnd, serve } from '../support/process.ts'
import { openTables } from '../support/tables.ts'

const LAUNCHER = join(import.meta.dirname, '../../bin/latchkey.cjs')

const machine = (id: string, authorities: readonly string[]) => ({
  client_id: id,
  client_secret: `${id}-secret`,
  authorized_grant_types: ['client_credentials'],
  authorities,
})
const config = {
  database: 'sqlite:./data/latchkey.db',
  bootstrap: { clients: [machine('admin', ['clients.admin', 'svc.resource'])] },
}

async function requestToken(server: ServerProcess, id: string, more = {}): Promise<Response> {
  return fetch(`${server.baseUrl}/oauth/token`, {
    method: 'POST',
    headers: { authorization: `Basic ${btoa(`${id}:${id}-secret`)}` },
    body: new URLSearchParams({ grant_type: 'client_credentials', ...more }),
  })
}

async function token(server: ServerProcess, more = {}): Promise<string> {
  const answer = await requestToken(server, 'admin', more)
  assert.equal(answer.status, 200)
  return String(Reflect.get(Object(await answer.json()), 'access_token'))
}

async function createClient(server: ServerProcess, id: string): Promise<void> {
  const answer = await fetch(`${server.baseUrl}/oauth/clients`, {
    method: 'POST',
    headers: { authorization: `Bearer ${await token(server)}`, 'content-type': 'application/json' },
    body: JSON.stringify(machine(id, ['jobs.run'])),
  })
  assert.equal(answer.status, 201, await answer.text())
}

async function isActive(server: ServerProcess, value: string): Promise<boolean> {
  const answer = await fetch(`${server.baseUrl}/introspect`, {
    method: 'POST',
    headers: { authorization: `Basic ${btoa('admin:admin-secret')}` },
    body: new URLSearchParams({ token: value }),
  })
  return Reflect.get(Object(await answer.json()), 'active') === true
}

/** Runs a command in the folder of a server. */
const run = (folder: string, args: readonly string[]) =>
  runToEnd([...args, '--config', 'latchkey.json'], { folder, files: { 'latchkey.json': JSON.stringify(config) } })

const inData = (folder: string): readonly string[] => readdirSync(join(folder, 'data')).toSorted()

describe('latchkey backup and restore', () => {
  it('copy committed data while the server writes, and restore it', async test => {
    const folder = temporaryFolder()
    const first = await serve({ folder, config })
    const { port } = first // part of the issuer of its tokens
    test.after(() => first.stop())
    await createClient(first, 'before')
    const signed = await token(first)

    // Opaque tokens are rows, so that the server writes throughout the backup.
    const backedUp = new AbortController()
    let stored = 0
    const writing = (async () => {
      while (!backedUp.signal.aborted) {
        await token(first, { token_format: 'opaque' })
        stored += 1
      }
    })()
    const backup = await run(folder, ['backup', '--to', 'copy.db'])
    backedUp.abort()
    await writing
    assert.equal(backup.status, 0, backup.stderr)
    assert.match(
      backup.stdout,
      /^Wrote copy\.db, \d+ bytes, and checked it\.\nThe master key is not in it: keep a copy of the key elsewhere\.\n$/,
    )
    assert.ok(stored > 0)
    assert.equal(statSync(join(folder, 'copy.db')).mode & 0o777, 0o600)
    const key = readFileSync(join(folder, 'data/latchkey.key'), 'utf8').trim()
    assert.ok(!readFileSync(join(folder, 'copy.db')).includes(key))

    await createClient(first, 'after')
    const inUse = await run(folder, ['restore', '--from', 'copy.db'])
    assert.equal(inUse.status, 1)
    assert.match(inUse.stderr, /^latchkey: \S+latchkey\.db is in use: stop the server first\n$/)
    assert.equal((await requestToken(first, 'after')).status, 200)
    await first.stop()

    const restored = await run(folder, ['restore', '--from', 'copy.db'])
    assert.equal(restored.status, 0, restored.stderr)
    const [, kept = ''] = /^The database before is (.+)\.$/m.exec(restored.stdout) ?? []
    assert.equal(statSync(join(folder, 'data/latchkey.db')).mode & 0o777, 0o600)
    const second = await serve({ folder, config, port })
    test.after(() => second.stop())
    assert.equal((await requestToken(second, 'before')).status, 200)
    assert.equal((await requestToken(second, 'after')).status, 401)
    assert.ok(await isActive(second, signed), 'the signing key is that of the backup')
    await createClient(second, 'afterwards')
    await second.stop()

    let back = await run(folder, ['restore', '--from', kept])
    // What it keeps is named by the second.
    while (back.stderr.includes('try again in a second')) back = await run(folder, ['restore', '--from', kept])
    assert.equal(back.status, 0, back.stderr)
    const third = await serve({ folder, config, port })
    test.after(() => third.stop())
    assert.equal((await requestToken(third, 'after')).status, 200)
    assert.equal((await requestToken(third, 'afterwards')).status, 401)
    await third.stop()
  })
})

describe('latchkey backup', () => {
  const folder = temporaryFolder()
  const commands = commandRunner(folder)
  after(() => commands.end())
  before(async () => void (await (await serve({ folder, config })).stop()))

  const cases: readonly {
    name: string
    args: readonly string[]
    status: number
    says: RegExp
    files?: readonly string[]
  }[] = [
    { name: 'requires a destination', args: [], status: 2, says: /'--to <value>' is missing/ },
    {
      name: 'does not overwrite a file',
      args: ['--to', 'latchkey.json'],
      status: 1,
      says: /latchkey\.json exists already/,
    },
    {
      name: 'rejects an unknown folder',
      args: ['--to', 'disk/copy.db'],
      status: 1,
      says: /^latchkey: there is no folder \/.*\/disk\n$/,
    },
    {
      name: 'does not run during another backup',
      args: ['--to', 'copy.db'],
      files: ['copy.db.partial'],
      status: 1,
      says: /copy\.db\.partial exists: another backup or restore runs, or one was interrupted/,
    },
    {
      name: 'rejects an unknown database, without creating it',
      args: ['--to', 'x.db', '--database', 'sqlite:none/latchkey.db'],
      status: 1,
      says: /there is no database \/\S+\/none\/latchkey\.db: .*working folder/,
    },
    {
      name: 'rejects an in-memory database',
      args: ['--to', 'x.db', '--database', 'sqlite::memory:'],
      status: 1,
      says: /belongs to one process/,
    },
    {
      name: 'rejects PostgreSQL, which has better tools',
      args: ['--to', 'x.db', '--database', 'postgres://localhost/latchkey'],
      status: 1,
      says: /for SQLite only: for PostgreSQL, use pg_dump/,
    },
    {
      name: 'rejects a database of another program',
      args: ['--to', 'x.db', '--database', 'sqlite:other.db'],
      status: 1,
      says: /other\.db is not a database of Latchkey/,
    },
  ]
  for (const { name, args, status, says, files = [] } of cases) {
    it(name, async () => {
      const other = await openTables(`sqlite:${join(folder, 'other.db')}`)
      await other.run('create table if not exists notes (text text)')
      await other.close()
      for (const file of files) writeFileSync(join(folder, file), '')
      const ending = await commands.run(['backup', ...args, '--config', 'latchkey.json'])
      assert.match(ending.stderr, says)
      assert.deepEqual([ending.status, ending.stdout], [status, ''])
      for (const file of ['x.db', 'x.db.partial', 'copy.db', 'none']) assert.ok(!existsSync(join(folder, file)), file)
    })
  }
})

describe('Commands without rights to the database', () => {
  // Root may read and write every file.
  const account = process.getuid?.() === 0 ? { uid: 12_345, gid: 12_345 } : {}
  const isRunnable = spawnSync(process.execPath, [LAUNCHER, '--version'], account).status === 0
  const skip = !isRunnable && 'another account cannot read the repository'
  const folder = temporaryFolder()
  before(async () => {
    await (await serve({ folder, config })).stop()
    assert.equal((await run(folder, ['backup', '--to', 'good.db'])).status, 0)
    mkdirSync(join(folder, 'kept'))
    copyFileSync(join(folder, 'good.db'), join(folder, 'kept/good.db'))
    const { uid, gid } = account
    const all = ['.', 'good.db', 'kept', 'kept/good.db', 'data', 'data/latchkey.db', 'data/latchkey.key']
    for (const name of all) {
      if (uid !== undefined) chownSync(join(folder, name), uid, gid)
    }
  })

  const cases: readonly [command: string, denied: string, mode: number, named?: string][] = [
    ['backup --to x.db', 'data/latchkey.db', 0o000],
    ['backup --to x.db', 'data', 0o000, 'data/latchkey.db'],
    ['restore --from good.db', 'good.db', 0o000],
    ['restore --from kept/good.db', 'kept', 0o000, 'kept/good.db'],
    ['restore --from good.db', 'data/latchkey.db', 0o400],
    ['restore --from good.db', 'data', 0o500],
    ['restore --from good.db', 'data', 0o000, 'data/latchkey.db'],
    ['keys list', 'data', 0o000, 'data/latchkey.db'],
    ['serve', 'data', 0o500],
  ]
  for (const [command, denied, mode, named = denied] of cases) {
    it(`${command} names ${named} where ${denied} has mode ${mode.toString(8)}`, { skip }, () => {
      const args = [LAUNCHER, ...command.split(' '), '--config', 'latchkey.json']
      const { mode: before } = statSync(join(folder, denied))
      chmodSync(join(folder, denied), mode)
      const { status, stderr } = spawnSync(process.execPath, args, { cwd: folder, encoding: 'utf8', ...account })
      chmodSync(join(folder, denied), before)
      assert.ok(stderr.endsWith(`${named} cannot be read or written: permission denied\n`), stderr)
      assert.equal(status, 1)
    })
  }
})

describe('latchkey backup and restore on a full disk', () => {
  const folder = temporaryFolder()
  before(async () => {
    await (await serve({ folder, config })).stop()
    const tables = await openTables(`sqlite:${join(folder, 'data/latchkey.db')}`)
    const numbers = 'with recursive numbers (id) as (select 2 union all select id + 1 from numbers where id < 1000000)'
    await tables.run(`${numbers} insert into probes (id, probed_at) select id, id from numbers`) // more than SQLite's cache
    await tables.close()
    assert.equal((await run(folder, ['backup', '--to', 'good.db'])).status, 0)
  })

  for (const args of ['backup --to copy.db', 'restore --from good.db']) {
    it(`${args} fails and leaves no file behind`, () => {
      const before = [...readdirSync(folder), ...inData(folder)]
      const command = `ulimit -f 4096; exec "$0" "$1" ${args} --config latchkey.json` // 2 or 4 MB in a file
      const shell = ['-c', command, process.execPath, LAUNCHER]
      const { status, stderr } = spawnSync('sh', shell, { cwd: folder, encoding: 'utf8', timeout: 30_000 })
      assert.match(stderr, /^latchkey: cannot copy \S+ to \S+: disk I\/O error\n$/)
      assert.equal(status, 1)
      assert.deepEqual([...readdirSync(folder), ...inData(folder)], before)
    })
  }
})

describe('latchkey restore', () => {
  const folder = temporaryFolder()
  const commands = commandRunner(folder)
  after(() => commands.end())
  let untouched: Buffer
  before(async () => {
    await (await serve({ folder, config })).stop()
    assert.equal((await run(folder, ['backup', '--to', 'good.db'])).status, 0)
    untouched = readFileSync(join(folder, 'data/latchkey.db'))
    const good = readFileSync(join(folder, 'good.db'))
    writeFileSync(join(folder, 'text.db'), 'not a database at all, '.repeat(300))
    writeFileSync(join(folder, 'short.db'), good.subarray(0, good.length / 2))
    await changed('newer.db', `insert into migrations (id, applied_at) values ('9999-tomorrow', 1)`)
    await changed('empty.db', `delete from zones`)
    await changed('service.db', `update zones set id = 'uaa' where subdomain = ''`)
  })

  async function changed(name: string, sql: string): Promise<void> {
    copyFileSync(join(folder, 'good.db'), join(folder, name))
    const tables = await openTables(`sqlite:${join(folder, name)}`)
    await tables.run(sql)
    await tables.close()
  }

  const cases = [
    { name: 'no file', args: [], status: 2, says: /'--from <value>' is missing/ },
    { name: 'an unknown file', args: ['--from', 'none.db'], status: 1, says: /there is no file none\.db/ },
    {
      name: 'a file that is not a database',
      args: ['--from', 'text.db'],
      status: 1,
      says: /^latchkey: text\.db is no SQLite database$/m,
    },
    {
      name: 'a truncated file',
      args: ['--from', 'short.db'],
      status: 1,
      says: /^latchkey: short\.db is damaged$/m,
    },
    { name: 'a backup of a newer version', args: ['--from', 'newer.db'], status: 1, says: /by a newer version/ },
    { name: 'a backup without any zone', args: ['--from', 'empty.db'], status: 1, says: /empty\.db has no zones/ },
    { name: 'a backup of another service', args: ['--from', 'service.db'], status: 1, says: /service name uaa/ },
    { name: 'the database itself', args: ['--from', 'data/latchkey.db'], status: 1, says: /is the database itself/ },
  ]
  for (const { name, args, status, says } of cases) {
    it(`rejects ${name}, and keeps the database`, async () => {
      const ending = await commands.run(['restore', ...args, '--config', 'latchkey.json'])
      assert.match(ending.stderr, says)
      assert.deepEqual([ending.status, ending.stdout], [status, ''])
      assert.deepEqual(inData(folder), ['latchkey.db', 'latchkey.key'])
      // The header also counts changes of the journal mode.
      assert.ok(readFileSync(join(folder, 'data/latchkey.db')).subarray(100).equals(untouched.subarray(100)))
    })
  }

  it('rejects a backup with another master key', async () => {
    const env = { LATCHKEY_MASTER_KEY: 'ab'.repeat(32) }
    const ending = await runToEnd(['restore', '--from', 'good.db', '--config', 'latchkey.json'], { folder, env })
    assert.equal(ending.status, 1)
    assert.match(ending.stderr, /the master key is not the one/)
    assert.deepEqual(inData(folder), ['latchkey.db', 'latchkey.key'])
  })

  it('requires the backup’s master key on a new machine, and generates none', async () => {
    const elsewhere = temporaryFolder()
    copyFileSync(join(folder, 'good.db'), join(elsewhere, 'good.db'))
    const without = await run(elsewhere, ['restore', '--from', 'good.db'])
    assert.equal(without.status, 1)
    assert.match(without.stderr, /there is no data\/latchkey\.key: put the master key of the backup there/)
    assert.ok(!existsSync(join(elsewhere, 'data')))

    mkdirSync(join(elsewhere, 'data'))
    copyFileSync(join(folder, 'data/latchkey.key'), join(elsewhere, 'data/latchkey.key'))
    const restored = await run(elsewhere, ['restore', '--from', 'good.db'])
    assert.equal(restored.stdout, 'Restored ./data/latchkey.db from good.db.\n', restored.stderr)
    assert.deepEqual(inData(elsewhere), ['latchkey.db', 'latchkey.key'])
    const server = await serve({ folder: elsewhere, config })
    assert.equal((await requestToken(server, 'admin')).status, 200)
    await server.stop()
  })

  it('replaces a damaged database and its log', async () => {
    const damaged = temporaryFolder()
    copyFileSync(join(folder, 'good.db'), join(damaged, 'good.db'))
    mkdirSync(join(damaged, 'data'))
    copyFileSync(join(folder, 'data/latchkey.key'), join(damaged, 'data/latchkey.key'))
    for (const ending of ['', '-wal']) writeFileSync(join(damaged, `data/latchkey.db${ending}`), 'ruined '.repeat(2000))
    const restored = await run(damaged, ['restore', '--from', 'good.db'])
    assert.equal(restored.status, 0, restored.stderr)
    const names = inData(damaged).map(name => name.replace(/\d{4}-\d\d-\d\dT[\d-]{8}Z/, 'TIME'))
    assert.deepEqual(names, ['latchkey.db', 'latchkey.db.before-TIME', 'latchkey.key'])
    const server = await serve({ folder: damaged, config })
    assert.equal((await requestToken(server, 'admin')).status, 200)
    await server.stop()
  })

  it('leaves out the log of a database that is gone', async test => {
    const lost = temporaryFolder()
    copyFileSync(join(folder, 'good.db'), join(lost, 'good.db'))
    mkdirSync(join(lost, 'data'))
    copyFileSync(join(folder, 'data/latchkey.key'), join(lost, 'data/latchkey.key'))
    copyFileSync(join(lost, 'good.db'), join(lost, 'data/latchkey.db'))
    const former = await serve({ folder: lost, config })
    await createClient(former, 'stale')
    await former.stop('SIGKILL')
    rmSync(join(lost, 'data/latchkey.db'))
    assert.ok(inData(lost).includes('latchkey.db-wal'))

    const restored = await run(lost, ['restore', '--from', 'good.db'])
    const said = restored.stdout.replace(/\S+(\.before-)\S+Z/, 'FILE$1TIME')
    const kept = 'The log of the database before is FILE.before-TIME-wal.\n'
    assert.equal(said, `Restored ./data/latchkey.db from good.db.\n${kept}`, restored.stderr)
    const server = await serve({ folder: lost, config })
    test.after(() => server.stop())
    assert.equal((await requestToken(server, 'admin')).status, 200)
    assert.equal((await requestToken(server, 'stale')).status, 401)
  })

  const asRoot = process.getuid?.() === 0 ? {} : { skip: 'only root can give files away' }
  it('gives the file to the owner of the folder when run as root', asRoot, async () => {
    const owned = temporaryFolder()
    copyFileSync(join(folder, 'good.db'), join(owned, 'good.db'))
    mkdirSync(join(owned, 'data'))
    copyFileSync(join(folder, 'data/latchkey.key'), join(owned, 'data/latchkey.key'))
    chownSync(join(owned, 'data'), 12_345, 12_346)
    assert.equal((await run(owned, ['restore', '--from', 'good.db'])).status, 0)
    const { uid, gid } = statSync(join(owned, 'data/latchkey.db'))
    assert.deepEqual([uid, gid], [12_345, 12_346])
  })
})
