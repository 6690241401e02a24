// What goes wrong in the life of a server: one list. Each makes a trouble and ends it; scene.ts says what must hold meanwhile and
// afterwards.
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { appendFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { onThisMachine } from '../support/busy-machine.ts'
import { isHealthy, launch } from '../support/process.ts'
import { send } from '../support/visitor.ts'
import { basicOf } from './accounts.ts'
import { openConnections, garbage, halfClosed, slowClients } from './bad-clients.ts'
import type { Node } from './deployment.ts'
import type { Place, Scene, Trouble } from './scene.ts'

/** One fault. */
export interface Scenario {
  /** For the command line. */
  readonly name: string
  /** The fault, and guarantees beyond the general rules. */
  readonly about: string
  readonly place: Place
  /** Whether no request may fail. */
  readonly isUnnoticed?: boolean
  /** The reason that it cannot run on this machine. */
  readonly missing?: () => string | undefined
  readonly trouble: Trouble
}

const sqlite: Place = { database: 'sqlite', nodes: 1 }
const shared: Place = { database: 'shared', nodes: 2 }
const own: Place = { database: 'own', nodes: 2 }

/** The nodes of a scene with two, or its only one twice. */
function pair({ nodes }: Scene): readonly [Node, Node] {
  const [one, other = one] = nodes
  if (one === undefined || other === undefined) throw new Error('a scene has nodes')
  return [one, other]
}

async function healthBecomes(wanted: boolean, { port }: Node): Promise<void> {
  const begin = performance.now()
  while ((await isHealthy(port)) !== wanted) {
    const limit = onThisMachine(10_000)
    assert.ok(performance.now() - begin < limit, `/healthz is not ${wanted ? 'well' : 'ill'} after ${limit} ms`)
    await pause(20)
  }
}

const statusOf = async ({ baseUrl }: Node, path: string): Promise<number> =>
  (await send(baseUrl + path, { patienceMs: onThisMachine(5000) })).status

/** A token of a client, from one node. */
const tokenFrom = ({ baseUrl }: Node, clientId: string): Promise<number> =>
  send(`${baseUrl}/oauth/token`, {
    form: { grant_type: 'client_credentials' },
    basic: basicOf(clientId),
    patienceMs: onThisMachine(5000),
  }).then(({ status }) => status)

/** Fills a small disk; returns the file to remove. */
function fill(folder: string): string {
  const filler = join(folder, 'filler')
  for (const size of [1 << 20, 65_536, 4096, 512, 1]) {
    try {
      for (;;) appendFileSync(filler, Buffer.alloc(size))
    } catch (error) {
      assert.match(String(error), /ENOSPC/)
    }
  }
  return filler
}

/** Makes the database files immutable, also through open descriptors. */
const guard = (option: '+i' | '-i', folder: string): boolean =>
  spawnSync('chattr', [option, ...['', '-wal'].map(end => join(folder, `latchkey.db${end}`))]).status === 0

/** Every scenario, the fast ones first. */
export const SCENARIOS: readonly Scenario[] = [
  {
    name: 'kill-node',
    about: 'one of two nodes is killed, and started again; the other one goes on',
    place: shared,
    async trouble(scene) {
      const [one] = pair(scene)
      await one.stop('SIGKILL')
      await pause(500)
      await one.start()
    },
  },
  {
    name: 'kill-only-node',
    about: 'the only node is killed, with SQLite, and started again',
    place: sqlite,
    async trouble(scene) {
      const [one] = pair(scene)
      await one.stop('SIGKILL')
      await one.start()
    },
  },
  {
    name: 'pause-node',
    about:
      'a node stands still for 2 s, while a client is deleted at the other one; it does not know that client any more',
    place: shared,
    async trouble(scene) {
      const [one, other] = pair(scene)
      const former = await createClient(one)
      one.server.signal('SIGSTOP')
      await former.remove(other)
      await pause(2000)
      one.server.signal('SIGCONT')
      await former.isUnknown() // at once
    },
  },
  {
    name: 'partition',
    about:
      'the network between one node and the database fails; the other goes on, and the first one says 503 and is not ready',
    place: shared,
    async trouble(scene) {
      const [one, other] = pair(scene)
      const [line] = scene.lines
      const former = await createClient(one)
      line?.set('silent')
      await healthBecomes(false, one)
      assert.equal(await statusOf(one, '/livez'), 200)
      await healthBecomes(true, other)
      await former.remove(other)
      line?.set('open')
      return () => former.isUnknown() // until it notices, it goes on from its caches
    },
  },
  {
    name: 'broken-line',
    about: 'connections between one node and the database are cut again and again',
    place: shared,
    async trouble({ lines: [line] }) {
      for (let turn = 0; turn < 5; turn += 1) {
        line?.set('cut')
        await pause(turn * 200)
        line?.set('open')
        await pause(300)
      }
    },
  },
  {
    name: 'slow-database',
    about: 'every answer of PostgreSQL comes 300 ms later, for 6 s: slow, and nearly no request is refused',
    place: shared,
    async trouble({ lines, load }) {
      for (const line of lines) line.delay(300)
      await pause(6000)
      for (const line of lines) line.delay(0)
      // A request that waits for a new connection, which takes several answers, may be.
      const refused = load.tried.filter(({ outcome }) => outcome === 'refused').length
      assert.ok(refused * 10 < load.tried.length, `${refused} of ${load.tried.length} were refused`)
    },
  },
  {
    name: 'kill-database',
    about: 'every process of PostgreSQL is killed; 2 s later it is started again',
    place: own,
    async trouble({ postgres }) {
      await postgres?.kill('SIGKILL')
      await pause(2000)
      await postgres?.restart()
    },
  },
  {
    name: 'restart-database',
    about: 'an administrator restarts PostgreSQL',
    place: own,
    async trouble({ postgres }) {
      await postgres?.kill('SIGINT')
      await postgres?.restart()
    },
  },
  {
    name: 'pause-database',
    about: 'PostgreSQL stands still for 3 s',
    place: own,
    async trouble({ postgres }) {
      postgres?.freeze()
      await pause(3000)
      postgres?.thaw()
    },
  },
  {
    name: 'full-disk',
    about: 'the disk of SQLite is full: 503 for what must be written, /healthz says so, JWTs are issued',
    place: { database: 'sqlite on a small disk', nodes: 1 },
    async trouble(scene) {
      const [node] = pair(scene)
      const filler = fill(scene.folder)
      await healthBecomes(false, node)
      assert.equal(await tokenFrom(node, 'service'), 200)
      const form = { grant_type: 'client_credentials', token_format: 'opaque' }
      const stored = await send(`${node.baseUrl}/oauth/token`, { form, basic: basicOf('service') })
      assert.equal(stored.status, 503)
      assert.deepEqual(stored.json(), {
        error: 'temporarily_unavailable',
        error_description: 'Database unavailable. Retry later.',
      })
      rmSync(filler)
    },
  },
  {
    name: 'full-disk-of-postgres',
    about: 'the disk of PostgreSQL is full; where PostgreSQL gives up, it is started again once there is room',
    place: { database: 'own on a small disk', nodes: 2 },
    async trouble(scene) {
      const filler = fill(scene.folder)
      const begin = performance.now()
      // It has some room left in its own files.
      while (scene.load.tried.every(({ outcome }) => outcome === 'done')) {
        assert.ok(performance.now() - begin < 30_000, 'nothing needs the disk')
        await pause(20)
      }
      await pause(2000)
      rmSync(filler)
      if (!scene.postgres?.isRunning()) await scene.postgres?.restart()
    },
  },
  {
    name: 'read-only-file',
    about:
      'the file of SQLite becomes unchangeable: 503 for what must be written; a start says in one line why it ends',
    place: sqlite,
    missing: () => (spawnSync('chattr', ['-V']).error ? 'chattr is missing' : undefined),
    async trouble(scene) {
      const [node] = pair(scene)
      if (!guard('+i', scene.folder)) throw new Error('chattr +i is not permitted here')
      try {
        await healthBecomes(false, node)
        assert.equal(await tokenFrom(node, 'service'), 200)
        await pause(500)
        const file = join(node.folder, 'latchkey.json')
        const second = await launch(['serve', '--config', file, '--port', '0'], { folder: node.folder, env: node.env })
          .ended
        assert.equal(second.status, 1, second.stdout)
        assert.doesNotMatch(second.stderr, /^\s+at /m)
      } finally {
        guard('-i', scene.folder)
      }
    },
  },
  {
    name: 'clocks-apart',
    about: 'the clock of one node jumps by 15 s, back, and by -15 s: within what is promised, without any effect',
    place: { ...shared, clocks: true },
    isUnnoticed: true,
    async trouble(scene) {
      const [one] = pair(scene)
      for (const seconds of [15, 0, -15, 0]) {
        jump(one, seconds)
        await pause(1000)
      }
    },
  },
  {
    name: 'wrong-clock',
    about:
      'the clock of one node is a day ahead for 35 s, so that it purges: what has expired by its clock alone is still there when the clock is right again',
    place: { ...shared, clocks: true },
    async trouble(scene) {
      const [one, other] = pair(scene)
      one.hide(true)
      // Who holds the lease purges.
      await other.stop()
      jump(one, 86_400)
      await other.start()
      await pause(35_000)
      assert.equal(await statusOf(one, '/livez'), 200)
      jump(one, 0)
      one.hide(false)
    },
  },
  {
    name: 'slow-clients',
    about: '300 connections send a request byte by byte, and never end it',
    place: sqlite,
    isUnnoticed: true,
    trouble: scene => slowClients(pair(scene)[0].port),
  },
  {
    name: 'half-closed',
    about:
      'clients close their half of the connection before, during and after their request, or do not read their answer',
    place: sqlite,
    isUnnoticed: true,
    trouble: scene => halfClosed(pair(scene)[0].port),
  },
  {
    name: 'garbage',
    about: 'pipelined requests with garbage between and after them',
    place: sqlite,
    isUnnoticed: true,
    trouble: scene => garbage(pair(scene)[0].port),
  },
  {
    name: 'idle-connections',
    about: '10,000 connections that send nothing, or one request and then nothing',
    place: sqlite,
    isUnnoticed: true,
    async trouble(scene) {
      await openConnections(pair(scene)[0].port, 10_000)
    },
  },
]

function jump(node: Node, seconds: number): void {
  writeFileSync(join(node.folder, 'clock-jump'), String(seconds))
  node.server.signal('SIGUSR2')
}

/** A client cached by a node, to be deleted elsewhere while that node receives no notifications. */
async function createClient(node: Node): Promise<{ remove(at: Node): Promise<void>; isUnknown(): Promise<void> }> {
  const id = `former-${Date.now()}`
  const manage = async (at: Node, method: string, path: string, json?: unknown): Promise<number> => {
    const options = { form: { grant_type: 'client_credentials' }, basic: basicOf('directory') }
    const bearer = String((await send(`${at.baseUrl}/oauth/token`, options)).json()['access_token'])
    return (await send(at.baseUrl + path, { method, bearer, ...(json !== undefined && { json }) })).status
  }
  const record = { client_id: id, client_secret: `${id}-secret`, authorized_grant_types: ['client_credentials'] }
  assert.equal(await manage(node, 'POST', '/oauth/clients', { ...record, authorities: ['jobs.run'] }), 201)
  assert.equal(await tokenFrom(node, id), 200)
  return {
    remove: async at => assert.equal(await manage(at, 'DELETE', `/oauth/clients/${id}`), 200),
    isUnknown: async () => assert.equal(await tokenFrom(node, id), 401, 'a deleted client is still known'),
  }
}
