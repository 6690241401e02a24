// Selects the test files that need no external program except a browser, by their imports, and distributes them to processes.
import { existsSync, readFileSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { CompatibilityMode } from '../../src/model/compatibility.ts'

/** These start PostgreSQL, slapd or a server process. */
const HEAVY = /^test\/support\/(?:process|slapd|postgres)\.ts$/
/** Starts a browser, which all test files of a process share. */
const BROWSER = 'test/support/browser.ts'
/** Needs none: a setting lets it skip PostgreSQL, another one names a PostgreSQL that runs already. */
const DATABASES = 'test/support/databases.ts'
/** Tests PostgreSQL only. */
const EXCLUDED = new Set(['test/store/postgres.test.ts'])

/** What a test file starts besides Node.js. */
export type Needs = 'nothing' | 'a browser' | 'programs'

/** What the test file starts, by the files that it imports. */
export function needsOf(root: string, file: string): Needs {
  const seen = new Set<string>()
  if (!isLight(root, file, seen)) return 'programs'
  return seen.has(BROWSER) ? 'a browser' : 'nothing'
}

function isLight(root: string, file: string, seen: Set<string>): boolean {
  if (HEAVY.test(file) || EXCLUDED.has(file)) return false
  if (file === DATABASES) return true
  if (seen.has(file) || !existsSync(join(root, file))) return true
  seen.add(file)
  const text = readFileSync(join(root, file), 'utf8')
  if (/ from 'node:child_process'/.test(text)) return false
  return [...text.matchAll(/^(?:import|export|\} from) ?(?:.*? from )?'(\.[^']+)'$/gm)]
    .map(([, path = '']) => join(dirname(file), path))
    .filter(path => path.startsWith('test/'))
    .every(path => isLight(root, path, seen))
}

/** The mode that a fast run of the file takes: always the same one, each of them for half of the files. */
export const modeOf = (file: string): CompatibilityMode =>
  Buffer.from(file).reduce((sum, byte) => sum + byte, 0) % 2 === 0 ? 'standard' : 'uaa'

/** Divides the files into parts of about the same size; deterministic. */
export function shardsOf(root: string, files: readonly string[], count: number): readonly (readonly string[])[] {
  const shards = Array.from({ length: count }, () => ({ size: 0, files: [] as string[] })) // filled below
  const sized = files.map(file => ({ file, size: statSync(join(root, file)).size }))
  for (const { file, size } of sized.toSorted((a, b) => b.size - a.size)) {
    const smallest = shards.reduce((least, shard) => (shard.size < least.size ? shard : least))
    smallest.size += size
    smallest.files.push(file)
  }
  return shards.map(shard => shard.files).filter(each => each.length > 0)
}
