// Runs checks and tests, the quickest first. Started by test.cjs. Arguments: paths or parts of paths run only those
// test files and skip the checks; `--checks` runs only the checks; `--fast` runs the checks and a part of the tests that
// need no program but Node.js; `--update` rewrites recorded answers; other options go to `node --test`. LATCHKEY_TEST_FULL runs
// every generated case (test/support/thinning.ts).
import { globSync } from 'node:fs'
import { join } from 'node:path'
import { postgresUrl } from '../../test/support/postgres.ts'
import { makeRsaKeys } from '../../test/support/rsa-keys.ts'
import { passSignalsOn, ROOT, run } from './child-processes.ts'
import { LINTED, runChecks } from './source-checks.ts'
import { atOnce, runAll } from './steps.ts'
import type { Step } from './steps.ts'
import { fastFiles, repeated, runFast, runShown, runWhole } from './test-processes.ts'

/** Shared by all test files: compiling takes half a second of each. */
const COMPILE_CACHE = join(ROOT, 'node_modules', '.cache', 'tests')

let postgres: string | undefined

const checks: Step = {
  title: `Types, lint with type information, format and coverage (tsc, oxlint, biome: ${LINTED.join(' ')})`,
  hint: 'see above; npm run format formats the files',
  run: runChecks,
}

const systemPackages: Step = {
  title: 'System packages (PostgreSQL, MariaDB, slapd, Chromium, PHP, xmlsec1)',
  hint: 'a program that the tests start is missing',
  run: () => run(join(ROOT, 'scripts', 'system-packages'), []),
}

const testFiles = (): readonly string[] =>
  globSync('test/**/*.test.ts', { cwd: ROOT }).map(file => file.replaceAll('\\', '/'))

function fastTests(): Step {
  const all = testFiles()
  const files = fastFiles(all)
  const extent = `${files.length} of ${all.length} files, each in one mode, on SQLite, with a fifth of the generated cases`
  return {
    title: `Tests that need no program but Node.js (${extent}; npm test runs everything)`,
    hint: 'tests failed: see above',
    run: () => {
      makeRsaKeys() // once, not in each of the processes
      return runFast(files, testEnvironment([]))
    },
  }
}

function tests(filters: readonly string[], options: readonly string[]): readonly Step[] {
  const files = testFiles()
    .filter(file => filters.length === 0 || filters.some(filter => file.includes(filter.replace(/^\.\//, ''))))
    .toSorted()
  if (files.length === 0) {
    console.error(`No test file fits ${filters.join(' ')}.`)
    process.exit(2)
  }
  // With a choice of files, or options, the reader wants to see each test.
  const isWhole = filters.length === 0 && options.length === 0
  return [
    ...(filters.length === 0 ? [atOnce(checks, systemPackages)] : [systemPackages]),
    {
      title: 'A private PostgreSQL',
      hint: 'PostgreSQL does not start',
      run: async () => {
        postgres = await postgresUrl() // ends with this process
        makeRsaKeys() // once, not in each of the processes
      },
    },
    {
      title: `Tests (${files.length} files)`,
      hint: 'tests failed: see above',
      run: () => {
        const env = testEnvironment(options)
        return isWhole ? runWhole(files, env) : runShown(files, options, env)
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

const given = process.argv.slice(2)
const filters = given.filter(argument => !argument.startsWith('-'))
const options = given
  .filter(argument => argument.startsWith('-') && !['--checks', '--fast'].includes(argument))
  .map(argument => (argument === '--update' ? '--test-update-snapshots' : argument))
const checksOnly = given.includes('--checks')
const isFast = given.includes('--fast')

passSignalsOn()
process.exitCode = await runAll(
  isFast ? [atOnce(checks, fastTests())] : checksOnly ? [checks] : tests(filters, options),
  repeated,
)
