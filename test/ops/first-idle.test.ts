import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { describe, it } from 'node:test'

const MODULE = new URL('../../src/ops/first-idle.ts', import.meta.url).href
// What only the start needed survives the collections of the young, as the sources of a server do.
const script = (more: string): string => `
  const { collectGarbageWhenIdle } = await import(${JSON.stringify(MODULE)})
  let kept = { text: 'x'.repeat(1000) }
  const left = new WeakRef(kept)
  for (let i = 0; i < 200; i += 1) new Array(100_000).fill(i)
  ${more}
  kept = undefined
  collectGarbageWhenIdle()
  const end = Date.now() + 3000
  const look = setInterval(() => {
    if (left.deref() !== undefined && Date.now() < end) return
    clearInterval(look)
    process.stdout.write(left.deref() === undefined ? 'given back' : 'kept')
  }, 50)
`

describe('the first second of rest', () => {
  for (const [title, more, said] of [
    ['gives back what only the start needed, and keeps no process alive', '', 'given back'],
    [
      'lets nothing wait for a large heap',
      'globalThis.large = Array.from({ length: 1_500_000 }, (_, i) => ({ i }))',
      'kept',
    ],
  ] as const) {
    it(title, () => {
      const args = ['--input-type=module', '-e', script(more)]
      const { stdout, stderr, status } = spawnSync(process.execPath, args, { encoding: 'utf8', timeout: 30_000 })
      assert.deepEqual([status, stdout, stderr], [0, said, ''])
    })
  }
})
