// node scripts/mutation-check.ts [part of a rule or file]: applies each mutant to a copy of the source and runs its
// tests. Prints the test that failed; exits with status 1 if a mutant survives. LATCHKEY_TEST_FULL also runs the
// generated cases that an ordinary run omits.
import { spawn } from 'node:child_process'
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { postgresUrl } from '../test/support/postgres.ts'
import { MUTANTS } from './mutants.ts'
import type { Mutant } from './mutants.ts'

const ROOT = join(import.meta.dirname, '..')
const COPIED = ['src', 'test', 'assets', 'bin', 'docs', 'package.json', 'tsconfig.json', 'README.md']
const TEST_TIMEOUT_MS = 60_000

const env = {
  ...process.env,
  LATCHKEY_TEST_POSTGRES: await postgresUrl(),
  NODE_COMPILE_CACHE: join(ROOT, 'node_modules', '.cache', 'tests'),
}

/** The name of the first failing test; undefined if all pass. */
function firstFailure(folder: string, files: readonly string[]): Promise<string | undefined> {
  return new Promise((resolve, reject) => {
    const args = ['--test', `--test-timeout=${TEST_TIMEOUT_MS}`, '--test-reporter=tap', ...files]
    const child = spawn(process.execPath, args, { cwd: folder, env, stdio: ['ignore', 'pipe', 'inherit'] })
    let output = ''
    child.stdout.setEncoding('utf8').on('data', (text: string) => (output += text))
    child.once('error', reject)
    child.once('close', status => {
      const [, name] = /^\s*not ok \d+ - (.+)$/m.exec(output) ?? []
      resolve(status === 0 ? undefined : (name ?? `status ${status}`))
    })
  })
}

/** Whether the mutant was killed, and by which test. */
async function check(folder: string, { file, text, instead, tests }: Mutant): Promise<readonly [boolean, string]> {
  const path = join(folder, file)
  const original = readFileSync(path, 'utf8')
  writeFileSync(
    path,
    original.replace(text, () => instead),
  )
  try {
    const failure = await firstFailure(folder, tests)
    return failure === undefined ? [false, 'SURVIVED'] : [true, failure]
  } finally {
    writeFileSync(path, original)
  }
}

const filter = process.argv[2] ?? ''
const wanted = MUTANTS.filter(({ rule, file }) => rule.includes(filter) || file.includes(filter))
const folder = mkdtempSync(join(tmpdir(), 'latchkey-mutants-'))
try {
  for (const name of COPIED) cpSync(join(ROOT, name), join(folder, name), { recursive: true })
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'))
  let killed = 0
  for (const mutant of wanted) {
    const [isKilled, outcome] = await check(folder, mutant)
    if (isKilled) killed += 1
    console.log(`| ${mutant.rule} | ${mutant.file.slice('src/'.length)} | ${outcome} |`)
  }
  console.log(`${killed} of ${wanted.length} were killed`)
  if (killed < wanted.length) process.exitCode = 1
} finally {
  rmSync(folder, { recursive: true })
}
