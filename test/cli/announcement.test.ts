import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { announcementLine, plainAnnouncement, terminalAnnouncement } from '../../src/cli/announcement.ts'
import { temporaryFolder } from '../support/config.ts'
import { freePort } from '../support/free-port.ts'
import { send } from '../support/visitor.ts'

const playground = {
  baseUrl: 'http://localhost:8080',
  listen: { host: '127.0.0.1', port: 8080, trustedProxies: [] },
  playground: true,
}
const configured = {
  baseUrl: 'https://id.example.org',
  listen: { host: '::1', port: 9000, trustedProxies: [] },
  playground: false,
}
const noPaint = (_style: string, text: string): string => text

describe('The startup message', () => {
  it('has the public URL and the listening address, and no account, with a configuration', () => {
    const line = announcementLine(configured, { version: '1.2.3' })
    const [, before] = /^(.*), with Node\.js \d+\.\d+\.\d+$/.exec(line) ?? []
    assert.equal(before, 'Latchkey 1.2.3 is ready at https://id.example.org, listening on [::1]:9000')
    const terminal = terminalAnnouncement(configured, noPaint)
    assert.match(terminal, /ready at https:\/\/id\.example\.org\n/)
    assert.match(terminal, /^ {2}Listening on {2}\[::1\]:9000$/m)
    assert.doesNotMatch(terminal, /marissa|playground|curl|outbox/)
  })

  for (const [where, text] of [
    ['in a file', plainAnnouncement(playground)],
    ['on a terminal', terminalAnnouncement(playground, (style, part) => `<${style}>${part}</>`)],
  ] as const) {
    it(`has a line with only the command for a token, ${where}`, () => {
      const lines = text.split('\n').filter(line => line.includes('curl'))
      assert.equal(lines.length, 1)
      assert.match(lines[0] ?? '', /^curl -s -u app:appclientsecret [^<]* http:\/\/localhost:8080\/oauth\/token$/)
    })

    it(`has the sign-in page, the mails, the documentation and a warning about the public accounts, ${where}`, () => {
      assert.match(text, /http:\/\/localhost:8080\/login/)
      assert.match(text, /http:\/\/localhost:8080\/docs/)
      assert.match(text, /http:\/\/localhost:8080\/outbox/)
      assert.match(text, /public/)
    })
  }

  it('has aligned columns on a terminal', () => {
    const rows = terminalAnnouncement(playground, noPaint)
      .split('\n')
      .filter(line => /^ {2}\w.* {2}/.test(line))
    assert.equal(rows.length, 6)
    for (const row of rows) assert.match(row, /^ {2}\S.{13}\S/)
  })
})

const hasScript = spawnSync('script', ['--version']).status === 0
const ESCAPE = '\u001b' // stands as ESC in what a terminal shows

describe('Starting on a terminal', { skip: !hasScript && 'script (util-linux) is not installed' }, () => {
  const root = temporaryFolder()
  const launcher = join(import.meta.dirname, '../../bin/latchkey.cjs')

  /** The server on a pseudo-terminal, and its output so far. */
  async function onTerminal(env: Readonly<Record<string, string>>) {
    const port = await freePort()
    const command = `exec '${process.execPath}' '${launcher}' --port ${port} --database sqlite::memory:`
    const child = spawn('script', ['-qec', command, '/dev/null'], {
      cwd: root,
      env: { PATH: process.env['PATH'], TERM: 'xterm-256color', ...env },
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    const screen = { text: '' }
    child.stdout
      .setEncoding('utf8')
      .on('data', (part: string) => (screen.text += part.replaceAll('\r\n', '\n').replaceAll(ESCAPE, 'ESC')))
    const shows = async (pattern: RegExp): Promise<void> => {
      while (!pattern.test(screen.text)) await once(child.stdout, 'data')
    }
    await shows(/Never let others reach it/)
    return { screen, shows, baseUrl: `http://localhost:${port}`, stop: () => stop(child) }
  }

  async function stop(child: ChildProcess): Promise<void> {
    const ended = once(child, 'exit')
    child.kill('SIGTERM')
    await ended
  }

  it('prints colours and a readable log', async () => {
    const { screen, shows, baseUrl, stop } = await onTerminal({})
    try {
      assert.match(screen.text, /ESC\[1mLatchkeyESC\[22m is ready/)
      assert.match(screen.text, /^curl (?!.*ESC).*token$/m)
      await send(`${baseUrl}/oauth/token`, {
        form: { grant_type: 'client_credentials' },
        basic: [`x${ESCAPE}[2J`, 'y'],
      })
      await shows(/audit.*ClientAuthenticationFailure/)
      assert.doesNotMatch(screen.text, /ESC\[2J|^\{/m)
    } finally {
      await stop()
    }
  })

  it('prints no colours with NO_COLOR', async () => {
    const { screen, stop } = await onTerminal({ NO_COLOR: '1' })
    await stop()
    assert.match(screen.text, /^● Latchkey is ready at http/m)
    assert.doesNotMatch(screen.text, /ESC\[\d/)
  })
})
