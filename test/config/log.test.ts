import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { loadText, problemsOf, temporaryFolder } from '../support/config.ts'

const folder = temporaryFolder()

describe('log.requests', () => {
  it('is none by default', async () => {
    assert.equal((await loadText(folder, '{}')).log.requests, 'none')
    assert.equal((await loadText(folder, 'log: { requests: context }')).log.requests, 'context')
  })

  it('refuses anything else', async () => {
    assert.deepEqual(await problemsOf(loadText(folder, 'log: { requests: some }')), [
      'log.requests: must be one of none, context, all',
    ])
  })
})
