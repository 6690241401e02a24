// What README.md tells users to paste, pasted. Only ports are changed, so that the tests can run beside other servers.
import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { temporaryFolder } from './support/config.ts'
import { freePort } from './support/free-port.ts'
import { runToEnd, serve } from './support/process.ts'
import type { ServerProcess } from './support/process.ts'
import { send, visit } from './support/visitor.ts'

const ROOT = join(import.meta.dirname, '..')
const README = readFileSync(join(ROOT, 'README.md'), 'utf8')

/** The code blocks of a language below a heading of README.md. */
const blocksOf = (heading: string, language: string): readonly string[] =>
  blocksIn(README.split(/^## /m).find(text => text.startsWith(`${heading}\n`)) ?? '', language)

function blocksIn(text: string, language: string): readonly string[] {
  return Array.from(text.matchAll(/^```(\w*)\n([^]*?)^```$/gm))
    .filter(match => match[1] === language)
    .map(match => match[2] ?? '')
}

const PATIENCE_MILLISECONDS = 30_000

const has = (program: string): boolean => spawnSync(program, ['--version']).status === 0

/** A process of a group of its own; `stop` ends all of it. */
function run(program: string, args: readonly string[], { cwd, env }: { cwd: string; env: NodeJS.ProcessEnv }) {
  const child = spawn(program, args, { cwd, env, detached: true, stdio: ['ignore', 'pipe', 'pipe'] })
  const output = { text: '' }
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (part: string) => (output.text += part))
  }
  const ended = once(child, 'close')
  return {
    output,
    async shows(pattern: RegExp): Promise<void> {
      const signal = AbortSignal.timeout(PATIENCE_MILLISECONDS)
      const next = () => Promise.race([once(child.stdout, 'data', { signal }), once(child.stderr, 'data', { signal })])
      while (!pattern.test(output.text)) {
        await Promise.race([next(), ended]).catch((cause: unknown) => {
          throw new Error(`it does not show ${String(pattern)}:\n${output.text}`, { cause })
        })
        if (child.exitCode !== null && !pattern.test(output.text)) throw new Error(`it ended instead:\n${output.text}`)
      }
    },
    async stop(): Promise<void> {
      if (child.exitCode === null && child.pid !== undefined) process.kill(-child.pid, 'SIGTERM')
      await ended
    },
  }
}

function environment(added: Readonly<Record<string, string>>): NodeJS.ProcessEnv {
  const inherited = Object.entries(process.env).filter(([name]) => !/^(?:LATCHKEY_|NODE_|npm_)/i.test(name))
  return { ...Object.fromEntries(inherited), ...added }
}

describe('README.md: the playground', { skip: !has('curl') && 'curl is not installed' }, () => {
  let server: ServerProcess
  before(async () => {
    server = await serve({ args: ['--database', 'sqlite::memory:'] })
  })
  after(() => server.stop('SIGKILL'))

  const paste = (commands: string) => {
    const script = commands.replaceAll('localhost:8080', `localhost:${server.port}`)
    const { status, stdout, stderr } = spawnSync('sh', ['-c', script], { encoding: 'utf8' })
    assert.equal(status, 0, stderr)
    return stdout
  }

  it('issues a token to a program', () => {
    const command = blocksOf('Try it', 'sh').find(block => block.includes('client_credentials')) ?? ''
    assert.match(paste(command), /"access_token":"/)
  })

  it('signs a user in and exchanges the code', async () => {
    const address = new URL(blocksOf('Try it', '')[0]?.trim() ?? '')
    const browser = visit(server.baseUrl)
    await browser.signIn('marissa', 'koala')
    const query = Object.fromEntries(address.searchParams)
    const location = (await browser.authorize(query)) ?? (await browser.approve())
    const exchange = blocksOf('Try it', 'sh').find(block => block.includes('authorization_code')) ?? ''
    const code = location.searchParams.get('code') ?? ''
    assert.match(paste(exchange.replace('paste-the-code-here', code)), /"id_token":"/)
  })

  it('has working administration commands', () => {
    const [commands = ''] = blocksOf('Administer it', 'sh')
    const answers = paste(commands)
    assert.equal(answers.match(/"client_id":"report"/g)?.length, 2, answers)
    assert.match(answers, /"subdomain":"acme"/)
    assert.match(answers, /"access_token":"/)
  })

  it('explains a scope as in docs/explain.md', () => {
    const [token = ''] = blocksOf('Administer it', 'sh').join('\n').split('\n\n')
    const page = readFileSync(join(ROOT, 'docs/explain.md'), 'utf8')
    const command = blocksIn(page, 'sh').find(block => block.includes('curl')) ?? ''
    const shown = JSON.parse(blocksIn(page, 'json')[0] ?? '') as { request: Record<string, string> }
    const script = `${token}\nTOKEN=$(token)\n${command.replace('https://id.example.org', 'http://localhost:8080')}`
    const answered = JSON.parse(paste(script)) as typeof shown
    shown.request['user_id'] = answered.request['user_id'] ?? ''
    const common = Object.fromEntries(Object.entries(answered).filter(([name]) => Object.hasOwn(shown, name)))
    assert.deepEqual(common, shown)
    assert.deepEqual(JSON.parse(paste(`${token}\n${blocksOf('Administer it', 'sh').at(-1) ?? ''}`)), answered)
  })

  it('creates, finds, changes, signs out and deletes users with both APIs', () => {
    const [clients = '', users = '', scim = ''] = blocksOf('Administer it', 'sh')
    const [token = ''] = clients.split('\n\n')
    const answers = paste(`${token}\n${users}`)
    assert.match(answers, /"resources":\[\{.*"userName":"ann"/)
    assert.equal(answers.match(/"givenName":"Anna"/g)?.length, 2, answers)
    const [api = ''] = users.split('\n\n')
    const scimAnswers = paste(`${token}\n${api}\n${scim}`)
    assert.match(scimAnswers, /"Resources":\[\{.*"nickName":"Bob"/)
    assert.match(scimAnswers, /"nickName":"Bobby"/)
    for (const each of [answers, scimAnswers]) assert.doesNotMatch(each, /"error"|"status":"4/)
    assert.doesNotMatch(paste(`${token}\n${api}\napi http://localhost:8080/Users`), /"userName":"(?:ann|bob)"/)
  })
})

describe('docs/explain.md', () => {
  const folder = temporaryFolder()
  before(async () => {
    const server = await serve({ folder, args: ['--database', 'sqlite:./explain.db'] })
    await server.stop()
  })

  it('shows the command’s output', async () => {
    const page = readFileSync(join(ROOT, 'docs/explain.md'), 'utf8')
    const [command = ''] = blocksIn(page, 'sh')
    const [planned = '', pending = ''] = blocksIn(page, '')
    const words = Array.from(command.matchAll(/'([^']*)'|\S+/g), ([word, quoted]) => quoted ?? word).slice(1)
    const printed = async (args: readonly string[]) => {
      const { status, stdout, stderr } = await runToEnd([...args, '--database', 'sqlite:./explain.db'], { folder })
      assert.equal(status, 0, stderr)
      return stdout.replace(/(?<=^ {2}user_id +)\S+/m, /user_id +(\S+)/.exec(planned)?.[1] ?? '')
    }
    const first = await printed(words)
    assert.equal(first.slice(0, planned.length), planned)
    const second = await printed(words.filter(word => word !== '--grant' && word !== 'password'))
    assert.ok(second.includes(`\n${pending}`), second)
  })
})

describe('docs/people.md', { skip: !has('curl') && 'curl is not installed' }, () => {
  it('has working commands', async () => {
    const server = await serve({ args: ['--database', 'sqlite::memory:'] })
    try {
      const commands = blocksIn(readFileSync(join(ROOT, 'docs/people.md'), 'utf8'), 'sh').join('\necho\n')
      const script = commands.replaceAll('localhost:8080', `localhost:${server.port}`)
      const { status, stdout, stderr } = spawnSync('sh', ['-c', script], { encoding: 'utf8' })
      assert.equal(status, 0, stderr)
      assert.doesNotMatch(stdout, /"error"|marissa/)
      for (const answer of [
        /"userName":"ann"/,
        /"locked":false/,
        /"message":"password updated"/,
        /"passwordChangeRequired":true/,
        /"active":false/,
        /"userName":"ben".*"verified":true/,
        /"type":"USER"/,
      ]) {
        assert.match(stdout, answer)
      }
    } finally {
      await server.stop('SIGKILL')
    }
  })
})

describe('README.md: the configuration', { skip: !(has('npm') && has('curl')) && 'npm or curl is missing' }, () => {
  it('is valid, with working commands', async () => {
    const folder = temporaryFolder()
    for (const name of ['package.json', 'bin', 'src', 'scripts', 'assets', 'node_modules']) {
      symlinkSync(join(ROOT, name), join(folder, name))
    }
    const port = await freePort()
    const [yaml = ''] = blocksOf('Run it for real', 'yaml')
    const [start = '', check = ''] = blocksOf('Run it for real', 'sh')
    writeFileSync(join(folder, 'latchkey.yml'), yaml)
    const env = environment({ LATCHKEY_PORT: String(port) })
    const server = run('sh', ['-c', start], { cwd: folder, env })
    try {
      await server.shows(
        new RegExp(
          `^\\{.*"Latchkey \\S+ is ready at https://id\\.example\\.org, listening on 127\\.0\\.0\\.1:${port},`,
          'm',
        ),
      )
      const { stdout } = spawnSync('sh', ['-c', check.replaceAll(':8080', `:${port}`)], { encoding: 'utf8' })
      assert.equal(stdout, 'ok')
      const form = { grant_type: 'refresh_token', refresh_token: 'none' }
      const host = { host: 'id.example.org' }
      const token = (secret: string) =>
        send(`http://127.0.0.1:${port}/oauth/token`, { form, basic: ['shop', secret], headers: host })
      assert.equal((await token('a-long-random-secret')).json()['error'], 'invalid_grant')
      assert.equal((await token('koala')).status, 401)
      const basic = ['admin', 'another-random-secret'] as const
      const asked = { form: { grant_type: 'client_credentials' }, basic, headers: host }
      const admin = (await send(`http://127.0.0.1:${port}/oauth/token`, asked)).json()['access_token']
      for (const path of ['Users', 'oauth/clients', 'identity-zones', 'identity-providers', 'Groups']) {
        const headers = { ...host, authorization: `Bearer ${String(admin)}` }
        assert.equal((await send(`http://127.0.0.1:${port}/${path}`, { headers })).status, 200, path)
      }
    } finally {
      await server.stop()
    }
  })
})

describe('README.md: the application', () => {
  it('signs a user in, and handles reloading the callback and a refusal', async () => {
    const provider = await serve({ args: ['--database', 'sqlite::memory:'] })
    const folder = temporaryFolder()
    const port = await freePort()
    const origin = `http://localhost:${port}`
    const [program = ''] = blocksOf('Use it from an application', 'js')
    const changed = program
      .replaceAll('http://localhost:8080', provider.baseUrl)
      .replaceAll('http://localhost:9000', origin)
      .replace("listen(9000, '127.0.0.1')", `listen(${port}, '127.0.0.1', () => console.log('listening'))`)
    symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'))
    writeFileSync(join(folder, 'app.mjs'), changed)
    const application = run(process.execPath, ['app.mjs'], { cwd: folder, env: environment({}) })
    try {
      await application.shows(/listening/)
      const visitor = visit(origin)
      const browser = visit(provider.baseUrl)
      await browser.signIn('marissa', 'koala')
      // Cookies ignore ports: a browser sends the provider's to the application, before its own.
      for (const [name, value] of browser.cookies) visitor.cookies.set(name, value)
      assert.match((await visitor.send('/')).text, /href="\/login"/)

      const begin = async (): Promise<URL> => {
        const location = (await visitor.send('/login')).headers.location ?? ''
        assert.ok(location.startsWith(`${provider.baseUrl}/oauth/authorize?`), location)
        return (await browser.authorize(Object.fromEntries(new URL(location).searchParams))) ?? browser.approve()
      }
      const back = await begin()
      const callback = back.pathname + back.search
      const first = await visitor.send(callback)
      assert.deepEqual([first.status, first.headers.location], [302, '/'])
      assert.equal((await visitor.send('/')).json()['user_name'], 'marissa')

      const reloaded = await visitor.send(callback)
      assert.deepEqual([reloaded.status, reloaded.headers.location], [302, '/'])
      assert.equal((await visitor.send('/')).json()['user_name'], 'marissa')

      const stranger = visit(origin)
      assert.equal((await stranger.send(callback)).headers.location, '/')
      assert.match((await stranger.send('/')).text, /href="\/login"/)

      const again = await begin()
      again.searchParams.set('state', 'forged')
      assert.equal((await visitor.send(again.pathname + again.search)).status, 400)
      assert.equal((await visitor.send('/')).status, 200)
    } finally {
      await application.stop()
      await provider.stop('SIGKILL')
    }
  })
})
