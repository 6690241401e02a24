// Codes remain usable if tokens cannot be issued. For refresh tokens see refresh-token-rotation.test.ts.
import assert from 'node:assert/strict'
import { after, afterEach, before, describe, it, mock } from 'node:test'
import { addSeconds } from '../../src/base/clock.ts'
import { digest } from '../../src/base/secrets.ts'
import { StoreUnavailable } from '../../src/store/store.ts'
import { revocationSignature } from '../../src/token/revocation-signature.ts'
import { signedIn } from '../support/authorize.ts'
import { APP, clientNamed, exchange, insertCode, isAlive, MODES, tokensOf, userNamed } from '../support/oauth.ts'
import type { TestAnswer, TestServer } from '../support/server.ts'
import { defaultBootstrap, startServer } from '../support/server.ts'
import { present, samlWorld } from '../support/saml/saml-bearer.ts'

const { clock, corp, bootstrap: samlBootstrap } = samlWorld()
const DEVICE = 'urn:ietf:params:oauth:grant-type:device_code'

for (const mode of MODES) {
  describe(`Code whose tokens cannot be issued in ${mode}`, () => {
    let server: TestServer
    before(async () => {
      const tv = {
        client_id: 'tv',
        allowpublic: true,
        authorized_grant_types: [DEVICE, 'refresh_token'],
        scope: ['openid', 'cloud.read'],
      }
      const bootstrap = { ...defaultBootstrap, clients: [...defaultBootstrap.clients, tv] }
      const zone_config = { protocols: { deviceGrant: true } }
      server = await startServer({ mode, config: { bootstrap, zone_config } })
    })
    after(() => server.stop())
    afterEach(() => mock.restoreAll())

    const unavailable = () => Promise.reject(new StoreUnavailable('gone'))
    const whileFailing = async (failing: () => void, work: () => Promise<TestAnswer>): Promise<void> => {
      failing()
      const answer = await work()
      mock.restoreAll()
      assert.equal(answer.status, 503, answer.text)
    }
    const issuing = (): void => void mock.method(server.store.tokens, 'insert', unavailable)
    const deciding = (): void => {
      const { codes, groups } = server.store
      const redeem = codes.redeem.bind(codes)
      mock.method(codes, 'redeem', async (...args: Parameters<typeof redeem>) => {
        const redemption = await redeem(...args)
        if (redemption.outcome !== 'redeemed' || !redemption.user) return redemption
        const { groupNames: _, ...user } = redemption.user
        return { ...redemption, user }
      })
      mock.method(groups, 'namesOfUser', unavailable)
    }

    for (const [name, failing] of [
      ['while storing tokens', issuing],
      ['while determining scopes', deciding],
    ] as const) {
      it(`can be retried once after a failure ${name}`, async () => {
        const code = await insertCode(server)
        const attempt = () => exchange(server, code)
        await whileFailing(failing, attempt)
        await whileFailing(failing, attempt)
        const { access_token: token } = tokensOf(await attempt())
        assert.equal((await attempt()).status, 400)
        assert.equal(await isAlive(server, token), mode === 'uaa', 'reuse revokes the tokens')
      })
    }

    it('is consumed by a refusal', async () => {
      const code = await insertCode(server, { redirectUri: 'https://auto.example/cb' })
      assert.equal((await exchange(server, code, { redirect_uri: 'https://auto.example/other' })).status, 400)
      assert.equal((await exchange(server, code, { redirect_uri: 'https://auto.example/cb' })).status, 400)
    })

    it('is not consumed by a request with an unknown token_format', async () => {
      const code = await insertCode(server)
      const answer = await exchange(server, code, { token_format: 'saml' })
      assert.deepEqual([answer.status, answer.json()['error']], [400, 'invalid_request'])
      tokensOf(await exchange(server, code))
    })

    it('remains used if it was reused during the failure', async () => {
      const code = await insertCode(server)
      let second: Promise<TestAnswer> | undefined
      const failing = (): void =>
        void mock.method(server.store.tokens, 'insert', async () => {
          second = exchange(server, code)
          await second
          throw new StoreUnavailable('gone')
        })
      await whileFailing(failing, () => exchange(server, code))
      assert.equal((await second)?.status, 400)
      assert.equal((await exchange(server, code)).status, mode === 'uaa' ? 200 : 400)
    })

    for (const [name, failing] of [
      ['while storing tokens', issuing],
      ['while determining scopes', () => void mock.method(server.store.groups, 'namesOfUser', unavailable)],
    ] as const) {
      it(`of /passcode can be retried once after a failure ${name}`, async () => {
        const passcode = await (await signedIn(server)).send('/passcode', { headers: { accept: 'application/json' } })
        const form = { grant_type: 'password', passcode: passcode.json<string>() }
        const attempt = () => server.token(form, { basic: APP })
        await whileFailing(failing, attempt)
        await whileFailing(failing, attempt)
        tokensOf(await attempt())
        assert.equal((await attempt()).status, mode === 'uaa' ? 401 : 400)
      })
    }

    it('of a device can be retried once', async () => {
      const user = await userNamed(server, 'marissa')
      const now = server.clock.now()
      const expiresAt = addSeconds(now, 600)
      const request = { scopes: ['openid'], remoteAddress: '192.0.2.1', userAgent: 'TV', requestedAt: now, expiresAt }
      const codes = { codeDigest: digest('device'), userCodeDigest: digest('user'), clientId: 'tv' }
      await server.store.devices.insert('svc', { ...request, ...codes })
      const decision = { userId: user.id, scopes: ['openid'], authenticatedAt: now, amr: ['pwd'], grantId: 'g1' }
      const signature = revocationSignature(await clientNamed(server, 'tv'), user)
      const approval = { zoneId: 'svc', userId: user.id, clientId: 'tv', scope: 'openid', status: 'APPROVED' } as const
      await server.store.approvals.save('svc', [{ ...approval, updatedAt: now, expiresAt }])
      await server.store.devices.decide('svc', digest('user'), { ...decision, revocationSignature: signature }, now)
      const poll = () => server.token({ grant_type: DEVICE, device_code: 'device', client_id: 'tv' })
      await whileFailing(issuing, poll)
      await whileFailing(issuing, poll)
      tokensOf(await poll())
      assert.equal((await poll()).status, 400)
    })
  })
}

for (const mode of MODES) {
  describe(`SAML assertion whose tokens cannot be issued in ${mode}`, () => {
    let server: TestServer
    before(async () => (server = await startServer({ mode, clock, config: { bootstrap: samlBootstrap } })))
    after(() => server.stop())
    afterEach(() => mock.restoreAll())

    it('is not consumed by a request with an unknown token_format', async () => {
      const xml = corp.signedAssertion()
      const answer = await present(server, xml, { form: { token_format: 'saml' } })
      assert.deepEqual([answer.status, answer.json()['error']], [400, 'invalid_request'])
      tokensOf(await present(server, xml))
    })

    for (const part of ['tokens', 'accounts'] as const) {
      it(`can be retried once while ${part} are unavailable`, async () => {
        const xml = corp.signedAssertion()
        const unavailable = () => Promise.reject(new StoreUnavailable('gone'))
        if (part === 'tokens') mock.method(server.store.tokens, 'insert', unavailable)
        else mock.method(server.store.users, 'recordLogon', unavailable)
        for (const _ of [1, 2]) assert.equal((await present(server, xml)).status, 503)
        mock.restoreAll()
        tokensOf(await present(server, xml))
        assert.equal((await present(server, xml)).status, mode === 'uaa' ? 401 : 400)
      })
    }
  })
}
