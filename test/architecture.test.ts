import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { forbiddenCycles } from './architecture/import-cycles.ts'
import { lineCount, LONG_FILE_LINES, violations } from './architecture/rules.ts'
import type { SourceFile } from './architecture/rules.ts'
import { unusedExports } from './architecture/unused-exports.ts'

const ROOT = join(import.meta.dirname, '..')

function sourceTree(): SourceFile[] {
  const paths = globSync('{src,test,scripts,bench}/**/*.ts', { cwd: ROOT, exclude: ['**/*.d.ts'] })
  return paths
    .map(path => path.replaceAll('\\', '/'))
    .toSorted()
    .map(path => ({ path, text: readFileSync(join(ROOT, path), 'utf8') }))
}

describe('The source tree', () => {
  it('obeys the rules of imports and restricted code', t => {
    const files = sourceTree()
    assert.ok(files.length > 20, 'the tree was found')
    assert.deepEqual(violations(files), [])
    for (const { path, text } of files) {
      if (!path.startsWith('src/') || lineCount(text) <= LONG_FILE_LINES) continue
      t.diagnostic(`${path} has ${lineCount(text)} lines: a question in review`)
    }
  })
})

describe('Exports', () => {
  it('are used by another file', () => assert.deepEqual(unusedExports(sourceTree()), []))
})

describe('Functions that send responses', () => {
  // A reply has a `then`: whoever awaits one gets undefined when it was sent, and would go on as if nothing was answered.
  it('return a promise of a reply, never of a reply or undefined', () => {
    const wrong = /Promise<(?:FastifyReply \||[^<>]*\| FastifyReply)/
    const found = sourceTree().filter(({ path, text }) => path.startsWith('src/') && wrong.test(text))
    assert.deepEqual(
      found.map(({ path }) => path),
      [],
    )
  })
})

describe('Import cycles', () => {
  it('do not exist by value, or between folders', () => assert.deepEqual(forbiddenCycles(sourceTree()), []))
})
