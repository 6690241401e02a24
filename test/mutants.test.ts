import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { MUTANTS } from '../scripts/mutants.ts'

const ROOT = join(import.meta.dirname, '..')

describe('Mutants', () => {
  it('change one place each, and refer to existing tests', () => {
    const stale = MUTANTS.filter(({ file, text, tests }) => {
      const path = join(ROOT, file)
      const occurrences = existsSync(path) ? readFileSync(path, 'utf8').split(text).length - 1 : 0
      return occurrences !== 1 || !tests.every(test => existsSync(join(ROOT, test)))
    })
    assert.deepEqual(stale, [])
    assert.ok(MUTANTS.length >= 40)
  })
})
