import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { describe, it } from 'node:test'
import { createRandom } from '../../src/base/random.ts'
import { sessionIdFor } from '../../src/model/sessions/session.ts'
import type { SignIn } from '../../src/model/sessions/session.ts'
import { sessionState } from '../../src/oauth/session-state.ts'

const random = createRandom()

describe('sessionState', () => {
  const cases = [
    {
      name: 'uses the origin without path and query',
      redirectUri: 'https://app.example/cb?x=1',
      origin: 'https://app.example',
    },
    { name: 'includes a port', redirectUri: 'https://app.example:8443/cb', origin: 'https://app.example:8443' },
    {
      name: 'normalizes the origin like a browser',
      redirectUri: 'https://APP.example:443/cb',
      origin: 'https://app.example',
    },
    { name: 'supports http on loopback', redirectUri: 'http://127.0.0.1:9000/cb', origin: 'http://127.0.0.1:9000' },
  ]
  for (const { name, redirectUri, origin } of cases) {
    it(name, () => {
      for (const userId of ['user-1', undefined]) {
        const [hash, salt] = sessionState({ clientId: 'app', redirectUri, userId }, random)?.split('.') ?? []
        assert.match(salt ?? '', /^[0-9a-f]{64}$/)
        const text = `app ${origin} ${userId ?? ''} ${salt}`
        assert.equal(hash, createHash('sha256').update(text).digest('hex'))
      }
    })
  }

  it('has a new salt each time', () => {
    const ask = () => sessionState({ clientId: 'app', redirectUri: 'https://app.example/cb', userId: 'u' }, random)
    assert.notEqual(ask(), ask())
  })

  it('is undefined for a redirect URI without a web origin', () => {
    assert.equal(sessionState({ clientId: 'app', redirectUri: 'com.example.app:/cb', userId: 'u' }, random), undefined)
  })
})

describe('sessionIdFor', () => {
  const signIn: SignIn = {
    userId: 'u',
    origin: 'svc',
    authenticatedAt: new Date(0),
    amr: ['pwd'],
    sessionSalt: 'salt-1',
  }

  it('depends on session and client', () => {
    assert.equal(sessionIdFor(signIn, 'app'), sessionIdFor({ ...signIn }, 'app'))
    assert.notEqual(sessionIdFor(signIn, 'app'), sessionIdFor(signIn, 'other'))
    assert.notEqual(sessionIdFor(signIn, 'app'), sessionIdFor({ ...signIn, sessionSalt: 'salt-2' }, 'app'))
  })
})
