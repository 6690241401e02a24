import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { loadedAtStart } from '../../support/loaded-at-start.ts'

describe('SAML', () => {
  it('is not loaded at startup', () => {
    const loaded = loadedAtStart()
    assert.ok(loaded.some(url => url.endsWith('/src/app.ts')))
    const saml = loaded.filter(url =>
      /\/src\/identity\/saml\/(?!deferred\.ts$)|\/node_modules\/(?:xml-|@xmldom|xpath)/.test(url),
    )
    assert.deepEqual(saml, [])
  })
})
