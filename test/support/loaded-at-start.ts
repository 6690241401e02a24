import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'

const urlOf = (source: string): string => pathToFileURL(join(import.meta.dirname, '../../src', source)).href

/** The modules that start the server, and those that the first request for a page or a management API loads for its routes. */
const STARTS = ['main.ts', 'app/login.ts', 'app/admin.ts']

/** The URLs of all modules that these load; by default those of a server with all routes registered and none used. */
export function loadedAtStart(sources: readonly string[] = STARTS): readonly string[] {
  const code = `
    import { registerHooks } from 'node:module'
    const loaded = []
    registerHooks({ load: (url, context, next) => (loaded.push(url), next(url, context)) })
    for (const url of ${JSON.stringify(sources.map(urlOf))}) await import(url)
    process.stdout.write(JSON.stringify(loaded))`
  const output = execFileSync(process.execPath, ['--input-type=module', '-e', code], { encoding: 'utf8' })
  return JSON.parse(output) as readonly string[]
}
