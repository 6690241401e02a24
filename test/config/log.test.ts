import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { loadText, problemsOf, temporaryFolder } from '../support/config.ts'

const folder = temporaryFolder()

describe('log.requests', () => {
  it('defaults to none', async () => {
    assert.equal((await loadText(folder, '{}')).log.requests, 'none')
    assert.equal((await loadText(folder, 'log: { requests: context }')).log.requests, 'context')
  })

  it('rejects unknown values', async () => {
    assert.deepEqual(await problemsOf(loadText(folder, 'log: { requests: some }')), [
      'log.requests: must be one of none, context, all',
    ])
  })
})
