// Sign-in of LDAP users with a real directory (slapd).
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { hiddenFields } from '../support/forms.ts'
import type { LdapServer } from '../support/ldap-server.ts'
import { LDAP_HINT, SEARCH, startLdapServer } from '../support/ldap-server.ts'
import { MODES } from '../support/oauth.ts'
import { linkTo, signUpWith } from '../support/self-service.ts'
import type { Browser, TestAnswer } from '../support/server.ts'
import type { Slapd } from '../support/slapd.ts'
import { PASSWORD, startSlapd } from '../support/slapd.ts'

let slapd: Slapd
before(async () => {
  slapd = await startSlapd()
})
after(() => slapd.stop())

for (const mode of MODES) {
  describe(`Sign-in page with an LDAP provider in ${mode}`, () => {
    let api: LdapServer
    before(async () => {
      api = await startLdapServer(mode, { ...SEARCH, baseUrl: slapd.url })
    })
    after(async () => {
      assert.deepEqual(api.server.faults, [])
      await api.server.stop()
    })

    const signIn = async (
      browser: Browser,
      form: Readonly<Record<string, string>>,
      page = '/login',
    ): Promise<TestAnswer> =>
      browser.send('/login.do', {
        form: { password: PASSWORD, ...hiddenFields((await browser.send(page)).text), ...form },
      })
    const setInternal = async (active: boolean): Promise<void> => {
      const internal = await api.server.store.providers.findByOrigin('svc', 'svc')
      assert.ok(internal)
      await api.server.store.providers.update('svc', { ...internal, active })
    }
    const statusAndTarget = (answer: TestAnswer): string =>
      `${answer.status} ${answer.location().pathname}${answer.location().search}`

    it('signs a directory user in, and records one logon', async () => {
      const browser = api.server.browser()
      assert.equal(statusAndTarget(await signIn(browser, { username: 'loner' })), '302 /')
      assert.equal((await browser.send('/login')).location().pathname, '/home')
      const user = await api.account('loner')
      assert.deepEqual(
        [user?.origin, user?.lastLogonAt, user?.previousLogonAt],
        ['ldap', api.server.clock.now(), undefined],
      )
    })

    // In uaa each of them counts toward the lockout of the internal account, as after a wrong password (C14).
    const times = mode === 'uaa' ? 1 : 6
    it('signs a directory user in despite an unconfirmed sign-up with the same user name', async () => {
      await api.configure({ ...SEARCH, baseUrl: slapd.url, userSearchFilter: '(|(cn={0})(mail={0}))' })
      const name = 'loner@example.org'
      await signUpWith(api.server.browser(), name)
      await linkTo(api.server, name)
      for (let time = 0; time < times; time += 1) {
        assert.equal(statusAndTarget(await signIn(api.server.browser(), { username: name })), '302 /')
      }
      assert.ok(await api.server.store.users.findByName('svc', 'svc', name))
      await api.configure({ ...SEARCH, baseUrl: slapd.url })
    })

    // Covers POST /login.do: login_hint; rule: LDAP after internal
    it('checks only the directory with a login_hint, else internal accounts first', async () => {
      const internal = await api.server.store.users.findByName('svc', 'svc', 'marissa')
      assert.equal(
        statusAndTarget(await signIn(api.server.browser(), { username: 'marissa', password: 'koala' })),
        '302 /',
      )
      const hinted = api.server.browser()
      const page = `/login?${new URLSearchParams({ login_hint: LDAP_HINT }).toString()}`
      assert.equal(hiddenFields((await hinted.send(page)).text)['login_hint'], LDAP_HINT)
      assert.equal(statusAndTarget(await signIn(hinted, { username: 'marissa' }, page)), '302 /')
      assert.notEqual((await api.account('marissa'))?.id, internal?.id)
      const wrong = await signIn(api.server.browser(), {
        username: 'marissa',
        password: 'koala',
        login_hint: LDAP_HINT,
      })
      assert.equal(statusAndTarget(wrong), '302 /login?error=login_failure')
      const both = await signIn(api.server.browser(), { username: 'marissa' })
      assert.equal(statusAndTarget(both), mode === 'uaa' ? '302 /' : '302 /login?error=login_failure')
    })

    it('returns the same error for a wrong password, an unknown user and an unreachable directory', async () => {
      const answers = [
        await signIn(api.server.browser(), { username: 'loner', password: 'x' }),
        await signIn(api.server.browser(), { username: 'nobody' }),
        await signIn(api.server.browser(), { username: 'mar*' }),
      ]
      await api.configure({ ...SEARCH, baseUrl: 'ldap://localhost:1' })
      answers.push(await signIn(api.server.browser(), { username: 'loner' }))
      await api.configure({ ...SEARCH, baseUrl: slapd.url })
      for (const answer of answers) assert.equal(statusAndTarget(answer), '302 /login?error=login_failure')
    })

    // Covers POST /login.do: error: account_not_precreated
    it('reports that the account must be pre-created', async () => {
      await api.configure({ ...SEARCH, baseUrl: slapd.url, addShadowUserOnLogin: false })
      const browser = api.server.browser()
      const answer = await signIn(browser, { username: 'twin-a' })
      await api.configure({ ...SEARCH, baseUrl: slapd.url })
      assert.equal(statusAndTarget(answer), '302 /login?error=account_not_precreated')
      const { text } = await browser.send('/login?error=account_not_precreated')
      const words = mode === 'uaa' ? 'must be pre-created' : 'There is no account for you here yet'
      assert.ok(text.includes(words), text)
    })

    // Covers GET /login: page: form only for uaa or ldap
    it('shows the form if the directory is the only provider', async () => {
      await setInternal(false)
      const browser = api.server.browser()
      const { text } = await browser.send('/login')
      const answer = await signIn(browser, { username: 'loner' })
      const internal = await signIn(api.server.browser(), { username: 'joel', password: 'wombat' })
      await setInternal(true)
      assert.match(text, /<input id="username"/)
      assert.equal(statusAndTarget(answer), '302 /')
      assert.equal(statusAndTarget(internal), '302 /login?error=login_failure')
    })

    it('checks passwords at /authenticate', async () => {
      const form = { username: 'twin-b', password: PASSWORD }
      const answer = await api.server.send('/authenticate', { form })
      assert.deepEqual([answer.status, answer.json()['username']], [200, 'twin-b'])
      assert.equal((await api.server.send('/authenticate', { form: { ...form, password: 'x' } })).status, 401)
    })

    it('rate-limits wrong passwords', async () => {
      let status = 0
      for (let guess = 0; guess < 200 && status !== 429; guess += 1) {
        status = (await api.grant('nobody', { password: `x${guess}` })).status
      }
      assert.equal(status, 429)
    })
  })
}
