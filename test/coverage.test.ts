// docs/coverage.md is written by hand: what it says of endpoints must be what the servers of both modes have.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { before, describe, it } from 'node:test'
import { MODES } from './support/oauth.ts'
import { startServer } from './support/server.ts'

const ROW = /^\| `(GET|POST|PUT|DELETE|PATCH) (\/[^\s`?]*)[^|]*\|.*\| (done|partly|absent|planned) \|[^|]*\|$/gm

/** The endpoint with its parameters alike, as `:id` of a route and `{clientId}` of the page are. */
const shapeOf = (method: string, path: string): string => `${method} ${path.replaceAll(/\{[^}]*\}|:\w+|\*+/g, '*')}`

describe('the endpoints of docs/coverage.md', () => {
  const states = new Map<string, Set<string>>()
  const registered = new Set<string>()
  const served = new Set<string>()

  before(async () => {
    const page = readFileSync(join(import.meta.dirname, '../docs/coverage.md'), 'utf8')
    for (const [, method = '', path = '', state = ''] of page.matchAll(ROW)) {
      const shape = shapeOf(method, path)
      states.set(shape, (states.get(shape) ?? new Set()).add(state))
    }
    for (const mode of MODES) {
      const config = mode === 'uaa' ? { jwt: { token: { queryString: { enabled: true } } } } : {}
      const server = await startServer({ mode, config })
      for (const { method, url, refuses } of server.app.routes) {
        registered.add(shapeOf(method, url))
        if (!refuses) served.add(shapeOf(method, url))
      }
      await server.stop()
    }
  })

  const withStates = (fits: (state: ReadonlySet<string>) => boolean): readonly string[] =>
    [...states].filter(([, found]) => fits(found)).map(([shape]) => shape)

  it('are more than a hundred', () => {
    assert.ok(states.size > 100)
  })

  it('are served where a row says that something of them is done', () => {
    const done = withStates(found => found.has('done'))
    assert.deepEqual(
      done.filter(shape => !registered.has(shape)),
      [],
    )
  })

  it('are not served where every row says that they are absent', () => {
    const absent = withStates(found => [...found].every(state => state === 'absent' || state === 'planned'))
    assert.deepEqual(
      absent.filter(shape => served.has(shape)),
      [],
    )
  })
})
