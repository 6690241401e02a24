import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { loadedAtStart } from '../support/loaded-at-start.ts'

describe('Modules of second factors', () => {
  it('are loaded on first use', () => {
    const loaded = loadedAtStart()
    assert.ok(loaded.some(url => url.endsWith('/src/login/factors/factor-pages.ts')))
    const own =
      /\/src\/(?:factors\/|accounts\/factor|admin\/users\/factors|login\/factors\/(?:second-factor\.|security\.|new-factors))/
    const libraries = /\/node_modules\/(?:@simplewebauthn|@peculiar|@hexagon|otpauth|uqr)\//
    const texts = /\/texts\/(?:factor|security)-[a-z-]*texts/
    for (const early of [own, libraries, texts])
      assert.deepEqual(
        loaded.filter(url => early.test(url)),
        [],
      )
  })
})
