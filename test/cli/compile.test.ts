import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { temporaryFolder } from '../support/config.ts'
import { loadedAtStart } from '../support/loaded-at-start.ts'

const ROOT = join(import.meta.dirname, '../..')

/** Runs a shell command in the project's folder; `cache` receives the compiled code. */
function run(command: string, cache: string) {
  const { status, stdout, stderr } = spawnSync(command, {
    cwd: ROOT,
    env: { PATH: `${join(process.execPath, '..')}:${process.env['PATH']}`, NODE_COMPILE_CACHE: cache },
    shell: true,
    encoding: 'utf8',
  })
  return { status, stdout, stderr }
}

const filesIn = (folder: string): number =>
  readdirSync(folder, { recursive: true, withFileTypes: true }).filter(entry => entry.isFile()).length

describe('latchkey compile', () => {
  it('stores the compiled code of every module loaded at start, as run by `npm ci`', () => {
    const { scripts } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))
    const cache = temporaryFolder()
    assert.deepEqual(run(scripts.prepare, cache), { status: 0, stdout: '', stderr: '' })
    assert.ok(filesIn(cache) >= loadedAtStart().filter(url => url.startsWith('file:')).length)
  })

  it('rejects options', () => {
    const { status, stderr } = run('node bin/latchkey.cjs compile --all', temporaryFolder())
    assert.equal(status, 2)
    assert.match(stderr, /--all/)
  })
})
