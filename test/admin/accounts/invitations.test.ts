import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { MAX_ADDRESSES } from '../../../src/admin/accounts/invitations.ts'
import { MODES, changeUser, passwordTokens, userNamed } from '../../support/oauth.ts'
import { APP_URL, startInvitationServer, Z1 } from '../../support/invitations.ts'
import type { InviteApi, InviteItem } from '../../support/invitations.ts'
import type { TestServer } from '../../support/server.ts'

const FAILED = { userId: null, origin: null, success: false, inviteLink: null }
const AMBIGUOUS = 'Multiple users with the same origin matched to the email address.'

for (const mode of MODES) {
  describe(`POST /invite_users in ${mode}`, () => {
    let api: InviteApi
    let server: TestServer
    before(async () => {
      api = await startInvitationServer({ mode })
      ;({ server } = api)
    })
    after(async () => {
      assert.deepEqual(server.faults, [])
      await server.stop()
    })

    const only = async (email: string, ...request: [Parameters<InviteApi['invite']>[1]?]): Promise<InviteItem> => {
      const { new_invites: invited, failed_invites: failed } = await api.invite([email], ...request)
      return [...invited, ...failed][0] ?? assert.fail()
    }

    // Covers POST /invite_users: response: new_invites; email; userId; origin; success; inviteLink
    it('creates a user for a new address, and returns the link', async () => {
      const { new_invites: invited, failed_invites: failed } = await api.invite(['inv1@acc.org'])
      const user = await userNamed(server, 'inv1@acc.org')
      const inviteLink = invited[0]?.inviteLink ?? ''
      assert.match(inviteLink, /^http:\/\/localhost:8080\/invitations\/accept\?code=[\w-]{32}$/)
      assert.deepEqual(invited, [
        {
          email: 'inv1@acc.org',
          userId: user.id,
          origin: 'svc',
          success: true,
          errorCode: null,
          errorMessage: null,
          inviteLink,
        },
      ])
      assert.deepEqual(failed, [])
      const event = server.events.at(-1)
      assert.deepEqual([event?.type, event?.principal, event?.data], ['AccountCodeIssuedEvent', user.id, 'invitation'])
      const { active, verified, email, origin, passwordHash } = user
      assert.deepEqual(
        { active, verified, email, origin, passwordHash },
        { active: true, verified: false, email: 'inv1@acc.org', origin: 'svc', passwordHash: undefined },
      )
    })

    // Covers POST /invite_users: emails; response: failed_invites; errorCode; errorMessage; error: `email.invalid`
    // Covers POST /invite_users: error: `user.ambiguous`
    it('invites new and existing users, and reports why others failed', async () => {
      const emails = ['inv2@acc.org', 'marissa@EXAMPLE.org', 'not-an-email', 'INV3@Acc.org', '', 'dup@acc.org']
      const { new_invites: invited, failed_invites: failed } = await api.invite(emails)
      assert.deepEqual(
        invited.map(({ email }) => email),
        ['inv2@acc.org', 'marissa@example.org', 'inv3@acc.org'],
      )
      assert.equal(invited[1]?.userId, (await userNamed(server, 'marissa')).id)
      assert.deepEqual(failed, [
        {
          ...FAILED,
          email: 'not-an-email',
          errorCode: 'email.invalid',
          errorMessage: 'not-an-email is invalid email.',
        },
        { ...FAILED, email: '', errorCode: 'email.invalid', errorMessage: ' is invalid email.' },
        { ...FAILED, email: 'dup@acc.org', errorCode: 'user.ambiguous', errorMessage: AMBIGUOUS },
      ])
    })

    it('invites an address once, regardless of its letter case', async () => {
      const { new_invites: invited } = await api.invite(['twice@acc.org', 'Twice@acc.org', 'twice@acc.org'])
      assert.equal(invited.length, 1)
    })

    // Covers POST /invite_users: error: `provider.non-existent`; `provider.ambiguous`
    it('selects the provider by email domain', async () => {
      assert.equal((await only('a@corp.example')).origin, 'corp')
      assert.equal((await only('a@sub.example.net')).origin, 'two-b')
      assert.equal((await only('a@off.example')).origin, 'svc')
      assert.equal((await only('a@two.example')).errorCode, 'provider.ambiguous')
      assert.equal((await only('a@localhost')).errorCode, 'provider.non-existent')
    })

    // Covers POST /invite_users: client_id
    it('selects among the allowedproviders of the client', async () => {
      const of = (client_id: string) => ({ query: { redirect_uri: APP_URL, client_id } })
      assert.equal((await only('b@corp.example', of('ours'))).origin, 'svc')
      assert.equal((await only('b@two.example', of('theirs'))).origin, 'two-a')
      assert.equal((await only('b@acc.org', of('theirs'))).errorCode, 'provider.non-existent')
    })

    // Covers POST /invite_users: redirect_uri
    it('does not validate redirect_uri', async () => {
      assert.ok((await only('e@acc.org', { query: { redirect_uri: 'http://evil.example/' } })).success)
    })

    it('accepts unknown members and an empty list', async () => {
      const answer = await api.send({ emails: [], foo: 1 })
      assert.deepEqual([answer.status, answer.json()], [200, { new_invites: [], failed_invites: [] }])
    })

    const refusals: readonly (readonly [name: string, body: unknown, request: object])[] = [
      // Covers POST /invite_users: error: `redirect_uri` missing
      ['no redirect URI', { emails: [] }, { query: {} }],
      ['an empty redirect URI', { emails: [] }, { query: { redirect_uri: '' } }],
      ['a redirect URI of 3,000 characters', { emails: [] }, { query: { redirect_uri: 'x'.repeat(3000) } }],
      ['an unknown client', { emails: ['z@acc.org'] }, { query: { redirect_uri: APP_URL, client_id: 'none' } }],
      ['no addresses', {}, {}],
      ['an address that is not a string', { emails: ['z@acc.org', 7] }, {}],
      ['too many addresses', { emails: Array.from({ length: MAX_ADDRESSES + 1 }, (_, i) => `z${i}@acc.org`) }, {}],
      ['invalid JSON', '{bad', {}],
    ]
    for (const [name, body, request] of refusals) {
      it(`refuses ${name}`, async () => {
        const answer = await api.send(body, request)
        assert.equal(answer.status, 400, answer.text)
        assert.equal(answer.json()['error'], 'invalid_request')
        assert.equal(await server.store.users.findByName('svc', 'svc', 'z@acc.org'), undefined)
      })
    }

    // Covers POST /invite_users: error: content type
    it('rejects a form and 10,000 addresses', async () => {
      const type = { 'content-type': 'application/x-www-form-urlencoded' }
      assert.equal((await api.send('emails=x', { headers: type })).status, 415)
      const emails = Array.from({ length: 10_000 }, (_, place) => `${'x'.repeat(60)}${place}@acc.org`)
      assert.equal((await api.send({ emails })).status, 413)
    })

    it('denies other methods', async () => {
      for (const method of ['GET', 'PUT', 'DELETE']) {
        const answer = await server.send('/invite_users', { method, bearer: await api.tokenOf('inviter') })
        assert.equal(answer.status, 403)
        assert.equal(answer.json()['error'], 'access_denied')
      }
      assert.equal((await server.send('/invite_users')).status, 401)
    })

    it('requires scim.invite of a client or user, or an administrator', async () => {
      const refused = await api.send({ emails: ['z@acc.org'] }, { client: 'writer' })
      assert.equal(refused.status, 403)
      assert.equal(refused.json()['scope'], 'svc.admin scim.invite zones.svc.admin')
      assert.ok((await only('f@acc.org', { client: 'root' })).success)
      const tokens = await passwordTokens(server, { scope: 'scim.invite' }, ['inviter', 'secret'])
      assert.ok((await only('g@acc.org', { bearer: tokens.access_token })).success)
      const without = await passwordTokens(server, { scope: 'cloud.read' }, ['inviter', 'secret'])
      assert.equal((await api.send({ emails: ['z@acc.org'] }, { bearer: without.access_token })).status, 403)
    })

    it('invites into the zone of the header, with a link of that zone', async () => {
      const headers = { 'x-identity-zone-id': 'z1' }
      for (const client of ['root', 'of-z1']) {
        const { inviteLink, userId } = await only(`${client}@acc.org`, { client, headers })
        assert.ok(inviteLink.startsWith(`http://${Z1}/invitations/accept?code=`), inviteLink)
        assert.equal((await userNamed(server, `${client}@acc.org`, 'z1')).id, userId)
      }
      assert.equal((await api.send({ emails: [] }, { headers })).status, 403)
      assert.equal((await api.send({ emails: [] }, { headers: { 'x-identity-zone-id': 'none' } })).status, 403)
    })

    it('invites into the zone of the host or path, with a matching link', async () => {
      assert.ok((await only('h@acc.org', { host: Z1 })).inviteLink.startsWith(`http://${Z1}/`))
      const bearer = await api.tokenOf('inviter', Z1)
      const answer = await server.send(`/z/z1/invite_users?redirect_uri=x`, {
        method: 'POST',
        bearer,
        body: '{"emails":["i@acc.org"]}',
        headers: { 'content-type': 'application/json' },
      })
      assert.match(answer.text, /"inviteLink":"http:\/\/localhost:8080\/z\/z1\/invitations\/accept\?code=/)
      assert.equal((await api.send({ emails: [] }, { bearer })).status, 401)
    })

    // Covers POST /invite_users: error: `invitation.exception`
    it('rejects inactive users', async () => {
      await only('gone@acc.org')
      await changeUser(server, 'gone@acc.org', { active: false })
      const { errorCode, errorMessage } = await only('gone@acc.org')
      assert.deepEqual([errorCode, errorMessage], ['invitation.exception', 'The account is not active.'])
    })

    it('creates one user for concurrent invitations', async () => {
      const both = await Promise.all([only('same@acc.org'), only('same@acc.org')])
      assert.equal(both[0].userId, both[1].userId)
      assert.ok(both.every(({ success }) => success))
    })

    it('rejects addresses with line breaks, markup or separators', async () => {
      for (const email of [
        'a@acc.org\r\nBcc: b@acc.org',
        '<b>@acc.org',
        '"a b"@acc.org',
        'a,b@acc.org',
        'a\0@acc.org',
      ]) {
        assert.equal((await only(email)).errorCode, 'email.invalid', email)
      }
      assert.equal((await only('a/b@acc.org')).errorCode, 'invitation.exception')
    })

    it('rejects unverified administrators unless the caller is one', async () => {
      const { userId } = await only('chief@acc.org')
      const group = await server.store.groups.findByName('svc', 'svc.admin')
      assert.ok(group)
      const member = { groupId: group.id, memberId: userId, memberType: 'USER', origin: 'svc' } as const
      await server.store.groups.addMember('svc', member)
      const { errorCode, errorMessage } = await only('chief@acc.org')
      assert.deepEqual(
        [errorCode, errorMessage],
        ['invitation.exception', 'Only callers with the scope svc.admin can grant it'],
      )
      assert.ok((await only('chief@acc.org', { client: 'root' })).success)
    })
  })

  describe(`POST /invite_users in a zone with limits in ${mode}`, () => {
    it('enforces maxUsers and disableInternalUserManagement', async () => {
      const api = await startInvitationServer({ mode })
      const { server } = api
      const [users, internal] = [
        await server.store.users.count('svc'),
        (await server.store.providers.findByOrigin('svc', 'svc')) ?? assert.fail(),
      ]
      const zone = (await server.store.zones.find('svc')) ?? assert.fail()
      await server.store.zones.update({ ...zone, config: { ...zone.config, userConfig: { maxUsers: users + 1 } } })
      const { new_invites: invited, failed_invites: failed } = await api.invite(['one@acc.org', 'two@acc.org'])
      assert.equal(invited.length, 1)
      assert.match(failed[0]?.errorMessage ?? '', /^The maximum allowed numbers of users/)
      const config = { ...internal.config, disableInternalUserManagement: true }
      await server.store.providers.update('svc', { ...internal, config })
      const [refused] = (await api.invite(['one@acc.org'])).failed_invites
      assert.equal(refused?.errorCode, 'invitation.exception')
      assert.match(refused.errorMessage ?? '', /^Internal User Creation is currently disabled/)
      await server.stop()
    })
  })
}
