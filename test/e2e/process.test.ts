// The process as seen by its operator: command line, environment, exit statuses, signals, workers, a second start.
import assert from 'node:assert/strict'
import { execFile, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { Agent } from 'node:http'
import { connect, createServer } from 'node:net'
import type { AddressInfo, Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { after, before, describe, it } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { promisify } from 'node:util'
import { Client } from 'pg'
import { systemClock } from '../../src/base/clock.ts'
import { createPasswords, DEFAULT_COST } from '../../src/base/passwords.ts'
import { openStore } from '../../src/store/open.ts'
import { onThisMachine } from '../support/busy-machine.ts'
import { DATABASE_KINDS, freshDatabase } from '../support/databases.ts'
import type { TestDatabase } from '../support/databases.ts'
import { freePort } from '../support/free-port.ts'
import { childrenOf, isHealthy, launch, runToEnd, serve } from '../support/process.ts'
import type { Ending, ServerProcess } from '../support/process.ts'
import { send, visit } from '../support/visitor.ts'

const root = mkdtempSync(join(tmpdir(), 'latchkey-e2e-'))
const inRoot = (name: string): string => join(root, name)
after(() => rmSync(root, { recursive: true, force: true }))

const bootstrap = {
  groups: [{ displayName: 'cloud.read', description: 'Read the cloud' }],
  clients: [
    {
      client_id: 'app',
      client_secret: 'app-secret',
      authorized_grant_types: ['authorization_code', 'refresh_token', 'client_credentials'],
      scope: ['openid', 'cloud.read'],
      authorities: ['jobs.run'],
      redirect_uri: ['http://127.0.0.1/cb'],
      autoapprove: true,
    },
  ],
  users: [{ userName: 'marissa', password: 'koala', emails: [{ value: 'marissa@example.org' }] }],
}

const tokenOf = (baseUrl: string, secret: string, agent?: Agent) =>
  send(`${baseUrl}/oauth/token`, {
    form: { grant_type: 'client_credentials' },
    basic: ['app', secret],
    ...(agent && { agent }),
  })

/** Exactly these lines on the standard error, no fault in the log, and the exit status. */
function assertRefused(ending: Ending, status: number, lines: readonly RegExp[]): void {
  const reported = ending.stderr.split('\n')
  assert.equal(reported.pop(), '', 'the last line ends')
  assert.equal(ending.status, status, ending.stderr)
  assert.equal(reported.length, lines.length, ending.stderr)
  for (const [index, line] of lines.entries()) assert.match(reported[index] ?? '', line)
  assert.doesNotMatch(ending.stdout, /ready|"level":50/)
}

describe('A failed start', { concurrency: 2 }, () => {
  const occupied = createServer()
  let port: number
  let free: number
  before(async () => {
    occupied.listen(0, '127.0.0.1')
    await once(occupied, 'listening')
    port = (occupied.address() as AddressInfo).port // it listens on TCP
    writeFileSync(inRoot('no.db'), 'this is no database, but it is longer than the head of one is, '.repeat(9))
    writeFileSync(
      inRoot('wrong.json'),
      JSON.stringify({ listen: { port: 'x' }, compatibility: 'no', colour: 1, bootstrap: { users: [{}] } }),
    )
    writeFileSync(inRoot('right.json'), JSON.stringify({ bootstrap }))
    const smtp = { host: '127.0.0.1', port: 1 }
    writeFileSync(inRoot('metrics.json'), JSON.stringify({ bootstrap, smtp, listen: { management: { port } } }))
    free = await freePort()
  })
  after(() => occupied.close())

  const cases: readonly {
    readonly name: string
    readonly args: () => readonly string[]
    readonly env?: Readonly<Record<string, string>>
    readonly status: number
    readonly lines: readonly RegExp[]
  }[] = [
    // Covers latchkey serve: rule: exit status 1 for a used port or an unreachable database
    {
      name: 'reports a used port in one line',
      args: () => ['serve', '--port', String(port), '--database', 'sqlite::memory:'],
      status: 1,
      lines: [
        /^latchkey: port \d+ of 127\.0\.0\.1 is in use \(EADDRINUSE\); stop that program, or choose another port with --port or listen\.port$/,
      ],
    },
    {
      name: 'reports a used port once with several workers',
      args: () => ['serve', '--port', String(port), '--workers', '3'],
      status: 1,
      lines: [
        /^latchkey: port \d+ of 127\.0\.0\.1 is in use \(EADDRINUSE\); stop that program, or choose another port with --port or listen\.port$/,
      ],
    },
    {
      name: 'names the setting of a used management port',
      args: () => ['serve', '--config', inRoot('metrics.json'), '--port', '0', '--database', 'sqlite::memory:'],
      status: 1,
      lines: [/^latchkey: port \d+ of 127\.0\.0\.1 is in use .*choose another port with listen\.management\.port$/],
    },
    {
      name: 'names the setting of a used management port with several workers',
      args: () => {
        const where = ['--port', String(free), '--database', `sqlite:${inRoot('workers.db')}`]
        return ['serve', '--config', inRoot('metrics.json'), '--workers', '2', ...where]
      },
      status: 1,
      lines: [/^latchkey: port \d+ of 127\.0\.0\.1 is in use .*choose another port with listen\.management\.port$/],
    },
    // Covers latchkey serve: --host
    {
      name: 'reports an address of another machine in one line',
      args: () => ['serve', '--config', inRoot('right.json'), '--host', '192.0.2.1', '--database', 'sqlite::memory:'],
      status: 1,
      lines: [/^latchkey: 192\.0\.2\.1 is not .*; change --host or listen\.host$/],
    },
    {
      name: 'reports an unreachable PostgreSQL in one line without the password, after waiting',
      args: () => ['serve', '--database', `postgres://somebody:hidden@127.0.0.1:${port === 1 ? 2 : 1}/x`],
      status: 1,
      lines: [/^latchkey: (?!.*hidden).*database/],
    },
    {
      name: 'reports in one line that the database file cannot be created',
      args: () => ['serve', '--database', 'sqlite:/proc/latchkey.db'],
      status: 1,
      lines: [/^latchkey: cannot open the database \/proc\/latchkey\.db: no such file$/],
    },
    {
      name: 'reports in one line that the database folder cannot be created',
      args: () => ['serve', '--database', `sqlite:${inRoot('no.db/below/latchkey.db')}`],
      status: 1,
      lines: [/^latchkey: .*no\.db/],
    },
    {
      name: 'reports in one line that the file is not a database',
      args: () => ['serve', '--database', `sqlite:${inRoot('no.db')}`],
      status: 1,
      lines: [/^latchkey: .*not a database; check the path in database, or restore a backup$/],
    },
    // Covers latchkey serve: rule: exit status 2 with every problem of the configuration
    // Covers configuration file: rule: unknown keys and wrong types stop the start
    {
      name: 'lists every problem of the configuration with its key',
      args: () => ['serve', '--config', inRoot('wrong.json'), '--workers', '0'],
      env: { LATCHKEY_SERVICE: 'Svc' },
      status: 2,
      lines: [
        /^latchkey: listen\.port: /,
        /^latchkey: compatibility: /,
        /^latchkey: colour: /,
        /^latchkey: bootstrap\.users\[0\]\.userName: /,
        /^latchkey: bootstrap\.users\[0\]\.emails: /,
        /^latchkey: --workers: /,
        /^latchkey: LATCHKEY_SERVICE: /,
      ],
    },
    {
      name: 'names a missing configuration file',
      args: () => ['serve', '--config', inRoot('absent.yml')],
      status: 2,
      lines: [/^latchkey: .*absent\.yml/],
    },
    {
      name: 'rejects the playground on a public address',
      args: () => ['serve', '--host', '0.0.0.0'],
      status: 2,
      lines: [/^latchkey: --host: .*loopback/],
    },
    {
      name: 'rejects several workers with an in-memory database',
      args: () => ['serve', '--workers', '2', '--database', 'sqlite::memory:'],
      status: 2,
      lines: [/^latchkey: --workers: /],
    },
    {
      name: 'rejects several workers with a random port',
      args: () => ['serve', '--workers', '2', '--port', '0'],
      status: 2,
      lines: [/^latchkey: --workers: /],
    },
    { name: 'rejects an unknown option', args: () => ['serve', '--prot', '1'], status: 2, lines: [/--prot/] },
    {
      name: 'rejects a repeated option',
      args: () => ['--port', '1', '--port', '2'],
      status: 2,
      lines: [/--port/],
    },
    { name: 'rejects an unknown command', args: () => ['sevre'], status: 2, lines: [/^latchkey: sevre/] },
  ]
  for (const { name, args, env, status, lines } of cases) {
    it(name, async () => {
      assertRefused(await runToEnd(args(), { ...(env && { env }) }), status, lines)
    })
  }

  const trusts = process.env['LATCHKEY_TEST_POSTGRES'] !== undefined // that server may ask for no password
  it('reports in one line that the PostgreSQL URL has no password, and exits', { skip: trusts }, async () => {
    const database = await freshDatabase('postgres')
    const url = new URL(database.url)
    url.password = ''
    const line = /^latchkey: the database cannot be reached: it asks for a password, and its URL has none$/
    assertRefused(await runToEnd(['serve', '--database', url.href]), 1, [line])
    await database.drop()
  })

  for (const kind of DATABASE_KINDS) {
    it(`rejects a ${kind} database of another master key or service`, async () => {
      const database = await freshDatabase(kind)
      const args = ['--database', database.url]
      const key = { LATCHKEY_MASTER_KEY: 'cd'.repeat(32) }
      const first = await serve({ args, env: key })
      assert.equal((await first.stop()).status, 0)
      const port = ['--port', String(first.port)]
      const [otherKey, otherService] = await Promise.all([
        runToEnd(['serve', ...port, ...args], { env: { LATCHKEY_MASTER_KEY: 'ab'.repeat(32) } }),
        runToEnd(['serve', ...port, ...args], { env: { ...key, LATCHKEY_SERVICE: 'uaa' } }),
      ])
      await database.drop()
      assertRefused(otherKey, 1, [
        /^latchkey: the master key is not the one that this database was made with: it needs the key [0-9a-f]{8}$/,
      ])
      assertRefused(otherService, 1, [/^latchkey: the database was made for the service name svc/])
    })

    it(`does not generate a master key for a ${kind} database with a lost key`, async () => {
      const database = await freshDatabase(kind)
      const folder = mkdtempSync(join(tmpdir(), 'latchkey-key-'))
      const file =
        kind === 'sqlite'
          ? join(dirname(database.url.slice('sqlite:'.length)), 'latchkey.key')
          : join(folder, 'data/latchkey.key')
      const first = await serve({ args: ['--database', database.url], folder })
      assert.equal((await first.stop()).status, 0)
      const key = readFileSync(file, 'utf8')
      rmSync(file)
      const ending = await runToEnd(['serve', '--port', String(first.port), '--database', database.url], { folder })
      assertRefused(ending, 1, [
        /^latchkey: there is no \S*latchkey\.key, and this database has a master key: put it there/,
      ])
      assert.equal(existsSync(file), false)
      writeFileSync(file, key)
      const again = await serve({ args: ['--database', database.url], folder })
      assert.equal((await again.stop()).status, 0)
      rmSync(folder, { recursive: true, force: true })
      await database.drop()
    })
  }
})

describe('The playground', () => {
  let server: ServerProcess
  before(async () => {
    server = await serve()
  })
  after(() => server.stop('SIGKILL'))

  // Covers latchkey serve: rule: playground mode without a configuration file
  it('prints its URL, a curl command, a URL for the browser, and a warning that it is public', async () => {
    const { stdout, baseUrl } = server
    assert.match(stdout, new RegExp(`^Latchkey is ready at ${baseUrl}$`, 'm'))
    assert.match(stdout, /public/)
    const url = /^http\S+$/m.exec(stdout)?.[0] ?? ''
    assert.ok(url.startsWith(baseUrl))
    const page = await send(url)
    assert.equal(page.status, 200)
    assert.match(page.text, /<input id="password"/)
  })

  it('prints a working curl command', { skip: !hasCurl() && 'curl is not installed' }, async () => {
    const lines = server.stdout.split('\n').filter(line => line.startsWith('curl '))
    assert.equal(lines.length, 1)
    const { stdout } = await promisify(execFile)('sh', ['-c', lines[0] ?? ''])
    const answer: unknown = JSON.parse(stdout)
    assert.ok(typeof answer === 'object' && answer !== null && 'access_token' in answer)
  })

  it('listens on loopback', () => {
    const open = spawnSync('sh', ['-c', 'cat /proc/net/tcp /proc/net/tcp6'], { encoding: 'utf8' }).stdout
    const port = server.port.toString(16).toUpperCase().padStart(4, '0')
    const listening = open.split('\n').flatMap(line => /^\s*\d+: (\w+):(\w{4}) \S+ 0A /.exec(line)?.slice(1, 3) ?? [])
    assert.deepEqual(
      listening.filter((_, index) => listening[index + 1] === port),
      ['0100007F'],
    )
  })
})

function hasCurl(): boolean {
  return spawnSync('curl', ['--version']).status === 0
}

describe('The source of a setting', () => {
  // Covers environment: LATCHKEY_CONFIG; LATCHKEY_PORT; LATCHKEY_BASE_URL; LATCHKEY_DATABASE; LATCHKEY_WORKERS
  // Covers environment: LATCHKEY_SERVICE; LATCHKEY_COMPATIBILITY
  it('is the environment, overridden by an option', async () => {
    const port = await freePort()
    writeFileSync(inRoot('environment.json'), JSON.stringify({ service: 'no', workers: 3, bootstrap }))
    const server = launch(['--port', String(port)], {
      env: {
        LATCHKEY_CONFIG: inRoot('environment.json'),
        LATCHKEY_HOST: '127.0.0.1',
        LATCHKEY_PORT: '1',
        LATCHKEY_BASE_URL: `http://localhost:${port}/auth`,
        LATCHKEY_DATABASE: `sqlite:${inRoot('environment.db')}`,
        LATCHKEY_WORKERS: '1',
        LATCHKEY_SERVICE: 'uaa',
        LATCHKEY_COMPATIBILITY: 'uaa',
      },
    })
    try {
      await server.printed(/ready/)
      assert.deepEqual(childrenOf(server.pid), [])
      const base = `http://localhost:${port}/auth`
      const page = await send(`${base}/login`)
      assert.match(page.text, /name="X-Uaa-Csrf"/)
      const metadata = (await send(`${base}/.well-known/openid-configuration`)).json()
      assert.equal(metadata['issuer'], `${base}/oauth/token`)
      assert.equal((await tokenOf(base, 'app-secret')).status, 200)
    } finally {
      server.signal('SIGTERM')
      assert.equal((await server.ended).status, 0)
    }
  })

  // Covers latchkey serve: --base-url
  it('may set a base path, under which everything is served', async () => {
    const server = await serve({ basePath: '/a/b', config: { bootstrap } })
    const origin = `http://localhost:${server.port}`
    try {
      const { headers, text } = await send(`${server.baseUrl}/login`)
      assert.match(text, /action="\/a\/b\/login.do"/)
      assert.match(headers['set-cookie']?.join() ?? '', /X-Svc-Csrf/)
      for (const [, path] of text.matchAll(/ href="(\/[^"]+)"/g)) assert.ok(path?.startsWith('/a/b/'), path)
      const metadata = (await send(`${origin}/.well-known/oauth-authorization-server/a/b`)).json()
      assert.equal(metadata['issuer'], server.baseUrl)
      assert.equal((await send(String(metadata['jwks_uri']))).status, 200)
      for (const path of ['/healthz', '/login', '/oauth/token', '/']) {
        assert.equal((await send(origin + path)).status, 404, path)
      }
    } finally {
      await server.stop()
    }
  })

  // Covers latchkey serve: --port
  it('may set port 0, which chooses a free port', async () => {
    const server = launch(['serve', '--port', '0'])
    const [, base = ''] = await server.printed(/ready at (\S+)\n/)
    try {
      assert.match(base, /^http:\/\/localhost:[1-9]\d*$/)
      assert.equal((await send(`${base}/healthz`)).text, 'ok')
      assert.equal((await send(`${base}/.well-known/openid-configuration`)).json()['issuer'], base)
    } finally {
      server.signal('SIGTERM')
      assert.equal((await server.ended).status, 0)
    }
  })
})

/** A connection to the server that has sent its text. */
async function connection(port: number, text: string): Promise<Socket & { received: string }> {
  const socket = Object.assign(connect(port, '127.0.0.1'), { received: '' })
  socket.setEncoding('utf8').on('data', (part: string) => (socket.received += part))
  socket.on('error', () => {}) // how it ended is seen by what was received
  await once(socket, 'connect')
  socket.write(text)
  return socket
}

async function received(socket: Socket & { received: string }, pattern: RegExp): Promise<void> {
  while (!pattern.test(socket.received)) {
    if (socket.closed) assert.fail(`the connection was closed after: ${socket.received}`)
    await Promise.race([once(socket, 'data'), once(socket, 'close')])
  }
}

/** Waits until the port is closed. */
async function untilRefused(port: number): Promise<void> {
  for (;;) {
    const probe = connect(port, '127.0.0.1')
    const refused = await new Promise(resolve => {
      probe.once('connect', () => resolve(false)).once('error', () => resolve(true))
    })
    probe.destroy()
    if (refused) return
    await pause(5)
  }
}

const FORM = 'grant_type=client_credentials'
const SLOW_REQUEST = `POST /oauth/token HTTP/1.1\r\nHost: localhost\r\nAuthorization: Basic ${btoa('app:app-secret')}\r
Content-Type: application/x-www-form-urlencoded\r\nContent-Length: ${FORM.length}\r\nExpect: 100-continue\r\n\r\n`

describe('SIGTERM', () => {
  for (const workers of ['1', '2']) {
    // Covers latchkey serve: rule: SIGTERM finishes what is under way
    it(`stops listening, completes the running request and exits with status 0, with workers: ${workers}`, async () => {
      const server = await serve({ config: { bootstrap }, args: ['--workers', workers] })
      const slow = await connection(server.port, SLOW_REQUEST)
      await received(slow, /^HTTP\/1\.1 100 /)
      slow.write(FORM.slice(0, 5))
      const ended = server.stop()
      await untilRefused(server.port)
      slow.write(FORM.slice(5))
      await received(slow, /HTTP\/1\.1 200 OK[^]*"access_token"/)
      const begin = performance.now()
      assert.equal((await ended).status, 0)
      assert.ok(performance.now() - begin < 9000, 'it does not wait for the kept connection')
      assert.deepEqual(childrenOf(server.pid), [])
    })
  }

  it('does not wait for idle or unused connections', async () => {
    const server = await serve({ config: { bootstrap } })
    const request = 'GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n'
    const used = await Promise.all(Array.from({ length: 20 }, () => connection(server.port, request)))
    await Promise.all(used.map(socket => received(socket, /\r\n\r\nok$/)))
    await Promise.all(Array.from({ length: 20 }, () => connection(server.port, '')))
    const begin = performance.now()
    assert.equal((await server.stop()).status, 0)
    assert.ok(performance.now() - begin < 9000) // with them it would be ten seconds
  })

  it('waits ten seconds for a request that never ends', async () => {
    const server = await serve({ config: { bootstrap } })
    const slow = await connection(server.port, SLOW_REQUEST)
    await received(slow, /^HTTP\/1\.1 100 /)
    const begin = performance.now()
    assert.equal((await server.stop()).status, 0)
    const seconds = (performance.now() - begin) / 1000
    assert.ok(seconds > 9 && seconds < 30, `${seconds} s`)
  })

  it('may be repeated, or be SIGINT', async () => {
    const server = await serve()
    server.signal('SIGINT')
    server.signal('SIGTERM')
    server.signal('SIGTERM')
    assert.deepEqual(await server.ended.then(({ status, stderr }) => ({ status, stderr })), { status: 0, stderr: '' })
  })

  // More than the log keeps back, several times; and nothing, so that the stop is the first to write.
  for (const requests of [100, 0]) {
    it(`works after the log’s reader has closed and ${requests} requests were served`, async () => {
      const server = await serve({ config: { bootstrap } })
      server.deafen()
      for (let request = 0; request < requests; request += 1) {
        assert.equal((await tokenOf(server.baseUrl, 'wrong')).status, 401)
      }
      assert.deepEqual(await server.stop().then(({ status, stderr }) => ({ status, stderr })), {
        status: 0,
        stderr: '',
      })
    })
  }

  it('works for a server started without a reader of its output', async () => {
    const port = await freePort()
    const server = launch(['serve', '--port', String(port)])
    server.deafen()
    for (let attempt = 0; attempt < 1000 && !(await isHealthy(port)); attempt += 1) await pause(10)
    assert.ok(await isHealthy(port))
    server.signal('SIGTERM')
    assert.deepEqual(await server.ended.then(({ status, stderr }) => ({ status, stderr })), { status: 0, stderr: '' })
  })

  it('flushes the log, also for a SIGHUP without a handler for reloading', async () => {
    const server = await serve({ config: { bootstrap } })
    assert.equal((await tokenOf(server.baseUrl, 'wrong')).status, 401)
    server.signal('SIGHUP')
    const { stdout, status } = await server.ended
    assert.match(stdout, /"stopping, by SIGHUP"[^]*"stopped"/)
    assert.match(stdout, /ClientAuthenticationFailure/)
    assert.equal(status, 0)
  })
})

for (const kind of DATABASE_KINDS) {
  describe(`Two workers on ${kind}`, () => {
    let database: TestDatabase
    let server: ServerProcess
    const folder = mkdtempSync(join(root, 'workers-'))
    const options = () => ({ config: { bootstrap, database: database.url, workers: 2 }, folder })
    before(async () => {
      database = await freshDatabase(kind)
      server = await serve(options())
    })
    after(async () => {
      await server.stop('SIGTERM')
      await database.drop()
    })

    /** A connection to each worker. */
    async function connections(): Promise<readonly Agent[]> {
      const workers = childrenOf(server.pid)
      assert.equal(workers.length, 2)
      const agents: Agent[] = []
      for (const worker of workers) agents.push(await connectionTo(worker, workers))
      return agents
    }

    /** With the others stopped, whoever answers is the one. */
    async function connectionTo(worker: number, workers: readonly number[]): Promise<Agent> {
      const others = workers.filter(pid => pid !== worker)
      for (const pid of others) process.kill(pid, 'SIGSTOP')
      const agent = new Agent({ keepAlive: true, maxSockets: 1 })
      assert.equal((await send(`${server.baseUrl}/healthz`, { agent })).text, 'ok')
      for (const pid of others) process.kill(pid, 'SIGCONT')
      return agent
    }

    // Covers latchkey serve: --workers
    // Covers configuration file: workers
    it('both serve on one socket', async () => {
      const agents = await connections()
      for (const agent of agents) assert.equal((await tokenOf(server.baseUrl, 'app-secret', agent)).status, 200)
      for (const agent of agents) agent.destroy()
    })

    it('redeem a code once for two simultaneous requests', async () => {
      const agents = await connections()
      const visitor = visit(server.baseUrl)
      await visitor.signIn('marissa', 'koala')
      const redirectUri = 'http://127.0.0.1:9/cb'
      for (let round = 0; round < 30; round += 1) {
        const query = { response_type: 'code', client_id: 'app', redirect_uri: redirectUri }
        const code = (await visitor.authorize(query))?.searchParams.get('code') ?? ''
        const answers = await Promise.all(
          agents.map(agent =>
            send(`${server.baseUrl}/oauth/token`, {
              form: { grant_type: 'authorization_code', code, redirect_uri: redirectUri },
              basic: ['app', 'app-secret'],
              agent,
            }),
          ),
        )
        assert.deepEqual(
          answers.map(({ status }) => status).toSorted((a, b) => a - b),
          [200, 400],
        )
        const refused = answers.find(({ status }) => status === 400)
        assert.equal(refused?.json()['error'], 'invalid_grant')
      }
      for (const agent of agents) agent.destroy()
    })

    it('see a changed client secret of another process within a second', async () => {
      const agents = await connections()
      const store = await openStore(database.url, { clock: systemClock })
      try {
        for (const [old, fresh] of [
          ['app-secret', 'second-secret'],
          ['second-secret', 'app-secret'],
        ] as const) {
          for (const agent of agents) assert.equal((await tokenOf(server.baseUrl, old, agent)).status, 200)
          const client = await store.clients.find('svc', 'app')
          assert.ok(client)
          const hash = await createPasswords({ concurrency: 1, cost: DEFAULT_COST }).hash(fresh)
          await store.clients.update('svc', { ...client, secrets: [{ hash, revision: `revision of ${fresh}` }] })
          const changed = performance.now()
          for (const agent of agents) {
            let sent = performance.now() - changed
            while ((await tokenOf(server.baseUrl, old, agent)).status === 200) {
              assert.ok(sent < 2 * onThisMachine(1000), `the old secret was accepted after ${sent} ms`)
              sent = performance.now() - changed
            }
            assert.equal((await tokenOf(server.baseUrl, fresh, agent)).status, 200)
          }
        }
      } finally {
        await store.close()
        for (const agent of agents) agent.destroy()
      }
    })

    it('are replaced when killed, while the other one serves', async () => {
      const before = childrenOf(server.pid)
      const [victim = 0, survivor = 0] = before
      process.kill(victim, 'SIGKILL')
      for (let request = 0; request < 20; request += 1) {
        assert.equal((await tokenOf(server.baseUrl, 'app-secret')).status, 200)
      }
      while (childrenOf(server.pid).length < 2) await pause(10)
      const now = childrenOf(server.pid)
      assert.ok(now.includes(survivor) && !now.includes(victim))
      process.kill(survivor, 'SIGSTOP') // so that only the new one can answer
      assert.equal((await tokenOf(server.baseUrl, 'app-secret')).status, 200)
      process.kill(survivor, 'SIGCONT')
    })

    it('end when the primary process is killed, and release the port', async () => {
      const workers = childrenOf(server.pid)
      await server.stop('SIGKILL')
      await untilRefused(server.port)
      while (workers.some(isAlive)) await pause(10)
      server = await serve({ ...options(), port: server.port })
      assert.ok(await isHealthy(server.port))
    })
  })

  describe(`A second start on ${kind}`, () => {
    // Covers latchkey serve: --database
    // Covers configuration file: database sqlite:; database postgres:; bootstrap
    // Covers configuration file: bootstrap: rule: applied at every start, idempotent
    it('changes nothing in the database', async () => {
      const database = await freshDatabase(kind)
      const folder = mkdtempSync(join(root, 'second-'))
      try {
        const config = {
          bootstrap: { ...bootstrap, identity_zones: [{ id: 'z1', subdomain: 'z1', name: 'Zone', bootstrap }] },
          zone_config: { tokenPolicy: { accessTokenValidity: 600 } },
          database: database.url,
        }
        const first = await serve({ config, folder })
        assert.equal((await first.stop()).status, 0)
        const before = await contentOf(database.url)
        assert.ok(before['clients']?.length === 2 && before['users']?.length === 2)
        const second = await serve({ config, folder })
        assert.equal((await second.stop()).status, 0)
        assert.deepEqual(await contentOf(database.url), before)
        const playground = await serve({ folder, args: ['--database', database.url] })
        assert.equal((await playground.stop()).status, 0)
        assert.notDeepEqual(await contentOf(database.url), before)
      } finally {
        await database.drop()
      }
    })
  })
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

/** Every row of every table as sorted lines of JSON, except the row of the write probe. */
async function contentOf(url: string): Promise<Readonly<Record<string, readonly string[]>>> {
  const lines = (rows: readonly unknown[]): readonly string[] => rows.map(row => JSON.stringify(row)).toSorted()
  if (url.startsWith('sqlite:')) {
    const file = new DatabaseSync(url.slice('sqlite:'.length), { readOnly: true })
    try {
      const tables = file.prepare(`select name from sqlite_schema where type = 'table'`).all()
      const names = tables.map(({ name }) => String(name)).filter(name => name !== 'probes')
      return Object.fromEntries(names.map(name => [name, lines(file.prepare(`select * from "${name}"`).all())]))
    } finally {
      file.close()
    }
  }
  const client = new Client({ connectionString: url })
  await client.connect()
  try {
    const tables = await client.query<{ tablename: string }>(
      `select tablename from pg_tables where schemaname not in ('pg_catalog', 'information_schema')
       and tablename <> 'probes'`,
    )
    const content: Record<string, readonly string[]> = {}
    for (const { tablename } of tables.rows) {
      content[tablename] = lines((await client.query(`select * from "${tablename}"`)).rows)
    }
    return content
  } finally {
    await client.end()
  }
}
