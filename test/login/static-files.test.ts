import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { signedIn } from '../support/authorize.ts'
import { MODES } from '../support/oauth.ts'
import type { TestServer } from '../support/server.ts'
import { startServer, defaultBootstrap } from '../support/server.ts'
import { png } from '../pages/states.ts'

const OWN = png(4, 4, [1, 2, 3])
const SHARED = png(2, 2, [3, 2, 1])
const zone = (id: string, squareLogo?: string) => ({
  id,
  subdomain: id,
  name: id,
  config: { branding: { ...(squareLogo !== undefined && { squareLogo }) } },
})
const PICTURE = { accept: 'image/avif,image/webp,*/*;q=0.8' }

for (const mode of MODES) {
  for (const base of ['http://localhost:8080', 'http://localhost:8080/uaa']) {
    const path = new URL(base).pathname.replace(/\/$/, '')

    describe(`files outside of /resources below ${base}, in ${mode}`, () => {
      let server: TestServer
      before(async () => {
        const identity_zones = [zone('plain'), zone('own', OWN), zone('odd', 'no base64!')]
        server = await startServer({
          mode,
          config: {
            base_url: base,
            bootstrap: { ...defaultBootstrap, identity_zones },
            zone_config: { branding: { squareLogo: SHARED } },
          },
        })
      })
      after(async () => {
        assert.deepEqual(server.faults, [])
        await server.stop()
      })

      for (const file of ['/favicon.ico', '/vendor/font-awesome/css/font-awesome.min.css', '/vendor/x']) {
        // Covers static files: /favicon.ico; /vendor/**
        it(`has no ${file}, and nothing waits for it after a sign-in`, async () => {
          for (const accept of ['text/html', 'image/avif,*/*', 'application/json']) {
            const answer = await server.send(path + file, { headers: { accept } })
            assert.equal(answer.status, 404)
            assert.deepEqual(answer.cookies, {})
          }
        })
      }

      it('has nothing below /password/, where uaac posts passwords to have them judged', async () => {
        for (const method of ['GET', 'POST']) {
          const form = method === 'POST' ? { password: 'x' } : undefined
          const headers = { accept: 'application/json;charset=utf-8' }
          const answer = await server.send(`${path}/password/score`, { method, headers, ...(form && { form }) })
          assert.equal(answer.status, 404, method)
          assert.deepEqual(answer.cookies, {})
        }
      })

      const logos = [
        { host: 'localhost:8080', of: 'the default zone', want: SHARED },
        { host: 'plain.localhost:8080', of: 'a zone without one', want: SHARED },
        { host: 'own.localhost:8080', of: 'a zone with its own', want: OWN },
      ]
      for (const { host, of, want } of logos) {
        // Covers static files: /square-logo.png
        it(`has the square logo of ${of} as /square-logo.png`, async () => {
          const { statusCode, headers, rawPayload } = await server.app.http.inject({
            url: `${path}/square-logo.png`,
            headers: { host, ...PICTURE },
          })
          assert.equal(statusCode, 200)
          assert.equal(headers['content-type'], 'image/png')
          assert.equal(headers['set-cookie'], undefined)
          assert.equal(rawPayload.toString('base64'), want)
          const { etag } = headers
          assert.match(String(etag), /^"[\w-]{43}"$/)
          const again = await server.send(`${path}/square-logo.png`, {
            host,
            headers: { 'if-none-match': String(etag) },
          })
          assert.deepEqual([again.status, again.text], [304, ''])
        })

        it(`has no copy of the square logo of ${of} in its pages, which link to it`, async () => {
          const { text } = await server.send(`${path}/login`, { host, headers: { accept: 'text/html' } })
          assert.equal(text.split(`"${path}/square-logo.png"`).length, 3)
          assert.ok(!text.includes(want))
        })
      }

      it('leads to our icon where the logo is no picture, and is not there for a zone that is none', async () => {
        const answer = await server.send(`${path}/square-logo.png`, { host: 'odd.localhost:8080' })
        assert.equal(answer.status, 302)
        assert.match(String(answer.headers['location']), new RegExp(`^${path}/resources/icon\\.svg\\?v=`))
        assert.equal((await server.send(String(answer.headers['location']))).status, 200)
        assert.equal((await server.send(`${path}/square-logo.png`, { host: 'no.localhost:8080' })).status, 404)
      })

      it('has the logo of the default zone once in a page of a zone that is none, which has no files', async () => {
        const { text } = await server.send(`${path}/login`, {
          host: 'no.localhost:8080',
          headers: { accept: 'text/html' },
        })
        assert.equal(text.split(SHARED).length, 2)
        assert.ok(!text.includes('square-logo.png'))
      })
    })
  }

  it(`leads home after a sign-in that began with a picture, in ${mode}`, async () => {
    const server = await startServer({ mode })
    try {
      const browser = server.browser()
      await browser.send('/favicon.ico', { headers: PICTURE })
      const answer = await browser.signIn('marissa', 'koala')
      assert.equal(answer.headers['location'], 'http://localhost:8080/')
      assert.equal((await (await signedIn(server)).send('/favicon.ico')).status, 404)
    } finally {
      await server.stop()
    }
  })
}
