// Facts of this build: the version from package.json, and commit and time from build.json next to it, an optional file that
// packagers write. Missing facts stay undefined.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { memberOf, parseJson } from '../base/json.ts'

/** Facts of a build; all but the version may be unknown. */
export interface BuildFacts {
  readonly version: string
  readonly name?: string
  readonly description?: string
  readonly commitId?: string
  /** The time of the commit, as the packager wrote it. */
  readonly timestamp?: string
}

/** Reads the facts from the folder of the package. */
export function readBuildFacts(folder = join(import.meta.dirname, '../..')): BuildFacts {
  const manifest = jsonOf(join(folder, 'package.json'))
  const build = jsonOf(join(folder, 'build.json'))
  const name = textOf(manifest, 'name')
  const description = textOf(manifest, 'description')
  const commitId = textOf(build, 'commit_id')
  const timestamp = textOf(build, 'timestamp')
  return {
    version: textOf(manifest, 'version') ?? 'unknown',
    ...(name !== undefined && { name }),
    ...(description !== undefined && { description }),
    ...(commitId !== undefined && { commitId }),
    ...(timestamp !== undefined && { timestamp }),
  }
}

/** One line about what runs at an address, which comes last under a name; without the facts that are not known. */
export function aboutBuild({ version, commitId, timestamp }: BuildFacts, [name, url]: [string, string]): string {
  const facts = { Version: version, Commit: commitId, Timestamp: timestamp, [name]: url }
  return Object.entries(facts)
    .flatMap(([fact, value]) => (value === undefined ? [] : [`${fact}: ${value}`]))
    .join(', ')
}

function jsonOf(path: string): unknown {
  try {
    return parseJson(readFileSync(path, 'utf8'))
  } catch {
    return undefined // the file is optional
  }
}

function textOf(json: unknown, name: string): string | undefined {
  const value = memberOf(json, name)
  return typeof value === 'string' && value !== '' ? value : undefined
}
