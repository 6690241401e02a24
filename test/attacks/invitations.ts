import assert from 'node:assert/strict'
import { hiddenFields } from '../support/forms.ts'
import { createTestClock } from '../support/clock.ts'
import { inviteBootstrap, startInvitationServer, Z1 } from '../support/invitations.ts'
import type { InviteApi } from '../support/invitations.ts'
import { MODES, passwordTokens, userNamed } from '../support/oauth.ts'
import { samlRecord, signInAt } from '../support/saml/saml-sign-in.ts'
import type { TestAnswer } from '../support/server.ts'
import type { Attack } from './attack.ts'

/** Runs the attack in both modes. */
const inBothModes = (attempt: (api: InviteApi) => Promise<void>) => async (): Promise<void> => {
  for (const mode of MODES) {
    const api = await startInvitationServer({ mode })
    try {
      await attempt(api)
      assert.deepEqual(api.server.faults, [])
    } finally {
      await api.server.stop()
    }
  }
}

/** The same with a SAML provider that sends no email addresses. */
const withSaml = (attempt: (api: InviteApi) => Promise<void>) => async (): Promise<void> => {
  for (const mode of MODES) {
    const clock = createTestClock()
    const corp = samlRecord(clock, 'corp', { emailDomain: ['corp.example'], attributeMappings: {} })
    const bootstrap = { ...inviteBootstrap, identity_providers: [corp] }
    const login = { aliasEntitiesEnabled: true }
    const api = await startInvitationServer({ mode, clock, config: { bootstrap, login } })
    try {
      await attempt(api)
      assert.deepEqual(api.server.faults, [])
    } finally {
      await api.server.stop()
    }
  }
}

/** Makes the account an administrator. */
async function promote({ server: { store } }: InviteApi, memberId: string, zoneId = 'svc'): Promise<void> {
  const group = (await store.groups.findByName(zoneId, 'svc.admin')) ?? assert.fail()
  await store.groups.addMember(zoneId, { groupId: group.id, memberId, memberType: 'USER', origin: 'svc' })
}

/** Gives the account of the default zone a copy in `z1`. */
async function putAlias(api: InviteApi, id: string): Promise<TestAnswer> {
  const answer = await api.server.send(`/Users/${id}`, {
    method: 'PATCH',
    bearer: await api.tokenOf('root'),
    body: JSON.stringify({ aliasZid: 'z1' }),
    headers: { 'content-type': 'application/json', 'if-match': '*' },
  })
  assert.equal(answer.status, 200, answer.text)
  return answer
}

const twice = (password: string) => ({ password, password_confirmation: password })

/** Opens the link and posts its form. */
async function accept(
  { server }: InviteApi,
  path: string,
  form: Readonly<Record<string, string>>,
): Promise<TestAnswer> {
  const browser = server.browser()
  const fields = hiddenFields((await browser.send(path)).text)
  return browser.send('/invitations/accept.do', { form: { ...fields, ...form } })
}

/** Attacks with invitations. */
export const invitationAttacks: readonly Attack[] = [
  {
    attack: 'invites an administrator who is not verified yet, to set their password with the link',
    outcome: 'only a caller with these rights gets the link',
    attempt: inBothModes(async api => {
      const { userId } = (await api.invite(['chief@acc.org'])).new_invites[0] ?? assert.fail()
      await promote(api, userId)
      const { failed_invites: failed } = await api.invite(['chief@acc.org'])
      assert.equal(failed[0]?.errorCode, 'invitation.exception')
    }),
  },
  {
    attack: 'accepts an invitation after the account became an administrator',
    outcome: 'the link sets no password of an account with more rights than the inviter',
    attempt: inBothModes(async api => {
      const { path } = await api.linkFor('chief@acc.org')
      const trusted = await api.linkFor('chief@acc.org', { client: 'root' })
      const { id: memberId } = await userNamed(api.server, 'chief@acc.org')
      await promote(api, memberId)
      assert.equal((await accept(api, path, twice('a password of Eve'))).status, 422)
      assert.equal((await userNamed(api.server, 'chief@acc.org')).verified, false)
      assert.equal((await accept(api, trusted.path, twice('a password of Kai'))).status, 302)
    }),
  },
  {
    attack: 'invites an administrator of a SAML provider who never signed in, to sign in there with the link',
    outcome: 'only a caller with these rights gets the link, and earlier links are invalid',
    attempt: withSaml(async api => {
      const { server } = api
      const { users } = server.store
      const [kept, trusted] = [
        await api.linkFor('chief@corp.example'),
        await api.linkFor('chief@corp.example', { client: 'root' }),
      ]
      const { id = '' } = (await users.findByEmail('svc', 'corp', 'chief@corp.example'))[0] ?? {}
      await promote(api, id)
      const { failed_invites: failed } = await api.invite(['chief@corp.example'])
      assert.equal(failed[0]?.errorCode, 'invitation.exception')
      const mallory = server.browser()
      const refused = await mallory.send(kept.path)
      if (refused.status === 302) await signInAt(server, mallory, { nameId: 'mallory', start: kept.path })
      assert.equal((await mallory.send('/home')).status, 302)
      assert.equal((await users.find('svc', id))?.externalId, undefined)
      await signInAt(server, server.browser(), { nameId: 'chief', start: trusted.path })
      assert.equal((await users.findByExternalId('svc', 'corp', 'chief'))?.id, id)
      assert.ok((await api.linkFor('chief@corp.example')).path, 'for an account in use it gives nothing')
    }),
  },
  {
    attack: 'invites the alias of an administrator of another zone, to sign in there',
    outcome: 'only a caller with the rights in both zones gets the link, and earlier links are invalid',
    attempt: withSaml(async api => {
      const { server } = api
      const { providers, users } = server.store
      const corp = (await providers.findByOrigin('svc', 'corp')) ?? assert.fail()
      await providers.update('svc', { ...corp, aliasId: 'there', aliasZoneId: 'z1' })
      await providers.insert('z1', { ...corp, zoneId: 'z1', id: 'there', aliasId: corp.id, aliasZoneId: 'svc' })
      const kept = await api.linkFor('chief@corp.example')
      const [here = assert.fail()] = await users.findByEmail('svc', 'corp', 'chief@corp.example')
      const { aliasId = '' } = (await putAlias(api, here.id)).json<{ aliasId?: string }>()
      await promote(api, aliasId, 'z1')
      assert.equal((await api.invite(['chief@corp.example'])).failed_invites[0]?.errorCode, 'invitation.exception')
      const mallory = server.browser()
      if ((await mallory.send(kept.path)).status === 302)
        await signInAt(server, mallory, { nameId: 'mallory', start: kept.path })
      assert.equal((await users.find('svc', here.id))?.externalId, undefined)
      // The other way round, with every right of the other zone.
      await promote(api, here.id)
      for (const client of ['inviter', 'root']) {
        const { failed_invites: failed } = await api.invite(['chief@corp.example'], { client, host: Z1 })
        assert.equal(failed[0]?.errorCode, 'invitation.exception', client)
      }
      assert.equal((await api.invite(['chief@corp.example'], { client: 'root' })).new_invites.length, 1)
    }),
  },
  {
    attack: 'uses an old invitation link to set the password of an active account',
    outcome: 'links set no password of verified accounts, and a new link invalidates earlier ones',
    attempt: inBothModes(async api => {
      const [first, kept] = [await api.linkFor('kai@acc.org'), await api.linkFor('kai@acc.org')]
      assert.equal((await accept(api, first.path, twice('a password of Kai'))).status, 302)
      const { passwordHash } = await userNamed(api.server, 'kai@acc.org')
      await accept(api, kept.path, { ...twice('a password of Eve'), code: kept.code })
      const user = await userNamed(api.server, 'kai@acc.org')
      assert.equal(user.passwordHash, passwordHash)
      await api.server.store.users.update('svc', { ...user, verified: false })
      await accept(api, kept.path, { ...twice('a password of Eve'), code: kept.code })
      assert.equal((await userNamed(api.server, 'kai@acc.org')).passwordHash, passwordHash)
    }),
  },
  {
    attack: 'signs up with the address of another user, and waits until they are invited',
    outcome: 'the invited user’s password replaces the first one',
    attempt: inBothModes(async api => {
      await api.invite(['kai@acc.org'])
      const [user, { passwordHash = '' }] = [
        await userNamed(api.server, 'kai@acc.org'),
        await userNamed(api.server, 'marissa'),
      ]
      await api.server.store.users.update('svc', { ...user, passwordHash })
      const { path } = await api.linkFor('kai@acc.org')
      assert.equal((await accept(api, path, twice('a password of Kai'))).status, 302)
      const location = (await api.server.browser().signIn('kai@acc.org', 'koala')).headers['location']
      assert.match(String(location), /error=login_failure/)
    }),
  },
  {
    attack: 'has a mail scanner open every link with GET and HEAD',
    outcome: 'nothing is used up and no account is verified',
    attempt: inBothModes(async api => {
      const { path } = await api.linkFor('kai@acc.org')
      for (const method of ['GET', 'HEAD', 'GET']) await api.server.send(path, { method })
      assert.equal((await userNamed(api.server, 'kai@acc.org')).verified, false)
      assert.equal((await accept(api, path, twice('a password of Kai'))).status, 302)
    }),
  },
  {
    attack: 'invites with a redirect to their own URL',
    outcome: 'only registered redirect URIs are followed',
    attempt: inBothModes(async api => {
      for (const redirect_uri of [
        'https://evil.example/',
        '//evil.example',
        'https://app.example@evil.example/welcome',
        'javascript:1',
      ]) {
        const { path } = await api.linkFor('joel@example.org', { query: { redirect_uri } })
        assert.equal((await accept(api, path, {})).headers['location'], 'http://localhost:8080/home')
      }
    }),
  },
  {
    attack: 'injects text into the invitation page by URL or email address',
    outcome: 'only known messages are shown, and such an address is invalid',
    attempt: inBothModes(async api => {
      const { path } = await api.linkFor('kai@acc.org')
      const page = await api.server.send(`${path}&error_message=Call+me&error_message_code=<b>Call`)
      assert.doesNotMatch(page.text, /Call/)
      const hostile = [
        '"<script>"@acc.org',
        'kai@acc.org\r\nBcc: eve@acc.org',
        'Kai <kai@acc.org>',
        'kai@acc.org,eve@acc.org',
      ]
      assert.equal((await api.invite(hostile)).new_invites.length, 0)
    }),
  },
  {
    attack: 'invites into another zone, or accepts in another one',
    outcome: 'token and code are refused there',
    attempt: inBothModes(async api => {
      const bearer = await api.tokenOf('inviter')
      assert.equal((await api.send({ emails: ['eve@acc.org'] }, { bearer, host: Z1 })).status, 401)
      const account = await passwordTokens(api.server, { scope: 'scim.invite' }, ['inviter', 'secret'])
      const headers = { 'x-identity-zone-id': 'z1' }
      const answer = await api.send({ emails: ['eve@acc.org'] }, { bearer: account.access_token, headers })
      assert.equal(answer.status, 403)
      const { path } = await api.linkFor('kai@acc.org')
      assert.equal((await api.server.send(path, { host: Z1 })).status, 422)
    }),
  },
  {
    attack: 'reads the code of an invitation at /Codes',
    outcome: 'not found, and the invitation stays valid',
    attempt: inBothModes(async api => {
      const { path, code } = await api.linkFor('kai@acc.org')
      const answer = await api.server.send(`/Codes/${code}`, { bearer: await api.tokenOf('writer') })
      assert.equal(answer.status, 404)
      assert.equal((await api.server.send(path)).status, 200)
    }),
  },
  {
    attack: 'has the browser of a victim accept an invitation of the attacker',
    outcome: 'refused without the anti-forgery value of the browser',
    attempt: inBothModes(async api => {
      const { code } = await api.linkFor('eve@acc.org')
      const victim = api.server.browser()
      await victim.signIn('marissa', 'koala')
      const form = { code, ...twice('a password of Eve') }
      const headers = { origin: 'https://evil.example' }
      assert.equal((await victim.send('/invitations/accept.do', { form, headers })).status, 403)
      assert.equal((await userNamed(api.server, 'eve@acc.org')).verified, false)
    }),
  },
]
