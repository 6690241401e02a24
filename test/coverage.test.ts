// docs/coverage.md is generated from annotations of the tests and from scripts/coverage.txt. Here they are compared with the
// page, with the endpoints of the servers of both modes, and with what README says is missing.
import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { before, describe, it } from 'node:test'
import type { Claim } from '../scripts/coverage.ts'
import { contradictions, pageOf, readAnnotations, readCoverage, readOutline } from '../scripts/coverage.ts'
import { BOTH_MODES } from './support/thinning.ts'
import { startServer } from './support/server.ts'

const root = join(import.meta.dirname, '..')
const coverage = readCoverage(root)
const isAbsent = ({ state }: Claim): boolean => state === 'absent'

describe('Coverage annotations', () => {
  it('are well-formed, above tests, and consistent with each other and coverage.txt', () => {
    assert.deepEqual(coverage.problems, [])
  })

  it('cover more than a thousand fields', () => {
    assert.ok(coverage.claims.filter(claim => !isAbsent(claim)).length > 1000)
  })

  it('match docs/coverage.md', () => {
    const isCurrent = readFileSync(join(root, 'docs/coverage.md'), 'utf8') === pageOf(coverage)
    assert.ok(isCurrent, 'docs/coverage.md is out of date: npm run coverage')
  })
})

const ENDPOINTS = ['GET /a', 'GET /a of b']
const TEST = "it('refuses a | b', () => {})"

describe('An annotation', () => {
  const valid = [
    { name: 'has fields', line: '// Covers GET /a: b; c d', want: ['GET /a', 'b; c d', 'done'] },
    {
      name: 'has a kind for the following fields',
      line: '// Covers GET /a: b; response: c; d',
      want: ['GET /a', 'b; c; d', 'done'],
    },
    { name: 'has the longest matching endpoint', line: '// Covers GET /a of b: c', want: ['GET /a of b', 'c', 'done'] },
    { name: 'may be partial', line: '// Partly covers GET /a: b', want: ['GET /a', 'b', 'partly'] },
  ]
  for (const { name, line, want } of valid) {
    it(name, () => {
      const { claims, problems } = readAnnotations('test/x.test.ts', `  ${line}\n  // why\n  ${TEST}`, ENDPOINTS)
      assert.deepEqual(problems, [])
      const { endpoint, state, test } = claims[0] ?? {}
      assert.deepEqual([endpoint, claims.map(({ field }) => field.text).join('; '), state], want)
      assert.equal(test, 'test/x.test.ts: refuses a | b')
    })
  }

  const subjects = [
    { name: 'a suite', below: 'describe(`a ${b}`, { skip: false }, () => {', want: 'a ${b}' },
    { name: 'a test with a long title', below: 'it(\n  "it\'s long",\n  () => {\n    x()\n  },\n)', want: "it's long" },
    { name: 'a helper that defines a test', below: "refuses('a scope', {})", want: 'a scope' },
    { name: 'a row with a name', below: "{ path: '/x', name: 'a name' },", want: 'a name' },
    { name: 'a row of several lines', below: "{\n  path: '/x',\n  name: 'a name',\n},", want: 'a name' },
    { name: 'a row that starts with a title', below: "['a name', { path: '/x' }],", want: 'a name' },
    { name: 'a row without a title', below: "['GET', '/x', 404],", want: "['GET', '/x', 404]" },
    {
      name: 'generated rows',
      below: '...[0, -2].map(users => ({\n  name: `${users} users`,\n})),',
      want: '${users} users',
    },
  ]
  for (const { name, below, want } of subjects) {
    it(`may precede ${name}`, () => {
      const { claims, problems } = readAnnotations('test/x.test.ts', `// Covers GET /a: b\n${below}\n`, ENDPOINTS)
      assert.deepEqual([claims.map(({ test }) => test), problems], [[`test/x.test.ts: ${want}`], []])
    })
  }

  const malformed = [
    { name: 'an unknown endpoint', text: `// Covers GET /b: c\n${TEST}`, problem: 'no endpoint' },
    { name: 'no field', text: `// Covers GET /a\n${TEST}`, problem: 'no endpoint' },
    { name: 'an empty field', text: `// Covers GET /a: b; ; c\n${TEST}`, problem: 'empty' },
    { name: 'a kind without a field', text: `// Covers GET /a: response: \n${TEST}`, problem: 'empty' },
    { name: 'another case', text: `// covers GET /a: b\n${TEST}`, problem: 'must be' },
    { name: 'no space', text: `//Covers GET /a: b\n${TEST}`, problem: 'must be' },
    { name: 'an overlong line', text: `// Covers GET /a: b; ${'c'.repeat(120)}\n${TEST}`, problem: '120 columns' },
    { name: 'a loop below', text: `// Covers GET /a: b\nfor (const a of b) {\n${TEST}`, problem: 'above no test' },
    { name: 'a blank line below', text: `// Covers GET /a: b\n\n${TEST}`, problem: 'above no test' },
    { name: 'nothing below', text: '// Covers GET /a: b', problem: 'above no test' },
  ]
  for (const { name, text, problem } of malformed) {
    it(`is rejected with ${name}`, () => {
      const { claims, problems } = readAnnotations('test/x.test.ts', text, ENDPOINTS)
      assert.deepEqual(claims, [])
      assert.match(problems.join('\n'), new RegExp(`^test/x.test.ts:1 .*${problem}`))
    })
  }
})

describe('Claims in annotations and coverage.txt', () => {
  const claimsOf = (text: string): readonly Claim[] => readAnnotations('test/x.test.ts', text, ENDPOINTS).claims
  const both = claimsOf(`// Covers GET /a: b; error: d\n// Covers GET /a of b: b\n${TEST}`)

  it('may have the same field for two endpoints', () => {
    assert.deepEqual(contradictions(ENDPOINTS, both), [])
  })

  const refused = [
    {
      name: 'a repeated field, ignoring case',
      more: claimsOf(`// Partly covers GET /a: \`B\`\n${TEST}`),
      problem: '`b` is claimed twice',
    },
    {
      name: 'an absent field',
      more: readOutline('# A\n\n## B\n\nGET /a\n  c; error: d\n').absent,
      problem: 'error: d is claimed twice',
    },
  ]
  for (const { name, more, problem } of refused) {
    it(`may not have ${name}`, () => {
      assert.match(contradictions(ENDPOINTS, [...both, ...more]).join('\n'), new RegExp(`^GET /a: ${problem}`))
    })
  }

  it('cover each endpoint, which coverage.txt has once', () => {
    assert.match(
      contradictions([...ENDPOINTS, 'GET /b'], both).join('\n'),
      /^GET \/b is in coverage\.txt twice, or without/,
    )
    assert.match(contradictions([...ENDPOINTS, 'GET /a'], both).join('\n'), /^GET \/a is in coverage\.txt twice/)
  })

  it('are rendered as rows of one test and endpoint each', () => {
    const text = '// a comment\n# A\n\nWords.\n\n## B\n\nGET /a\n  no_more; rule: not this\nGET /a of b\n'
    const page = pageOf({ outline: readOutline(text), claims: [...both, ...readOutline(text).absent], problems: [] })
    assert.equal(
      page,
      `# A

Words.

## B

| Endpoint | Parameter or field | State | Test |
|---|---|---|---|
| \`GET /a\` | \`b\`; error: d | done | \`test/x.test.ts: refuses a \\| b\` |
| \`GET /a\` | \`no_more\`; rule: not this | absent | |
| \`GET /a of b\` | \`b\` | done | \`test/x.test.ts: refuses a \\| b\` |
`,
    )
  })
})

/** The endpoint with its parameters alike, as `:id` of a route and `{clientId}` of the page are. */
const shapeOf = (method: string, path: string): string => `${method} ${path.replaceAll(/\{[^}]*\}|:\w+|\*+/g, '*')}`
/** `GET /login error codes` is about `GET /login`; `any`, or no method, is about all methods; `/**` is not one. */
const ENDPOINT = /^(?:(any|GET|POST|PUT|DELETE|PATCH) )?(\/(?!\S*\*\*)[^\s`?]*)/
const METHODS = new Set(['GET', 'POST', 'PUT', 'DELETE', 'PATCH'])

describe('Endpoints in docs/coverage.md', () => {
  const shapes = Map.groupBy(coverage.claims, ({ endpoint }) => {
    const [, method = 'any', path] = ENDPOINT.exec(endpoint) ?? []
    return path === undefined ? '' : shapeOf(method, path)
  })
  shapes.delete('')
  const registered = new Set<string>()
  const served = new Set<string>()

  before(async () => {
    for (const mode of BOTH_MODES) {
      const config = mode === 'uaa' ? { jwt: { token: { queryString: { enabled: true } } } } : {}
      const server = await startServer({ mode, config })
      for (const { method, url, refuses } of await server.app.routes()) {
        for (const word of [method, 'any']) registered.add(shapeOf(word, url))
        if (refuses || !METHODS.has(method)) continue
        for (const word of [method, 'any']) served.add(shapeOf(word, url))
      }
      await server.stop()
    }
  })

  const withClaims = (fits: (claims: readonly Claim[]) => boolean): readonly string[] =>
    [...shapes].filter(([, claims]) => fits(claims)).map(([shape]) => shape)

  it('are more than a hundred', () => {
    assert.ok(shapes.size > 100)
  })

  it('are served if partly done', () => {
    const done = withClaims(claims => claims.some(({ state }) => state === 'done'))
    assert.deepEqual(
      done.filter(shape => !registered.has(shape)),
      [],
    )
  })

  it('include every served endpoint, except static files', () => {
    const fields = coverage.claims.map(({ field }) => field.text).filter(text => text.startsWith('/'))
    const named = new Set([...shapes.keys(), ...fields.map(path => shapeOf('any', path))])
    const isNamed = (shape: string): boolean => named.has(shape) || named.has(shape.replace(/^\w+/, 'any'))
    assert.deepEqual(
      [...served].filter(shape => !isNamed(shape) && !/^any |^GET \/resources\//.test(shape)),
      [],
    )
  })

  it('are not served if entirely absent', () => {
    const absent = withClaims(claims => claims.every(isAbsent))
    assert.deepEqual(
      absent.filter(shape => served.has(shape)),
      [],
    )
  })
})

describe('Commands in docs/coverage.md', () => {
  const files = globSync('src/cli/**/*.ts', { cwd: root }).map(file => readFileSync(join(root, file), 'utf8'))
  const commands = new Set(
    files.flatMap(text => [...text.matchAll(/^ {2}name: '([\w-]+)',$/gm)].map(([, name]) => name)),
  )

  it('exist if and only if done', () => {
    const words = coverage.claims
      .filter(({ endpoint, field }) => endpoint === 'latchkey' && !field.text.startsWith('-'))
      .map(({ field, state }) => ({ name: field.text, isDone: state === 'done' }))
    const named = coverage.claims.flatMap(({ endpoint }) => /^latchkey ([\w-]+)$/.exec(endpoint)?.[1] ?? [])
    assert.deepEqual(
      [...words, ...named.map(name => ({ name, isDone: true }))].filter(
        ({ name, isDone }) => commands.has(name) !== isDone,
      ),
      [],
    )
  })
})

describe('Missing features in README', () => {
  const [, list = ''] = /^## Not yet\n(.*?)^## /ms.exec(readFileSync(join(root, 'README.md'), 'utf8')) ?? []
  const entries = list.split(/^- /m).slice(1)

  /** An endpoint of which everything is absent, or an endpoint and a field that is. */
  const absent = new Set([
    ...[...Map.groupBy(coverage.claims, ({ endpoint }) => endpoint)]
      .filter(([, claims]) => claims.every(isAbsent))
      .map(([endpoint]) => endpoint),
    ...coverage.claims.filter(isAbsent).map(({ endpoint, field }) => `${endpoint} ${field.text}`),
  ])

  it('are absent in scripts/coverage.txt under the same name', () => {
    assert.deepEqual(
      entries.filter(entry => !absent.has(/^`([^`]+)`/.exec(entry)?.[1] ?? '')),
      [],
    )
  })
})
