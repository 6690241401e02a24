import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { describe, it } from 'node:test'

const MODULE = new URL('../../src/ops/first-idle.ts', import.meta.url).href
// What only the start needed survives the collections of the young, as the sources of a server do.
const SCRIPT = `
  const { collectGarbageWhenIdle } = await import(${JSON.stringify(MODULE)})
  let kept = { text: 'x'.repeat(1000) }
  const left = new WeakRef(kept)
  for (let i = 0; i < 200; i += 1) new Array(100_000).fill(i)
  kept = undefined
  collectGarbageWhenIdle()
  const look = setInterval(() => {
    if (left.deref() !== undefined) return
    clearInterval(look)
    process.stdout.write('given back')
  }, 50)
`

describe('the first second of rest', () => {
  it('gives back what only the start needed, and keeps no process alive', () => {
    const args = ['--input-type=module', '-e', SCRIPT]
    const { stdout, stderr, status } = spawnSync(process.execPath, args, { encoding: 'utf8', timeout: 30_000 })
    assert.deepEqual([status, stdout, stderr], [0, 'given back', ''])
  })
})
