// Runs checks and tests, the quickest first. Started by test.cjs. Arguments: paths or parts of paths run only those
// test files and skip the checks; `--checks` runs only the checks; `--fast` runs the checks and the tests that need no
// program but Node.js; `--update` rewrites recorded answers; other options go to `node --test`. LATCHKEY_TEST_FULL runs
// every generated case (test/support/thinning.ts).
import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync, globSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { availableParallelism, constants, tmpdir } from 'node:os'
import { join } from 'node:path'
import { isatty } from 'node:tty'
import { postgresUrl } from '../test/support/postgres.ts'
import { rsaKeyPair } from '../test/support/rsa-keys.ts'
import { type Needs, needsOf, shardsOf } from './fast-tests.ts'
import { TEST_TIMEOUT_MS } from './file-timeout.ts'

const ROOT = join(import.meta.dirname, '..')
const LINTED = ['src', 'test', 'bench', 'scripts', 'bin'].filter(folder => existsSync(join(ROOT, folder)))
/** At a time, of tests that compute. */
const PROCESSES = Math.max(2, availableParallelism())
/** Of tests that start programs, and wait for them half of the time. */
const WAITING_PROCESSES = 4
/** More than processes at a time, so that none is left with much more to do than the others. */
const SHARDS = 4 * PROCESSES
const BROWSER_SHARDS = 4
/** About three files each: starting a process and loading the server takes half a second of each. */
const PROGRAM_SHARDS = 24
/** Whatever is broken fails in more files than these, or fails again. */
const MAX_REPEATED_FILES = 3

/** Begun first, each in a process of its own, so that none of them is left to run alone. */
const LONGEST = [
  'test/attacks.test.ts',
  'test/e2e/process.test.ts',
  'test/pages/accessibility.test.ts',
  'test/e2e/sign-in.test.ts',
  'test/pages/docs.test.ts',
  'test/store/postgres.test.ts',
  'test/cli/keys.test.ts',
  'test/e2e/outage.test.ts',
  'test/store/replicas.test.ts',
  'test/cli/killed.test.ts',
  'test/e2e/simplesamlphp.test.ts',
]

/** A larger young generation cuts garbage collection to a third. */
const LARGE_YOUNG_GENERATION = '--max-semi-space-size=64'
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

/** A program that looks at the source; it prints only what is wrong. */
const check = (program: string, ...args: readonly string[]): Promise<void> =>
  run(process.execPath, [join('node_modules', program), ...args], { isQuiet: true })

/** All at the same time: the compiler uses one core. Waits for each, so that all problems are reported. */
async function runChecks(): Promise<void> {
  const outcomes = await Promise.allSettled([
    check('typescript/bin/tsc', '--noEmit', '--incremental', '--tsBuildInfoFile', TYPES_CACHE),
    check('oxlint/bin/oxlint', '--type-aware', '--deny-warnings', ...LINTED),
    check('@biomejs/biome/bin/biome', 'format'),
    run(process.execPath, ['scripts/coverage.ts', '--check'], { isQuiet: true }),
  ])
  const names = [
    'type errors (tsc)',
    'lint errors or warnings (oxlint)',
    'files that are not formatted (biome)',
    'what the tests say that they cover (npm run coverage)',
  ]
  const wrong = names.filter((_, index) => outcomes[index]?.status === 'rejected')
  if (wrong.length > 0) throw new Error(wrong.join(', '))
}

const checks: Step = {
  title: `Types, lint with type information, format and coverage (tsc, oxlint, biome: ${LINTED.join(' ')})`,
  hint: 'see above; npm run format formats the files',
  run: runChecks,
}

const systemPackages: Step = {
  title: 'System packages (PostgreSQL, slapd, Chromium, PHP, xmlsec1)',
  hint: 'a program that the tests start is missing',
  run: () => run(join(ROOT, 'scripts', 'system-packages'), []),
}

/** One that computes, and one that waits for downloads. */
const atOnce = (...steps: readonly Step[]): Step => ({
  title: steps.map(({ title }) => title).join('\n      '),
  hint: 'see above',
  async run() {
    const outcomes = await Promise.allSettled(steps.map(step => step.run()))
    const wrong = outcomes.flatMap((outcome, index) =>
      outcome.status === 'rejected' ? [`${steps[index]?.hint}: ${outcome.reason}`] : [],
    )
    if (wrong.length > 0) throw new Error(wrong.join('; '))
  },
})

interface TestProcesses {
  readonly env: NodeJS.ProcessEnv
  /** At a time. */
  readonly processes: number
}

/**
 * Runs a process for each part, which runs its files one after another; they share no state, but the start of the process and of
 * a browser. A few files that fail are run again at the end, one at a time, because whoever waits for programs can wait in vain on
 * a machine that is busy; they are named at the end, so that nobody takes them for sound.
 */
async function runParts(parts: readonly (readonly string[])[], { env, processes }: TestProcesses): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'latchkey-tests-'))
  const failed: string[] = []
  const queue = parts.entries()
  const work = async (): Promise<void> => {
    for (const [index, files] of queue) {
      const start = performance.now()
      const list = join(folder, String(index))
      const args = [LARGE_YOUNG_GENERATION, UNTRACKED, join('scripts', 'run-shard.ts'), list, ...files]
      try {
        await run(process.execPath, args, { env, isQuiet: true })
      } catch (error) {
        if (interruption) throw error
        const names = existsSync(list) ? readFileSync(list, 'utf8').split('\n').filter(Boolean) : []
        failed.push(...(names.length === 0 ? files : names))
      }
      const [first = '', ...others] = files
      console.log(`      ${seconds(start)}: ${first}${others.length === 0 ? '' : ` and ${others.length} others`}`)
    }
  }
  try {
    await Promise.all(Array.from({ length: processes }, work))
  } finally {
    rmSync(folder, { recursive: true })
  }
  if (failed.length === 0) return
  if (failed.length > MAX_REPEATED_FILES) throw new Error(`failed: ${failed.join(', ')}`)
  console.log(`\n      Again, one at a time: ${failed.join(', ')}`)
  const again = ['--test', '--test-concurrency=1', `--test-timeout=${TEST_TIMEOUT_MS}`, '--test-reporter=spec']
  await run(process.execPath, [UNTRACKED, ...again, ...failed], { env })
  repeated.push(...failed)
}

const fastTests: Step = {
  title: 'Tests that need no program but Node.js',
  hint: 'tests failed: see above',
  run: () => {
    const files = testFiles().filter(file => needsOf(ROOT, file) === 'nothing')
    const env = { ...testEnvironment([]), LATCHKEY_TEST_FAST: '1' }
    return runParts(shardsOf(ROOT, files, SHARDS), { env, processes: PROCESSES })
  },
}

const testFiles = (): readonly string[] =>
  globSync('test/**/*.test.ts', { cwd: ROOT }).map(file => file.replaceAll('\\', '/'))

function tests(filters: readonly string[], options: readonly string[]): readonly Step[] {
  const files = testFiles()
    .filter(file => filters.length === 0 || filters.some(filter => file.includes(filter.replace(/^\.\//, ''))))
    .toSorted()
  if (files.length === 0) {
    console.error(`No test file fits ${filters.join(' ')}.`)
    process.exit(2)
  }
  const inEachProcess = [
    LARGE_YOUNG_GENERATION,
    UNTRACKED,
    `--import=${new URL('file-timeout.ts', import.meta.url).href}`,
  ]
  // With a choice of files, or options, the reader wants to see each test.
  const isWhole = filters.length === 0 && options.length === 0
  return [
    ...(filters.length === 0 ? [atOnce(checks, systemPackages)] : [systemPackages]),
    {
      title: 'A private PostgreSQL',
      hint: 'PostgreSQL does not start',
      run: async () => {
        postgres = await postgresUrl() // ends with this process
        rsaKeyPair() // once, not in each of the processes
      },
    },
    {
      title: `Tests (${files.length} files)`,
      hint: 'tests failed: see above',
      run: () => {
        const env = testEnvironment(options)
        if (isWhole) return runParts(partsOf(files), { env, processes: WAITING_PROCESSES })
        const concurrency = `--test-concurrency=${WAITING_PROCESSES}`
        const timeout = `--test-timeout=${TEST_TIMEOUT_MS}`
        const args = [...inEachProcess, '--test', concurrency, timeout, ...options, '--test-reporter=spec']
        return run(process.execPath, [...args, ...files], { env })
      },
    },
  ]
}

/** What one process runs each: a file that takes long alone, the others together. What computes stands between what waits for programs. */
function partsOf(files: readonly string[]): readonly (readonly string[])[] {
  const first = LONGEST.filter(file => files.includes(file))
  const rest = files.filter(file => !first.includes(file))
  const which = (needs: Needs): readonly string[] => rest.filter(file => needsOf(ROOT, file) === needs)
  const shards = [...shardsOf(ROOT, which('a browser'), BROWSER_SHARDS), ...shardsOf(ROOT, which('nothing'), SHARDS)]
  const waiting = shardsOf(ROOT, which('programs'), PROGRAM_SHARDS)
  const share = Math.ceil(waiting.length / shards.length)
  const mixed = shards.flatMap((shard, index) => [shard, ...waiting.slice(index * share, (index + 1) * share)])
  return [...first.map(file => [file]), ...mixed]
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
  ...(checksOnly || isFast ? [checks] : []),
  ...(checksOnly ? [] : isFast ? [fastTests] : tests(filters, options)),
])
