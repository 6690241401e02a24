import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { MODES } from '../../support/oauth.ts'
import type { TestServer } from '../../support/server.ts'
import { startServer, defaultBootstrap } from '../../support/server.ts'
import { setCookies } from '../../support/forms.ts'

const NAME = 'svc-request'
const LOGIN = 'http://localhost:8080/login'

const pack = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url')

for (const mode of MODES) {
  describe(`Saved request in ${mode}`, () => {
    let server: TestServer
    before(async () => {
      server = await startServer({
        mode,
        config: { bootstrap: { ...defaultBootstrap, identity_zones: [{ id: 'z1', subdomain: 'z1', name: 'One' }] } },
      })
    })
    after(() => server.stop())

    /** The redirect after sign-in with this cookie. */
    async function targetWith(value: string): Promise<string | undefined> {
      const browser = server.browser()
      browser.cookies.set(NAME, value)
      const answer = await browser.signIn('marissa', 'koala')
      return String(answer.headers['location'])
    }
    const now = (): number => server.clock.now().getTime()

    it('is kept in an HttpOnly cookie for half an hour, not in the database', async () => {
      const browser = server.browser()
      const insert = server.store.sessions.insert.bind(server.store.sessions)
      let inserted = 0
      server.store.sessions.insert = (...given) => {
        inserted += 1
        return insert(...given)
      }
      const answer = await browser.send('/home?x=1')
      server.store.sessions.insert = insert
      assert.equal(answer.headers['location'], LOGIN)
      assert.equal(inserted, 0)
      const { [NAME]: line = '' } = setCookies(answer)
      const attributes = 'HttpOnly; SameSite=Lax' // over http in both modes
      assert.match(line, new RegExp(`^svc-request=[\\w-]+; Max-Age=1800; Path=/; ${attributes}$`))
      const signed = await browser.signIn('marissa', 'koala')
      assert.equal(signed.headers['location'], 'http://localhost:8080/home?x=1')
      assert.match(setCookies(signed)[NAME] ?? '', /^svc-request=; Max-Age=0; /)
    })

    it('is kept in a session if too long for a cookie', async () => {
      const browser = server.browser()
      const long = `/home?${'x'.repeat(3000)}`
      const answer = await browser.send(long)
      assert.equal(setCookies(answer)[NAME], undefined)
      const signed = await browser.signIn('marissa', 'koala')
      assert.equal(signed.headers['location'], `http://localhost:8080${long}`)
    })

    it('is the last of two, regardless of their lengths', async () => {
      const long = `/home?${'x'.repeat(3000)}`
      for (const [first, second] of [
        ['/home?a', '/home?b'],
        ['/home?a', long],
        [long, '/home?b'],
      ] as const) {
        const browser = server.browser()
        await browser.send(first)
        await browser.send(second)
        const signed = await browser.signIn('marissa', 'koala')
        assert.equal(signed.headers['location'], `http://localhost:8080${second}`)
      }
    })

    for (const { name, value, path } of [
      { name: 'a valid cookie', value: () => pack(['svc', now(), '/home?x']), path: '/home?x' },
      { name: 'an empty path', value: () => pack(['svc', now(), '']), path: '' },
      { name: 'another zone', value: () => pack(['z1', now(), '/home?x']), path: '/' },
      { name: 'an expired time', value: () => pack(['svc', now() - 1_800_000, '/home?x']), path: '/' },
      { name: 'an invalid time', value: () => pack(['svc', 'x', '/home?x']), path: '/' },
      { name: 'a path that makes the host userinfo', value: () => pack(['svc', now(), '@evil.example/']), path: '/' },
      { name: 'a path that extends the port', value: () => pack(['svc', now(), '1.evil.example/']), path: '/' },
      { name: 'another origin', value: () => pack(['svc', now(), 'https://evil.example/']), path: '/' },
      { name: 'two slashes', value: () => pack(['svc', now(), '//evil.example/']), path: '/' },
      { name: 'a backslash', value: () => pack(['svc', now(), '/\\evil.example/']), path: '/' },
      { name: 'a line break', value: () => pack(['svc', now(), '/home\r\nset-cookie: a=b']), path: '/' },
      { name: 'an object as the path', value: () => pack(['svc', now(), { path: '/home' }]), path: '/' },
      { name: 'an object instead of an array', value: () => pack({ 0: 'svc', 1: now(), 2: '/home?x' }), path: '/' },
      { name: 'malformed JSON', value: () => 'e30x', path: '/' },
      { name: 'an empty cookie', value: () => '', path: '/' },
      { name: 'a path that is too long', value: () => pack(['svc', now(), `/home?${'x'.repeat(6000)}`]), path: '/' },
    ]) {
      it(`redirects to ${path || 'the base URL'} with ${name}`, async () => {
        assert.equal(await targetWith(value()), `http://localhost:8080${path}`)
      })
    }
  })
}
