import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { after, before, describe, it } from 'node:test'
import { createContext, runInContext } from 'node:vm'
import { hiddenFields, setCookies } from '../../support/forms.ts'
import { MODES } from '../../support/oauth.ts'
import type { TestServer } from '../../support/server.ts'
import { startServer } from '../../support/server.ts'
import { bootstrap, jarOf, passwordIn, zone_config } from '../../support/zone-path.ts'

for (const mode of MODES) {
  for (const path of ['', '/uaa']) {
    const base = `http://id.example:8080${path}`

    describe(`Cookies of zones by path below ${base} in ${mode}`, () => {
      let server: TestServer
      before(async () => {
        server = await startServer({ mode, config: { base_url: base, bootstrap, zone_config } })
      })
      after(async () => {
        assert.deepEqual(server.faults, [])
        await server.stop()
      })

      const session = mode === 'uaa' ? 'JSESSIONID' : 'svc-session'

      it('have the name and path of the zone', async () => {
        const jar = jarOf(server)
        const lines = { ...setCookies(await jar.signIn(`${path}/z/x`, 'koala-x')) }
        const shape = Object.fromEntries(
          Object.entries(lines).map(([name, line]) => [
            name.replace(/[0-9a-f-]{36}$/, '<id>'),
            line.replace(/^[^;]*; /, ''),
          ]),
        )
        const site = 'SameSite=Lax' // over http in both modes
        assert.deepEqual(shape, {
          [`${session}.x`]: `Path=${path}/z/x${mode === 'uaa' ? '' : '/'}; HttpOnly; ${site}`,
          'X-Svc-Csrf.x': `Max-Age=86400; Path=${path}/z/x/; HttpOnly; SameSite=Lax`,
          'Current-User.x': `Max-Age=1800; Path=${path}/z/x/; SameSite=Strict`,
          'Saved-Account.x.<id>': `Max-Age=31536000; Path=${path}/z/x/login; HttpOnly; SameSite=Lax`,
        })
        const out = setCookies(await jar.send(`${path}/z/x/logout.do`, { query: { redirect: `${base}/z/x/login` } }))
        assert.deepEqual(Object.keys(out).toSorted(), ['Current-User.x', 'X-Svc-Csrf.x', `${session}.x`].toSorted())
        for (const line of Object.values(out)) assert.match(line, /Max-Age=0; Path=\S*\/z\/x\/?;/)
      })

      // Covers zone by path: rule: cookies of the path
      it('of several zones coexist in one browser', async () => {
        const jar = jarOf(server)
        const zones = ['', '/z/x', '/z/y', '/z/default'] as const
        for (const zone of zones) {
          const password = zone === '' ? 'koala' : passwordIn(zone.slice(3))
          assert.equal((await jar.signIn(path + zone, password)).headers['location'], `${base}${zone}/`)
        }
        for (const zone of zones) assert.ok(await jar.isSignedIn(path + zone), zone)
        for (const [index, zone] of zones.entries()) {
          // The browser sends the anti-forgery tokens of several zones.
          const page = await jar.send(`${path}${zone}/home`)
          const form = hiddenFields(page.text) // none in uaa, whose sign-out is a link
          const left = await jar.send(`${path}${zone}/logout.do`, mode === 'uaa' ? {} : { form })
          assert.equal(left.headers['location'], `${base}${zone}/login`)
          assert.deepEqual(
            await Promise.all(zones.map(each => jar.isSignedIn(path + each))),
            zones.map((_, other) => other > index),
          )
        }
      })

      const PAIRS = [
        ['', '/z/x'],
        ['/z/x', ''],
        ['/z/x', '/z/y'],
        ['/z/y', '/z/x'],
        ['/z/x', '/z/default'],
        ['/z/default', '/z/x'],
      ] as const
      const nameAt = (name: string, zone: string): string => (zone === '' ? name : `${name}.${zone.slice(3)}`)

      for (const [from, to] of PAIRS) {
        const reported = `of ${from || 'the default zone'} at ${to || 'the default zone'}`
        const password = from === '' ? 'koala' : passwordIn(from.slice(3))

        it(`${reported}: refuse a session, under either name`, async () => {
          const jar = jarOf(server)
          await jar.signIn(path + from, password)
          const own = nameAt(session, from)
          const value = [...jar.cookies.values()].find(({ name }) => name === own)?.value ?? ''
          assert.equal((await server.send(`${path}${from}/home`, { cookies: { [own]: value } })).status, 200)
          for (const name of [own, nameAt(session, to)]) {
            const answer = await server.send(`${path}${to}/home`, { cookies: { [name]: value } })
            assert.deepEqual([answer.status, answer.headers['location']], [302, `${base}${to}/login`], name)
          }
        })

        it(`${reported}: refuse an anti-forgery token`, async () => {
          const page = await server.send(`${path}${from}/login`)
          const value = hiddenFields(page.text)['X-Svc-Csrf'] ?? ''
          assert.equal(value.length, 22)
          const form = { 'X-Svc-Csrf': value, username: 'marissa', password: passwordIn(to.slice(3) || 'default') }
          const answer = await server.send(`${path}${to}/login.do`, {
            form,
            cookies: { [nameAt('X-Svc-Csrf', from)]: value },
          })
          assert.equal(answer.headers['location'], `${base}${to}/login?error=invalid_login_request`)
        })

        it(`${reported}: do not offer a saved account`, async () => {
          const jar = jarOf(server)
          await jar.signIn(path + from, password)
          const saved = [...jar.cookies.values()].filter(({ name }) => name.startsWith('Saved-Account'))
          assert.equal(saved.length, 1)
          const cookies = Object.fromEntries(saved.map(({ name, value }) => [name, value]))
          const own = await server.send(`${path}${from}/login`, { cookies })
          assert.match(own.text, /marissa/)
          const other = await server.send(`${path}${to}/login`, { cookies })
          assert.doesNotMatch(other.text, /marissa/)
          assert.deepEqual(
            Object.keys(setCookies(other)).filter(name => name.startsWith('Saved')),
            [],
            'it is not deleted either',
          )
        })
      }

      it('are read by the session frame of the zone', async () => {
        const script = readFileSync('assets/session-frame.js', 'utf8')
        const both = `Current-User=${encodeURIComponent('{"userId":"u0"}')}; Current-User.x=${encodeURIComponent('{"userId":"ux"}')}`
        for (const [zone, name, want] of [
          ['', 'Current-User', 'u0'],
          ['/z/x', 'Current-User.x', 'ux'],
          ['/z/y', 'Current-User.y', ''],
        ] as const) {
          const page = await server.send(`${path}${zone}/check_session`)
          const shown = /id="cookie" value="([^"]*)"/.exec(page.text)?.[1]
          assert.equal(shown, name)
          const context = createContext({
            document: { cookie: both, getElementById: (id: string) => (id === 'cookie' ? { value: shown } : null) },
            window: { addEventListener: () => {} },
          })
          assert.equal(runInContext(`${script}\ncurrentUser()`, context), want)
        }
      })
    })
  }
}

describe('Cookies of zones by path over https', () => {
  const CASES = [
    { base: 'https://id.example', mode: 'standard', zone: '/z/x', session: '__Secure-svc-session.x', path: '/z/x/' },
    { base: 'https://id.example', mode: 'standard', zone: '', session: '__Host-svc-session', path: '/' },
    {
      base: 'https://id.example/uaa',
      mode: 'standard',
      zone: '/z/x',
      session: '__Secure-svc-session.x',
      path: '/uaa/z/x/',
    },
    { base: 'https://id.example', mode: 'uaa', zone: '/z/x', session: 'JSESSIONID.x', path: '/z/x' },
    { base: 'https://id.example', mode: 'uaa', zone: '', session: 'JSESSIONID', path: '/' },
  ] as const
  for (const { base, mode, zone, session, path } of CASES) {
    it(`are ${session} with Path=${path} at ${base}${zone} in ${mode}`, async () => {
      const server = await startServer({ mode, config: { base_url: base, bootstrap, zone_config } })
      try {
        const password = zone === '' ? 'koala' : 'koala-x'
        const lines = setCookies(await jarOf(server).signIn(new URL(base).pathname.replace(/\/$/, '') + zone, password))
        const site = mode === 'uaa' ? 'None' : 'Lax'
        assert.equal(
          lines[session]?.replace(/^[^;]*; /, ''),
          `Path=${path}; HttpOnly; Secure; SameSite=${site}`,
          JSON.stringify(lines),
        )
        for (const line of Object.values(lines)) assert.match(line, /; Secure/)
      } finally {
        await server.stop()
      }
    })
  }
})
