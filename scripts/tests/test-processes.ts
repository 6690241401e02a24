// The processes that run test files: which files share one, their environment, and a second attempt for a few that fail.
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { availableParallelism, tmpdir } from 'node:os'
import { join } from 'node:path'
import { interruptedBy, ROOT, run } from './child-processes.ts'
import { modeOf, needsOf, shardsOf } from './fast-tests.ts'
import type { Needs } from './fast-tests.ts'
import { TEST_TIMEOUT_MS } from './file-timeout.ts'
import { seconds } from './steps.ts'

/** At a time, of tests that compute. */
const PROCESSES = Math.max(2, availableParallelism())
/** Of tests that start programs, and wait for them half of the time. */
const WAITING_PROCESSES = 4
/** More than processes at a time, so that none is left with much more to do than the others; each loads and compiles the server. */
const SHARDS = 2 * PROCESSES + 2
const BROWSER_SHARDS = 4
/** About three files each: starting a process and loading the server takes half a second of each. */
const PROGRAM_SHARDS = 24
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

/**
 * A larger young generation cuts garbage collection to a third. The runner keeps every test, and what its file's variables refer to,
 * until the process ends: marking all of that again and again frees little, so the first time is put off. Other test processes
 * use the other cores, so that threads for it cost more than they save.
 */
const MEMORY = [
  '--min-semi-space-size=64',
  '--max-semi-space-size=64',
  '--initial-heap-size=800',
  '--single-threaded-gc',
]
/** Short runs of much code: the second optimizing compiler costs more than it saves. */
const FOR_SHORT_RUNS = ['--no-turbofan']
const UNTRACKED = `--import=${new URL('../untracked-promises.ts', import.meta.url).href}`

/** Whatever is broken fails in more files than these, or fails again. */
const MAX_REPEATED_FILES = 3

/** Test files that passed the second time. */
export const repeated: string[] = []

/** The files that need no program but Node.js. */
export const fastFiles = (files: readonly string[]): readonly string[] =>
  files.filter(file => needsOf(ROOT, file) === 'nothing')

/** Runs each file in one mode, in few processes: each of them loads the server, which takes more than a second. */
export function runFast(files: readonly string[], env: NodeJS.ProcessEnv): Promise<void> {
  const parts = (['standard', 'uaa'] as const).flatMap(mode => {
    const modeFiles = files.filter(file => modeOf(file) === mode)
    return shardsOf(ROOT, modeFiles, PROCESSES).map(part => ({
      files: part,
      env: { ...env, LATCHKEY_TEST_FAST: mode },
    }))
  })
  return runParts(parts, { processes: parts.length, flags: FOR_SHORT_RUNS })
}

/** Runs all the files. */
export const runWhole = (files: readonly string[], env: NodeJS.ProcessEnv): Promise<void> =>
  runParts(
    partsOf(files).map(part => ({ files: part, env })),
    { processes: WAITING_PROCESSES },
  )

/** Runs some files, and shows each of their tests. */
export function runShown(files: readonly string[], options: readonly string[], env: NodeJS.ProcessEnv): Promise<void> {
  const args = [
    ...MEMORY,
    UNTRACKED,
    `--import=${new URL('file-timeout.ts', import.meta.url).href}`,
    '--test',
    `--test-concurrency=${WAITING_PROCESSES}`,
    `--test-timeout=${TEST_TIMEOUT_MS}`,
    ...options,
    '--test-reporter=spec',
  ]
  return run(process.execPath, [...args, ...files], { env })
}

/** What one process runs. */
interface Part {
  readonly files: readonly string[]
  readonly env: NodeJS.ProcessEnv
}

interface PartOptions {
  /** How many run at a time. */
  readonly processes: number
  /** Options of Node.js. */
  readonly flags?: readonly string[]
}

/**
 * Runs a process for each part, which runs its files one after another; they share no state, but the start of the process and of
 * a browser. A few files that fail are run again at the end, one at a time, because whoever waits for programs can wait in vain on
 * a machine that is busy; they are named at the end, so that nobody takes them for sound.
 */
async function runParts(parts: readonly Part[], { processes, flags = [] }: PartOptions): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'latchkey-tests-'))
  const failed: { readonly file: string; readonly env: NodeJS.ProcessEnv }[] = []
  const queue = parts.entries()
  const work = async (): Promise<void> => {
    for (const [index, { files, env }] of queue) {
      const start = performance.now()
      const list = join(folder, String(index))
      const args = [...flags, ...MEMORY, UNTRACKED, join('scripts', 'tests', 'run-shard.ts'), list, ...files]
      try {
        await run(process.execPath, args, { env, isQuiet: true })
      } catch (error) {
        if (interruptedBy()) throw error
        const names = existsSync(list) ? readFileSync(list, 'utf8').split('\n').filter(Boolean) : []
        failed.push(...(names.length === 0 ? files : names).map(file => ({ file, env })))
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
  const names = failed.map(({ file }) => file)
  if (failed.length > MAX_REPEATED_FILES) throw new Error(`failed: ${names.join(', ')}`)
  console.log(`\n      Again, one at a time: ${names.join(', ')}`)
  const again = ['--test', `--test-timeout=${TEST_TIMEOUT_MS}`, '--test-reporter=spec']
  for (const { file, env } of failed) await run(process.execPath, [UNTRACKED, ...again, file], { env })
  repeated.push(...names)
}

/**
 * What one process runs each: a file that takes long alone, the others together. What computes stands between what waits for
 * programs.
 */
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
