import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { openSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { fileURLToPath } from 'node:url'
import { temporaryFolder } from '../support/config.ts'

const launcher = fileURLToPath(new URL('../../bin/latchkey.cjs', import.meta.url))
const folder = temporaryFolder()
writeFileSync(join(folder, 'good.yml'), 'service: svc\nsmtp: { host: localhost }\n')
writeFileSync(join(folder, 'warned.yml'), 'base_url: http://id.example\n')
writeFileSync(join(folder, 'bad.yml'), 'servise: svc\nbootstrap: { clients: [ { client_id: a } ] }\n')

/** Runs the command until it exits; none of these starts a server. */
function latchkey(
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
  output: 'pipe' | number = 'pipe',
) {
  const { status, stdout, stderr } = spawnSync(process.execPath, [launcher, ...args], {
    cwd: folder,
    stdio: ['pipe', output, 'pipe'],
    env: { PATH: process.env['PATH'], ...env },
    encoding: 'utf8',
    timeout: 60_000,
    killSignal: 'SIGKILL',
  })
  return { status, stdout, stderr }
}

describe('latchkey', () => {
  const cases = [
    // Covers latchkey: --help
    {
      name: 'prints its help',
      args: ['--help'],
      status: 0,
      stdout: /Usage: \S*bin\/latchkey \[command\][^]*serve[^]*check-config/,
      stderr: /^$/,
    },
    {
      name: 'prints the help of a command',
      args: ['keys', '-h'],
      status: 0,
      stdout: /^Usage: \S*bin\/latchkey keys list\|add\|activate\|retire \[options\]\n\n {2}keys (?![^]*backup)/,
      stderr: /^$/,
    },
    {
      name: 'prints the help of a command after "help"',
      args: ['help', 'serve'],
      status: 0,
      stdout: /^Usage: \S*bin\/latchkey serve \[options\]\n/,
      stderr: /^$/,
    },
    { name: 'prints its help after "help"', args: ['help'], status: 0, stdout: /check-config/, stderr: /^$/ },
    {
      name: 'prints its version and that of Node.js',
      args: ['--version'],
      status: 0,
      stdout: /^latchkey \d+\.\d+\.\d+, Node\.js \d+\.\d+\.\d+\n$/,
      stderr: /^$/,
    },
    {
      name: 'rejects "help" with an unknown command',
      args: ['frob', '--help'],
      status: 2,
      stdout: /^$/,
      stderr: /^latchkey: frob is not a command/,
    },
    {
      name: 'refers to the help of a command used incorrectly',
      args: ['backup'],
      status: 2,
      stdout: /^$/,
      stderr: /^latchkey: Option '--to <value>' is missing \(see \S*bin\/latchkey backup --help\)\n$/,
    },
    {
      name: 'rejects an unknown command in one line',
      args: ['frob'],
      status: 2,
      stdout: /^$/,
      stderr: /^latchkey: frob is not a command \(see \S*bin\/latchkey --help\)\n$/,
    },
    {
      name: 'rejects an unknown option in one line',
      args: ['--prot', '1'],
      status: 2,
      stdout: /^$/,
      stderr: /^latchkey: Unknown option '--prot' \(see \S*bin\/latchkey --help\)\n$/,
    },
    {
      name: 'rejects an option without its value',
      args: ['serve', '--port'],
      status: 2,
      stdout: /^$/,
      stderr: /^latchkey: Option '--port <value>' argument missing[^\n]*\n$/,
    },
    {
      name: 'rejects a repeated option',
      args: ['--port=1', '--port=2'],
      status: 2,
      stdout: /^$/,
      stderr: /^latchkey: Option '--port' is given twice[^\n]*\n$/,
    },
    {
      name: 'rejects an unexpected argument',
      args: ['serve', 'now'],
      status: 2,
      stdout: /^$/,
      stderr: /^latchkey: Unexpected argument 'now'[^\n]*\n$/,
    },
    {
      name: 'does not start with an invalid configuration',
      args: ['--config', 'bad.yml'],
      status: 2,
      stdout: /^$/,
      stderr:
        /^latchkey: servise: is not a known key; did you mean service\?\nlatchkey: bootstrap\.clients\[0\]\.authorized_grant_types: /,
    },
    {
      name: 'does not start the playground on a public address',
      args: ['--host', '0.0.0.0'],
      status: 2,
      stdout: /^$/,
      stderr: /^latchkey: --host: /,
    },
    {
      name: 'check-config prints ok without a file, and that none was checked',
      args: ['check-config'],
      status: 0,
      stdout: /^ok\n$/,
      stderr: /^latchkey: warning: no file was checked: name it by --config or LATCHKEY_CONFIG\n$/,
    },
    // Covers latchkey: check-config
    {
      name: 'check-config prints ok',
      args: ['check-config', '--config', 'good.yml'],
      status: 0,
      stdout: /^ok\n$/,
      stderr: /^$/,
    },
    {
      name: 'check-config prints warnings separately',
      args: ['check-config', '--config', 'warned.yml'],
      status: 0,
      stdout: /^ok\n$/,
      stderr: /^latchkey: warning: base_url /,
    },
    {
      name: 'check-config lists every problem',
      args: ['check-config', '--config', 'bad.yml'],
      status: 2,
      stdout: /^$/,
      stderr: /^latchkey: servise: .*\nlatchkey: bootstrap\.clients\[0\].*\n$/,
    },
    {
      name: 'check-config prints the schema',
      args: ['check-config', '--schema'],
      status: 0,
      stdout: /"title": "Latchkey configuration"/,
      stderr: /^$/,
    },
    {
      name: 'check-config rejects options of serve',
      args: ['check-config', '--port', '1'],
      status: 2,
      stdout: /^$/,
      stderr: /^latchkey: Unknown option '--port'/,
    },
  ]
  for (const { name, args, status, stdout, stderr } of cases) {
    it(name, () => {
      const got = latchkey(args)
      assert.match(got.stderr, stderr)
      assert.match(got.stdout, stdout)
      assert.equal(got.status, status)
    })
  }

  it('has the same commands in its help and docs/operate.md', () => {
    const documented = readFileSync(new URL('../../docs/operate.md', import.meta.url), 'utf8')
    const inTable = [...documented.matchAll(/^\| `latchkey ([a-z-]+)/gm)].map(([, name = '']) => name)
    const inHelp = [...latchkey(['--help']).stdout.matchAll(/^ {2}([a-z][a-z-]+) {2,}\S/gm)].map(
      ([, name = '']) => name,
    )
    const commands = inTable.filter(name => !name.startsWith('--'))
    assert.ok(inHelp.includes('serve'))
    assert.deepEqual([...new Set(commands)].toSorted(), inHelp.toSorted())
  })

  it('reads the file named in the environment', () => {
    const { status, stderr } = latchkey(['check-config'], { LATCHKEY_CONFIG: 'bad.yml' })
    assert.equal(status, 2)
    assert.match(stderr, /servise/)
  })

  it('reports a used port in one line, with status 1', async () => {
    const other = createServer()
    await new Promise<void>(resolve => other.listen(0, '127.0.0.1', resolve))
    const address = other.address()
    assert.ok(typeof address === 'object' && address !== null)
    const { status, stderr } = latchkey(['--port', String(address.port), '--database', 'sqlite::memory:'])
    other.close()
    assert.match(stderr, /^latchkey: [^\n]*EADDRINUSE[^\n]*choose another port with --port or listen\.port\n$/)
    assert.equal(status, 1)
  })

  it('reports an unknown listening host in one line, with status 1', () => {
    const { status, stderr } = latchkey(['--config', 'good.yml', '--host', 'no such host', '--port', '0'])
    assert.match(
      stderr,
      /^latchkey: cannot listen on no such host: unknown host \(ENOTFOUND\); change --host or listen\.host\n$/,
    )
    assert.equal(status, 1)
  })

  const isLinux = process.platform === 'linux'
  it('reports in one line that the database’s folder cannot be created', { skip: !isLinux && 'needs /proc' }, () => {
    const { status, stderr } = latchkey(['--database', 'sqlite:/proc/none/of/latchkey.db', '--port', '0'])
    assert.match(stderr, /^latchkey: cannot open the database \/proc\/none\/of\/latchkey\.db: no such file\n$/)
    assert.equal(status, 1)
  })

  it('names the whole path of a database that it cannot open', () => {
    writeFileSync(join(folder, 'a-file'), '')
    const { status, stderr } = latchkey(['--database', 'sqlite:./a-file/latchkey.db', '--port', '0'])
    assert.equal(
      stderr,
      `latchkey: cannot open the database ${join(folder, 'a-file/latchkey.db')}: its parent is not a directory\n`,
    )
    assert.equal(status, 1)
  })

  it('reports that its output cannot be written', { skip: !isLinux && 'needs /dev/full' }, () => {
    const { status, stderr } = latchkey(['--help'], {}, openSync('/dev/full', 'w'))
    assert.equal(stderr, 'latchkey: the output cannot be written: the disk is full\n')
    assert.equal(status, 1)
  })

  it('reports an unreachable database in one line without its password, with status 1', () => {
    const { status, stderr } = latchkey(['--port', '0', '--database', 'postgres://u:hush@127.0.0.1:1/db'])
    assert.match(stderr, /^latchkey: [^\n]+\n$/)
    assert.doesNotMatch(stderr, /hush/)
    assert.equal(status, 1)
  })
})
