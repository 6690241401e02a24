// What the server has answered for holds after its process was killed in the middle of everything. Each round drives load
// against the real process, remembers every answer, kills it without warning, and asks the next process about all of it.
import assert from 'node:assert/strict'
import { createHash, randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { Agent } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { describe, it } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { Client } from 'pg'
import { DATABASE_KINDS, freshDatabase } from '../support/databases.ts'
import { launch, serve } from '../support/process.ts'
import type { ServerProcess } from '../support/process.ts'
import { thinned } from '../support/thinning.ts'
import { send, visit } from '../support/visitor.ts'
import type { Incoming, Visitor } from '../support/visitor.ts'

/** The number of responses before each kill. */
const ANSWERS = [...thinned([100, 200, 130, 250], 2)]
const REDIRECT_URI = 'http://127.0.0.1:9/cb'
const askers = Array.from({ length: 200 }, (_, index) => `asker-${index}`)

const config = {
  zone_config: { tokenPolicy: { refreshTokenRotate: true } },
  bootstrap: {
    groups: [{ displayName: 'cloud.read' }],
    clients: [
      {
        client_id: 'app',
        client_secret: 'app-secret',
        authorized_grant_types: ['authorization_code', 'refresh_token', 'password'],
        scope: ['openid', 'cloud.read'],
        redirect_uri: [REDIRECT_URI],
        autoapprove: true,
      },
      // Each is asked about once; without secrets, because every secret costs a hash at the first start.
      ...askers.map(client_id => ({
        client_id,
        allowpublic: true,
        authorized_grant_types: ['authorization_code'],
        scope: ['openid'],
        redirect_uri: [REDIRECT_URI],
      })),
    ],
    users: [{ userName: 'marissa', password: 'koala', emails: [{ value: 'marissa@example.org' }] }],
  },
}

/** Everything that the server has acknowledged. */
interface Promised {
  /** Codes not yet sent. */
  readonly codes: Set<string>
  /** Refresh tokens not yet sent. */
  readonly refreshTokens: Set<string>
  readonly sessions: Visitor[]
  /** Clients that were approved. */
  readonly approved: string[]
  /** Codes and refresh tokens exchanged successfully. */
  readonly spentCodes: string[]
  readonly spentTokens: string[]
  /** Codes and refresh tokens sent without a response: each may have been used. */
  readonly doubtfulCodes: Set<string>
  readonly doubtfulTokens: Set<string>
}

const nothing = (): Promised => ({
  codes: new Set(),
  refreshTokens: new Set(),
  sessions: [],
  approved: [],
  spentCodes: [],
  spentTokens: [],
  doubtfulCodes: new Set(),
  doubtfulTokens: new Set(),
})

/** The requests of this test against one process. */
function requestsTo({ baseUrl }: ServerProcess) {
  const agent = new Agent({ keepAlive: true, maxSockets: 16 })
  const token = (form: Readonly<Record<string, string>>): Promise<Incoming> =>
    send(`${baseUrl}/oauth/token`, { form, basic: ['app', 'app-secret'], agent })
  return {
    close: () => agent.destroy(),
    async signIn(): Promise<Visitor> {
      const visitor = visit(baseUrl, agent)
      await visitor.signIn('marissa', 'koala')
      return visitor
    },
    redeem: (code: string) => token({ grant_type: 'authorization_code', code, redirect_uri: REDIRECT_URI }),
    refresh: (value: string) => token({ grant_type: 'refresh_token', refresh_token: value }),
    logIn: () => token({ grant_type: 'password', username: 'marissa', password: 'koala' }),
  }
}

const authorization = (clientId: string): Record<string, string> => ({
  response_type: 'code',
  client_id: clientId,
  redirect_uri: REDIRECT_URI,
})

const proof = (): Record<string, string> => ({
  code_challenge: createHash('sha256').update(randomBytes(8)).digest('base64url'),
  code_challenge_method: 'S256',
})

function refreshTokenOf(answer: Incoming): string {
  assert.equal(answer.status, 200, answer.text)
  return String(answer.json()['refresh_token'])
}

function codeOf(location: URL | undefined): string {
  const code = location?.searchParams.get('code')
  assert.ok(code, `no code in ${location?.href}`)
  return code
}

const STOCK = 4

/** Removes the oldest member of the set, unless few are left. */
function take(set: Set<string>): string | undefined {
  const [first] = set
  if (first === undefined || set.size <= STOCK) return undefined
  set.delete(first)
  return first
}

/** Sends concurrent requests of every kind until the process is killed, after this many responses. */
async function loadAndKill(server: ServerProcess, promised: Promised, answers: number): Promise<void> {
  const requests = requestsTo(server)
  const visitor = await requests.signIn()
  promised.sessions.push(visitor)
  let left = answers
  let hasFailed = false
  const isKilled = (): boolean => left <= 0 && missingKinds(promised).length === 0
  /** Steps of a driver; undefined if there was nothing to do yet. */
  const drivers: readonly (() => Promise<unknown>)[] = [
    async () => promised.sessions.push(await requests.signIn()),
    async () => promised.codes.add(codeOf(await visitor.authorize(authorization('app')))),
    async () => promised.codes.add(codeOf(await visitor.authorize(authorization('app')))),
    async () => promised.refreshTokens.add(refreshTokenOf(await requests.logIn())),
    async () => {
      const code = take(promised.codes)
      if (code === undefined) return undefined
      promised.doubtfulCodes.add(code)
      promised.refreshTokens.add(refreshTokenOf(await requests.redeem(code)))
      promised.doubtfulCodes.delete(code)
      return promised.spentCodes.push(code)
    },
    async () => {
      const value = take(promised.refreshTokens)
      if (value === undefined) return undefined
      promised.doubtfulTokens.add(value)
      promised.refreshTokens.add(refreshTokenOf(await requests.refresh(value)))
      promised.doubtfulTokens.delete(value)
      return promised.spentTokens.push(value)
    },
    async () => {
      const clientId = askers[askersUsed]
      askersUsed += 1
      if (clientId === undefined) return undefined
      const approver = visit(server.baseUrl) // the page that waits for an answer belongs to a session
      for (const [name, value] of visitor.cookies) approver.cookies.set(name, value)
      assert.equal(await approver.authorize({ ...authorization(clientId), ...proof() }), undefined, 'no page')
      codeOf(await approver.approve())
      return promised.approved.push(clientId)
    },
  ]
  await Promise.all(
    drivers.map(async drive => {
      while (!isKilled() && !hasFailed) {
        try {
          if ((await drive()) === undefined) await nextTurn()
          else left -= 1
          if (isKilled()) server.signal('SIGKILL')
        } catch (error) {
          if (hasFailed || (isKilled() && isBrokenConnection(error))) return
          hasFailed = true
          throw error
        }
      }
    }),
  )
  requests.close()
  assert.equal((await server.ended).signal, 'SIGKILL')
}

let askersUsed = 0

/** Objects without an acknowledged state, which may exist or not. */
const missingKinds = (promised: Promised): readonly string[] =>
  Object.entries(promised)
    .filter(([kind, { size, length }]) => !kind.startsWith('doubtful') && (size ?? length) === 0)
    .map(([kind]) => kind)

const isBrokenConnection = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && /^(?:ECONNRESET|ECONNREFUSED|EPIPE)$/.test(String(error.code))

/** Uses everything acknowledged, and records codes and tokens as used. */
async function collect(server: ServerProcess, promised: Promised): Promise<void> {
  const requests = requestsTo(server)
  for (const { cookies } of promised.sessions) {
    const visitor = visit(server.baseUrl)
    for (const [name, value] of cookies) visitor.cookies.set(name, value)
    assert.ok(await visitor.isSignedIn(), 'a session was lost')
  }
  const visitor = await requests.signIn()
  for (const clientId of promised.approved) {
    codeOf(await visitor.authorize({ ...authorization(clientId), ...proof() }))
  }

  const refreshes = await Promise.all(Array.from(promised.refreshTokens, value => requests.refresh(value)))
  // A token whose successor nobody used might be asked for once more by a client that lost the answer; these are used.
  const successors = await Promise.all(refreshes.map(answer => requests.refresh(refreshTokenOf(answer))))
  for (const answer of successors) refreshTokenOf(answer)
  promised.spentTokens.push(...promised.refreshTokens)
  const redemptions = await Promise.all(Array.from(promised.codes, code => requests.redeem(code)))
  for (const answer of redemptions) refreshTokenOf(answer)
  promised.spentCodes.push(...promised.codes)

  for (const [values, use] of [
    [promised.doubtfulCodes, requests.redeem],
    [promised.doubtfulTokens, requests.refresh],
  ] as const) {
    for (const value of values) {
      const first = await use(value)
      assert.ok(first.status === 200 || first.json()['error'] === 'invalid_grant', first.text)
      if (first.status === 200) refreshTokenOf(await requests.refresh(refreshTokenOf(first)))
      assertSpent(await use(value))
    }
  }
  const replays = await Promise.all([
    ...promised.spentCodes.map(code => requests.redeem(code)),
    ...promised.spentTokens.map(value => requests.refresh(value)),
  ])
  for (const answer of replays) assertSpent(answer)
  requests.close()
}

function assertSpent(answer: Incoming): void {
  assert.equal(answer.status, 400, answer.text)
  assert.equal(answer.json()['error'], 'invalid_grant')
}

for (const kind of DATABASE_KINDS) {
  describe(`A killed process, on ${kind}`, () => {
    it('loses nothing acknowledged, and issues nothing twice', { timeout: 60_000 }, async t => {
      const database = await freshDatabase(kind)
      const folder = mkdtempSync(join(tmpdir(), 'latchkey-durability-'))
      const options = { config: { ...config, database: database.url }, folder }
      let server: ServerProcess | undefined
      askersUsed = 0
      try {
        const all: Promised[] = []
        for (const answers of ANSWERS) {
          server = await serve(options)
          const promised = nothing()
          await loadAndKill(server, promised, answers)
          t.diagnostic(summaryOf(promised))
          server = await serve({ ...options, port: server.port })
          await collect(server, promised)
          await server.stop('SIGKILL')
          all.push(promised)
        }
        server = await serve(options)
        const requests = requestsTo(server)
        for (const { spentCodes, spentTokens } of all) {
          for (const code of spentCodes) assertSpent(await requests.redeem(code))
          for (const value of spentTokens) assertSpent(await requests.refresh(value))
        }
        requests.close()
      } finally {
        await server?.stop('SIGKILL')
        await database.drop()
        rmSync(folder, { recursive: true })
      }
    })

    it('can be restarted, even after its first start was interrupted', async () => {
      let wasInTheMiddle = false
      for (let attempt = 0; attempt < 5 && !wasInTheMiddle; attempt += 1) {
        const database = await freshDatabase(kind)
        const folder = mkdtempSync(join(tmpdir(), 'latchkey-durability-'))
        const options = { config: { ...config, database: database.url }, folder }
        try {
          const files = { 'latchkey.json': JSON.stringify(options.config) }
          const first = launch(['serve', '--config', 'latchkey.json', '--port', '0'], { folder, files })
          const over = new AbortController()
          const ended = first.ended.finally(() => over.abort())
          while (!over.signal.aborted && (await clientsIn(database.url)) === 0) await nextTurn()
          first.signal('SIGKILL')
          assert.equal((await ended).signal, 'SIGKILL', first.stderr)
          wasInTheMiddle = (await clientsIn(database.url)) < askers.length + 1
          const second = await serve(options)
          assert.equal(await clientsIn(database.url), askers.length + 1)
          const requests = requestsTo(second)
          refreshTokenOf(await requests.logIn())
          requests.close()
          await second.stop('SIGKILL')
        } finally {
          await database.drop()
          rmSync(folder, { recursive: true })
        }
      }
      assert.ok(wasInTheMiddle)
    })
  })
}

const summaryOf = (promised: Promised): string =>
  Object.entries(promised)
    .map(([name, { size, length }]) => `${name} ${size ?? length}`)
    .join(', ')

/** How many clients the database holds; none before it has a table for them. */
async function clientsIn(url: string): Promise<number> {
  if (url.startsWith('sqlite:')) {
    try {
      const file = new DatabaseSync(url.slice('sqlite:'.length), { readOnly: true })
      try {
        return Number(file.prepare('select count(*) as number from clients').get()?.['number'])
      } finally {
        file.close()
      }
    } catch {
      return 0
    }
  }
  const client = new Client({ connectionString: url })
  await client.connect()
  try {
    const { rows } = await client.query<{ number: string }>('select count(*) as number from clients')
    return Number(rows[0]?.number)
  } catch {
    return 0
  } finally {
    await client.end()
  }
}
