import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'

const MAIN = pathToFileURL(join(import.meta.dirname, '../../src/main.ts')).href

/** The addresses of all modules that the server loads at its start. */
export function loadedAtStart(): readonly string[] {
  const code = `
    import { registerHooks } from 'node:module'
    const loaded = []
    registerHooks({ load: (url, context, next) => (loaded.push(url), next(url, context)) })
    await import(${JSON.stringify(MAIN)})
    process.stdout.write(JSON.stringify(loaded))`
  const output = execFileSync(process.execPath, ['--input-type=module', '-e', code], { encoding: 'utf8' })
  return JSON.parse(output) as readonly string[]
}
