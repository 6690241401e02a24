// The rules of the source tree. `violations` is a pure function of the files it is given, so that a test can also prove that
// each rule bites.

import { codeOnly } from './code-only.ts'
import { AREAS, BANNED_PHRASES, BOOTSTRAP, CONFIG, MAY_IMPORT, OWNED_MODULES, OWNED_PHRASES, WIRING } from './tables.ts'

/** One source file; the path is relative to the root of the repository, with forward slashes. */
export interface SourceFile {
  readonly path: string
  readonly text: string
}

/** A file of more lines than this is reported; one of more than `LONG_FILE_LINES` is a question in review only. */
export const MAX_FILE_LINES = 500
/** See `MAX_FILE_LINES`. */
export const LONG_FILE_LINES = 300

const FORBIDDEN_NAMES = new Set(['utils', 'util', 'helpers', 'helper', 'common', 'misc', 'types', 'constants'])

interface Finding {
  readonly offset: number
  readonly rule: string
}

/** Every breach of the rules in the files, as `path:line: rule`, in the order of the files. */
export function violations(files: readonly SourceFile[]): string[] {
  return files.flatMap(file => {
    const code = codeOnly(file.text)
    const found = [
      ...nameFindings(file.path),
      ...placeFindings(file.path),
      ...lengthFindings(file),
      ...importsOf(file.text, code).flatMap(each => importFindings(file.path, each)),
      ...(isSource(file.path)
        ? phraseFindings(
            code,
            OWNED_PHRASES.filter(each => !each.owner.test(file.path)),
          )
        : []),
      ...phraseFindings(code, BANNED_PHRASES),
      ...exportFindings(file.text, code),
    ]
    const ordered = found.toSorted((a, b) => a.offset - b.offset)
    return ordered.map(({ offset, rule }) => `${file.path}:${lineAt(file.text, offset)}: ${rule}`)
  })
}

/** How many lines a file has. */
export const lineCount = (text: string): number => text.split('\n').length - (text.endsWith('\n') ? 1 : 0)

const isSource = (path: string): boolean => path.startsWith('src/')

const lineAt = (text: string, offset: number): number => text.slice(0, offset).split('\n').length

function nameFindings(path: string): Finding[] {
  const words = path.split('/').map(part => part.replace(/(?:\.test)?\.(?:ts|cjs|mjs)$/, ''))
  return words.flatMap(word => {
    if (FORBIDDEN_NAMES.has(word)) return [{ offset: 0, rule: `"${word}" names nothing: find the noun` }]
    if (!/^[a-z0-9]+(?:-[a-z0-9]+)*$/.test(word)) return [{ offset: 0, rule: `"${word}" is not in kebab case` }]
    return []
  })
}

function placeFindings(path: string): Finding[] {
  const folder = folderOf(path)
  if (!isSource(path) || WIRING.test(path) || CONFIG.test(path) || (folder && folder in MAY_IMPORT)) return []
  return [{ offset: 0, rule: 'is in no folder of the import table' }]
}

function lengthFindings({ path, text }: SourceFile): Finding[] {
  const lines = lineCount(text)
  // A catalogue of texts grows with the pages, and is read one sentence at a time.
  const most = path.startsWith('src/pages/texts/') ? MAX_FILE_LINES * 2 : MAX_FILE_LINES
  if (!isSource(path) || lines <= most) return []
  return [{ offset: 0, rule: `${lines} lines are more than ${most}: split the file` }]
}

function phraseFindings(code: string, rules: readonly { readonly phrase: RegExp; readonly rule: string }[]): Finding[] {
  return rules.flatMap(({ phrase, rule }) =>
    Array.from(code.matchAll(phrase), match => ({ offset: match.index, rule })),
  )
}

interface Import {
  readonly offset: number
  readonly module: string
}

/** The modules named by imports, re-exports, dynamic imports, import types and `require`. */
function importsOf(text: string, code: string): Import[] {
  // Only `import … from` and `export … from` put a quote after the word `from`.
  const opening = /(?<![.\w$])(?:from|import|(?:import|require)\s*\()\s*(['"])/g
  return Array.from(code.matchAll(opening), match => {
    const start = match.index + match[0].length
    return { offset: match.index, module: text.slice(start, code.indexOf(match[1] ?? '', start)) }
  })
}

function importFindings(path: string, { offset, module }: Import): Finding[] {
  if (!isSource(path)) return []
  if (!module.startsWith('.')) {
    return OWNED_MODULES.filter(each => each.modules.test(module) && !each.owner.test(path)).map(({ rule }) => ({
      offset,
      rule,
    }))
  }
  const target = resolve(path, module)
  return mayImport(path, target) ? [] : [{ offset, rule: `must not import ${target}` }]
}

/** The path that a relative module name means, seen from a file. */
function resolve(from: string, module: string): string {
  const parts = from.split('/').slice(0, -1)
  for (const part of module.split('/')) {
    if (part === '..') parts.pop()
    else if (part !== '.') parts.push(part)
  }
  return parts.join('/')
}

function mayImport(from: string, to: string): boolean {
  if (to === 'src/app.ts') return from === 'src/main.ts'
  if (to === 'src/main.ts' && ['app', 'main'].includes(folderOf(from) ?? '')) return false
  if (folderOf(to) === 'main') return from === 'src/main.ts'
  // The files of the wiring are independent: only app.ts passes values between them.
  if (folderOf(to) === 'app') return from === 'src/app.ts'
  if (!isSource(to)) return WIRING.test(from) && to === 'package.json'
  const target = folderOf(to)
  if (BOOTSTRAP.test(from) && target !== undefined && AREAS.has(target)) return false
  if (WIRING.test(from)) return true
  if (CONFIG.test(from))
    return CONFIG.test(to) || ['base', 'records', 'model', 'clients', 'providers'].includes(target ?? '')
  const own = folderOf(from)
  if (target === undefined || own === undefined) return false
  return own === target || (MAY_IMPORT[own] ?? []).includes(target)
}

/** `store` for `src/store/…`; undefined for a file of src/ itself. */
const folderOf = (path: string): string | undefined => /^src\/([^/]+)\//.exec(path)?.[1]

/** Exports without a doc comment on the line above, or made where none can stand. */
function exportFindings(text: string, code: string): Finding[] {
  const documented = new Set<string>()
  const list = /(?<![.\w$])export\s+(?:type\s*)?\{[^}]*\}(?!\s*from\b)/g
  const declaration =
    /(?<![.\w$])export\s+(?:declare\s+)?(?:(?:const|let|var)\s+([\w$]+|[{[])|(?:abstract\s+|async\s+)?(?:function\b\s*\*?|class|interface|type|namespace)\s*([\w$]+))/g
  const undocumented = Array.from(code.matchAll(declaration)).flatMap(({ index, 1: variable, 2: other }) => {
    const name = variable ?? other ?? ''
    if (hasDocComment(text.slice(0, index))) documented.add(name)
    // An overload is documented once.
    return documented.has(name) ? [] : [{ offset: index, rule: `the export ${name} has no doc comment above it` }]
  })
  const listed = phraseFindings(code, [{ phrase: list, rule: 'is exported in a list, where no doc comment can stand' }])
  return [...undocumented, ...listed]
}

function hasDocComment(before: string): boolean {
  // A linter directive must be on the line above the code.
  const comment = /\/\*\*(?:(?!\*\/)[\s\S])*\*\/[ \t]*\n(?:[ \t]*\/\/ oxlint-disable-next-line [^\n]*\n)?[ \t]*$/.exec(
    before,
  )
  return comment !== null && /\p{Letter}/u.test(comment[0])
}
