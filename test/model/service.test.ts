import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { serviceNamed } from '../../src/model/service.ts'

describe('serviceNamed', () => {
  const cases = [
    { name: 'svc', csrfName: 'X-Svc-Csrf', clientRealm: 'SVC/client', oauthRealm: 'SVC/oauth', user: 'svc.user' },
    { name: 'uaa', csrfName: 'X-Uaa-Csrf', clientRealm: 'UAA/client', oauthRealm: 'UAA/oauth', user: 'uaa.user' },
    { name: 'x', csrfName: 'X-X-Csrf', clientRealm: 'X/client', oauthRealm: 'X/oauth', user: 'x.user' },
  ]
  for (const want of cases) {
    it(`derives every name from "${want.name}"`, () => {
      const service = serviceNamed(want.name)
      const { name, csrfName, clientRealm, oauthRealm } = service
      assert.deepEqual({ name, csrfName, clientRealm, oauthRealm, user: service.scope('user') }, want)
    })
  }
})
