import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { loadedAtStart } from '../../support/loaded-at-start.ts'

const SOURCES = join(import.meta.dirname, '../../../src')

/** Some files of each area, which would load the others. */
const DEFERRED = [
  'oauth/authorize/authorize.ts',
  'oauth/authorize/push.ts',
  'oauth/authorize/sources/request-object.ts',
  'oauth/authorize/sources/resolve.ts',
  'oauth/authorize/sources/sources.ts',
  'oauth/logout/logout.ts',
  'login/login.ts',
  'login/home.ts',
  'pages/sign-in/login.ts',
]

describe('Server that only issues tokens to programs', () => {
  it('does not load the authorization endpoint, sign-in pages or logout', () => {
    const loaded = new Set(loadedAtStart().map(url => url.replace(/^.*\/src\//, '')))
    for (const folder of ['oauth/authorize', 'oauth/logout', 'login']) assert.ok(loaded.has(`${folder}/routes.ts`))
    for (const file of DEFERRED)
      assert.deepEqual([existsSync(join(SOURCES, file)), loaded.has(file)], [true, false], file)
  })

  it('does not register routes of pages and management APIs', () => {
    const loaded = loadedAtStart(['main.ts'])
    assert.ok(loaded.some(url => url.endsWith('/src/app/oauth.ts')))
    assert.deepEqual(
      loaded.filter(url => /\/src\/(?:app\/(?:login|admin)|(?:login|admin)\/.*routes)\.ts$/.test(url)),
      [],
    )
  })
})
