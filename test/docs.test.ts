import assert from 'node:assert/strict'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, it } from 'node:test'
import { differenceIds } from '../src/model/compatibility.ts'

const root = join(import.meta.dirname, '..')
const textOf = (path: string): string => readFileSync(join(root, path), 'utf8')

/** A row of a Markdown table with the line it stands on; the cells are trimmed and keep their markup. */
interface Row {
  readonly line: number
  readonly cells: readonly string[]
}

/** The rows of every table whose head has exactly these titles. */
function tableRows(markdown: string, titles: readonly string[]): readonly Row[] {
  const rows: Row[] = []
  let inside = false
  for (const [index, text] of markdown.split('\n').entries()) {
    if (!text.startsWith('|')) {
      inside = false
      continue
    }
    const cells = cellsOf(text)
    if (titles.length === cells.length && titles.every((title, column) => title === cells[column])) inside = true
    else if (inside && !/^\|[-:|\s]+\|$/.test(text)) rows.push({ line: index + 1, cells })
  }
  return rows
}

/** A bar inside a cell is written `\|`. */
function cellsOf(line: string): readonly string[] {
  return line
    .trim()
    .slice(1, -1)
    .split(/(?<!\\)\|/)
    .map(cell => cell.trim())
}

const repeated = (values: readonly string[]): readonly string[] =>
  values.filter((value, index) => values.indexOf(value) !== index)

const COVERAGE = ['Endpoint', 'Parameter or field', 'State', 'Test']
const CONFORMANCE = ['Plan', 'Requirement', 'State', 'Test']

/** The problems of the rows of the conformance page, by line; `read` returns the text of a test, or undefined. */
function conformanceProblems(markdown: string, read: (path: string) => string | undefined): readonly string[] {
  const rows = tableRows(markdown, CONFORMANCE)
  const seen = new Set<string>()
  return rows.flatMap(({ line, cells }) => {
    const [plan = '', requirement = '', state = '', test = ''] = cells
    const problem = rowProblem({ columns: cells.length, plan, requirement, state, test }, read)
    const key = `${plan} ${requirement}`.toLowerCase()
    const duplicate = seen.has(key)
    seen.add(key)
    return [problem, duplicate ? 'the row is there twice' : undefined]
      .filter(text => text !== undefined)
      .map(text => `line ${line}: ${text}`)
  })
}

function rowProblem(
  row: { columns: number; plan: string; requirement: string; state: string; test: string },
  read: (path: string) => string | undefined,
): string | undefined {
  if (row.columns !== CONFORMANCE.length) return `${row.columns} columns`
  if (row.plan === '' || row.requirement === '') return 'a cell is empty'
  switch (row.state) {
    case 'planned':
    case 'absent':
      return row.test === '' ? undefined : `a test stands beside "${row.state}"`
    case 'done':
    case 'partly':
      return testProblem(row.test, read)
    default:
      return `unknown state "${row.state}"`
  }
}

/** `path` or `path: words of the test's name`; the words must stand in the file. */
function testProblem(cell: string, read: (path: string) => string | undefined): string | undefined {
  const [, path, words] = /^`?(test\/[\w./-]+\.test\.ts)(?:: (.+?))?`?$/.exec(cell) ?? []
  if (path === undefined) return `no test is named by "${cell}"`
  const text = read(path)
  if (text === undefined) return `${path} does not exist`
  if (words === undefined || text.includes(words.replaceAll('\\|', '|'))) return undefined
  return `"${words}" does not occur in ${path}`
}

const readInRepository = (path: string): string | undefined => (existsSync(join(root, path)) ? textOf(path) : undefined)

describe('docs/coverage.md', () => {
  const markdown = textOf('docs/coverage.md')

  it('explains each state in use', () => {
    const explained = new Set(tableRows(markdown, ['State', 'Means']).map(row => row.cells[0]))
    const used = tableRows(markdown, COVERAGE).map(row => `\`${row.cells[2]}\``)
    assert.deepEqual(
      used.filter(state => !explained.has(state)),
      [],
    )
  })

  it('has only headings and tables after its first heading', () => {
    const body = markdown.slice(markdown.indexOf('\n## '))
    const stray = body.split('\n').filter(line => line !== '' && !line.startsWith('## ') && !line.startsWith('| '))
    assert.deepEqual([...new Set(stray)], ['|---|---|---|---|'])
    const heads = body.match(/^\| Endpoint \|.*$/gm) ?? []
    assert.equal(heads.length, body.match(/^## /gm)?.length)
    assert.deepEqual([...new Set(heads)], [`| ${COVERAGE.join(' | ')} |`])
  })
})

describe('docs/conformance.md', () => {
  it('has an existing test for every requirement', () => {
    const markdown = textOf('docs/conformance.md')
    assert.ok(tableRows(markdown, CONFORMANCE).length > 40)
    assert.deepEqual(conformanceProblems(markdown, readInRepository), [])
  })
})

const readExample = (path: string): string | undefined =>
  path === 'test/a.test.ts' ? "it('refuses a | b', () => {})" : undefined

describe('conformanceProblems', () => {
  const cases = [
    { name: 'accepts a row without a claim', row: '| `/a` | `b` | absent | |' },
    { name: 'accepts a test file', row: '| `/a` | `b` | done | test/a.test.ts |' },
    { name: 'accepts a title of a test', row: '| `/a` | `b` | partly | `test/a.test.ts: refuses a \\| b` |' },
    {
      name: 'rejects an unknown title',
      row: '| `/a` | `b` | done | test/a.test.ts: accepts |',
      problem: 'occur',
    },
    { name: 'rejects a missing file', row: '| `/a` | `b` | done | test/b.test.ts |', problem: 'exist' },
    { name: 'rejects a file that is not a test', row: '| `/a` | `b` | done | README.md |', problem: 'no test' },
    { name: 'rejects a claim without a test', row: '| `/a` | `b` | done | |', problem: 'no test' },
    { name: 'rejects an unknown state', row: '| `/a` | `b` | ready | |', problem: 'state' },
    { name: 'rejects a test without a claim', row: '| `/a` | `b` | planned | test/a.test.ts |', problem: 'beside' },
    { name: 'rejects a missing column', row: '| `/a` | `b` | absent |', problem: 'columns' },
    { name: 'rejects an empty field', row: '| `/a` | | absent | |', problem: 'empty' },
    { name: 'rejects a repeated row', row: '| `/a` | `b` | absent | |\n| `/A` | `b` | absent | |', problem: 'twice' },
  ]
  for (const { name, row, problem } of cases) {
    it(name, () => {
      const found = conformanceProblems(`| ${CONFORMANCE.join(' | ')} |\n|---|---|---|---|\n${row}\n`, readExample)
      if (problem === undefined) assert.deepEqual(found, [])
      else assert.match(found.join('\n'), new RegExp(problem))
    })
  }
})

describe('docs/operate.md', () => {
  // The API finds only an SDK that was registered by the same or a later minor version of it.
  it('has the minimum version of the OpenTelemetry API for an SDK', () => {
    const { dependencies } = JSON.parse(textOf('package.json'))
    const [, minor] = /^(1\.\d+)\.\d+$/.exec(dependencies['@opentelemetry/api']) ?? []
    const [, named] = /must be\s+version (\S+) or a later 1\.x/.exec(textOf('docs/operate.md')) ?? []
    assert.equal(named, minor)
  })
})

describe('docs/compatibility.md', () => {
  const markdown = textOf('docs/compatibility.md')
  const rows = tableRows(markdown, ['Id', 'What', '`standard`', '`uaa`', 'State'])
  const ids = rows.map(row => row.cells[0] ?? '')

  it('has an entry for every difference in the source', () => {
    const missing = Object.values(differenceIds).filter(id => !ids.includes(id))
    assert.deepEqual(missing, [])
  })

  it('has each difference once', () => {
    assert.deepEqual(repeated(ids), [])
  })

  it('has the behaviour of both modes and the state of each difference', () => {
    const incomplete = rows.filter(
      ({ cells }) => cells.length !== 5 || cells.includes('') || !/^(built|partly: .+|planned)$/.test(cells[4] ?? ''),
    )
    assert.deepEqual(incomplete, [])
  })
})

describe('The documentation', () => {
  const documents = ['.', 'docs', 'docs/decisions', 'docs/providers']
    .filter(folder => existsSync(join(root, folder)))
    .flatMap(folder => readdirSync(join(root, folder)).map(name => join(folder, name)))
    .filter(path => path.endsWith('.md'))

  it('links only to existing files', () => {
    const broken = documents.flatMap(path =>
      [...textOf(path).matchAll(/\]\(([^)#\s]+)[^)]*\)/g)]
        .map(match => match[1] ?? '')
        .filter(target => !/^[a-z]+:/.test(target) && !existsSync(join(root, dirname(path), target)))
        .map(target => `${path}: ${target}`),
    )
    assert.deepEqual(broken, [])
  })

  it('runs npm silently where its output matters', () => {
    const noisy = documents.flatMap(path =>
      textOf(path)
        .split('\n')
        .filter(line => line.includes('npm run latchkey --'))
        .map(line => `${path}: ${line}`),
    )
    assert.deepEqual(noisy, [], 'npm writes two lines of its own unless -s is given')
  })

  it('links only to existing headings', () => {
    const prose = (path: string): string => textOf(path).replaceAll(/^```[^]*?^```/gm, '')
    /** The anchors that GitHub gives to headings. */
    const anchorsOf = (path: string): readonly string[] =>
      [...prose(path).matchAll(/^#+ (.*)$/gm)].map(([, heading = '']) =>
        heading
          .replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1')
          .toLowerCase()
          .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
          .trim()
          .replaceAll(/\s/g, '-'),
      )
    const broken = documents.flatMap(path =>
      [...prose(path).matchAll(/\]\(([^)#\s:]*)#([^)\s]+)\)/g)]
        .filter(([, target = '', anchor = '']) => {
          const file = target === '' ? path : join(dirname(path), target)
          return file.endsWith('.md') && !anchorsOf(file).includes(anchor)
        })
        .map(([link]) => `${path}: ${link}`),
    )
    assert.deepEqual(broken, [])
  })
})
