import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { audience } from '../../src/token/claims.ts'

// Covers access token claims: rule: audience from scopes
describe('Audience of a token', () => {
  const cases: readonly { name: string; scopes: readonly string[]; want: readonly string[] }[] = [
    { name: 'is the client without scopes', scopes: [], want: ['app'] },
    { name: 'includes the part before the dot', scopes: ['cloud.read'], want: ['cloud', 'app'] },
    { name: 'includes the part before the last dot', scopes: ['a.b.read'], want: ['a.b', 'app'] },
    { name: 'includes each part once', scopes: ['cloud.read', 'cloud.write'], want: ['cloud', 'app'] },
    { name: 'includes openid', scopes: ['openid'], want: ['openid', 'app'] },
    { name: 'excludes other scopes without a dot', scopes: ['profile', 'email', 'roles'], want: ['app'] },
    { name: 'excludes the empty scope', scopes: ['svc.none'], want: ['app'] },
    { name: 'excludes a scope with a leading dot', scopes: ['.read'], want: ['app'] },
    { name: 'includes the client once, even if a scope begins with it', scopes: ['app.read'], want: ['app'] },
  ]
  for (const { name, scopes, want } of cases) {
    it(name, () => assert.deepEqual(audience('app', scopes, 'svc.none'), want))
  }
})
