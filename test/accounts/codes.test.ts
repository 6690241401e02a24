import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { issueCode, peekCode, redeemCode } from '../../src/accounts/codes.ts'
import type { CodeDeps } from '../../src/accounts/codes.ts'
import { returnUrl } from '../../src/accounts/return-url.ts'
import { switchesIn } from '../../src/accounts/switches.ts'
import { createRandom } from '../../src/base/random.ts'
import { behaviourOf } from '../../src/model/compatibility.ts'
import type { User } from '../../src/model/users/user.ts'
import type { Zone } from '../../src/model/zones/zone.ts'
import { DEFAULT_SETTINGS } from '../../src/model/zones/settings.ts'
import { changeUser, userNamed } from '../support/oauth.ts'
import { startServer } from '../support/server.ts'
import type { TestServer } from '../support/server.ts'

let server: TestServer
let zone: Zone
let user: User
let deps: CodeDeps

before(async () => {
  server = await startServer()
  zone = (await server.store.zones.find('svc')) ?? assert.fail()
  user = (await server.store.users.findByName('svc', 'svc', 'marissa')) ?? assert.fail()
  deps = { store: server.store, clock: server.clock, random: createRandom() }
})
after(() => server.stop())

const reset = async (): Promise<string> =>
  (await issueCode(zone, { purpose: 'password-reset', user, data: { clientId: 'app' } }, deps)).value

describe('Self-service code', () => {
  it('returns user and data, and can be redeemed once', async () => {
    const value = await reset()
    const seen = await peekCode(zone, { purpose: 'password-reset', value }, deps)
    assert.deepEqual([seen?.user.id, seen?.data], [user.id, { clientId: 'app' }])
    const one = { purpose: 'password-reset', value } as const
    const both = await Promise.all([redeemCode(zone, one, deps), redeemCode(zone, one, deps)])
    assert.deepEqual(
      both.flatMap(each => (each ? [each.data] : [])),
      [{ clientId: 'app' }],
    )
    assert.equal(await peekCode(zone, one, deps), undefined)
  })

  it('is valid only for its purpose and zone', async () => {
    const value = await reset()
    assert.equal(await peekCode(zone, { purpose: 'sign-up', value }, deps), undefined)
    assert.equal(await redeemCode(zone, { purpose: 'invitation', value }, deps), undefined)
    assert.equal(await redeemCode({ ...zone, id: 'z1' }, { purpose: 'password-reset', value }, deps), undefined)
    assert.ok(await redeemCode(zone, { purpose: 'password-reset', value }, deps))
  })

  it('is replaced by a newer code for a password reset', async () => {
    const [first, second] = [await reset(), await reset()]
    assert.equal(await peekCode(zone, { purpose: 'password-reset', value: first }, deps), undefined)
    assert.ok(await peekCode(zone, { purpose: 'password-reset', value: second }, deps))
  })

  it('stays valid where its account cannot be read', async () => {
    const value = await reset()
    const users = { ...deps.store.users, find: () => Promise.reject(new Error('busy')) }
    const failing = { ...deps, store: { ...deps.store, users } }
    await assert.rejects(redeemCode(zone, { purpose: 'password-reset', value }, failing), /busy/)
    assert.ok(await redeemCode(zone, { purpose: 'password-reset', value }, deps))
  })

  it('is refused after it expired', async () => {
    const value = await reset()
    server.clock.advance(30 * 60)
    assert.equal(await peekCode(zone, { purpose: 'password-reset', value }, deps), undefined)
    assert.equal(await redeemCode(zone, { purpose: 'password-reset', value }, deps), undefined)
  })

  it('is revoked by a new user name if it could set a password', async () => {
    const codes = await Promise.all([
      issueCode(zone, { purpose: 'password-reset', user, data: {} }, deps),
      issueCode(zone, { purpose: 'email-change', user, data: { email: user.email } }, deps),
    ])
    const [resetting, changing] = codes.map(code => code.value)
    await changeUser(server, 'marissa', { userName: 'renamed' })
    assert.equal(await peekCode(zone, { purpose: 'password-reset', value: resetting ?? '' }, deps), undefined)
    assert.ok(await peekCode(zone, { purpose: 'email-change', value: changing ?? '' }, deps))
    await changeUser(server, 'renamed', { userName: 'marissa' })
    user = await userNamed(server, 'marissa')
  })

  it('is revoked by a new password if it could set another', async () => {
    const codes = await Promise.all([
      issueCode(zone, { purpose: 'password-reset', user, data: {} }, deps),
      issueCode(zone, { purpose: 'sign-up', user, data: {} }, deps),
    ])
    const [resetting, signingUp] = codes.map(code => code.value)
    const change = {
      passwordHash: user.passwordHash ?? '',
      passwordRevision: 'another',
      passwordChangedAt: server.clock.now(),
      meetsDemand: false,
    }
    assert.ok(await server.store.users.setPassword(zone.id, user.id, user.passwordRevision, change))
    assert.equal(await peekCode(zone, { purpose: 'password-reset', value: resetting ?? '' }, deps), undefined)
    assert.ok(await peekCode(zone, { purpose: 'sign-up', value: signingUp ?? '' }, deps))
  })

  for (const value of ['', 'nonsense', '\0'.repeat(32), 'a'.repeat(33), 'é'.repeat(32)]) {
    it(`is refused: ${JSON.stringify(value)}`, async () => {
      assert.equal(await peekCode(zone, { purpose: 'sign-up', value }, deps), undefined)
      assert.equal(await redeemCode(zone, { purpose: 'sign-up', value }, deps), undefined)
    })
  }
})

describe('`returnUrl`', () => {
  const to = async (requestedReturn: { clientId?: string; redirectUri?: string }): Promise<string | undefined> =>
    returnUrl(zone, requestedReturn, {
      store: server.store,
      behaviour: behaviourOf('standard'),
      settings: DEFAULT_SETTINGS,
      fallback: 'signup_redirect_url',
    })

  it('returns a registered redirect URI', async () => {
    assert.equal(await to({ clientId: 'app', redirectUri: 'https://app.example/cb' }), 'https://app.example/cb')
  })
  for (const requestedReturn of [
    {},
    { clientId: 'app' },
    { redirectUri: 'https://app.example/cb' },
    { clientId: 'none', redirectUri: 'https://app.example/cb' },
    { clientId: 'app', redirectUri: 'https://evil.example/' },
    { clientId: 'app', redirectUri: 'javascript:alert(1)' },
    { clientId: 'app', redirectUri: '//evil.example' },
  ]) {
    it(`returns undefined for ${JSON.stringify(requestedReturn)}`, async () =>
      assert.equal(await to(requestedReturn), undefined))
  }
  it('falls back to a safe signup_redirect_url', async () => {
    const client = (await server.store.clients.find('svc', 'app')) ?? assert.fail()
    await server.store.clients.update('svc', {
      ...client,
      additional: { signup_redirect_url: 'https://app.example/welcome' },
    })
    assert.equal(await to({ clientId: 'app', redirectUri: 'https://evil.example/' }), 'https://app.example/welcome')
    await server.store.clients.update('svc', { ...client, additional: { signup_redirect_url: 'javascript:alert(1)' } })
    assert.equal(await to({ clientId: 'app' }), undefined)
  })
})

describe('`switchesIn`', () => {
  const open = async (given: Zone): Promise<unknown> => switchesIn(given, { store: server.store, serviceName: 'svc' })

  it('returns true by default', async () => {
    assert.deepEqual(await open(zone), { ownAccounts: true, selfService: true })
  })
  it('disables self-service with selfServiceLinksEnabled=false', async () => {
    const links = { selfService: { selfServiceLinksEnabled: false } }
    assert.deepEqual(await open({ ...zone, config: { ...zone.config, links } }), {
      ownAccounts: true,
      selfService: false,
    })
  })
  it('disables both if the internal provider is closed, inactive or missing', async () => {
    const internal = (await server.store.providers.findByOrigin('svc', 'svc')) ?? assert.fail()
    const closed = { ownAccounts: false, selfService: false }
    for (const provider of [
      { ...internal, config: { ...internal.config, disableInternalUserManagement: true } },
      { ...internal, active: false },
      undefined,
    ]) {
      const store = { providers: { findByOrigin: () => Promise.resolve(provider) } }
      assert.deepEqual(await switchesIn(zone, { store, serviceName: 'svc' }), closed)
    }
  })
})
