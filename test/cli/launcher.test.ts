// The launcher with a program of the test's own behind it, so that it can be watched without a server.
import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { once } from 'node:events'
import { createRequire } from 'node:module'
import { cpus } from 'node:os'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { describe, it } from 'node:test'
import { fileURLToPath } from 'node:url'
import { temporaryFolder } from '../support/config.ts'

const PROGRAM = `
const report: Record<string, unknown> = { version: process.versions.node, args: process.argv.slice(2),
  threads: process.env['UV_THREADPOOL_SIZE'], pid: process.pid, flags: process.execArgv,
  launcher: process.env['LATCHKEY_LAUNCHER'] }
if (process.argv[2] === 'wait') process.on('SIGTERM', () => process.exit(7))
if (process.argv[2] === 'wait' || process.argv[2] === 'die') setInterval(() => undefined, 1000)
if (process.argv[2] === 'fail') process.exitCode = 5
console.log(JSON.stringify(report))
`

// The file is plain JavaScript without types, for the sake of old Node.js.
const { findNode, pinnedNode } = createRequire(import.meta.url)('../../bin/find-node.cjs') as {
  readonly findNode: (root: string) => string | undefined
  readonly pinnedNode: (root: string) => string | undefined
}
const repository = fileURLToPath(new URL('../..', import.meta.url))

/** A checkout with nothing but the launcher and the program; `pinned` puts the running Node.js where npm puts it. */
function checkout({ pinned }: { pinned: boolean }): string {
  const root = temporaryFolder()
  mkdirSync(join(root, 'src', 'cli'), { recursive: true })
  cpSync(join(repository, 'bin'), join(root, 'bin'), { recursive: true })
  writeFileSync(join(root, 'src', 'cli', 'latchkey.ts'), PROGRAM)
  writeFileSync(join(root, 'package.json'), '{"type":"module"}')
  // An old Node.js for the launcher: this one with another version.
  const old = "Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '12.22.12' } })"
  writeFileSync(join(root, 'old-node.cjs'), old)
  if (pinned) {
    const place = pinnedNode(repository)?.slice(repository.length) ?? ''
    assert.notEqual(place, '', 'the platform package with the pinned runtime is installed')
    mkdirSync(join(root, place, '..'), { recursive: true })
    symlinkSync(process.execPath, join(root, place))
  }
  return root
}

interface Run {
  readonly old?: boolean
  readonly env?: Readonly<Record<string, string>>
}

const commandOf = (root: string, args: readonly string[], { old = false }: Run): readonly string[] => [
  ...(old ? ['--require', join(root, 'old-node.cjs')] : []),
  join(root, 'bin', 'latchkey.cjs'),
  ...args,
]

function run(root: string, args: readonly string[], how: Run = {}) {
  return spawnSync(process.execPath, commandOf(root, args, how), {
    env: { PATH: process.env['PATH'], HOME: root, ...how.env },
    encoding: 'utf8',
  })
}

describe('The launcher', () => {
  it('runs the program in its own process on a recent Node.js, with a thread pool sized for signing', () => {
    const root = checkout({ pinned: false })
    const { stdout, status } = run(root, ['a', '--b'])
    const report: unknown = JSON.parse(stdout)
    assert.equal(status, 0)
    assert.ok(typeof report === 'object' && report !== null && 'threads' in report)
    assert.equal(Number(report.threads), 3 * cpus().length + 3)
    assert.partialDeepStrictEqual(report, { version: process.versions.node, args: ['a', '--b'] })
    assert.equal(findNode(repository), process.execPath)
  })

  it('keeps a thread pool size set by the operator', () => {
    const { stdout } = run(checkout({ pinned: false }), [], { env: { UV_THREADPOOL_SIZE: '5' } })
    assert.match(stdout, /"threads":"5"/)
  })

  it('stores compiled code in its own folder', () => {
    const root = checkout({ pinned: false })
    run(root, [])
    assert.ok(existsSync(join(root, 'node_modules', '.cache', 'latchkey')))
  })

  it('starts without a home folder, in a read-only folder', () => {
    const root = checkout({ pinned: false })
    writeFileSync(join(root, 'node_modules'), '') // no folder can be made below it
    writeFileSync(join(root, 'homeless.cjs'), "require('os').homedir = () => { throw new Error('ENOENT') }")
    const { status, stderr } = run(root, [], { env: { NODE_OPTIONS: `--require=${join(root, 'homeless.cjs')}` } })
    assert.deepEqual({ status, stderr }, { status: 0, stderr: '' })
  })

  it('starts the pinned runtime if the running one is too old', () => {
    const { stdout, status } = run(checkout({ pinned: true }), ['x'], { old: true })
    assert.equal(status, 0)
    assert.match(stdout, new RegExp(`"version":"${process.versions.node}","args":\\["x"\\]`))
  })

  it('finds the runtime beside the package, as installed by npm', () => {
    const outer = temporaryFolder()
    const root = join(outer, 'node_modules', 'latchkey')
    const place = pinnedNode(repository)?.slice(repository.length) ?? ''
    mkdirSync(join(outer, place, '..'), { recursive: true })
    writeFileSync(join(outer, place), '')
    assert.equal(pinnedNode(root), join(outer, place))
    assert.equal(pinnedNode(join(outer, 'checkout')), undefined)
  })

  it('loads modules with circular type imports, and names a missing one', () => {
    const root = checkout({ pinned: false })
    mkdirSync(join(root, 'src', 'base'))
    writeFileSync(join(root, 'src', 'cli', 'latchkey.ts'), `import { word } from '../base/word.ts'; console.log(word)`)
    writeFileSync(join(root, 'src', 'base', 'word.ts'), `export const word: string = import.meta.url`)
    assert.match(run(root, []).stdout, /^file:.*base\/word\.ts\n$/)
    rmSync(join(root, 'src', 'base', 'word.ts'))
    const { stderr, status } = run(root, [])
    assert.match(stderr, /word\.ts/)
    assert.equal(status, 1)
  })

  it('exits with the program’s status', () => {
    const root = checkout({ pinned: true })
    assert.equal(run(root, ['fail'], { old: true }).status, 5)
    assert.equal(run(root, ['fail']).status, 5)
  })

  it('explains a missing runtime', () => {
    const { status, stdout, stderr } = run(checkout({ pinned: false }), [], { old: true })
    assert.equal(status, 1)
    assert.equal(stdout, '')
    assert.match(stderr, /^latchkey: .*npm ci/s)
  })

  const signals = [
    { name: 'forwards a signal and exits like the program', program: 'wait', want: 7 },
    { name: 'exits with the signal that ended the program', program: 'die', want: 128 + 15 },
  ]
  for (const { name, program, want } of signals) {
    it(name, async () => {
      const root = checkout({ pinned: true })
      const child = spawn(process.execPath, commandOf(root, [program], { old: true }), {
        stdio: ['ignore', 'pipe', 'inherit'],
      })
      const ended = new Promise<number | null>(resolve => child.on('exit', resolve))
      await new Promise(resolve => child.stdout.once('data', resolve)) // the program runs
      child.kill('SIGTERM')
      assert.equal(await ended, want)
    })
  }
})

describe('The program', { skip: process.platform === 'win32' && 'no process has another parent there' }, () => {
  /** Resolves when the program, which writes there, has ended. */
  const endOf = (output: Readable): Promise<unknown> => once(output.resume(), 'close')

  it('ends as on SIGTERM when its launcher is killed', async () => {
    const command = commandOf(checkout({ pinned: true }), ['wait'], { old: true })
    const launcher = spawn(process.execPath, command, { stdio: ['ignore', 'pipe', 'inherit'] })
    await once(launcher.stdout, 'data')
    launcher.kill('SIGKILL')
    await endOf(launcher.stdout)
  })

  for (const old of [false, true]) {
    for (const killed of ['npx', 'shell'] as const) {
      if (killed === 'npx' && process.platform !== 'linux') continue
      it(`ends when the ${killed} that started ${old ? 'its launcher' : 'it'} is killed`, async () => {
        const root = checkout({ pinned: true })
        const command = [process.execPath, ...commandOf(root, ['wait'], { old })].map(word => `'${word}'`).join(' ')
        // As npm does; the second command prevents the shell from becoming the first one.
        const npx = `
process.title = 'npm exec latchkey'
const shell = require('child_process').spawn('sh', ['-c', ${JSON.stringify(`${command}; true`)}],
  { stdio: 'inherit', env: { ...process.env, npm_command: 'exec' } })
if (${killed === 'shell'}) process.on('SIGUSR2', () => shell.kill('SIGKILL'))
shell.on('exit', () => process.exit())`
        writeFileSync(join(root, 'npx.cjs'), npx)
        const starter = spawn(process.execPath, [join(root, 'npx.cjs'), 'latchkey'], {
          stdio: ['ignore', 'pipe', 'inherit'],
        })
        await once(starter.stdout, 'data')
        starter.kill(killed === 'shell' ? 'SIGUSR2' : 'SIGKILL')
        await endOf(starter.stdout)
      })
    }
  }

  it('keeps running while npx does, also under another account', async () => {
    const root = checkout({ pinned: true })
    // What the system says to a signal to a process of root.
    const refused = `const { kill } = process
process.kill = (pid, signal) => {
  if (signal !== 0) return kill.call(process, pid, signal)
  throw Object.assign(new Error('kill EPERM'), { code: 'EPERM' })
}
global.setInterval = check => {
  check() // it would end the process
  return { unref() {} }
}`
    writeFileSync(join(root, 'refused.cjs'), refused)
    const program = `'${process.execPath}' --require '${join(root, 'refused.cjs')}' '${join(root, 'bin', 'latchkey.cjs')}'`
    const npx = `
process.title = 'npm exec latchkey'
const { status } = require('child_process').spawnSync('sh', ['-c', ${JSON.stringify(`${program}; exit $?`)}],
  { stdio: 'inherit', env: { ...process.env, npm_command: 'exec' } })
process.exitCode = status`
    writeFileSync(join(root, 'npx.cjs'), npx)
    const starter = spawnSync(process.execPath, [join(root, 'npx.cjs'), 'latchkey'], { encoding: 'utf8' })
    assert.equal(starter.status, 0)
    assert.match(starter.stdout, /"pid"/)
  })

  it('watches its parent only for npm exec or an old Node.js, and removes its own variable', () => {
    const root = checkout({ pinned: true })
    writeFileSync(join(root, 'spy.cjs'), "global.setInterval = () => (console.log('watching'), { unref() {} })")
    const NODE_OPTIONS = `--require=${join(root, 'spy.cjs')}`
    const outputOf = (how: Run): string => run(root, [], { ...how, env: { ...how.env, NODE_OPTIONS } }).stdout
    assert.doesNotMatch(outputOf({}), /watching|"launcher"/)
    assert.doesNotMatch(outputOf({ env: { npm_command: 'start' } }), /watching/)
    assert.match(outputOf({ env: { npm_command: 'exec' } }), /^watching\n\{/)
    assert.match(outputOf({ old: true }), /^watching\n\{(?!.*"launcher")/)
  })
})

/** The shell launcher, with a PATH on which `node` is too old. */
function runLauncher(root: string, args: readonly string[], env: Readonly<Record<string, string>> = {}) {
  writeExecutable(
    join(root, 'old', 'node'),
    `exec '${process.execPath}' --require '${join(root, 'old-node.cjs')}' "$@"`,
  )
  return spawnSync(join(root, 'bin', 'latchkey'), args, {
    env: { PATH: `${join(root, 'old')}:${process.env['PATH']}`, HOME: root, ...env },
    encoding: 'utf8',
  })
}

function writeExecutable(path: string, text: string): void {
  mkdirSync(join(path, '..'), { recursive: true })
  rmSync(path, { force: true })
  writeFileSync(path, `#!/bin/sh\n${text}\n`, { mode: 0o755 })
}

const flags = ['--min-semi-space-size=8', '--max-semi-space-size=8']

describe('Preloading packages in bin/latchkey.cjs', () => {
  const root = checkout({ pinned: false })
  for (const name of ['fastify', 'pino']) {
    mkdirSync(join(root, 'node_modules', name), { recursive: true })
    writeFileSync(join(root, 'node_modules', name, 'index.js'), `console.log('${name}')`)
  }
  const loadedBy = (...args: string[]): readonly string[] =>
    spawnSync(process.execPath, [join(root, 'bin', 'latchkey.cjs'), ...args], { encoding: 'utf8' })
      .stdout.split('\n')
      .filter(line => /^[a-z]+$/.test(line))

  for (const args of [[], ['serve'], ['--port', '1']]) {
    it(`happens before the sources: ${args.join(' ') || 'no argument'}`, () => {
      assert.deepEqual(loadedBy(...args), ['fastify', 'pino'])
    })
  }

  it('does not happen for other commands', () => assert.deepEqual(loadedBy('health', '--ready'), []))

  it('leaves a failure to the sources', () => {
    writeFileSync(join(root, 'node_modules', 'fastify', 'index.js'), 'throw new Error("broken")')
    const { status, stderr } = spawnSync(process.execPath, [join(root, 'bin', 'latchkey.cjs')], { encoding: 'utf8' })
    assert.deepEqual([status, stderr], [0, '']) // these sources import no package
  })
})

describe('bin/latchkey', { skip: process.platform === 'win32' && 'there is no /bin/sh' }, () => {
  it('is replaced by the pinned runtime', () => {
    const { stdout, pid, status } = runLauncher(checkout({ pinned: true }), ['a', 'b c'])
    assert.equal(status, 0)
    assert.partialDeepStrictEqual(JSON.parse(stdout), { pid, args: ['a', 'b c'], flags })
    assert.partialDeepStrictEqual(JSON.parse(stdout), { version: process.versions.node })
  })

  it('can be a symbolic link', () => {
    const root = checkout({ pinned: true })
    symlinkSync(join('bin', 'latchkey'), join(root, 'first'))
    symlinkSync(join(root, 'first'), join(root, 'second'))
    const { stdout } = spawnSync(join(root, 'second'), ['x'], { env: { PATH: process.env['PATH'], HOME: root } })
    assert.match(stdout.toString(), /"args":\["x"\]/)
  })

  it('keeps heap limits set by the operator', () => {
    const { stdout } = runLauncher(checkout({ pinned: true }), [], { NODE_OPTIONS: '--max-semi-space-size=4' })
    assert.match(stdout, /"flags":\[\]/)
  })

  it('limits glibc’s arenas unless the operator has', () => {
    const limits = (env: Readonly<Record<string, string>>): unknown => {
      const root = checkout({ pinned: true })
      const names = `Object.entries(process.env).filter(([name]) => name.startsWith('MALLOC_'))`
      writeFileSync(
        join(root, 'src', 'cli', 'latchkey.ts'),
        `console.log(JSON.stringify(Object.fromEntries(${names})))`,
      )
      return JSON.parse(runLauncher(root, [], env).stdout)
    }
    assert.deepEqual(limits({}), { MALLOC_ARENA_MAX: '2' })
    assert.deepEqual(limits({ MALLOC_ARENA_MAX: '8' }), { MALLOC_ARENA_MAX: '8' })
  })

  it('exits with the program’s status', () => {
    assert.equal(runLauncher(checkout({ pinned: true }), ['fail']).status, 5)
  })

  it('explains a missing runtime', () => {
    const { status, stderr } = runLauncher(checkout({ pinned: false }), [])
    assert.equal(status, 1)
    assert.match(stderr, /^latchkey: .*npm ci/s)
  })

  /** A checkout whose runtime does not start before `installed` is there, and what installs it. */
  function brokenCheckout(installer: string): string {
    const root = checkout({ pinned: true })
    const node = join(root, pinnedNode(repository)?.slice(repository.length) ?? '')
    writeExecutable(node, `[ -e '${join(root, 'installed')}' ] || exit 127; exec '${process.execPath}' "$@"`)
    writeExecutable(join(root, 'scripts', 'system-packages'), `echo "install $*"; ${installer}`)
    return root
  }

  it('installs libraries that the runtime is missing, then starts', () => {
    const root = brokenCheckout('touch "${0%/*}/../installed"')
    const first = runLauncher(root, ['x'])
    assert.match(first.stdout, /^install runtime\n.*"args":\["x"\]/)
    const second = runLauncher(root, ['x'])
    assert.match(second.stdout, /^\{/)
  })

  it('checks the runtime again if its library is missing, as on another machine', {
    skip: process.platform !== 'linux' && 'for Linux only',
  }, () => {
    const root = brokenCheckout('touch "${0%/*}/../installed"')
    mkdirSync(join(root, 'node_modules', '.cache', 'latchkey'), { recursive: true })
    const launcher = join(root, 'bin', 'latchkey')
    const text = readFileSync(launcher, 'utf8')
    assert.equal(runLauncher(root, ['x']).status, 127) // this machine has the library
    writeFileSync(launcher, text.replaceAll(' /usr/lib', ` ${root}`))
    assert.match(runLauncher(root, ['x']).stdout, /^install runtime\n.*"args":\["x"\]/)
  })

  it('checks the runtime at the first start only', () => {
    const root = checkout({ pinned: true })
    const node = join(root, pinnedNode(repository)?.slice(repository.length) ?? '')
    const calls = join(root, 'calls')
    writeExecutable(node, `echo "$1" >> '${calls}'; exec '${process.execPath}' "$@"`)
    for (const _ of [1, 2]) assert.equal(runLauncher(root, []).status, 0)
    assert.deepEqual(readFileSync(calls, 'utf8').split('\n'), ['--version', flags[0], flags[0], ''])
  })

  it('stops if they cannot be installed', () => {
    const { status, stdout } = runLauncher(brokenCheckout('exit 1'), ['x'])
    assert.equal(status, 1)
    assert.equal(stdout, 'install runtime\n')
  })

  it('reports another failure of the runtime', () => {
    const { status, stderr } = runLauncher(brokenCheckout('exit 0'), ['x'])
    assert.equal(status, 1)
    assert.match(stderr, /^latchkey: .* does not run on this machine/)
  })

  it('installs nothing with LATCHKEY_NO_INSTALL', { skip: process.platform !== 'linux' && 'for Linux only' }, () => {
    const root = brokenCheckout('')
    const packages = join(root, 'scripts', 'system-packages')
    cpSync(join(repository, 'scripts', 'system-packages'), packages)
    writeExecutable(join(root, 'old', 'ldd'), 'echo "libatomic.so.1 => not found"')
    for (const program of ['apt-get', 'dpkg', 'sudo']) {
      writeExecutable(join(root, 'old', program), `touch '${join(root, 'installed')}'`)
    }
    const { status, stderr, stdout } = runLauncher(root, ['x'], { LATCHKEY_NO_INSTALL: '1' })
    assert.equal(status, 1)
    assert.equal(stdout, '')
    assert.match(stderr, /^Missing: libatomic1\. LATCHKEY_NO_INSTALL is set; run as root: apt-get install [^\n]*\n$/)
    assert.equal(existsSync(join(root, 'installed')), false)
  })
})
