// What `npm pack` makes, installed into an empty folder and started. Nothing is downloaded: the packages that it depends
// on are links to those of this checkout, and npm keeps what it needs of them.
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { cpSync, globSync, mkdirSync, readFileSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { before, describe, it } from 'node:test'
import { temporaryFolder } from '../support/config.ts'
import { serve } from '../support/process.ts'

const ROOT = join(import.meta.dirname, '../..')
const hasNpm = spawnSync('npm', ['--version']).error === undefined

function npm(folder: string, ...args: readonly string[]): void {
  const { status, stderr, stdout } = spawnSync('npm', args, { cwd: folder, encoding: 'utf8' })
  assert.equal(status, 0, `npm ${args.join(' ')}:\n${stdout}${stderr}`)
}

/** A copy of what is packed, so that the folder with the build is not seen by other tests. */
function copyCheckout(folder: string): void {
  for (const name of ['package.json', 'README.md', 'LICENSE', 'bin', 'src', 'assets', 'scripts']) {
    cpSync(join(ROOT, name), join(folder, name), { recursive: true })
  }
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'))
}

/** A project with a link to each package of this checkout. */
function makeProject(folder: string): void {
  writeFileSync(join(folder, 'package.json'), '{"name":"somewhere","private":true}')
  for (const name of globSync(['[!.@]*', '@*/*'], { cwd: join(ROOT, 'node_modules') })) {
    mkdirSync(dirname(join(folder, 'node_modules', name)), { recursive: true })
    symlinkSync(join(ROOT, 'node_modules', name), join(folder, 'node_modules', name))
  }
}

describe('The npm package', { skip: !hasNpm && 'npm is not installed' }, () => {
  const source = temporaryFolder()
  const installed = temporaryFolder()
  before(() => {
    copyCheckout(source)
    makeProject(installed)
    npm(source, 'pack', '--pack-destination', installed)
    const tarball = readdirSync(installed).find(name => name.endsWith('.tgz'))
    npm(installed, 'install', '--offline', '--ignore-scripts', `./${tarball}`)
  })

  it('starts where installed, and stops on SIGTERM', async () => {
    const launcher = join(installed, 'node_modules', '.bin', 'latchkey')
    const server = await serve({ launcher, folder: installed })
    const answer = await fetch(`${server.baseUrl}/login`)
    assert.equal(answer.status, 200)
    assert.match(await answer.text(), /latchkey\.css/)
    const { status, stderr } = await server.stop()
    assert.deepEqual({ status, stderr }, { status: 0, stderr: '' })
  })

  it('has all modules without types, with resolvable imports', () => {
    const folder = join(installed, 'node_modules', 'latchkey', 'dist')
    const modules = globSync('**/*.js', { cwd: folder })
    assert.equal(modules.length, globSync('**/*.ts', { cwd: join(ROOT, 'src') }).length)
    assert.deepEqual(globSync('**/*.ts', { cwd: folder }), [])
    const present = new Set(modules.map(path => join(folder, path)))
    const missing = modules.flatMap(path =>
      [
        ...readFileSync(join(folder, path), 'utf8').matchAll(
          /(?:from|import\(|new URL\(|^import) ?'([^'\n]+\.[jt]s)'/gm,
        ),
      ]
        .map(([, target = '']) => join(folder, dirname(path), target))
        .filter(target => target.startsWith(folder) && !present.has(target)),
    )
    assert.deepEqual(missing, [])
  })

  it('has no tests or scripts', () => {
    const names = readdirSync(join(installed, 'node_modules', 'latchkey')).filter(name => !name.startsWith('.'))
    const want = ['LICENSE', 'README.md', 'assets', 'bin', 'dist', 'package.json']
    assert.deepEqual(names.filter(name => name !== 'node_modules').toSorted(), want)
  })
})
