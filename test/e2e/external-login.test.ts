// docs/external-login.md, as the operator of a login server follows it: its configuration and its commands, in their order,
// against a process. The client of the login server has `oauth.login` and nothing else.
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { decodeJwt } from 'jose'
import { temporaryFolder } from '../support/config.ts'
import { serve } from '../support/process.ts'
import type { ServerProcess } from '../support/process.ts'

const PAGE = readFileSync(join(import.meta.dirname, '../../docs/external-login.md'), 'utf8')
const SECRETS = { LOGIN_SECRET: 'login-secret-of-the-page', SHOP_SECRET: 'shop-secret-of-the-page' }

const blocksOf = (language: string): readonly string[] =>
  Array.from(PAGE.matchAll(/^```(\w*)\n([^]*?)^```$/gm))
    .filter(match => match[1] === language)
    .map(match => match[2] ?? '')

describe('docs/external-login.md', () => {
  let server: ServerProcess
  const [setUp = '', code = '', approval = '', tokens = '', authenticate = '', autologin = ''] = blocksOf('sh')
  before(async () => {
    const folder = temporaryFolder()
    const [yaml = ''] = blocksOf('yaml')
    writeFileSync(join(folder, 'latchkey.yml'), yaml)
    server = await serve({ folder, env: SECRETS, args: ['--config', 'latchkey.yml', '--database', 'sqlite::memory:'] })
  })
  after(() => server.stop('SIGKILL'))

  /** Runs commands of the page after those that get the token. */
  function paste(commands: string): string {
    const script = (setUp + commands).replaceAll('localhost:8080', `localhost:${server.port}`)
    const { status, stdout, stderr } = spawnSync('sh', ['-c', script], {
      encoding: 'utf8',
      env: { PATH: process.env['PATH'], ...SECRETS },
    })
    assert.equal(status, 0, stderr)
    return stdout
  }

  const redirectIn = (answer: string): URL => {
    const [, location] = /^location: (\S+)/im.exec(answer) ?? []
    assert.ok(location, answer)
    return new URL(location)
  }

  const exchange = async (granted: string): Promise<Record<string, unknown>> => {
    const answer = await fetch(`${server.baseUrl}/oauth/token`, {
      method: 'POST',
      headers: { authorization: `Basic ${btoa(`shop:${SECRETS.SHOP_SECRET}`)}` },
      body: new URLSearchParams({
        grant_type: 'authorization_code',
        code: granted,
        redirect_uri: 'https://shop.example/cb',
      }),
    })
    assert.equal(answer.status, 200)
    return (await answer.json()) as Record<string, unknown>
  }

  it('has six blocks of commands', () => {
    assert.equal(blocksOf('sh').length, 6)
  })

  it('issues a code for a new user, which can be exchanged', async () => {
    const redirect = redirectIn(paste(code))
    assert.equal(redirect.searchParams.get('state'), 's1')
    const { id_token } = await exchange(redirect.searchParams.get('code') ?? '')
    assert.equal(decodeJwt(String(id_token))['email'], undefined, 'the scope was not asked for')
    assert.deepEqual(decodeJwt(String(id_token))['amr'], ['ext'])
  })

  it('requests approval from the user, and sends the decision', async () => {
    const question = paste(approval.replace(/ \\\n {2}-d user_oauth_approval=.*/, ''))
    assert.match(question, /^HTTP\/1.1 200 /)
    assert.match(question, /"undecided_scopes":\[\{"code":"scope\.password\.write"/)
    const { scope } = await exchange(redirectIn(paste(approval)).searchParams.get('code') ?? '')
    assert.equal(scope, 'password.write')
  })

  it('issues tokens for the user', () => {
    const { access_token } = JSON.parse(paste(tokens)) as Record<string, string>
    const { user_name, origin, client_id } = decodeJwt(access_token ?? '')
    assert.deepEqual([user_name, origin, client_id], ['erin', 'acme', 'shop'])
  })

  it('checks a password', () => {
    const { user_id, ...rest } = JSON.parse(paste(authenticate)) as Record<string, string>
    assert.match(user_id ?? '', /^[\da-f-]{36}$/)
    const origin = rest['origin']
    assert.deepEqual(rest, { username: 'marissa', origin, email: 'marissa@example.org' })
  })

  it('signs a browser in with a code', async () => {
    const { code: value, path } = JSON.parse(paste(autologin)) as Record<string, string>
    const query = new URLSearchParams({
      response_type: 'code',
      client_id: 'shop',
      scope: 'openid',
      redirect_uri: 'https://shop.example/cb',
      code: value ?? '',
    })
    const visit = (): Promise<Response> =>
      fetch(`${server.baseUrl}${path}?${query.toString()}`, { redirect: 'manual', headers: { accept: 'text/html' } })
    const answer = await visit()
    assert.equal(answer.status, 302)
    const granted = new URL(answer.headers.get('location') ?? '').searchParams.get('code')
    assert.ok((await exchange(granted ?? ''))['id_token'])
    assert.equal((await visit()).status, 400, 'a second visit')
  })

  it('allows nothing else with the token', () => {
    const commands = `for path in Users Groups oauth/clients identity-providers userinfo; do
      curl -s -o /dev/null -w '%{http_code} ' -H "Authorization: Bearer $TOKEN" "$BASE/$path"; done`
    assert.deepEqual(new Set(paste(commands).trim().split(' ')), new Set(['403']))
  })
})
