import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { defaultBootstrap, withServer } from '../support/server.ts'
import type { TestServer } from '../support/server.ts'
import { MODES, passwordTokens, userNamed } from '../support/oauth.ts'

const ALL = ['all', 'secret'] as const
const bootstrap = {
  ...defaultBootstrap,
  clients: [
    {
      client_id: 'all',
      client_secret: 'secret',
      authorized_grant_types: ['password'],
      scope: ['openid', 'email', 'phone', 'address', 'team.*', 'cloud.*', 'svc.user'],
    },
  ],
  groups: [...defaultBootstrap.groups, { displayName: 'team.inner' }, { displayName: 'team.outer' }],
  users: [{ ...defaultBootstrap.users[1], groups: ['team.inner'] }],
}

async function scopesOf(server: TestServer): Promise<readonly string[]> {
  const { scope } = await passwordTokens(server, { username: 'joel', password: 'wombat' }, ALL)
  return scope.split(' ').toSorted()
}

describe('The groups of a user', () => {
  for (const mode of MODES) {
    // Covers group rules: default groups
    it(`are direct groups, default groups and, in standard, email, phone and address (A7): ${mode}`, () =>
      withServer({ mode, config: { bootstrap } }, async server => {
        const contact = mode === 'standard' ? ['email', 'phone', 'address'] : []
        assert.deepEqual(await scopesOf(server), [...contact, 'openid', 'svc.user', 'team.inner'].toSorted())
      }))
  }

  // Covers GET /oauth/authorize: rule: nested groups
  // Covers group rules: nested groups
  it('include parent groups, even with cycles', () =>
    withServer({ mode: 'uaa', config: { bootstrap } }, async server => {
      const { groups } = server.store
      const [inner, outer] = await Promise.all([
        groups.findByName('svc', 'team.inner'),
        groups.findByName('svc', 'team.outer'),
      ])
      assert.ok(inner && outer)
      const member = { memberType: 'GROUP', origin: 'svc' } as const
      await groups.addMember('svc', { groupId: outer.id, memberId: inner.id, ...member })
      await groups.addMember('svc', { groupId: inner.id, memberId: outer.id, ...member })
      assert.deepEqual(await scopesOf(server), ['openid', 'svc.user', 'team.inner', 'team.outer'])
    }))

  it('include a new membership in the next token', () =>
    withServer({ mode: 'uaa', config: { bootstrap } }, async server => {
      const { id } = await userNamed(server, 'joel')
      const group = await server.store.groups.findByName('svc', 'cloud.read')
      assert.ok(group)
      await server.store.groups.addMember('svc', { groupId: group.id, memberId: id, memberType: 'USER', origin: 'svc' })
      assert.ok((await scopesOf(server)).includes('cloud.read'))
    }))

  // Covers POST /oauth/token: rule: user groups are no patterns
  it('are not patterns', () =>
    withServer(
      {
        mode: 'uaa',
        config: {
          bootstrap: {
            ...bootstrap,
            clients: [{ ...bootstrap.clients[0], scope: ['openid', 'cloud.read', 'cloud.*'] }],
            users: [{ ...bootstrap.users[0], groups: ['cloud.*'] }],
          },
        },
      },
      async server => assert.deepEqual(await scopesOf(server), ['cloud.*', 'openid']),
    ))
})
