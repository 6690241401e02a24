import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { withGlobalPolicies } from '../../src/users/global-policies.ts'
import { MODES } from '../support/oauth.ts'
import { newUserBody, startUserServer } from '../support/users.ts'

const TOO_SHORT = 'Password must be at least 20 characters in length.'
const RULES = {
  minLength: 4,
  maxLength: 255,
  requireUpperCaseCharacter: 0,
  requireLowerCaseCharacter: 0,
  requireDigit: 0,
  requireSpecialCharacter: 0,
  expirePasswordInMonths: 0,
}

it('Global policies are applied once to a list of providers', async () => {
  const api = await startUserServer('standard')
  const { store } = api.server
  const { providers } = withGlobalPolicies(store, 'svc', { passwordPolicy: RULES })
  const first = await providers.listActive('svc')
  assert.equal(await providers.listActive('svc'), first)
  const stored = (await store.providers.findByOrigin('svc', 'svc')) ?? assert.fail()
  await store.providers.update('svc', { ...stored, active: false })
  assert.deepEqual(await providers.listActive('svc'), [])
  await api.stop()
})

for (const mode of MODES) {
  describe(`Global policies in ${mode}`, () => {
    const config = {
      password: { policy: { global: { minLength: 20, refuseCommonPasswords: false, refuseOwnWords: true } } },
      authentication: { policy: { global: { lockoutAfterFailures: 2 } } },
    }

    // Covers passwordPolicy: global policy
    it('apply to zones whose provider has no policy', async () => {
      const api = await startUserServer(mode, { config })
      const create = (password: string, zone?: string) => {
        const headers = zone === undefined ? {} : { 'x-identity-zone-id': zone }
        return api.send('POST', '/Users', newUserBody('wanda', { password }), { headers })
      }
      assert.equal((await create('heron nest 41')).json()['message'], TOO_SHORT)
      assert.equal((await create('heron nest 41', 'z1')).json()['message'], TOO_SHORT)
      assert.match(
        String((await create('wandawandawandawandawanda')).json()['message']),
        /must not be made of your name/,
      )
      assert.equal((await create('passwordpasswordpassword')).status, 201)

      const stored = await api.server.store.providers.findByOrigin('svc', 'svc')
      assert.equal(stored?.config['passwordPolicy'], undefined, 'the record is unchanged')
      for (const _ of [1, 2]) await api.server.token({ ...GRANT, password: 'wrong' }, PORTAL)
      assert.notEqual((await api.server.token({ ...GRANT, password: 'passwordpasswordpassword' }, PORTAL)).status, 200)
      api.server.clock.advance(301)
      assert.equal((await api.server.token({ ...GRANT, password: 'passwordpasswordpassword' }, PORTAL)).status, 200)
      assert.deepEqual(api.server.faults, [])
      await api.stop()
    })

    it('are replaced entirely by a policy of the provider', async () => {
      const api = await startUserServer(mode, { config })
      const provider = await api.server.store.providers.findByOrigin('svc', 'svc')
      assert.ok(provider)
      await api.server.store.providers.update('svc', { ...provider, config: { passwordPolicy: RULES } })
      assert.equal((await api.send('POST', '/Users', newUserBody('wanda', { password: 'heron nest' }))).status, 201)
      for (const _ of [1, 2]) await api.server.token({ ...GRANT, password: 'wrong' }, PORTAL)
      const locked = await api.server.token({ ...GRANT, password: 'heron nest' }, PORTAL)
      assert.notEqual(locked.status, 200, 'the global lockout policy still applies')
      await api.stop()
    })
  })
}

const GRANT = { grant_type: 'password', username: 'wanda' }
const PORTAL = { basic: ['portal', 'portal-secret'] as const }
