// The rules of who may import what and who owns what, as tables. `violations` is a pure function of the files it is given,
// so that the test of the source tree can also prove that each rule bites.

import { codeOnly } from './code-only.ts'

/** One source file; the path is relative to the root of the repository, with forward slashes. */
export interface SourceFile {
  readonly path: string
  readonly text: string
}

/** A file of more lines than this is reported; one of more than `LONG_FILE_LINES` is a question in review only. */
export const MAX_FILE_LINES = 500
/** See `MAX_FILE_LINES`. */
export const LONG_FILE_LINES = 300

const BELOW_AREAS = [
  'base',
  'records',
  'model',
  'store',
  'token',
  'mail',
  'clients',
  'users',
  'factors',
  'providers',
  'zones',
  'identity',
  'accounts',
  'pages',
  'web',
  'ops',
]

/** Which folders each folder of src/ may import beside itself. */
const MAY_IMPORT: Readonly<Record<string, readonly string[]>> = {
  base: [],
  records: ['base'],
  model: ['base', 'records'],
  store: ['base', 'records', 'model'],
  token: ['base', 'records', 'model', 'store'],
  mail: ['base', 'records', 'model', 'store'],
  accounts: [
    'base',
    'records',
    'model',
    'store',
    'token',
    'mail',
    'clients',
    'users',
    'factors',
    'providers',
    'identity',
    'pages',
  ],
  clients: ['base', 'records', 'model', 'store', 'token'],
  users: ['base', 'records', 'model', 'store', 'token'],
  factors: ['base', 'records', 'model', 'store'],
  providers: ['base', 'records', 'model'],
  zones: ['base', 'records', 'model'],
  identity: ['base', 'records', 'model', 'store', 'mail', 'users', 'providers', 'zones'],
  pages: ['base', 'records', 'model'],
  web: ['base', 'records', 'model', 'store', 'token', 'clients', 'pages'],
  ops: ['base', 'records', 'model', 'store', 'web'],
  uaa: ['base', 'records', 'model', 'store', 'token', 'clients', 'users', 'providers', 'zones'],
  oauth: BELOW_AREAS,
  login: BELOW_AREAS,
  admin: BELOW_AREAS,
}

const CONFIG = /^src\/config(?:-[a-z0-9-]+|\/.+)?\.ts$/
/** Applies the configuration through what the areas stand on, and never through an area. */
const BOOTSTRAP = /^src\/bootstrap(?:\/.+)?\.ts$/
const AREAS = new Set(['oauth', 'login', 'admin'])
const WIRING = /^src\/(?:app(?:\/.+)?|main(?:\/.+)?|bootstrap(?:\/.+)?|cli\/.+)\.ts$/
const FORBIDDEN_NAMES = new Set(['utils', 'util', 'helpers', 'helper', 'common', 'misc', 'types', 'constants'])
const NOWHERE = /(?!)/

/** Packages that have one owner: a module name that matches may be imported by the owner's files only. */
const OWNED_MODULES: readonly OwnedModules[] = [
  {
    modules: /^(?:kysely|pg|pg-[\w-]+|node:sqlite|better-sqlite3)(?:\/|$)/,
    owner: /^src\/store\//,
    rule: 'SQL libraries are imported in store/ only',
  },
  {
    modules: /^(?:fastify|@fastify\/[\w-]+)(?:\/|$)/,
    owner: /^src\/(?:(?:web|ops|oauth|login|admin|app)\/|app\.ts$)/,
    rule: 'fastify is imported in web/, ops/, the three areas, app.ts and app/ only',
  },
  {
    modules: /^(?:node:)?crypto$/,
    owner: /^src\/(?:(?:base|token|clients|identity)\/|oauth\/pkce\.ts$|config(?:-[a-z0-9-]+|\/.+)?\.ts$)/,
    rule: 'node:crypto is imported in base/, token/, clients/, identity/, oauth/pkce.ts and the config loader only',
  },
  {
    modules: /^(?:@node-rs\/)?(?:argon2|bcrypt|bcryptjs)$/,
    owner: /^src\/base\/passwords\.ts$/,
    rule: 'password hashing is imported in base/passwords.ts only',
  },
  {
    modules: /^(?:undici|(?:node:)?https)(?:\/|$)/,
    owner: /^src\/base\/outbound(?:\/http)?\.ts$/,
    rule: 'outbound HTTP is made in base/outbound.ts and base/outbound/http.ts only',
  },
  {
    modules: /^nodemailer(?:\/|$)/,
    owner: /^src\/mail\/transport\.ts$/,
    rule: 'mails are sent in mail/transport.ts only',
  },
  {
    modules: /^(?:prom-client|@opentelemetry\/[\w-]+)(?:\/|$)/,
    owner: /^src\/ops\//,
    rule: 'the libraries of metrics and traces are imported in ops/ only',
  },
  {
    modules: /^(?:node:)?process$/,
    owner: /^src\/config\.ts$/,
    rule: 'the environment is read in config.ts only: use the global `process` for anything else',
  },
]

/** Calls and phrases that have one owner; they are looked for outside comments and strings. */
const OWNED_PHRASES: readonly OwnedPhrase[] = [
  {
    phrase: /(?<![.\w$#])fetch\s*\(|\bglobalThis\s*\.\s*fetch\b/g,
    owner: /^src\/base\/outbound\.ts$/,
    rule: '`fetch` is called in base/outbound.ts only',
  },
  {
    phrase: /(?<![\w$])Date\s*(?:\.\s*now\b|\(\s*\))|\bnew\s+Date\b(?!\s*[.(\w$])|\bTemporal\s*\.\s*Now\b/g,
    owner: /^src\/base\/clock\.ts$/,
    rule: 'the present moment is read in base/clock.ts only',
  },
  {
    phrase: /\bperformance\s*\.\s*now\b|\bprocess\s*\.\s*hrtime\b/g,
    owner: /^src\/base\/clock\.ts$/,
    rule: 'durations are measured by base/clock.ts only',
  },
  { phrase: /\bMath\s*\.\s*random\b/g, owner: NOWHERE, rule: '`Math.random` can be guessed: use base/random.ts' },
  {
    phrase: /\b(?:randomBytes|randomUUID|randomFill|randomFillSync|randomInt|getRandomValues)\b/g,
    owner: /^src\/base\/random\.ts$/,
    rule: 'random values are drawn in base/random.ts only',
  },
  {
    phrase: /\bprocess\s*(?:(?:\?\.|\.)\s*env\b|(?:\?\.\s*)?\[)|\benv\b[^{}=]*\}\s*=\s*process\b(?!\s*\.)/g,
    owner: /^src\/config\.ts$/,
    rule: 'the environment is read in config.ts only',
  },
  {
    phrase: /(?<![.\w$])(?:argon2|scrypt|pbkdf2)(?:Sync)?\s*\(/g,
    // A key in a file is opened with the derivation that the file names.
    owner: /^src\/base\/(?:passwords|certificates\/encrypted-key)\.ts$/,
    rule: 'passwords are hashed in base/passwords.ts only',
  },
  {
    phrase: /\.\s*normalize\s*\(/g,
    owner: /^src\/base\/normalized\.ts$/,
    rule: 'text is normalized in base/normalized.ts only, in linear time',
  },
  {
    phrase: /\bfromTemplate\b/g,
    owner: /^src\/base\/html\.ts$/,
    rule: 'markup is made by the `html` template only',
  },
  {
    phrase: /\b(?:createRequire|getBuiltinModule)\b/g,
    owner: /^src\/base\/(?:lazy-packages|foreign-functions)\.ts$/,
    rule: 'modules are loaded by `import`, but for base/lazy-packages.ts and base/foreign-functions.ts',
  },
]

/** Phrases that no file may have. */
const BANNED_PHRASES: readonly { readonly phrase: RegExp; readonly rule: string }[] = [
  { phrase: /(?<![.\w$])enum\s+[A-Za-z_$]/g, rule: 'a union of literals is used instead of an enum' },
  { phrase: /\bexport\s+default\b|\bas\s+default\b|\bexport\s*=/g, rule: 'exports have names: no default export' },
  {
    phrase: /(?:[:<|&,(=[]|\bas\b|\bextends\b|\bsatisfies\b|=>)\s*any(?![\w$])(?!\s*(?:[:(.]|\?\s*:))/g,
    rule: '`unknown` or a real type is used instead of `any`',
  },
  { phrase: /(?<![.\w$])(?:import|require)\s*\(\s*(?!['"\s])/g, rule: 'an import names its module in plain quotes' },
]

interface OwnedModules {
  readonly modules: RegExp
  readonly owner: RegExp
  readonly rule: string
}

interface OwnedPhrase {
  readonly phrase: RegExp
  readonly owner: RegExp
  readonly rule: string
}

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
  // A catalogue of texts grows with the pages, and is read a sentence at a time.
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
  // The parts of the wiring know nothing of one another: app.ts alone passes on what one has made for another.
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
  // A directive for the linter has to stand on the very line above the code.
  const comment = /\/\*\*(?:(?!\*\/)[\s\S])*\*\/[ \t]*\n(?:[ \t]*\/\/ oxlint-disable-next-line [^\n]*\n)?[ \t]*$/.exec(
    before,
  )
  return comment !== null && /\p{Letter}/u.test(comment[0])
}
