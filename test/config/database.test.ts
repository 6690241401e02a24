import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { loadText, problemsOf, temporaryFolder } from '../support/config.ts'

const folder = temporaryFolder()

describe('database_options', () => {
  it('leave to the connection how changes are heard of unless they say otherwise', async () => {
    assert.equal((await loadText(folder, '{}')).databaseOptions.changes, undefined)
    const config = await loadText(folder, 'database_options: { changes: poll }')
    assert.equal(config.databaseOptions.changes, 'poll')
  })

  it('let a start migrate unless they say otherwise', async () => {
    assert.equal((await loadText(folder, '{}')).databaseOptions.migratesAtStart, true)
    const config = await loadText(folder, 'database_options: { migrate_at_start: false }')
    assert.equal(config.databaseOptions.migratesAtStart, false)
  })

  it('refuse anything else', async () => {
    assert.deepEqual(await problemsOf(loadText(folder, 'database_options: { changes: guess }')), [
      'database_options.changes: must be one of listen, poll',
    ])
  })
})
