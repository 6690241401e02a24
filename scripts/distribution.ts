// Builds `dist`, which `npm pack` packs instead of `src`: the same files, with types replaced by spaces, so that a stack
// trace names the same line and column as in the source. `prepack` calls it, and `postpack` removes the folder.
import { copyFileSync, globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { stripTypeScriptTypes } from 'node:module'
import { dirname, join } from 'node:path'

/** An import of another file of the source, or the file of a thread: a string of its own, unlike a mention in a text. */
const OWN_MODULE = /(?<=')(\.{1,2}\/[^'\n]+|[\w-]+-worker)\.ts(?=')/g

const root = join(import.meta.dirname, '..')
const target = join(root, 'dist')

rmSync(target, { recursive: true, force: true })
for (const entry of globSync('**/*.*', { cwd: join(root, 'src') })) {
  const from = join(root, 'src', entry)
  const to = join(target, entry.replace(/\.ts$/, '.js'))
  mkdirSync(dirname(to), { recursive: true })
  if (!entry.endsWith('.ts')) copyFileSync(from, to)
  else writeFileSync(to, stripTypeScriptTypes(readFileSync(from, 'utf8')).replaceAll(OWN_MODULE, '$1.js'))
}
