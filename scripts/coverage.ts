// Writes docs/coverage.md from the annotations of the tests and from coverage.txt: `npm run coverage`. With `--check`, only
// reports problems. An annotation is a comment directly above a test, a suite or a row of a table:
//
//   // Covers POST /oauth/token: grant_type; scope; response: access_token; expires_in; error: grant_type missing
//   // Partly covers GET /login: page: OAuth and OIDC links
//
// coverage.txt contains the introduction, the sections with their endpoints in order and, indented, their missing fields.
import { globSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** A kind applies to its field and to those after it, up to the next kind. Words after the kinds with `true` are prose. */
const KINDS: Readonly<Record<string, boolean>> = {
  response: false,
  header: false,
  cookie: false,
  claim: false,
  error: true,
  page: true,
  answer: true,
  rule: true,
  check: true,
}
const MAX_COLUMNS = 120
const ANNOTATION = /^\s*\/\/ (Covers|Partly covers) (.+)$/
/** Also matches malformed ones. */
const LIKE_ANNOTATION = /^\s*\/\/\s*(?:partly\s+)?covers\b/i
const LITERAL = /'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|`.*?`(?=[,)]|$| \})/
/** Of a test or suite, or of a function that makes one: the title. */
const CALL = new RegExp(`^(?:(?:\\w+\\.)?(?:test|it|describe)(?:\\.\\w+)?|\\w+)\\(\\s*(${LITERAL.source})`)
const ROW = /^(?:\.\.\.)?[[{'"`]/
const NAME = new RegExp(`\\b(?:name|attack):\\s+(${LITERAL.source})`)
const SENTENCE = /^\[?(['"`])(?=[^'"`]* )((?:(?!\1).)*)\1/

type State = 'done' | 'partly' | 'absent'

/** A parameter, a member of an answer, or a rule, with its kind. */
interface Field {
  readonly kind: string
  readonly text: string
}

/** A claim that a test proves a field, or that the field is absent. `from` is the source of the claim. */
export interface Claim {
  readonly endpoint: string
  readonly field: Field
  readonly state: State
  /** `path: title`; empty if absent. */
  readonly test: string
  readonly from: string
}

/** The content of coverage.txt. */
export interface Outline {
  readonly introduction: string
  readonly sections: readonly { readonly title: string; readonly endpoints: readonly string[] }[]
  readonly absent: readonly Claim[]
}

/** The claims of annotations, and their problems. */
export interface Annotations {
  readonly claims: readonly Claim[]
  readonly problems: readonly string[]
}

/** Reads coverage.txt. Lines that begin with `//` are comments. */
export function readOutline(text: string): Outline {
  const lines = text.split('\n').filter(line => !line.startsWith('//'))
  const start = lines.findIndex(line => line.startsWith('## '))
  const sections: { title: string; endpoints: string[] }[] = [] // filled below
  const absent: Claim[] = []
  for (const line of lines.slice(start)) {
    const endpoints = sections.at(-1)?.endpoints ?? []
    if (line.startsWith('## ')) sections.push({ title: line.slice(3), endpoints: [] })
    else if (/^\S/.test(line)) endpoints.push(line)
    else if (line !== '') {
      const common = { endpoint: endpoints.at(-1) ?? '', state: 'absent', test: '', from: 'coverage.txt' } as const
      absent.push(...fieldsOf(line.trim()).map(field => ({ ...common, field })))
    }
  }
  return { introduction: lines.slice(0, start).join('\n').trim(), sections, absent }
}

function fieldsOf(list: string): readonly Field[] {
  let kind = ''
  return list.split(';').map(part => {
    const [, named = '', rest = ''] = /^ ?(\w+): (.*)$/.exec(part) ?? []
    if (!Object.hasOwn(KINDS, named)) return { kind, text: part.replace(/^ /, '') }
    kind = named
    return { kind, text: rest }
  })
}

/** The claims of one test file. `endpoints` are those of the outline. */
export function readAnnotations(path: string, text: string, endpoints: readonly string[]): Annotations {
  const lines = text.split('\n')
  const claims: Claim[] = []
  const problems: string[] = []
  for (const [index, line] of lines.entries()) {
    if (!LIKE_ANNOTATION.test(line)) continue
    const from = `${path}:${index + 1}`
    const annotation = readAnnotation(line, endpoints)
    const title = titleBelow(lines, index)
    if (typeof annotation === 'string') problems.push(`${from} ${annotation}`)
    else if (title === undefined) problems.push(`${from} stands above no test and no row of a table`)
    else claims.push(...annotation.map(claim => ({ ...claim, test: `${path}: ${title}`, from })))
  }
  return { claims, problems }
}

/** The claims of the line, or its problem. */
function readAnnotation(line: string, endpoints: readonly string[]): readonly Omit<Claim, 'test' | 'from'>[] | string {
  const [, word, claimed = ''] = ANNOTATION.exec(line) ?? []
  if (word === undefined) return 'must be "// Covers ENDPOINT: FIELD; FIELD" or "// Partly covers …"'
  const [endpoint] = endpoints
    .filter(each => claimed.startsWith(`${each}: `))
    .toSorted((one, other) => other.length - one.length)
  if (endpoint === undefined) return 'begins with no endpoint of coverage.txt'
  const fields = fieldsOf(claimed.slice(endpoint.length + 2))
  if (fields.some(({ text }) => text === '' || text !== text.trim())) return 'has an empty field or too many blanks'
  if (line.length > MAX_COLUMNS && fields.length > 1) return `has more than ${MAX_COLUMNS} columns: use several lines`
  return fields.map(field => ({ endpoint, field, state: word === 'Covers' ? 'done' : 'partly' }))
}

/**
 * The title of the test, suite or row below the annotation; undefined if there is none. A row without a name is named by
 * the sentence with which it begins, or by its first line.
 */
function titleBelow(lines: readonly string[], index: number): string | undefined {
  const below = lines.slice(lines.findIndex((line, at) => at > index && !/^\s*\/\//.test(line)))
  const [first = '', second = ''] = below
  const isOpen = /[[({]$/.test(first)
  // To the line that closes what the first one opens.
  const end = below.findIndex((line, at) => at > 0 && /\S/.test(line.slice(0, first.search(/\S/) + 1)))
  const text = (isOpen ? below.slice(0, end === -1 ? 2 : end) : [first]).join('\n').trim()
  if (!ROW.test(text)) return CALL.exec(text)?.[1]?.slice(1, -1)
  const name = NAME.exec(text)?.[1]?.slice(1, -1) ?? SENTENCE.exec(text)?.[2]
  return name ?? (isOpen ? second : first).trim().replace(/,$/, '')
}

/** All claims and problems. */
export interface Coverage extends Annotations {
  readonly outline: Outline
}

/** Reads the outline and the annotations of the tests of the repository. */
export function readCoverage(root: string): Coverage {
  const outline = readOutline(readFileSync(join(root, 'scripts/coverage.txt'), 'utf8'))
  const endpoints = outline.sections.flatMap(section => section.endpoints)
  const files = globSync('test/{**/*.test,attacks/*}.ts', { cwd: root })
    .toSorted()
    .map(path => readAnnotations(path, readFileSync(join(root, path), 'utf8'), endpoints))
  const claims = [...files.flatMap(file => file.claims), ...outline.absent]
  return { outline, claims, problems: [...files.flatMap(file => file.problems), ...contradictions(endpoints, claims)] }
}

/** Reports duplicate fields, fields that are covered and absent, and endpoints without any. Field names ignore case. */
export function contradictions(endpoints: readonly string[], claims: readonly Claim[]): readonly string[] {
  const nameOf = ({ endpoint, field }: Claim): string => `${endpoint}: ${cellOf([field])}`
  const repeated = [...Map.groupBy(claims, claim => nameOf(claim).toLowerCase()).values()]
    .filter(same => same.length > 1)
    .map(same => `${same.map(nameOf)[0]} is claimed twice: ${same.map(({ from }) => from).join(', ')}`)
  const silent = endpoints
    .filter((each, index) => endpoints.indexOf(each) < index || claims.every(({ endpoint }) => endpoint !== each))
    .map(each => `${each} is in coverage.txt twice, or without a field that is covered or absent`)
  return [...repeated, ...silent]
}

/** Fields in a cell, each kind once. A single word is code, except where words are prose. */
function cellOf(fields: readonly Field[]): string {
  return fields
    .map(({ kind, text }, index) => {
      const cell = text.replace(/^[^\s`]+(?=$| \((?:uaa|standard)\)$)/, word =>
        KINDS[kind] !== true || /[_<*]/.test(word) ? `\`${word}\`` : word,
      )
      return kind === (fields[index - 1]?.kind ?? '') ? cell : `${kind}: ${cell}`
    })
    .join('; ')
    .replaceAll('|', '\\|')
}

const HEAD = '| Endpoint | Parameter or field | State | Test |\n|---|---|---|---|\n'

/** The text of docs/coverage.md: a table for each section, in which a row has what one test proves of one endpoint. */
export function pageOf({ outline, claims }: Coverage): string {
  const byEndpoint = Map.groupBy(claims, ({ endpoint }) => endpoint)
  const tables = outline.sections.map(({ title, endpoints }) => {
    const rows = endpoints.flatMap(endpoint =>
      [...Map.groupBy(byEndpoint.get(endpoint) ?? [], ({ state, test }) => `${state} ${test}`).values()].map(rowOf),
    )
    return `## ${title}\n\n${HEAD}${rows.join('')}`
  })
  return `${outline.introduction}\n\n${tables.join('\n')}`
}

function rowOf(claims: readonly Claim[]): string {
  const [{ endpoint, state, test } = { endpoint: '', state: '', test: '' }] = claims
  const kinds = ['', ...Object.keys(KINDS)]
  const fields = claims
    .map(({ field }) => field)
    .toSorted((one, other) => kinds.indexOf(one.kind) - kinds.indexOf(other.kind))
  const quote = test.includes('`') ? '``' : '`'
  const proof = test === '' ? '' : `${quote}${test.replaceAll('|', '\\|')}${quote} `
  return `| \`${endpoint}\` | ${cellOf(fields)} | ${state} | ${proof}|\n`
}

if (import.meta.main) {
  const root = join(import.meta.dirname, '..')
  const file = join(root, 'docs/coverage.md')
  const coverage = readCoverage(root)
  const page = pageOf(coverage)
  for (const problem of coverage.problems) console.error(problem)
  if (coverage.problems.length > 0) process.exitCode = 1
  else if (!process.argv.includes('--check')) writeFileSync(file, page)
  else if (readFileSync(file, 'utf8') !== page) {
    console.error('docs/coverage.md is out of date: npm run coverage')
    process.exitCode = 1
  }
}
