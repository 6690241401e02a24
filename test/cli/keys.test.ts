import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { userInfo } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { fileURLToPath } from 'node:url'
import { decodeProtectedHeader } from 'jose'
import { privatePem, temporaryFolder } from '../support/config.ts'
import type { TestDatabase } from '../support/databases.ts'
import { commandRunner } from '../support/commands.ts'
import { DATABASE_KINDS, freshDatabase } from '../support/databases.ts'
import type { ServerProcess } from '../support/process.ts'
import { serve } from '../support/process.ts'

const launcher = fileURLToPath(new URL('../../bin/latchkey.cjs', import.meta.url))

/** Runs `latchkey keys` to its end, in a process of its own. */
function keysAlone(folder: string, args: readonly string[]) {
  const { status, stdout, stderr } = spawnSync(process.execPath, [launcher, 'keys', ...args], {
    cwd: folder,
    env: { PATH: process.env['PATH'] },
    encoding: 'utf8',
  })
  return { status, stdout, stderr }
}

/** The lines of keys without their times, one blank between the words. */
const listed = (stdout: string): readonly string[] =>
  stdout
    .slice(stdout.indexOf('KEY '))
    .trimEnd()
    .split('\n')
    .slice(1)
    .map(line => line.split(/ +/).slice(0, 3).join(' '))

async function eventually(isSo: () => Promise<boolean>): Promise<void> {
  const deadline = performance.now() + 10_000
  while (!(await isSo())) {
    assert.ok(performance.now() < deadline, 'the running server was not notified')
    await new Promise(resolve => setTimeout(resolve, 20))
  }
}

for (const kind of DATABASE_KINDS) {
  describe(`latchkey keys with a running server on ${kind}`, () => {
    const folder = temporaryFolder()
    let database: TestDatabase
    let server: ServerProcess
    let first = ''
    let old = ''
    const options = ['--config', 'latchkey.json']
    const commands = commandRunner(folder)
    const run = (...args: readonly string[]) => commands.run(['keys', ...args, ...options])

    before(async () => {
      database = await freshDatabase(kind)
      const client = { authorized_grant_types: ['client_credentials'], client_secret: 'app-secret' }
      const config = {
        database: database.url,
        audit: { enabled: true },
        // Longer than a refresh token of the zone is valid.
        zone_config: { tokenPolicy: { refreshTokenValidity: 86_400 } },
        bootstrap: {
          clients: [
            { ...client, client_id: 'app', authorities: ['jobs.run', 'svc.resource', 'audit.read'] },
            { ...client, client_id: 'long', access_token_validity: 200_000 },
            { ...client, client_id: 'old', id_token_signed_response_alg: 'RS256' },
            { ...client, client_id: 'older', userinfo_signed_response_alg: 'RS256' },
            { ...client, client_id: 'new', authorization_signed_response_alg: 'ES256' },
          ],
          identity_zones: [{ id: 'z1', subdomain: 'z1', name: 'Zone 1' }],
        },
      }
      server = await serve({ folder, config })
    })
    after(async () => {
      commands.end()
      await server.stop()
      await database.drop()
    })

    const authorization = `Basic ${btoa('app:app-secret')}`
    async function issue(): Promise<string> {
      const body = new URLSearchParams({ grant_type: 'client_credentials' })
      const answer = await fetch(`${server.baseUrl}/oauth/token`, { method: 'POST', headers: { authorization }, body })
      const token: unknown = Reflect.get(Object(await answer.json()), 'access_token')
      assert.ok(typeof token === 'string')
      return token
    }
    async function isAlive(token: string): Promise<boolean> {
      const body = new URLSearchParams({ token })
      const answer = await fetch(`${server.baseUrl}/introspect`, { method: 'POST', headers: { authorization }, body })
      return Reflect.get(Object(await answer.json()), 'active') === true
    }
    const kidOf = (token: string): string => String(decodeProtectedHeader(token).kid)
    async function published(): Promise<readonly string[]> {
      const { keys } = (await (await fetch(`${server.baseUrl}/token_keys`)).json()) as { keys: { kid: string }[] } // RFC 7517
      return keys.map(({ kid }) => kid)
    }

    // Covers latchkey keys: list
    it('lists the generated key, in aligned lines', async () => {
      old = await issue()
      first = kidOf(old)
      const { status, stdout, stderr } = keysAlone(folder, ['list', ...options])
      assert.deepEqual([status, stderr], [0, ''])
      assert.match(
        stdout,
        /^KEY {15}ALGORITHM {2}STATE {3}CREATED {15}UNTIL\n[0-9a-f]{16} {2}RS256 {6}active {2}\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ {2}-\n$/,
      )
      assert.deepEqual(listed(stdout), [`${first} RS256 active`])
    })

    // Covers latchkey keys: add; --key-id; --alg
    it('adds a key that is published but inactive', async () => {
      const { status, stdout, stderr } = await run('add', '--key-id', 'next', '--alg', 'ES256')
      assert.deepEqual([status, stderr], [0, ''])
      assert.match(stdout, /^Added next; it does not sign yet\.\nKEY /)
      assert.deepEqual(listed(stdout), [`${first} RS256 active`, 'next ES256 standby'])
      await eventually(async () => (await published()).includes('next'))
      assert.equal(kidOf(await issue()), first)
    })

    // Covers latchkey keys: activate
    // Covers signing keys: rotation command
    // Covers later standards: key rotation command
    it('activates it, while old tokens stay valid', async () => {
      const { status, stdout, stderr } = await run('activate', '--key-id', 'next')
      assert.deepEqual([status, stderr], [0, ''])
      assert.deepEqual(listed(stdout), [`${first} RS256 standby`, 'next ES256 active'])
      await eventually(async () => kidOf(await issue()) === 'next')
      assert.ok(await isAlive(old))
    })

    // Covers latchkey: keys
    // Covers latchkey keys: retire
    it('retires the old one until its last token expires', async () => {
      const from = Date.now()
      const { status, stdout, stderr } = await run('retire', '--key-id', first)
      assert.deepEqual([status, stderr], [0, ''])
      assert.deepEqual(listed(stdout), [`${first} RS256 retired`, 'next ES256 active'])
      assert.match(stdout, /^No key signs with RS256 now, but 2 clients require it: old, older\. /m)
      const until = Date.parse(/^\S+ +RS256 +retired +\S+ +(\S+)$/m.exec(stdout)?.[1] ?? '')
      // The client with tokens of 200000 seconds, and a minute for processes that have not seen the change yet.
      const seconds = (until - from) / 1000
      assert.ok(seconds >= 200_059 && seconds <= 200_120, `${seconds}`)
      assert.ok(await isAlive(old))
      assert.ok((await published()).includes(first))
    })

    it('records in the audit trail who changed keys', async () => {
      const query = ['Created', 'Activated', 'Retired'].map(done => `type=SigningKey${done}Event`).join('&')
      const answer = await fetch(`${server.baseUrl}/audit/events?${query}`, {
        headers: { authorization: `Bearer ${await issue()}` },
      })
      const { events } = (await answer.json()) as { events: Record<string, string>[] }
      assert.deepEqual(
        events.map(({ type, principal, outcome }) => [type, principal, outcome]),
        [
          ['SigningKeyRetiredEvent', first, 'success'],
          ['SigningKeyActivatedEvent', 'next', 'success'],
          ['SigningKeyCreatedEvent', 'next', 'success'],
        ],
      )
      const [retired, , created] = events
      assert.equal(created?.['data'], 'ES256')
      assert.match(retired?.['data'] ?? '', /^verifies until \d{4}-\d\d-\d\dT/)
      for (const { userAgent } of events) assert.equal(userAgent, `latchkey keys (${userInfo().username})`)
    })

    // Covers latchkey keys: --now
    it('removes a compromised key at once, which invalidates its tokens', async () => {
      assert.equal((await run('retire', '--key-id', first, '--now')).status, 0)
      await eventually(async () => !(await isAlive(old)))
      assert.deepEqual(await published(), ['next'])
      assert.deepEqual(listed((await run('list')).stdout), [`${first} RS256 expired`, 'next ES256 active'])
    })

    // Covers latchkey keys: --pem-file
    it('adds a key from a file with a generated id', async () => {
      writeFileSync(join(folder, 'ed.pem'), privatePem('ed25519'))
      writeFileSync(join(folder, 'note.txt'), 'where the key is\n')
      const { status, stdout } = await run('add', '--pem-file', 'ed.pem')
      assert.equal(status, 0)
      const id = /^Added ([0-9a-f]{16});/.exec(stdout)?.[1] ?? assert.fail(stdout)
      assert.ok(listed(stdout).includes(`${id} EdDSA standby`))
      await eventually(async () => (await published()).includes(id))
    })

    // Covers latchkey keys: rule: nothing private is printed
    it('prints no private part of any key', async () => {
      for (const alg of ['HS256', 'EdDSA', 'PS384']) {
        const { status, stdout, stderr } = await run('add', '--alg', alg, '--key-id', `of-${alg}`)
        assert.deepEqual([status, stderr], [0, ''])
        assert.doesNotMatch(stdout, /BEGIN|PRIVATE|[\w+/=-]{40,}/)
      }
    })

    it('does not publish a shared secret', async () => {
      assert.equal((await run('activate', '--key-id', 'of-HS256')).status, 0)
      await eventually(async () => kidOf(await issue()) === 'of-HS256')
      assert.ok(await isAlive(await issue()))
      assert.ok(!(await published()).includes('of-HS256'))
    })

    // Covers latchkey keys: --zone
    it('changes only the keys of the given zone', async () => {
      // The running server may purge an expired key meanwhile.
      const unexpired = async () => listed((await run('list')).stdout).filter(key => !key.endsWith(' expired'))
      const earlier = await unexpired()
      assert.deepEqual(listed((await run('list', '--zone', 'z1')).stdout), [])
      const { stdout } = await run('add', '--zone', 'z1', '--key-id', 'next', '--alg', 'RS512')
      assert.deepEqual(listed(stdout), ['next RS512 standby'])
      assert.equal((await run('activate', '--zone', 'z1', '--key-id', 'next')).status, 0)
      assert.deepEqual(await unexpired(), earlier)
    })

    const failures = [
      { name: 'an existing key', args: ['add', '--key-id', 'next'], stderr: 'zone svc has a key next already' },
      { name: 'an unknown key', args: ['activate', '--key-id', 'x'], stderr: 'zone svc has no key x that could sign' },
      {
        name: 'a key of another zone',
        args: ['activate', '--zone', 'z1', '--key-id', 'of-EdDSA'],
        stderr: 'zone z1 has no key of-EdDSA that could sign',
      },
      { name: 'an unknown key to retire', args: ['retire', '--key-id', 'x'], stderr: 'zone svc has no key x' },
      {
        name: 'retiring the active key',
        args: ['retire', '--key-id', 'of-HS256', '--now'],
        stderr: 'of-HS256 is the key that signs: activate another one first',
      },
      { name: 'an unknown zone', args: ['list', '--zone', 'z9'], stderr: 'there is no zone z9' },
      {
        name: 'a file that is not a key',
        args: ['add', '--pem-file', 'latchkey.json'],
        stderr: 'latchkey.json: is not a private key in PEM',
      },
      {
        name: 'a file that does not match the algorithm',
        args: ['add', '--pem-file', 'ed.pem', '--alg', 'RS256'],
        stderr: 'ed.pem: RS256 needs an RSA key, this is ed25519',
      },
      {
        name: 'a file for a shared secret',
        args: ['add', '--pem-file', 'ed.pem', '--alg', 'HS256'],
        stderr: 'ed.pem: HS256 needs a shared secret, this is a key in PEM',
      },
      {
        name: 'a file that does not exist',
        args: ['add', '--pem-file', 'no.pem'],
        stderr: '--pem-file no.pem cannot be read: no such file',
      },
      {
        name: 'a folder',
        args: ['add', '--pem-file', '.'],
        stderr: '--pem-file . cannot be read: it is not a regular file',
      },
      {
        name: 'a text file',
        args: ['add', '--pem-file', 'note.txt'],
        stderr: 'note.txt: is not a private key in PEM',
      },
    ]
    if (kind !== 'sqlite') return // what the command refuses does not depend on the database
    // The server deletes an expired key at a moment of its own.
    const kept = async (): Promise<string> => (await run('list')).stdout.replace(/^.* expired .*\n/gm, '')
    let earlier = ''
    it('prints the same list twice', async () => {
      earlier = await kept()
      assert.equal(await kept(), earlier)
    })
    for (const { name, args, stderr: want } of failures) {
      it(`rejects ${name} in one line, with status 1`, async () => {
        const { status, stdout, stderr } = await run(...args)
        if (typeof want === 'string') assert.equal(stderr, `latchkey: ${want}\n`)
        else assert.match(stderr, want)
        assert.deepEqual([status, stdout], [1, ''])
      })
    }
    it('changes nothing on rejection', async () => assert.equal(await kept(), earlier))

    it('rejects another master key', async () => {
      const text = readFileSync(join(folder, 'latchkey.json'), 'utf8')
      writeFileSync(join(folder, 'other.json'), JSON.stringify({ ...JSON.parse(text), master_key: 'ab'.repeat(32) }))
      const { status, stderr } = await commands.run(['keys', 'add', '--config', 'other.json'])
      const line =
        /^latchkey: the master key is not the one that this database was made with: it needs the key [0-9a-f]{8}\n$/
      assert.match(stderr, line)
      assert.equal(status, 1)
    })
  })
}

describe('latchkey keys with compatibility: uaa', () => {
  const folder = temporaryFolder()
  const commands = commandRunner(folder)
  const run = (...args: readonly string[]) => commands.run(['keys', ...args, '--config', 'latchkey.json'])
  before(async () => {
    const server = await serve({ folder, config: { compatibility: 'uaa', database: 'sqlite:latchkey.db' } })
    await server.stop()
  })
  after(() => commands.end())

  const who = (algorithm: string): string =>
    `With compatibility: uaa, /token_keys shows this ${algorithm} key only to clients with the authority svc.resource; ` +
    'others cannot verify its tokens.\n'

  for (const algorithm of ['ES256', 'EdDSA']) {
    it(`prints who can fetch an ${algorithm} key, when added and when activated`, async () => {
      const added = await run('add', '--key-id', algorithm, '--alg', algorithm)
      assert.ok(
        added.stdout.startsWith(`Added ${algorithm}; it does not sign yet.\n${who(algorithm)}KEY `),
        added.stdout,
      )
      const { stdout } = await run('activate', '--key-id', algorithm)
      assert.ok(stdout.startsWith(`${algorithm} signs from now on.\n${who(algorithm)}KEY `), stdout)
    })
  }

  for (const algorithm of ['RS256', 'PS256']) {
    it(`prints nothing about a public ${algorithm} key`, async () => {
      const added = await run('add', '--key-id', algorithm, '--alg', algorithm)
      assert.ok(added.stdout.startsWith(`Added ${algorithm}; it does not sign yet.\nKEY `), added.stdout)
      const { stdout } = await run('activate', '--key-id', algorithm)
      assert.ok(stdout.startsWith(`${algorithm} signs from now on.\nKEY `), stdout)
    })
  }
})

describe('latchkey keys without a server', () => {
  const folder = temporaryFolder()
  const commands = commandRunner(folder)
  const run = (args: readonly string[]) => commands.run(['keys', ...args])
  after(() => commands.end())
  writeFileSync(join(folder, 'c.yml'), 'database: sqlite:none/latchkey.db\n')
  writeFileSync(join(folder, 'bad.yml'), 'databse: sqlite:x\n')
  const longId = 'x'.repeat(256)
  const cases = [
    { name: 'no action', args: [], stderr: 'keys requires one of list, add, activate, retire' },
    {
      name: 'an unknown action',
      args: ['rotate'],
      stderr: 'keys requires one of list, add, activate, retire, not rotate',
    },
    { name: 'an option before the action', args: ['--zone', 'z', 'list'], stderr: /not --zone/ },
    { name: 'an unknown option', args: ['list', '--key-id', 'k'], stderr: /^latchkey: Unknown option '--key-id'/ },
    { name: 'an option of another action', args: ['activate', '--key-id', 'k', '--now'], stderr: /'--now'/ },
    {
      name: 'an unknown algorithm',
      args: ['add', '--alg', 'ES256K'],
      stderr: /^latchkey: --alg must be one of RS256, /,
    },
    { name: 'no key to activate', args: ['activate'], stderr: "Option '--key-id <value>' is missing" },
    { name: 'no key to retire', args: ['retire', '--now'], stderr: "Option '--key-id <value>' is missing" },
    { name: 'a repeated id', args: ['retire', '--key-id=a', '--key-id=b'], stderr: /is given twice/ },
    { name: 'an empty id', args: ['add', '--key-id', ''], stderr: /^latchkey: --key-id must have 1 to 255 visible/ },
    { name: 'an id with spaces', args: ['add', '--key-id', 'a b'], stderr: /^latchkey: --key-id must have/ },
    { name: 'an id with line breaks', args: ['add', '--key-id', 'a\nb'], stderr: /^latchkey: --key-id must have/ },
    { name: 'an overlong id', args: ['add', '--key-id', longId], stderr: /^latchkey: --key-id must have/ },
    {
      name: 'an invalid configuration',
      args: ['list', '--config', 'bad.yml'],
      stderr: /databse: is not a known key/,
    },
  ]
  for (const { name, args, stderr: want } of cases) {
    it(`rejects ${name} with status 2`, async () => {
      const { status, stdout, stderr } = await run(args)
      if (typeof want === 'string')
        assert.equal(stderr.replace(/\S*bin\/latchkey/, 'X'), `latchkey: ${want} (see X keys --help)\n`)
      else assert.match(stderr, want)
      assert.deepEqual([status, stdout], [2, ''])
    })
  }

  it('creates neither a database nor a master key', () => {
    const { status, stderr } = keysAlone(folder, ['add', '--config', 'c.yml'])
    assert.match(
      stderr,
      /^latchkey: there is no database \/\S+\/none\/latchkey\.db: name the one of the server by --config or --database, run this in the server's working folder, or start the server first\n$/,
    )
    assert.equal(status, 1)
    assert.ok(!existsSync(join(folder, 'none')))
  })

  it('rejects an empty or in-memory database, and changes neither schema nor key', async () => {
    mkdirSync(join(folder, 'empty'))
    writeFileSync(join(folder, 'empty/latchkey.db'), '')
    const arguments_ = ['list', '--config', 'c.yml', '--database', 'sqlite:empty/latchkey.db']
    assert.match(
      (await run(arguments_)).stderr,
      /^latchkey: there is no empty\/latchkey\.key: run this in the folder of the/,
    )
    writeFileSync(join(folder, 'empty/latchkey.key'), 'ab'.repeat(32))
    const empty = await run(arguments_)
    assert.match(
      empty.stderr,
      /^latchkey: the database is empty: start the server first, or run latchkey migrate where [^\n]+\n$/,
    )
    assert.equal(readFileSync(join(folder, 'empty/latchkey.db'), 'latin1').includes('migrations'), false)
    const inMemory = await run(['list', '--config', 'c.yml', '--database', 'sqlite::memory:'])
    assert.equal(inMemory.stderr, 'latchkey: a database in memory belongs to one process\n')
    assert.deepEqual([empty.status, inMemory.status], [1, 1])
  })
})
