import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { describe, it } from 'node:test'

const MODULE = new URL('../../src/ops/idle-memory.ts', import.meta.url).href
// What only the start needed is among the old objects, as the sources of a server are, and the engine has none to collect.
const script = (more: string): string => `
  const { freeMemoryWhenIdle } = await import(${JSON.stringify(MODULE)})
  let kept = { text: 'x'.repeat(1000) }
  const left = new WeakRef(kept)
  ${more}
  gc()
  gc()
  kept = undefined
  freeMemoryWhenIdle()
  const end = Date.now() + 3000
  const look = setInterval(() => {
    if (left.deref() !== undefined && Date.now() < end) return
    clearInterval(look)
    process.stdout.write(left.deref() === undefined ? 'given back' : 'kept')
  }, 50)
`

describe('freeMemoryWhenIdle', () => {
  for (const [title, more, said] of [
    ['frees memory of the start, and keeps no process alive', '', 'given back'],
    [
      'does not run with a large heap',
      'globalThis.large = Array.from({ length: 1_500_000 }, (_, i) => ({ i }))',
      'kept',
    ],
  ] as const) {
    it(title, () => {
      const args = ['--expose-gc', '--input-type=module', '-e', script(more)]
      const { stdout, stderr, status } = spawnSync(process.execPath, args, { encoding: 'utf8', timeout: 30_000 })
      assert.deepEqual([status, stdout, stderr], [0, said, ''])
    })
  }
})

const USE_ALL_FILES = `
  const { openSync } = await import('node:fs')
  try {
    for (;;) openSync('/dev/null')
  } catch {}
`

it('freeMemoryWhenIdle works while no file can be opened', () => {
  const node = [process.execPath, '--expose-gc', '--input-type=module', '-e', script(USE_ALL_FILES)]
  const args = ['-c', 'ulimit -n 100 && exec "$@"', 'sh', ...node]
  const { stdout, stderr, status } = spawnSync('sh', args, { encoding: 'utf8', timeout: 30_000 })
  assert.deepEqual([status, stdout, stderr], [0, 'given back', ''])
})

// Between blocks that are kept, so that glibc cannot return those that are freed by itself.
const FRAGMENTS = `
  const { freeMemoryWhenIdle } = await import(${JSON.stringify(MODULE)})
  const kept = []
  const wait = milliseconds => new Promise(resolve => setTimeout(resolve, milliseconds))
  async function fragment() {
    let freed = []
    for (let i = 0; i < 2000; i += 1) {
      freed.push(Buffer.alloc(20_000, 1))
      kept.push(Buffer.alloc(200, 1))
    }
    freed = undefined
    gc()
    await wait(100)
  }
  async function isReturned() {
    const before = process.memoryUsage.rss()
    for (const end = Date.now() + 10_000; Date.now() < end; await wait(50)) {
      if (before - process.memoryUsage.rss() > 20_000_000) return true
    }
    return false
  }
  await fragment()
  freeMemoryWhenIdle()
  const atFirst = await isReturned()
  for (const end = Date.now() + 2500; Date.now() < end; await wait(0)) for (const until = Date.now() + 100; Date.now() < until; );
  await fragment()
  process.stdout.write(JSON.stringify([atFirst, await isReturned()]))
`

it('freeMemoryWhenIdle returns memory of the C library after the start and after busy periods', t => {
  const { header } = process.report.getReport() as { header: { glibcVersionRuntime?: string } }
  if (header.glibcVersionRuntime === undefined) return t.skip('this C library has no malloc_trim')
  const args = ['--expose-gc', '--input-type=module', '-e', FRAGMENTS]
  const { stdout, stderr, status } = spawnSync(process.execPath, args, { encoding: 'utf8', timeout: 60_000 })
  assert.deepEqual([status, stdout, stderr], [0, '[true,true]', ''])
})
