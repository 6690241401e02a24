// Runs several test files in this process. Usage: node --import=./scripts/untracked-promises.ts scripts/run-shard.ts LIST FILE…
// LIST is the file that gets the names of failed files. Not `node --test`, which loads node:test before what it imports.
import { createWriteStream } from 'node:fs'
import { createRequire } from 'node:module'
import { resolve } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { run } from 'node:test'
import { dot } from 'node:test/reporters'

const TEST_TIMEOUT_MS = 120_000
const failedFiles: typeof dot = createRequire(import.meta.url)('./failed-files.cjs')

const [list = '', ...files] = process.argv.slice(2)
const events = run({ files: files.map(file => resolve(file)), isolation: 'none', timeout: TEST_TIMEOUT_MS })
// An error outside of a test, which the reporter does not show.
events.on('test:diagnostic', ({ message }) => {
  if (message.startsWith('Error:')) console.error(message)
})
events.on('test:summary', ({ success }) => {
  if (!success) process.exitCode = 1
})
await Promise.all([
  pipeline(events.compose(dot), process.stdout, { end: false }),
  pipeline(events.compose(failedFiles), createWriteStream(list)),
])
