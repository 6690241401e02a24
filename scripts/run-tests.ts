// Runs checks and tests, the quickest first. Started by test.cjs. Arguments: paths or parts of paths run only those
// test files and skip the checks; `--checks` runs only the checks; `--fast` runs the checks and the tests that need no
// program but Node.js; `--update` rewrites recorded answers; other options go to `node --test`. LATCHKEY_TEST_FULL runs
// every generated case (test/support/thinning.ts).
import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync, globSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { constants, tmpdir } from 'node:os'
import { join } from 'node:path'
import { isatty } from 'node:tty'
import { postgresUrl } from '../test/support/postgres.ts'
import { needsNothing, shardsOf } from './fast-tests.ts'

const ROOT = join(import.meta.dirname, '..')
const LINTED = ['src', 'test', 'bench', 'scripts', 'bin'].filter(folder => existsSync(join(ROOT, folder)))
const TEST_TIMEOUT_MS = 120_000
const PROCESSES = 2
/** Of tests that start programs, and wait for them half of the time. */
const WAITING_PROCESSES = 3
/** More than processes at a time, so that none is left with much more to do than the others. */
const SHARDS = 8
/** Whatever is broken fails in more files than these, or fails again. */
const MAX_REPEATED_FILES = 3

const UNTRACKED = `--import=${new URL('untracked-promises.ts', import.meta.url).href}`

/** Shared by all test files: compiling takes half a second of each. */
const COMPILE_CACHE = join(ROOT, 'node_modules', '.cache', 'tests')
/** What the compiler knows of the files that did not change since the last run. */
const TYPES_CACHE = join(COMPILE_CACHE, 'types.tsbuildinfo')

interface Step {
  readonly title: string
  /** What to do when it fails. */
  readonly hint: string
  readonly run: () => Promise<void>
}

const running = new Set<ChildProcess>()
/** Test files that passed the second time. */
const repeated: string[] = []
let interruption: NodeJS.Signals | undefined
let postgres: string | undefined

const node = (program: string, ...args: readonly string[]): Promise<void> =>
  run(process.execPath, [join('node_modules', program), ...args])

const checks: readonly Step[] = [
  {
    title: 'Types (tsc)',
    hint: 'type errors',
    run: () => node('typescript/bin/tsc', '--noEmit', '--incremental', '--tsBuildInfoFile', TYPES_CACHE),
  },
  {
    title: `Lint with type information (oxlint: ${LINTED.join(' ')})`,
    hint: 'lint errors; warnings count',
    run: () => node('oxlint/bin/oxlint', '--type-aware', '--deny-warnings', ...LINTED),
  },
  {
    title: 'Format (biome)',
    hint: 'some files are not formatted: npm run format',
    run: () => node('@biomejs/biome/bin/biome', 'format'),
  },
]

/**
 * Runs tests. A few files that fail are run again, one at a time, because whoever waits for programs can wait in vain on a
 * machine that is busy; they are named at the end, so that nobody takes them for sound.
 */
async function runTests(argsFor: (list: string) => readonly string[], options: RunOptions): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'latchkey-tests-'))
  const list = join(folder, 'failed')
  try {
    await run(process.execPath, argsFor(list), options)
  } catch (error) {
    const failed = existsSync(list) ? readFileSync(list, 'utf8').split('\n').filter(Boolean) : []
    if (failed.length === 0 || failed.length > MAX_REPEATED_FILES || interruption) throw error
    console.log(`\n      Again, one at a time: ${failed.join(', ')}`)
    const again = [
      UNTRACKED,
      '--test',
      '--test-concurrency=1',
      `--test-timeout=${TEST_TIMEOUT_MS}`,
      '--test-reporter=spec',
    ]
    await run(process.execPath, [...again, ...failed], { ...options, isQuiet: false })
    repeated.push(...failed)
  } finally {
    rmSync(folder, { recursive: true })
  }
}

const reportersTo = (list: string): readonly string[] => [
  '--test-reporter=spec',
  '--test-reporter-destination=stdout',
  `--test-reporter=${new URL('failed-files.cjs', import.meta.url).href}`,
  `--test-reporter-destination=${list}`,
]

/** Runs several files per process, which saves the start of one for each; they share no state. */
async function runTogether(files: readonly string[], env: NodeJS.ProcessEnv): Promise<void> {
  // A larger young generation cuts garbage collection to a third.
  const args = ['--max-semi-space-size=64', UNTRACKED, join('scripts', 'run-shard.ts')]
  const shards = shardsOf(ROOT, files, SHARDS).values()
  console.log(`      ${files.length} files in ${SHARDS} processes, ${PROCESSES} at a time`)
  const work = async (): Promise<void> => {
    for (const shard of shards) await runTests(list => [...args, list, ...shard], { env, isQuiet: true })
  }
  await Promise.all(Array.from({ length: PROCESSES }, work))
}

const fastTests: Step = {
  title: 'Tests that need no program but Node.js',
  hint: 'tests failed: see above',
  run: () =>
    runTogether(
      testFiles().filter(file => needsNothing(ROOT, file)),
      { ...testEnvironment([]), LATCHKEY_TEST_FAST: '1' },
    ),
}

const testFiles = (): readonly string[] =>
  globSync('test/**/*.test.ts', { cwd: ROOT }).map(file => file.replaceAll('\\', '/'))

function tests(filters: readonly string[], options: readonly string[]): readonly Step[] {
  const files = testFiles()
    .filter(file => filters.length === 0 || filters.some(filter => file.includes(filter.replace(/^\.\//, ''))))
    .toSorted()
  // With a choice of files, or options, the reader wants to see each test.
  const together = filters.length > 0 || options.length > 0 ? [] : files.filter(file => needsNothing(ROOT, file))
  const apart = files.filter(file => !together.includes(file))
  if (files.length === 0) {
    console.error(`No test file fits ${filters.join(' ')}.`)
    process.exit(2)
  }
  const args = [
    UNTRACKED,
    `--import=${new URL('file-timeout.ts', import.meta.url).href}`,
    '--test',
    `--test-concurrency=${WAITING_PROCESSES}`,
    `--test-timeout=${TEST_TIMEOUT_MS}`,
    ...options,
  ]
  // Who has chosen files wants to see them fail.
  const isWhole = filters.length === 0 && options.length === 0
  return [
    {
      title: 'System packages (PostgreSQL, slapd, Chromium, PHP, xmlsec1)',
      hint: 'a program that the tests start is missing',
      run: () => run(join(ROOT, 'scripts', 'system-packages'), []),
    },
    {
      title: 'A private PostgreSQL',
      hint: 'PostgreSQL does not start',
      run: async () => {
        postgres = await postgresUrl() // ends with this process
      },
    },
    ...(together.length === 0
      ? []
      : [
          {
            title: 'Tests that need no program but Node.js',
            hint: 'tests failed: see above',
            run: () => runTogether(together, testEnvironment(options)),
          },
        ]),
    {
      title: `Tests (${apart.length} files)`,
      hint: 'tests failed: see "failing tests" above',
      run: async () => {
        const env = testEnvironment(options)
        if (isWhole) await runTests(list => [...args, ...reportersTo(list), ...apart], { env })
        else await run(process.execPath, [...args, '--test-reporter=spec', ...apart], { env })
      },
    },
  ]
}

/** Removes settings of the developer's own servers from the environment. */
function testEnvironment(options: readonly string[]): NodeJS.ProcessEnv {
  const inherited = Object.entries(process.env).filter(
    ([name]) => name === 'LATCHKEY_TEST_FULL' || !/^(?:LATCHKEY_|PG[A-Z]+$)/.test(name),
  )
  return {
    ...Object.fromEntries(inherited),
    NODE_COMPILE_CACHE: COMPILE_CACHE,
    LATCHKEY_TEST_POSTGRES: postgres,
    ...(options.includes('--test-update-snapshots') && { LATCHKEY_TEST_UPDATE: '1' }),
  }
}

interface RunOptions {
  readonly env?: NodeJS.ProcessEnv
  /** Prints the output only on failure. */
  readonly isQuiet?: boolean
}

function run(
  program: string,
  args: readonly string[],
  { env = process.env, isQuiet = false }: RunOptions = {},
): Promise<void> {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, { cwd: ROOT, env, stdio: isQuiet ? ['ignore', 'pipe', 'pipe'] : 'inherit' })
    const output: Buffer[] = []
    child.stdout?.on('data', (part: Buffer) => output.push(part))
    child.stderr?.on('data', (part: Buffer) => output.push(part))
    running.add(child)
    child.once('error', reject)
    child.once('close', (code, signal) => {
      running.delete(child)
      if (code === 0) return resolve()
      process.stderr.write(Buffer.concat(output))
      return reject(new Error(signal === null ? `exit status ${code}` : `ended by ${signal}`))
    })
  })
}

function onInterruption(signal: NodeJS.Signals): void {
  interruption ??= signal
  // A terminal sends Ctrl-C to the child as well; a second SIGINT would make it exit at once.
  if (signal !== 'SIGINT' || !isatty(0)) for (const child of running) child.kill(signal)
  setTimeout(() => running.forEach(child => child.kill('SIGKILL')), 10_000).unref()
}

const seconds = (since: number): string => `${((performance.now() - since) / 1000).toFixed(1)} s`

async function runAll(steps: readonly Step[]): Promise<number> {
  const begin = performance.now()
  for (const [index, { title, hint, run }] of steps.entries()) {
    console.log(`\n[${index + 1}/${steps.length}] ${title}`)
    const start = performance.now()
    try {
      await run()
    } catch (error) {
      if (interruption) break
      const reason = error instanceof Error ? error.message : String(error)
      console.error(`\n✖ Step ${index + 1} of ${steps.length} failed after ${seconds(start)}: ${hint} (${reason}).`)
      return 1
    }
    if (interruption) break
    console.log(`      ${seconds(start)}`)
  }
  if (interruption) {
    console.error(`\n✖ Interrupted by ${interruption}.`)
    return 128 + constants.signals[interruption]
  }
  if (repeated.length > 0) console.log(`\n! Failed at first, and passed alone: ${repeated.join(', ')}`)
  console.log(`\n✔ Everything passed in ${seconds(begin)}, on Node.js ${process.versions.node}.`)
  return 0
}

const given = process.argv.slice(2)
const filters = given.filter(argument => !argument.startsWith('-'))
const options = given
  .filter(argument => argument.startsWith('-') && !['--checks', '--fast'].includes(argument))
  .map(argument => (argument === '--update' ? '--test-update-snapshots' : argument))
const checksOnly = given.includes('--checks')
const isFast = given.includes('--fast')

for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, onInterruption)
process.exitCode = await runAll([
  ...(filters.length === 0 ? checks : []),
  ...(checksOnly ? [] : isFast ? [fastTests] : tests(filters, options)),
])
