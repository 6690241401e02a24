// README's list of what is not there, asked for: an entry that has become untrue fails, and so does one that nobody asks for.
import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { SERVICE } from './support/oauth.ts'
import type { TestServer } from './support/server.ts'
import { startServer } from './support/server.ts'

const root = join(import.meta.dirname, '..')

/** The entries of the list, each in one line. */
function entriesOf(readme: string): readonly string[] {
  const [, section = ''] = /^## Not yet\n(.*?)^## /ms.exec(readme) ?? []
  return section
    .split(/^- /m)
    .slice(1)
    .map(entry => entry.replaceAll(/\s+/g, ' ').trim())
}

/** What must not be there as long as the entry that begins so is true. */
interface Absence {
  readonly entry: string
  readonly paths?: readonly string[]
  readonly grants?: readonly string[]
  readonly metadata?: readonly string[]
  /** Names of files: for what cannot be asked for by a request. */
  readonly files?: { readonly folder: string; readonly pattern: RegExp }
}

const ABSENCES: readonly Absence[] = [
  { entry: 'import from a UAA configuration or database', files: { folder: 'src/cli', pattern: /import/ } },
]

describe('what README says is not there yet', () => {
  let server: TestServer
  before(async () => {
    server = await startServer()
  })
  after(() => server.stop())

  it('is asked for here, entry by entry', () => {
    const entries = entriesOf(readFileSync(join(root, 'README.md'), 'utf8'))
    assert.deepEqual(
      entries.map(entry => ABSENCES.find(absence => entry.startsWith(absence.entry))?.entry ?? entry),
      ABSENCES.map(({ entry }) => entry),
    )
  })

  for (const { entry, paths = [], grants = [], metadata = [], files } of ABSENCES) {
    it(`is not there: ${entry}`, async () => {
      for (const path of paths) {
        for (const method of ['GET', 'POST']) {
          const answer = await server.send(path, { method, headers: { accept: 'application/json' } })
          assert.equal(answer.status, 404, `${method} ${path}`)
        }
      }
      for (const grant of grants) {
        const answer = await server.token({ grant_type: grant }, { basic: SERVICE })
        assert.equal(answer.json()['error'], 'unsupported_grant_type', grant)
      }
      const discovered = (await server.send('/.well-known/openid-configuration')).json()
      for (const member of metadata) assert.ok(!(member in discovered), member)
      if (files) {
        const found = readdirSync(join(root, files.folder)).filter(name => files.pattern.test(name))
        assert.deepEqual(found, [])
      }
    })
  }
})
