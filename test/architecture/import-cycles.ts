// Circles of imports in src/: none by value, and none at all between folders. A circle of types inside a folder is allowed,
// for a list and its entries name one another.
import { dirname, join } from 'node:path/posix'
import type { SourceFile } from './rules.ts'
import { codeOnly } from './code-only.ts'

interface Import {
  readonly to: string
  readonly typeOnly: boolean
}

const IMPORT = /(?<![.\w$])(?:import|export)\s+(type\s+)?(?:[\w$*\s{},]*?)\s*from\s*(['"])/g

/** Imports of other files of the tree; one of which every name is a type counts as a type. */
function importsOf({ path, text }: SourceFile): readonly Import[] {
  const code = codeOnly(text)
  return Array.from(code.matchAll(IMPORT)).flatMap(({ 0: found, 1: type, 2: quote = '', index }) => {
    const begin = index + found.length
    const module = text.slice(begin, text.indexOf(quote, begin))
    if (!module.startsWith('.')) return []
    const names =
      /\{([^}]*)\}/
        .exec(found)?.[1]
        ?.split(',')
        .filter(name => name.trim() !== '') ?? []
    const typeOnly = type !== undefined || (names.length > 0 && names.every(name => /^\s*type\s/.test(name)))
    return [{ to: join(dirname(path), module), typeOnly }]
  })
}

/** Groups of files that reach one another (Tarjan's algorithm). */
function cyclesOf(imports: ReadonlyMap<string, readonly string[]>): readonly (readonly string[])[] {
  const order = new Map<string, number>()
  const lowest = new Map<string, number>()
  const open: string[] = []
  const circles: string[][] = []
  function visit(file: string): number {
    const place = order.size
    order.set(file, place)
    lowest.set(file, place)
    open.push(file)
    for (const next of imports.get(file) ?? []) {
      const reached = order.has(next) ? (open.includes(next) ? (order.get(next) ?? place) : place) : visit(next)
      lowest.set(file, Math.min(lowest.get(file) ?? place, reached))
    }
    if (lowest.get(file) === place) {
      const circle = open.splice(open.indexOf(file))
      if (circle.length > 1) circles.push(circle.toSorted())
    }
    return lowest.get(file) ?? place
  }
  for (const file of imports.keys()) if (!order.has(file)) visit(file)
  return circles
}

/** The forbidden cycles, each as its files. */
export function forbiddenCycles(files: readonly SourceFile[]): readonly string[] {
  const all = files.filter(({ path }) => path.startsWith('src/')).map(file => [file.path, importsOf(file)] as const)
  const graph = (keep: (each: Import) => boolean) =>
    new Map(all.map(([path, imports]) => [path, imports.filter(keep).map(({ to }) => to)] as const))
  const byValue = cyclesOf(graph(({ typeOnly }) => !typeOnly)).map(circle => `by value: ${circle.join(', ')}`)
  const betweenFolders = cyclesOf(graph(() => true))
    .filter(circle => new Set(circle.map(path => dirname(path))).size > 1)
    .map(circle => `between folders: ${circle.join(', ')}`)
  return [...byValue, ...betweenFolders]
}
