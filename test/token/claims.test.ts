import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { audience } from '../../src/token/claims.ts'

// Covers access token claims: rule: audience from scopes
describe('the audience of a token', () => {
  const cases: readonly { name: string; scopes: readonly string[]; want: readonly string[] }[] = [
    { name: 'is the client when there are no scopes', scopes: [], want: ['app'] },
    { name: 'has the part before the dot', scopes: ['cloud.read'], want: ['cloud', 'app'] },
    { name: 'has the part before the last of several dots', scopes: ['a.b.read'], want: ['a.b', 'app'] },
    { name: 'has each part once', scopes: ['cloud.read', 'cloud.write'], want: ['cloud', 'app'] },
    { name: 'has openid as it is', scopes: ['openid'], want: ['openid', 'app'] },
    { name: 'has no other word without a dot', scopes: ['profile', 'email', 'roles'], want: ['app'] },
    { name: 'has nothing of the empty scope', scopes: ['svc.none'], want: ['app'] },
    { name: 'has nothing of a scope that begins with a dot', scopes: ['.read'], want: ['app'] },
    { name: 'has the client once, also when a scope is named after it', scopes: ['app.read'], want: ['app'] },
  ]
  for (const { name, scopes, want } of cases) {
    it(name, () => assert.deepEqual(audience('app', scopes, 'svc.none'), want))
  }
})
