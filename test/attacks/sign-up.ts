// Attacks on sign-up and changes of email addresses.
import assert from 'node:assert/strict'
import { MODES, userNamed } from '../support/oauth.ts'
import { confirmed, linkTo, mailTo, NEW_PASSWORD, signUpWith, submitted } from '../support/self-service.ts'
import { defaultBootstrap, startServer } from '../support/server.ts'
import type { TestServer } from '../support/server.ts'
import type { Attack } from './attack.ts'

const inBothModes = (attempt: (server: TestServer) => Promise<void>) => async (): Promise<void> => {
  for (const mode of MODES) {
    const server = await startServer({ mode })
    await attempt(server)
    assert.deepEqual(server.faults, [])
    await server.stop()
  }
}

/** A provider whose users have addresses of these domains. */
const corpFor = (emailDomain: readonly string[]) => ({
  originKey: 'corp',
  type: 'oidc1.0',
  name: 'Corp',
  config: { issuer: 'https://idp.example', relyingPartyId: 'us', relyingPartySecret: 'secret', emailDomain },
})

const VICTIM = 'victim@shop.example'
const OWN = 'the password of the victim'

const canSignIn = async (server: TestServer, userName: string, password: string): Promise<boolean> =>
  !(await server.browser().signIn(userName, password)).location().href.includes('error=')

/** Attacks on sign-up and changes of email addresses. */
export const signUpAttacks: readonly Attack[] = [
  {
    attack: "signs up with the victim's address, and waits for the victim to open the mail",
    outcome: 'the page requires a password that the victim did not choose',
    attempt: inBothModes(async server => {
      await signUpWith(server.browser(), VICTIM)
      const link = await linkTo(server, VICTIM)
      for (const password of ['', OWN]) {
        assert.equal((await confirmed(server.browser(), link, { password })).status, 422)
      }
      assert.ok(!(await canSignIn(server, VICTIM, NEW_PASSWORD)))
    }),
  },
  {
    attack: "signs up with the victim's address before and after the victim does",
    outcome: "only the victim's link and password are valid",
    attempt: inBothModes(async server => {
      const victim = server.browser()
      await signUpWith(server.browser(), VICTIM)
      await mailTo(server, VICTIM)
      await signUpWith(victim, VICTIM, { password: OWN, password_confirmation: OWN })
      const link = await linkTo(server, VICTIM)
      await signUpWith(server.browser(), VICTIM)
      await mailTo(server, VICTIM)
      assert.equal((await confirmed(victim, link)).status, 302)
      assert.ok(await canSignIn(server, VICTIM, OWN))
      assert.ok(!(await canSignIn(server, VICTIM, NEW_PASSWORD)))
    }),
  },
  {
    attack: 'signs up with an address to learn whether it has an account',
    outcome: 'the response is the same, and in standard at sign-in, too',
    attempt: async () => {
      const server = await startServer()
      const seen: string[] = []
      for (const email of ['nobody@example.org', 'marissa@example.org', 'joel@example.org']) {
        const { status, headers, text } = await signUpWith(server.browser(), email)
        await server.mails()
        const signIn = await server.browser().signIn(email, NEW_PASSWORD)
        seen.push(JSON.stringify([status, headers['location'], text, signIn.headers['location']]))
      }
      assert.equal(new Set(seen).size, 1, seen.join('\n'))
      await server.stop()
    },
  },
  {
    attack: 'changes their email address to another one, to learn whether it has an account',
    outcome: 'response and mail are the same',
    attempt: inBothModes(async server => {
      await signUpWith(server.browser(), VICTIM)
      const mallory = server.browser()
      await signUpWith(mallory, 'mallory@shop.example')
      await confirmed(mallory, await linkTo(server, 'mallory@shop.example'))
      await mallory.signIn('mallory@shop.example', NEW_PASSWORD)
      const seen: string[] = []
      for (const newEmail of [VICTIM, 'nobody@shop.example']) {
        const answer = await submitted(mallory, '/change_email', { action: '/change_email.do', newEmail })
        const { subject } = await mailTo(server, 'mallory@shop.example')
        seen.push(JSON.stringify([answer.status, answer.headers['location'], subject]))
      }
      assert.equal(new Set(seen).size, 1, seen.join('\n'))
      assert.equal((await userNamed(server, 'mallory@shop.example')).email, 'mallory@shop.example')
    }),
  },
  {
    attack: 'has a mail scanner open each link',
    outcome: 'GET and HEAD use up no code',
    attempt: inBothModes(async server => {
      const browser = server.browser()
      await signUpWith(browser, VICTIM)
      const link = await linkTo(server, VICTIM)
      for (const method of ['GET', 'HEAD']) await server.send(link, { method })
      assert.equal((await userNamed(server, VICTIM)).verified, false)
      assert.equal((await confirmed(browser, link)).status, 302)
    }),
  },
  {
    attack: 'uses links in a mailbox after the account changed its email address',
    outcome: 'the links are invalid',
    attempt: inBothModes(async server => {
      const owner = server.browser()
      await signUpWith(owner, VICTIM)
      await confirmed(owner, await linkTo(server, VICTIM))
      await owner.signIn(VICTIM, NEW_PASSWORD)
      await server.send('/forgot_password.do', { form: { username: VICTIM } })
      const reset = await linkTo(server, VICTIM)
      assert.equal((await server.send(reset)).status, 200)
      await submitted(owner, '/change_email', { action: '/change_email.do', newEmail: 'safe@shop.example' })
      await confirmed(owner, await linkTo(server, 'safe@shop.example'))
      assert.equal((await userNamed(server, 'safe@shop.example')).email, 'safe@shop.example')
      assert.equal((await server.send(reset)).status, 422)
    }),
  },
  {
    attack: 'floods a mailbox with reset mails by spellings of the address and by user name',
    outcome: 'all count for one limit',
    attempt: inBothModes(async server => {
      const sent = async (): Promise<number> =>
        (await server.mails()).filter(({ to }) => to === 'marissa@example.org').length
      const wide = (text: string, count: number): string =>
        text.slice(0, count).replace(/[a-z]/g, letter => String.fromCodePoint(letter.charCodeAt(0) + 0xfee0)) +
        text.slice(count)
      for (let count = 0; count < 7; count += 1) {
        for (const username of ['marissa', 'marissa', 'marissa@example.org']) {
          const form = { username: wide(username, count) }
          assert.ok([302, 429].includes((await server.send('/forgot_password.do', { form })).status))
        }
      }
      assert.equal(await sent(), 10)
    }),
  },
  {
    attack: 'signs up with an address of a single sign-on domain with a trailing dot',
    outcome: 'the address is invalid',
    attempt: inBothModes(async server => {
      for (const email of ['eve@shop.example.', 'eve@shop..example']) {
        assert.equal((await signUpWith(server.browser(), email)).status, 422)
      }
    }),
  },
  {
    attack: 'signs up with an address of a single sign-on domain with other dots, other letters or in Punycode',
    outcome: 'the address is invalid, or matches the domain',
    attempt: async () => {
      for (const mode of MODES) {
        const bootstrap = { ...defaultBootstrap, identity_providers: [corpFor(['shop.example', 'bücher.example'])] }
        const server = await startServer({ mode, config: { bootstrap } })
        const domains = ['shop。example', 'shop．example', 'ｓhop.example', 'ſhop.example', 'SHOP.example']
        for (const domain of [...domains, 'bücher.example', 'xn--bcher-kva.example']) {
          assert.equal((await signUpWith(server.browser(), `eve@${domain}`)).status, 422, domain)
        }
        assert.equal((await signUpWith(server.browser(), 'eve@xn--bchers-ova.example')).status, 302)
        await server.stop()
      }
    },
  },
]
