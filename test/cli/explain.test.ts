import assert from 'node:assert/strict'
import { before, describe, it } from 'node:test'
import { createRandom } from '../../src/base/random.ts'
import { systemClock } from '../../src/base/clock.ts'
import { createVault } from '../../src/base/secrets.ts'
import { UsageError } from '../../src/cli/command.ts'
import { explainCommand } from '../../src/cli/explain/explain.ts'
import { explanationTable } from '../../src/cli/explain/explanation-table.ts'
import type { RecordedEvent } from '../../src/oauth/explain/explanation.ts'
import { createAuditRecorder } from '../../src/ops/audit/recorder.ts'
import { openStore } from '../../src/store/open.ts'
import { temporaryFolder } from '../support/config.ts'
import { explainConfig } from '../support/explain.ts'
import { runToEnd, serve } from '../support/process.ts'

describe('latchkey explain', () => {
  const folder = temporaryFolder()
  let token = ''
  before(async () => {
    const config = { database: 'sqlite:./explain.db', log: { requests: 'context' }, ...explainConfig() }
    const server = await serve({ folder, config })
    const ask = async (form: Record<string, string>) =>
      fetch(`${server.baseUrl}/oauth/token`, {
        method: 'POST',
        headers: { authorization: `Basic ${btoa('wild:wild-secret')}` },
        body: new URLSearchParams({ grant_type: 'password', username: 'marissa', password: 'koala', ...form }),
      })
    const answer = await ask({})
    token = ((await answer.json()) as { access_token: string }).access_token
    const refused = await ask({ scope: 'cloud.write' })
    assert.equal(refused.status, 400)
    requestId = refused.headers.get('x-request-id') ?? ''
    ;({ baseUrl } = server)
    await server.stop()
  })
  let requestId = ''
  let baseUrl = ''

  const explain = (args: readonly string[], input = '') =>
    runToEnd(['explain', '--config', 'latchkey.json', ...args], { folder, input, env: { LATCHKEY_BASE_URL: baseUrl } })

  // Covers latchkey explain: `--client`, `--user`, `--scope`
  it('prints what a user gets through a client, in a hundred columns', async () => {
    const { status, stdout, stderr } = await explain([
      '--client',
      'wild',
      '--user',
      'marissa',
      '--scope',
      'openid cloud.read',
    ])
    assert.equal(status, 0, stderr)
    assert.match(stdout, /^GRANTED$/m)
    assert.match(stdout, /granted +cloud\.read +The user is in the group cloud\.read\. \[user-group\]/)
    assert.match(stdout, /not given +.*scim\.me.*\[client-scope\]/s)
    assert.deepEqual(
      stdout.split('\n').filter(line => line.length > 100),
      [],
    )
  })

  // Covers latchkey explain: --token
  it('reads a token from standard input, without printing it', async () => {
    const { status, stdout, stderr } = await explain(['--token', '-'], `${token}\n`)
    assert.equal(status, 0, stderr)
    assert.match(stdout, /^VALID$/m)
    assert.match(stdout, /access_token +email +marissa@example\.org/)
    assert.ok(!stdout.includes(token) && !stderr.includes(token))
  })

  // Covers POST /explain: request_id
  it('finds a refusal by its request id, among newer failures, as JSON', async () => {
    const random = createRandom()
    const store = await openStore(`sqlite:${folder}/explain.db`, { clock: systemClock, onError: () => {} })
    const hashes = createVault(Buffer.alloc(32, 7), random)
    const log = { warn: () => {}, fault: () => {} }
    const recorder = createAuditRecorder({ store, hashes, clock: systemClock, excluded: new Set(), log })
    const newer = { type: 'TokenRefusedEvent', zoneId: 'svc', principal: 'app', clientId: 'app', data: '{}' } as const
    for (let other = 0; other < 600; other += 1) recorder.record(newer)
    await recorder.stop()
    await store.close()
    const { status, stdout, stderr } = await explain(['--request', requestId, '--json'])
    assert.equal(status, 0, stderr)
    const { recorded, refusals } = JSON.parse(stdout) as {
      recorded: { request_id: string; refusal: Record<string, string> }
      refusals: { rule: string }[]
    }
    assert.deepEqual([recorded.request_id, recorded.refusal['scope']], [requestId, 'cloud.write'])
    assert.deepEqual(
      refusals.map(({ rule }) => rule),
      ['no-scope-left'],
    )
    const unknown = await explain(['--request', 'nothing'])
    assert.deepEqual([unknown.status, unknown.stdout], [1, ''])
    assert.match(unknown.stderr, /has this request id/)
  })

  it('prints the data of a failed sign-in, and the request of a refusal', () => {
    const common = { number: 7, time: '2026-01-15T12:00:00.000Z', principal: 'u-1' }
    const shown = (recorded: RecordedEvent, request = {}): string =>
      explanationTable({
        decision: 'refused',
        request,
        scopes: [],
        tokens: [],
        claims: [],
        refusals: [],
        outstanding: [],
        not_checked: [],
        recorded,
      })
    const locked = shown({ ...common, type: 'PrincipalAuthenticationFailure', data: 'the account is locked' })
    assert.match(locked, /^ {2}data +the account is locked$/m)
    const refusal = { rule: 'no-scope-left' }
    const refused = shown({ ...common, type: 'TokenRefusedEvent', data: JSON.stringify(refusal), refusal })
    assert.match(refused, /^ {2}rule +no-scope-left$/m)
    assert.doesNotMatch(refused, /^ {2}data/m)
    assert.doesNotMatch(refused, /REFUSED/, 'no decision was repeated')
    const again = shown({ ...common, type: 'TokenRefusedEvent', refusal }, { client_id: 'app' })
    assert.match(again, /^REFUSED$/m)
  })

  const wrong: readonly [name: string, args: readonly string[], message: RegExp][] = [
    ['no question', [], /requires one of/],
    ['two questions', ['--client', 'app', '--event', '1'], /requires one of/],
    ['a token on the command line', ['--token', 'abc'], /standard input/],
    [
      'an unknown grant',
      ['--client', 'app', '--grant', 'foo'],
      /--grant must be one of authorization_code, .*\bexchange$/,
    ],
    ['an invalid event number', ['--event', 'first'], /number of an event/],
    ['an id and a name', ['--client', 'app', '--user', 'marissa', '--user-id', '1'], /cannot be used with/],
  ]
  for (const [name, args, message] of wrong) {
    it(`rejects ${name}`, async () => {
      await assert.rejects(explainCommand.run(args), (error: unknown) => {
        assert.ok(error instanceof UsageError)
        assert.match(error.message, message)
        return !error.message.includes('abc')
      })
    })
  }
})
