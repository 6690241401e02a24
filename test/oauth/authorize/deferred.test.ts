import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { loadedAtStart } from '../../support/loaded-at-start.ts'

describe('request objects and pushed requests', () => {
  it('are not loaded before they are used', () => {
    const loaded = loadedAtStart()
    assert.ok(loaded.some(url => url.endsWith('/src/oauth/authorize/sources.ts')))
    const early = loaded.filter(url => /\/src\/oauth\/authorize\/(?:push|resolve|request-object)\.ts/.test(url))
    assert.deepEqual(early, [])
  })
})
