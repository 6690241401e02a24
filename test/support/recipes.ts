// Scripts in pages of docs/, run as separate files.
import { readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { temporaryFolder } from './config.ts'

const ROOT = join(import.meta.dirname, '../..')

/** The scripts of a page, such as `docs/dpop.md`, in their order. */
export const scriptsOf = (page: string): readonly string[] =>
  Array.from(readFileSync(join(ROOT, page), 'utf8').matchAll(/^```js\n([^]*?)^```$/gm)).map(match => match[1] ?? '')

/** Loads a script in a folder of its own that has the packages of this project; gives its exports. */
export function loadRecipe(script: string): object {
  const folder = temporaryFolder()
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'))
  const file = join(folder, 'recipe.mjs')
  writeFileSync(file, script)
  return createRequire(file)(file) as object // a module
}
