// The launcher with a program of the test's own behind it, so that it can be watched without a server.
import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { copyFileSync, existsSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { cpus } from 'node:os'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { fileURLToPath } from 'node:url'
import { temporaryFolder } from '../support/config.ts'

const PROGRAM = `
const report: Record<string, unknown> = { version: process.versions.node, args: process.argv.slice(2),
  threads: process.env['UV_THREADPOOL_SIZE'] }
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
  for (const folder of ['bin', join('src', 'cli')]) mkdirSync(join(root, folder), { recursive: true })
  for (const file of ['latchkey.cjs', 'find-node.cjs'])
    copyFileSync(join(repository, 'bin', file), join(root, 'bin', file))
  writeFileSync(join(root, 'src', 'cli', 'latchkey.ts'), PROGRAM)
  writeFileSync(join(root, 'package.json'), '{"type":"module"}')
  // What an old Node.js looks like to the launcher: this one, under a false name.
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

describe('the launcher', () => {
  it('starts in place on a recent Node.js, with a thread pool that has room for signing', () => {
    const root = checkout({ pinned: false })
    const { stdout, status } = run(root, ['a', '--b'])
    const report: unknown = JSON.parse(stdout)
    assert.equal(status, 0)
    assert.ok(typeof report === 'object' && report !== null && 'threads' in report)
    assert.equal(Number(report.threads), 2 * cpus().length + 1)
    assert.deepEqual(report, { version: process.versions.node, args: ['a', '--b'], threads: report.threads })
    assert.equal(findNode(repository), process.execPath)
  })

  it('leaves a thread pool alone that the operator sized', () => {
    const { stdout } = run(checkout({ pinned: false }), [], { env: { UV_THREADPOOL_SIZE: '5' } })
    assert.match(stdout, /"threads":"5"/)
  })

  it('keeps compiled code in a folder of its own', () => {
    const root = checkout({ pinned: false })
    run(root, [])
    assert.ok(existsSync(join(root, 'node_modules', '.cache', 'latchkey')))
  })

  it('hands over to the pinned runtime when the running one is too old', () => {
    const { stdout, status } = run(checkout({ pinned: true }), ['x'], { old: true })
    assert.equal(status, 0)
    assert.match(stdout, new RegExp(`"version":"${process.versions.node}","args":\\["x"\\]`))
  })

  it('ends with the status of the program', () => {
    const root = checkout({ pinned: true })
    assert.equal(run(root, ['fail'], { old: true }).status, 5)
    assert.equal(run(root, ['fail']).status, 5)
  })

  it('says what to do when there is no runtime', () => {
    const { status, stdout, stderr } = run(checkout({ pinned: false }), [], { old: true })
    assert.equal(status, 1)
    assert.equal(stdout, '')
    assert.match(stderr, /^latchkey: .*npm ci/s)
  })

  const signals = [
    { name: 'passes a signal on and ends as the program does', program: 'wait', want: 7 },
    { name: 'shows that a signal ended the program', program: 'die', want: 128 + 15 },
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
