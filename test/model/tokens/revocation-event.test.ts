import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { revocationEvent } from '../../../src/model/tokens/revocation-event.ts'
import type { RevocationFacts } from '../../../src/model/tokens/revocation-event.ts'
import { exchange, insertCode, passwordTokens, refresh, userNamed } from '../../support/oauth.ts'
import type { TestServer } from '../../support/server.ts'
import { startServer } from '../../support/server.ts'

describe('revocationEvent', () => {
  const cases: readonly {
    readonly name: string
    readonly facts: Omit<RevocationFacts, 'caller'>
    readonly want: readonly string[]
  }[] = [
    {
      name: 'a client and a user',
      facts: { clientId: 'app', userId: 'u1' },
      want: ['clientId:app,userId:u1', 'ClientID=app, UserID=u1, ZoneID=z1'],
    },
    { name: 'a user', facts: { userId: 'u1' }, want: ['userId:u1', 'UserID=u1, ZoneID=z1'] },
    { name: 'a client', facts: { clientId: 'app' }, want: ['clientId:app', 'ClientID=app, ZoneID=z1'] },
    {
      name: 'a reason',
      facts: { clientId: 'app', userId: 'u1', reason: 'it was stolen' },
      want: ['clientId:app,userId:u1', 'ClientID=app, UserID=u1, ZoneID=z1; it was stolen'],
    },
  ]
  for (const { name, facts, want } of cases) {
    it(`records ${name}`, () => {
      const [principal, data] = want
      assert.deepEqual(revocationEvent('z1', { caller: 'admin', ...facts }), {
        type: 'TokenRevocationEvent',
        zoneId: 'z1',
        principal,
        clientId: 'admin',
        data,
      })
    })
  }

  describe('for a replay', () => {
    let server: TestServer
    before(async () => {
      server = await startServer({ config: { zone_config: { tokenPolicy: { refreshTokenRotate: true } } } })
    })
    after(() => server.stop())
    const reported = async (): Promise<readonly unknown[]> => {
      const { id } = await userNamed(server, 'marissa')
      const {
        principal = '',
        data = '',
        remoteAddress,
      } = server.events.findLast(({ type }) => type === 'TokenRevocationEvent') ?? {}
      return [principal.replace(id, 'marissa'), data.replace(id, 'marissa'), remoteAddress]
    }

    it('is recorded when a code is used twice', async () => {
      const code = await insertCode(server)
      await exchange(server, code)
      await exchange(server, code)
      const data = 'ClientID=auto, UserID=marissa, ZoneID=svc; authorization code used twice'
      assert.deepEqual(await reported(), ['clientId:auto,userId:marissa', data, '127.0.0.1'])
    })

    it('is recorded when a refresh token is used twice', async () => {
      const { refresh_token: token } = await passwordTokens(server)
      await refresh(server, token)
      await refresh(server, token)
      const data = 'ClientID=app, UserID=marissa, ZoneID=svc; refresh token used twice'
      assert.deepEqual(await reported(), ['clientId:app,userId:marissa', data, '127.0.0.1'])
    })
  })
})
