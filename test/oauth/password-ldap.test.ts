// The password grant with users of an LDAP directory, with OpenLDAP's slapd.
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { decodeJwt } from 'jose'
import type { LdapConfig, LdapServer } from '../support/ldap-server.ts'
import { AS_SCOPES, changing, LDAP_HINT, SEARCH, startLdapServer } from '../support/ldap-server.ts'
import { MODES, tokensOf } from '../support/oauth.ts'
import { setPolicy } from '../support/second-factor.ts'
import type { TestAnswer } from '../support/server.ts'
import type { Slapd } from '../support/slapd.ts'
import { ACCOUNT, dnOf, GROUPS, PASSWORD, PEOPLE, startSlapd, SUFFIX } from '../support/slapd.ts'

let slapd: Slapd
before(async () => {
  slapd = await startSlapd()
})
after(() => slapd.stop())

/** The claims of the access token. */
const claimsOf = (answer: TestAnswer): Record<string, unknown> => decodeJwt({ ...tokensOf(answer) }.access_token)
const outcomeOf = (answer: TestAnswer): string => `${answer.status} ${String(answer.json()['error'])}`

for (const mode of MODES) {
  const REFUSED = mode === 'standard' ? '400 invalid_grant' : '401 unauthorized'

  describe(`grant_type=password with an LDAP directory in ${mode}`, () => {
    let api: LdapServer
    const configure = (config: LdapConfig) => api.configure({ ...SEARCH, baseUrl: slapd.url, ...config })
    before(async () => {
      api = await startLdapServer(mode, { ...SEARCH, baseUrl: slapd.url })
    })
    after(async () => {
      assert.deepEqual(api.server.faults, [])
      await api.server.stop()
    })

    // Covers configuration file: bootstrap.identity_providers[]: type ldap
    // Covers POST /oauth/token grant_type=password: `login_hint` with another origin
    it('authenticates a user of the directory, and creates the account', async () => {
      const answer = await api.grant('marissa', { scope: 'openid' })
      const user = await api.account('marissa')
      const claims = claimsOf(answer)
      assert.deepEqual([claims['user_id'], claims['origin'], claims['user_name']], [user?.id, 'ldap', 'marissa'])
      assert.deepEqual(decodeJwt(tokensOf(answer).id_token ?? '')['amr'], ['ext', 'pwd'])
      assert.deepEqual(
        [user?.email, user?.givenName, user?.familyName, user?.phoneNumber, user?.verified],
        ['marissa@example.org', 'Marissa', 'marissa family', '+1 555 0100', false],
      )
      assert.deepEqual(user?.lastLogonAt, api.server.clock.now())
      const events = new Set(api.server.events.slice(-3).map(({ type }) => type))
      assert.ok(events.has('IdentityProviderAuthenticationSuccess') && events.has('UserAuthenticationSuccess'))
    })

    // Covers ldap sign-in: error: wrong password
    it('answers a wrong password, an empty one and an unknown user identically', async () => {
      const answers = [
        await api.grant('marissa', { password: 'x' }),
        await api.grant('marissa', { password: ' ' }),
        await api.grant('nobody'),
        await api.grant('*'),
        await api.grant('marissa)(cn=*'),
      ]
      for (const answer of answers) {
        assert.equal(outcomeOf(answer), REFUSED)
        assert.equal(answer.json()['error_description'], 'Bad credentials')
      }
      assert.equal((await api.grant('marissa', { password: '' })).status, answers[0]?.status)
      const failed = api.server.events.filter(({ type }) => type === 'IdentityProviderAuthenticationFailure')
      assert.equal(failed.length, 5, 'an empty password is not sent')
      assert.ok(failed.every(({ origin, principal }) => origin === 'ldap' && principal !== 'marissa'))
    })

    it('answers mfa_required if the policy requires a second factor', async () => {
      const { server } = api
      await api.grant('marissa')
      const { id, lastLogonAt } = (await api.account('marissa')) ?? assert.fail()
      server.clock.advance(10)
      await server.store.events.recordFailure('svc', id, server.clock.now())
      await setPolicy(server, { requirement: 'required' })
      assert.equal(outcomeOf(await api.grant('marissa')), '400 mfa_required')
      assert.equal(outcomeOf(await api.grant('marissa', { password: 'x' })), REFUSED)
      assert.deepEqual((await api.account('marissa'))?.lastLogonAt, lastLogonAt)
      assert.equal(
        (await server.store.events.failures('svc', id, new Date(0))).length,
        1,
        'failed sign-ins are not reset',
      )
      await setPolicy(server, { requirement: 'required', origins: ['svc'] })
      tokensOf(await api.grant('marissa'))
      await setPolicy(server, { requirement: 'off' })
    })

    // Covers POST /oauth/token grant_type=password: rule: internal then LDAP
    // Covers provider selection password: internal then LDAP
    it('checks internal accounts first, then the directory', async () => {
      const noHint = (userName: string, password = PASSWORD) => api.grant(userName, { login_hint: '', password })
      assert.equal(claimsOf(await noHint('loner'))['origin'], 'ldap')
      assert.equal(claimsOf(await noHint('joel', 'wombat'))['origin'], 'svc')
      assert.equal(claimsOf(await noHint('marissa', 'koala'))['origin'], 'svc')
      // The directory has another password for the user name of an internal account.
      const both = await noHint('marissa')
      if (mode === 'uaa') assert.equal(claimsOf(both)['origin'], 'ldap')
      else assert.equal(outcomeOf(both), REFUSED)
      assert.equal(outcomeOf(await noHint('nobody')), REFUSED)
    })

    it('checks only the directory if internal accounts are disabled', async () => {
      const { server } = api
      const internal = await server.store.providers.findByOrigin('svc', 'svc')
      assert.ok(internal)
      await server.store.providers.update('svc', { ...internal, active: false })
      const answers = [
        await api.grant('loner', { login_hint: '' }),
        await api.grant('joel', { login_hint: '', password: 'wombat' }),
      ]
      await server.store.providers.update('svc', internal)
      assert.equal(answers[0]?.status, 200)
      assert.equal(answers[1] && outcomeOf(answers[1]), REFUSED)
    })

    // Covers provider selection password: default provider; one candidate
    it('uses only providers that the client allows, and the default provider of the zone', async () => {
      const { server } = api
      const ask = (client: string, form: Readonly<Record<string, string>>) =>
        server.token(
          { grant_type: 'password', username: 'loner', password: PASSWORD, ...form },
          { basic: [client, client] },
        )
      const mine = await ask('only-ldap', {})
      assert.equal(claimsOf(mine)['origin'], 'ldap')
      assert.equal(outcomeOf(await ask('only-ldap', { username: 'joel', password: 'wombat' })), REFUSED)
      assert.notEqual((await ask('only-svc', {})).status, 200)
      const barred = await ask('only-svc', { login_hint: LDAP_HINT })
      assert.equal(
        barred.json()['error_description'],
        "Client is not authorized for specified user's identity provider.",
      )
      const zone = await server.store.zones.find('svc')
      assert.ok(zone)
      await server.store.zones.update({ ...zone, config: { ...zone.config, defaultIdentityProvider: 'ldap' } })
      const answers = [
        await api.grant('loner', { login_hint: '' }),
        await api.grant('joel', { login_hint: '', password: 'wombat' }),
      ]
      await server.store.zones.update(zone)
      assert.equal(answers[0]?.status, 200)
      assert.equal(answers[1] && outcomeOf(answers[1]), REFUSED)
      // Refreshing is refused while the provider is disabled.
      const refresh = { grant_type: 'refresh_token', refresh_token: tokensOf(mine).refresh_token ?? '' }
      const provider = await server.store.providers.findByOrigin('svc', 'ldap')
      assert.ok(provider)
      await server.store.providers.update('svc', { ...provider, active: false })
      const refused = await server.token(refresh, { basic: ['only-ldap', 'only-ldap'] })
      const unusable = await api.grant('loner')
      await server.store.providers.update('svc', provider)
      assert.notEqual(refused.status, 200)
      assert.match(String(unusable.json()['error_description']), /does not match an active Identity Provider/)
    })

    describe('User', () => {
      it('has one account regardless of case and spaces of the name', async () => {
        const ids = []
        for (const name of ['loner', 'LONER', ' loner', 'Loner ']) ids.push(claimsOf(await api.grant(name))['user_id'])
        assert.deepEqual(new Set(ids).size, 1)
        assert.equal((await api.account('loner'))?.userName, 'loner')
      })

      it('keeps the account if the entry is renamed; a new entry of that name is another account', async () => {
        const config = { userSearchBase: SUFFIX }
        await configure(config)
        const dn = dnOf('back\\slash')
        const first = claimsOf(await api.grant('back\\slash'))['user_id']
        await changing(slapd, client => client.modifyDN(dn, `cn=moved,ou=groups,${SUFFIX}`))
        assert.equal(claimsOf(await api.grant('moved'))['user_id'], first)
        await changing(slapd, client =>
          client.add(dn, { objectClass: 'inetOrgPerson', cn: 'back\\slash', sn: 'x', userPassword: PASSWORD }),
        )
        const next = claimsOf(await api.grant('back\\slash'))
        assert.notEqual(next['user_id'], first)
        await changing(slapd, async client => {
          await client.del(dn)
          await client.modifyDN(`cn=moved,ou=groups,${SUFFIX}`, dn)
        })
        assert.equal(claimsOf(await api.grant('back\\slash'))['user_id'], first)
        await configure({})
      })

      it('gets one account on concurrent first sign-ins, and is refused if deactivated', async () => {
        const answers = await Promise.all(Array.from({ length: 6 }, () => api.grant('less<more>')))
        assert.equal(new Set(answers.map(answer => claimsOf(answer)['user_id'])).size, 1)
        const user = await api.account('less<more>')
        assert.ok(user)
        await api.server.store.users.update('svc', { ...user, active: false })
        assert.equal(outcomeOf(await api.grant('less<more>')), REFUSED)
      })

      it('with the same name in another subtree has another account', async () => {
        await changing(slapd, client =>
          client.add(`cn=loner,${GROUPS}`, {
            objectClass: 'inetOrgPerson',
            cn: 'loner',
            sn: 'x',
            userPassword: 'hush-hush other',
          }),
        )
        const patterns = {
          ldapProfileFile: 'ldap/ldap-simple-bind.xml',
          userDNPattern: `cn={0},${PEOPLE};cn={0},${GROUPS}`,
        }
        await configure(patterns)
        const one = claimsOf(await api.grant('loner'))['user_id']
        const other = claimsOf(await api.grant('loner', { password: 'hush-hush other' }))['user_id']
        await changing(slapd, client => client.del(`cn=loner,${GROUPS}`))
        await configure({})
        assert.notEqual(one, other)
      })
    })

    describe('Account with addShadowUserOnLogin disabled', () => {
      // Covers ldap sign-in: error: shadow creation barred
      it('must exist', async () => {
        await configure({ addShadowUserOnLogin: false })
        const answer = await api.grant('semi;colon')
        assert.equal(outcomeOf(answer), REFUSED)
        assert.equal(
          answer.json()['error_description'],
          'The user account must be pre-created. Please contact your system administrator.',
        )
        assert.equal((await api.grant('semi;colon', { password: 'x' })).json()['error_description'], 'Bad credentials')
      })

      it('is found by user name, case-insensitively', async () => {
        const { access_token: bearer } = tokensOf(
          await api.server.token({ grant_type: 'client_credentials' }, { basic: ['admin', 'admin-secret'] }),
        )
        const body = JSON.stringify({
          userName: 'X=Y',
          origin: 'ldap',
          emails: [{ value: 'xy@example.org' }],
          name: {},
        })
        const created = await api.server.send('/Users', {
          bearer,
          body,
          headers: { 'content-type': 'application/json' },
        })
        assert.equal(created.status, 201, created.text)
        assert.equal(claimsOf(await api.grant('x=y'))['user_id'], created.json()['id'])
        await configure({})
      })
    })

    describe('Groups, roles and attributes', () => {
      const wide = { ...AS_SCOPES, externalGroupsWhitelist: ['*'] }
      const info = async (answer: TestAnswer) =>
        (await api.server.send('/userinfo', { bearer: tokensOf(answer).access_token })).json()

      // Covers ldap sign-in: groups none; groups as scopes
      it('groups are granted as scopes, including nested ones', async () => {
        await configure(wide)
        const scope = String(claimsOf(await api.grant('marissa'))['scope'])
        assert.ok(scope.includes('cloud.read') && scope.includes('cloud.write'), scope)
        await configure({ ...wide, maxGroupSearchDepth: 1 })
        assert.ok(
          !String(claimsOf(await api.grant('marissa'))['scope']).includes('cloud.write'),
          'groups are synchronized',
        )
        await configure({})
        assert.ok(!String(claimsOf(await api.grant('marissa'))['scope']).includes('cloud.read'), 'without groups')
      })

      // Covers ldap config: autoAddGroups
      it('groups are created only with autoAddGroups', async () => {
        const exists = async () => (await api.server.store.groups.findByNames('svc', ['new.one'])).length > 0
        await changing(slapd, client =>
          client.add(`cn=new,${GROUPS}`, {
            objectClass: 'groupOfNames',
            cn: 'new',
            description: 'new.one',
            member: dnOf('marissa'),
          }),
        )
        await configure({ ...wide, autoAddGroups: false })
        await api.grant('marissa')
        assert.equal(await exists(), false)
        await configure(wide)
        await api.grant('marissa')
        assert.equal(await exists(), true)
        await changing(slapd, client => client.del(`cn=new,${GROUPS}`))
        await configure({})
      })

      // Covers ldap sign-in: groups mapped to scopes
      it('groups are mapped to scopes by external group mappings', async () => {
        await configure({ ...wide, ldapGroupFile: 'ldap/ldap-groups-map-to-scopes.xml' })
        assert.ok(!String(claimsOf(await api.grant('marissa'))['scope']).includes('cloud.read'))
        const [group] = await api.server.store.groups.findByNames('svc', ['cloud.read'])
        const { access_token: bearer } = tokensOf(
          await api.server.token({ grant_type: 'client_credentials' }, { basic: ['admin', 'admin-secret'] }),
        )
        const body = JSON.stringify({ groupId: group?.id, externalGroup: `CN=Staff,${GROUPS}`, origin: 'ldap' })
        const created = await api.server.send('/Groups/External', {
          bearer,
          body,
          headers: { 'content-type': 'application/json' },
        })
        assert.equal(created.status, 201, created.text)
        assert.ok(String(claimsOf(await api.grant('marissa'))['scope']).includes('cloud.read'))
        await configure({ ...wide, ldapGroupFile: 'ldap/ldap-groups-map-to-scopes.xml', groupSearchBase: 'memberOf' })
        assert.ok(
          !String(claimsOf(await api.grant('marissa'))['scope']).includes('cloud.read'),
          'memberOf does not include nested groups',
        )
        await configure({})
      })

      // Partly covers external groups: roles by whitelist; whitelist semantics per source
      it('roles are the groups in externalGroupsWhitelist', async () => {
        const rolesWith = async (externalGroupsWhitelist: readonly string[]) => {
          await configure({ ...wide, externalGroupsWhitelist })
          await api.grant('marissa')
          return (await api.account('marissa'))?.providerRoles ?? []
        }
        assert.deepEqual(await rolesWith(['*']), ['everybody', 'readers', 'staff'])
        assert.deepEqual(await rolesWith(['re*', 'nobody']), ['readers'])
        assert.deepEqual(await rolesWith([]), [])
        await configure({})
      })

      // Covers attributeMappings: first_name
      it('attributes are mapped, and stored unless storeCustomAttributes is false', async () => {
        const attributeMappings = {
          'user.attribute.phones': 'telephoneNumber',
          'user.attribute.none': 'title',
          'user.attribute.classes': ['objectClass', 'sn'],
          first_name: 'sn',
          family_name: 'cn',
          email: 'mail',
          email_verified: 'title',
        }
        await configure({ attributeMappings })
        await info(await api.grant('marissa'))
        const user = await api.account('marissa')
        assert.deepEqual(user?.profile?.custom, {
          phones: ['+1 555 0100'],
          classes: ['inetOrgPerson', 'marissa family'],
        })
        assert.deepEqual([user?.givenName, user?.familyName], ['marissa family', 'marissa'])
        await configure({ attributeMappings, storeCustomAttributes: false })
        await api.grant('marissa')
        assert.equal((await api.account('marissa'))?.profile?.custom, undefined)
        await configure({ attributeMappings: { given_name: 'cn' } })
        await api.grant('marissa')
        assert.equal((await api.account('marissa'))?.givenName, 'marissa')
        await configure({})
      })

      // Covers ldap config: mailAttributeName; mailSubstitute; mailSubstituteOverridesLdap
      it('email is verified by attribute mapping, and substituted by mailSubstitute', async () => {
        await changing(slapd, async client => {
          const { Attribute, Change } = await import('ldapts')
          const modification = new Attribute({ type: 'title', values: ['TRUE'] })
          await client.modify(dnOf('loner'), new Change({ operation: 'replace', modification }))
        })
        const facts = async (config: LdapConfig, name = 'loner') => {
          await configure(config)
          await api.grant(name)
          const user = await api.account(name)
          return [user?.email, user?.verified]
        }
        const verified = { attributeMappings: { email_verified: 'title' } }
        assert.deepEqual(await facts(verified), ['loner@example.org', true])
        const substitute = { ...verified, mailSubstitute: '{0}@made.example' }
        assert.deepEqual(await facts(substitute), ['loner@example.org', true])
        assert.deepEqual(await facts({ ...substitute, mailSubstituteOverridesLdap: true }), [
          'loner@made.example',
          false,
        ])
        assert.deepEqual(await facts(substitute, 'star*'), ['star*@made.example', false])
        assert.deepEqual(await facts({}, 'a+b'), ['a+b@user.from.ldap.cf', false])
        assert.deepEqual(await facts({ mailAttributeName: 'sn' }, 'twin-a'), ['twin-a@user.from.ldap.cf', false])
        await configure({})
      })
    })

    // Covers ldap sign-in: error: unreachable
    it('refuses users while the directory is unavailable, and logs the reason', async () => {
      const cases: readonly (readonly [LdapConfig, RegExp])[] = [
        [{ baseUrl: 'ldap://localhost:1' }, /localhost:1: cannot be reached/],
        [{ baseUrl: 'nonsense' }, /baseUrl must be/],
        [{ bindPassword: 'x' }, /bindUserDn: responded with result code 49 \(invalidCredentials\)/],
        [{ userSearchBase: 'dc=x' }, /userSearchBase/],
        [{ userSearchBase: null }, mode === 'uaa' ? /userSearchBase: responded with result code 32/ : /must be given/],
        [{ baseUrl: slapd.tlsUrl }, /certificate is not trusted/],
      ]
      for (const [config, reason] of cases) {
        await configure(config)
        const answer = await api.grant('marissa')
        assert.equal(outcomeOf(answer), REFUSED)
        assert.equal(answer.json()['error_description'], 'Bad credentials')
        assert.match(api.server.refusals.at(-1) ?? '', reason)
        assert.ok(!JSON.stringify(api.server.refusals).includes(PASSWORD))
        assert.ok(!JSON.stringify(api.server.refusals).includes(ACCOUNT.password))
      }
      await configure({})
    })
  })
}
