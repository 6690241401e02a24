// Which exports no other file uses: they are parts of their file alone, and the compiler reports them when they are unused.
import { posix } from 'node:path'
import type { SourceFile } from './rules.ts'

/** The exports of `src/` that no other file imports, as `path: name`. */
export function unusedExports(files: readonly SourceFile[]): string[] {
  const used = new Set(files.flatMap(usesOf))
  return files.flatMap(({ path, text }) => {
    if (!path.startsWith('src/') || used.has(`${path}: *`)) return []
    const declared = Array.from(
      text.matchAll(/^export (?:async )?(?:const|function\*?|class|interface|type) (\w+)/gm),
      ([, name]) => `${path}: ${name}`,
    )
    return declared.filter(each => !used.has(each))
  })
}

/** The names that a file imports or re-exports, `*` for all. A dynamic import uses each name that the file mentions. */
function usesOf({ path, text }: SourceFile): string[] {
  const fileOf = (module: string): string => posix.join(posix.dirname(path), module)
  const named = [...text.matchAll(/^(?:import|export) (?:type )?(\{[^}]*\}|\*[\w ]*) from '(\.[^']+)'/gm)].flatMap(
    ([, names = '', module = '']) =>
      names.startsWith('*')
        ? [`${fileOf(module)}: *`]
        : [...names.matchAll(/(?:type )?(\w+)(?: as \w+)?/g)].map(([, name]) => `${fileOf(module)}: ${name}`),
  )
  const dynamic = Array.from(text.matchAll(/import\(\s*'(\.[^']+)'\s*\)/g), ([, module = '']) => module)
  const words = dynamic.length === 0 ? [] : [...new Set(text.match(/\w+/g))]
  return [...named, ...dynamic.flatMap(module => words.map(word => `${fileOf(module)}: ${word}`))]
}
