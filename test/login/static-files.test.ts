import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { signedIn } from '../support/authorize.ts'
import { MODES } from '../support/oauth.ts'
import type { TestServer } from '../support/server.ts'
import { startServer, defaultBootstrap } from '../support/server.ts'
import { png } from '../pages/states.ts'

const OWN = png(4, 4, [1, 2, 3])
const SHARED = png(2, 2, [3, 2, 1])
const BANNER = png(3, 3, [1, 1, 1])
const PRODUCT = png(5, 5, [2, 2, 2])
const LARGE = Buffer.alloc(60_000, 'large').toString('base64')
const zone = (id: string, branding: object = {}) => ({ id, subdomain: id, name: id, config: { branding } })
const IMAGE = { accept: 'image/avif,image/webp,*/*;q=0.8' }

for (const mode of MODES) {
  for (const base of ['http://localhost:8080', 'http://localhost:8080/uaa']) {
    const path = new URL(base).pathname.replace(/\/$/, '')

    describe(`Files outside /resources below ${base} in ${mode}`, () => {
      let server: TestServer
      before(async () => {
        const identity_zones = [
          zone('plain'),
          zone('own', { squareLogo: OWN, productLogo: OWN, banner: { logo: OWN, text: 'Notice' } }),
          zone('odd', { squareLogo: 'no base64!', productLogo: 'no base64!', banner: {} }),
        ]
        server = await startServer({
          mode,
          config: {
            base_url: base,
            bootstrap: { ...defaultBootstrap, identity_zones },
            zone_config: { branding: { squareLogo: SHARED, productLogo: PRODUCT, banner: { logo: BANNER } } },
          },
        })
      })
      after(async () => {
        assert.deepEqual(server.faults, [])
        await server.stop()
      })

      for (const file of ['/favicon.ico', '/vendor/font-awesome/css/font-awesome.min.css', '/vendor/x']) {
        // Covers static files: /favicon.ico; /vendor/**
        it(`answers 404 at ${file}, and saves no request`, async () => {
          for (const accept of ['text/html', 'image/avif,*/*', 'application/json']) {
            const answer = await server.send(path + file, { headers: { accept } })
            assert.equal(answer.status, 404)
            assert.deepEqual(answer.cookies, {})
          }
        })
      }

      it('answers 404 at /password/score, which uaac requests', async () => {
        for (const method of ['GET', 'POST']) {
          const form = method === 'POST' ? { password: 'x' } : undefined
          const headers = { accept: 'application/json;charset=utf-8' }
          const answer = await server.send(`${path}/password/score`, { method, headers, ...(form && { form }) })
          assert.equal(answer.status, 404, method)
          assert.deepEqual(answer.cookies, {})
        }
      })

      const logos = [
        { file: 'square-logo.png', host: 'localhost:8080', of: 'the default zone', want: SHARED, times: 2 },
        { file: 'square-logo.png', host: 'plain.localhost:8080', of: 'a zone without one', want: SHARED, times: 2 },
        { file: 'square-logo.png', host: 'own.localhost:8080', of: 'a zone with its own', want: OWN, times: 1 },
        { file: 'product-logo.png', host: 'localhost:8080', of: 'the default zone', want: PRODUCT, times: 1 },
        { file: 'product-logo.png', host: 'own.localhost:8080', of: 'a zone with its own', want: OWN, times: 1 },
        { file: 'banner-logo.png', host: 'localhost:8080', of: 'the default zone', want: BANNER, times: 1 },
        { file: 'banner-logo.png', host: 'plain.localhost:8080', of: 'a zone without one', want: BANNER, times: 1 },
        { file: 'banner-logo.png', host: 'own.localhost:8080', of: 'a zone with its own', want: OWN, times: 1 },
      ]
      for (const { file, host, of, want, times } of logos) {
        // Covers static files: /square-logo.png; /product-logo.png; /banner-logo.png
        it(`serves the logo of ${of} at /${file}`, async () => {
          const { statusCode, headers, rawPayload } = await server.app.http.inject({
            url: `${path}/${file}`,
            headers: { host, ...IMAGE },
          })
          assert.equal(statusCode, 200)
          assert.equal(headers['content-type'], 'image/png')
          assert.equal(headers['cache-control'], 'public, max-age=300')
          assert.equal(headers['set-cookie'], undefined)
          assert.equal(rawPayload.toString('base64'), want)
          const { etag } = headers
          assert.match(String(etag), /^"[\w-]{43}"$/)
          const again = await server.send(`${path}/${file}`, { host, headers: { 'if-none-match': String(etag) } })
          assert.deepEqual([again.status, again.text], [304, ''])
        })

        it(`links the ${file} of ${of} in pages`, async () => {
          const { text } = await server.send(`${path}/login`, { host, headers: { accept: 'text/html' } })
          const isHidden = file === 'square-logo.png' && text.includes(`"${path}/product-logo.png"`)
          assert.equal(text.split(`"${path}/${file}"`).length - 1, isHidden ? 1 : times)
          assert.ok(!text.includes(want))
        })
      }

      for (const file of ['product-logo.png', 'banner-logo.png']) {
        it(`answers 404 at /${file} without a valid logo or zone`, async () => {
          const hosts = [
            'odd.localhost:8080',
            'no.localhost:8080',
            ...(file === 'product-logo.png' ? ['plain.localhost:8080'] : []),
          ]
          for (const host of hosts) {
            const answer = await server.send(`${path}/${file}`, { host, headers: IMAGE })
            assert.equal(answer.status, 404, host)
            const { text } = await server.send(`${path}/login`, { host, headers: { accept: 'text/html' } })
            assert.ok(!text.includes(file), host)
          }
        })
      }

      it('redirects to the default icon if the square logo is invalid, and answers 404 for an unknown zone', async () => {
        const answer = await server.send(`${path}/square-logo.png`, { host: 'odd.localhost:8080' })
        assert.equal(answer.status, 302)
        assert.match(String(answer.headers['location']), new RegExp(`^${path}/resources/icon\\.svg\\?v=`))
        assert.equal((await server.send(String(answer.headers['location']))).status, 200)
        assert.equal((await server.send(`${path}/square-logo.png`, { host: 'no.localhost:8080' })).status, 404)
      })

      it('embeds the logos of the default zone in pages of an unknown zone', async () => {
        const { text } = await server.send(`${path}/login`, {
          host: 'no.localhost:8080',
          headers: { accept: 'text/html' },
        })
        for (const logo of [PRODUCT, BANNER]) assert.equal(text.split(logo).length, 2)
        assert.ok(!text.includes('-logo.png'))
      })
    })
  }

  it(`a sign-in after an image request redirects home in ${mode}`, async () => {
    const server = await startServer({ mode })
    try {
      const browser = server.browser()
      await browser.send('/favicon.ico', { headers: IMAGE })
      const answer = await browser.signIn('marissa', 'koala')
      assert.equal(answer.headers['location'], 'http://localhost:8080/')
      assert.equal((await (await signedIn(server)).send('/favicon.ico')).status, 404)
    } finally {
      await server.stop()
    }
  })
}

it('Pages of an unknown zone contain no large logo', async () => {
  const branding = { squareLogo: SHARED, productLogo: LARGE }
  const server = await startServer({ config: { base_url: 'http://localhost:8080', zone_config: { branding } } })
  try {
    const { text } = await server.send('/login', { host: 'no.localhost:8080', headers: { accept: 'text/html' } })
    assert.ok(text.includes(SHARED))
    assert.ok(!text.includes(LARGE))
    assert.ok(!text.includes('-logo.png'), 'which an unknown host does not have')
  } finally {
    await server.stop()
  }
})
