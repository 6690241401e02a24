// Runs test files in this process, one after another. Usage:
// node --import=./scripts/untracked-promises.ts scripts/tests/run-shard.ts LIST FILE…
// LIST is the file that gets the names of failed files. It also loads node:test before what it imports.
import { createWriteStream } from 'node:fs'
import { createRequire } from 'node:module'
import { resolve } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { run } from 'node:test'
import { dot } from 'node:test/reporters'
import { inspect } from 'node:util'
import { exitAfter, TEST_TIMEOUT_MS } from './file-timeout.ts'

/** Longer than any test may take. */
const IDLE_TIMEOUT_MS = TEST_TIMEOUT_MS + 30_000

const failedFiles: typeof dot = createRequire(import.meta.url)('./failed-files.cjs')

const [list = '', ...files] = process.argv.slice(2)
const events = run({ files: files.map(file => resolve(file)), timeout: TEST_TIMEOUT_MS, isolation: 'none' })
// An error outside of a test, which the reporter does not show.
events.on('test:diagnostic', ({ message }) => {
  if (message.startsWith('Error:')) console.error(message)
})
events.on('test:summary', ({ success }) => {
  if (!success) process.exitCode = 1
})
// What a failed test left open would keep this process alive for good. The reporter shows errors at the end only.
const underWay = new Set<string>()
const errors: string[] = []
events.on('test:start', ({ name }) => underWay.add(name))
events.on('test:pass', ({ name }) => underWay.delete(name))
events.on('test:fail', ({ name, details }) => {
  underWay.delete(name)
  errors.push(`${name}: ${inspect(details.error)}`)
})
const watchdog = exitAfter(IDLE_TIMEOUT_MS, () =>
  [`No test has ended for ${IDLE_TIMEOUT_MS / 1000} s. Under way: ${[...underWay].join(' > ')}.`, ...errors].join('\n'),
)
events.on('data', () => watchdog.refresh())
await Promise.all([
  pipeline(events.compose(dot), process.stdout, { end: false }),
  pipeline(events.compose(failedFiles), createWriteStream(list)),
])
