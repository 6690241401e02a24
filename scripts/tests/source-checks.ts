// The checks of the source that run no test.
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { ROOT, run } from './child-processes.ts'

/** What the compiler knows of the files that did not change since the last run. */
const TYPES_CACHE = join(ROOT, 'node_modules', '.cache', 'tests', 'types.tsbuildinfo')

/** The folders that are linted. */
export const LINTED = ['src', 'test', 'bench', 'scripts', 'bin'].filter(folder => existsSync(join(ROOT, folder)))

/** Garbage collection takes a fifth of the processor time of the linter's type checker, which is a Go program that ends soon. */
const RARE_COLLECTION = { ...process.env, GOGC: '400' }

/** A program that looks at the source; it prints only what is wrong. */
const check = (program: string, ...args: readonly string[]): Promise<void> =>
  run(process.execPath, [join('node_modules', program), ...args], { isQuiet: true, env: RARE_COLLECTION })

/** Runs all at the same time: the compiler uses one core. Waits for each, so that all problems are reported. */
export async function runChecks(): Promise<void> {
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
