// Runs several test files. Usage: node --import=./scripts/untracked-promises.ts scripts/run-shard.ts LIST PROCESSES FILE…
// LIST is the file that gets the names of failed files. With PROCESSES 0 this process runs them, one after another; else each
// has a process of its own, so many at a time, in the order in which they are named, which `node --test` does not keep. It also
// loads node:test before what it imports.
import { createWriteStream } from 'node:fs'
import { createRequire } from 'node:module'
import { resolve } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { run } from 'node:test'
import { dot, spec } from 'node:test/reporters'
import { exitAfter, TEST_TIMEOUT_MS } from './file-timeout.ts'

/** Longer than any test may take. */
const IDLE_TIMEOUT_MS = TEST_TIMEOUT_MS + 30_000

const failedFiles: typeof dot = createRequire(import.meta.url)('./failed-files.cjs')

const [list = '', processes, ...files] = process.argv.slice(2)
const concurrency = Number(processes)
const events = run({
  files: files.map(file => resolve(file)),
  timeout: TEST_TIMEOUT_MS,
  ...(concurrency === 0 ? { isolation: 'none' } : { isolation: 'process', concurrency }),
})
// An error outside of a test, which the reporter does not show.
events.on('test:diagnostic', ({ message }) => {
  if (message.startsWith('Error:')) console.error(message)
})
events.on('test:summary', ({ success }) => {
  if (!success) process.exitCode = 1
})
// What a failed test left open would keep this process alive for good; with a process for each file, file-timeout.ts ends it.
if (concurrency === 0) {
  const watchdog = exitAfter(IDLE_TIMEOUT_MS, `No test has ended for ${IDLE_TIMEOUT_MS / 1000} s.`)
  events.on('data', () => watchdog.refresh())
}
await Promise.all([
  pipeline(events.compose(concurrency === 0 ? dot : new spec()), process.stdout, { end: false }),
  pipeline(events.compose(failedFiles), createWriteStream(list)),
])
