import assert from 'node:assert/strict'
import { mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { after, describe, it } from 'node:test'
import { planText } from '../../src/cli/database/migration-report.ts'
import { runToEnd } from '../support/process.ts'

const folder = mkdtempSync(join(tmpdir(), 'latchkey-migrate-'))
after(() => rmSync(folder, { recursive: true, force: true }))

const run = async (...args: readonly string[]) => {
  const { status, stdout, stderr } = await runToEnd(args, { folder })
  return { status, stdout, stderr }
}
const KIND = '0030-kinds-of-migrations'

describe('latchkey migrate', () => {
  it('does not plan for an unknown database, creates one, and then has nothing to do', async () => {
    const missing = await run('migrate', '--plan')
    assert.deepEqual([missing.status, missing.stdout], [1, ''])
    assert.match(missing.stderr, /^latchkey: there is no database [^\n]*\n$/)
    const made = await run('migrate')
    assert.equal(made.status, 0)
    assert.match(made.stdout, new RegExp(`^Applied:\n {2}0001-first\n[^]*${KIND}\n`))
    assert.deepEqual(await run('migrate', '--plan'), { status: 0, stdout: 'The schema is up to date.\n', stderr: '' })
  })

  it('leaves an empty file empty when it plans', async () => {
    const file = join(folder, 'empty.db')
    writeFileSync(file, '')
    const { status, stdout } = await run('migrate', '--plan', '--database', `sqlite:${file}`)
    assert.equal(status, 0)
    assert.match(stdout, /^The database is empty: /)
    assert.deepEqual(
      readdirSync(folder).filter(name => name.startsWith('empty')),
      ['empty.db'],
    )
    assert.equal(statSync(file).size, 0)
  })

  it('plans and applies pending migrations, which migrate_at_start: false requires before a start', async () => {
    const database = new DatabaseSync(join(folder, 'data', 'latchkey.db'))
    database.exec(`delete from migrations where id = '${KIND}'; alter table migrations drop column kind`)
    database.close()
    const planned = await run('migrate', '--plan')
    assert.equal(planned.status, 0)
    assert.match(planned.stdout, /^0030-kinds-of-migrations \(expand: servers of the previous version keep working\)\n/)
    assert.match(
      planned.stdout,
      /\n {2}migrations: add the column kind; \d\d rows; all writes wait; less than a second\n/,
    )
    writeFileSync(join(folder, 'latchkey.json'), JSON.stringify({ database_options: { migrate_at_start: false } }))
    const served = await run('serve', '--config', 'latchkey.json', '--port', '0')
    assert.equal(served.status, 1)
    assert.match(served.stderr, /^latchkey: the database lacks a migration [^\n]*: run latchkey migrate\n$/)
    assert.equal((await run('migrate', '--config', 'latchkey.json')).stdout, `Applied:\n  ${KIND}\n`)
    const { stderr } = await run('keys', 'list', '--config', 'latchkey.json')
    assert.match(stderr, /^latchkey: there is no data\/latchkey\.key: /) // no server has used the database, and none is refused
  })

  const refused: readonly { args: readonly string[]; status: number; says: RegExp }[] = [
    { args: ['--database', 'sqlite::memory:'], status: 1, says: /a database in memory belongs to one process/ },
    { args: ['--dry-run'], status: 2, says: /Unknown option '--dry-run'/ },
    { args: ['--plan', '--plan'], status: 2, says: /given twice/ },
  ]
  for (const { args, status, says } of refused) {
    it(`rejects ${args.join(' ')}`, async () => {
      const ended = await run('migrate', ...args)
      assert.deepEqual([ended.status, ended.stdout], [status, ''])
      assert.match(ended.stderr, says)
    })
  }
})

describe('The text of a migration plan', () => {
  it('has rows, locks and times of large tables, versions that must stop, and unknown migrations', () => {
    const text = planText({
      isNew: false,
      unknown: ['9009-later'],
      pending: [
        {
          id: '9001-a',
          kind: 'contract',
          steps: [
            {
              kind: 'create index',
              what: 'create the index i',
              table: 'users',
              rows: 1_234_567,
              lock: 'SHARE',
              milliseconds: 3704,
            },
            { kind: 'change rows', what: 'change rows', table: 'users', rows: 9_000_000, milliseconds: 270_000 },
            { kind: 'create table', what: 'create the table t', table: 't', rows: 0, milliseconds: 0 },
          ],
        },
      ],
    })
    const lines = text.split('\n')
    assert.deepEqual(lines.slice(0, 4), [
      '9001-a (contract: stop servers of older versions first)',
      '  users: create the index i; 1,234,567 rows; SHARE; about 4 s',
      '  users: change rows; 9,000,000 rows; about 5 minutes',
      '  create the table t; less than a second',
    ])
    assert.match(
      text,
      /One migration is pending[^]* In all about 5 minutes\.[^]*once the servers of older versions are stopped/,
    )
    assert.match(text, /A newer version has added [^\n]*: 9009-later\n$/)
  })

  it('is one sentence for an empty database', () => {
    const pending = [{ id: '0001-first', kind: 'expand', steps: [] }] as const
    assert.match(planText({ isNew: true, unknown: [], pending }), /^The database is empty: [^\n]*\n$/)
  })
})
