import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { authorizeBootstrap, signedIn } from '../support/authorize.ts'
import { MODES } from '../support/oauth.ts'
import type { ClientDescription } from '../../src/model/client-metadata.ts'
import type { TestServer } from '../support/server.ts'
import { startServer } from '../support/server.ts'

async function withServer(
  config: Readonly<Record<string, unknown>>,
  test: (server: TestServer) => Promise<void>,
): Promise<void> {
  const server = await startServer({ config: { bootstrap: authorizeBootstrap, ...config } })
  try {
    await test(server)
    assert.deepEqual(server.faults, [])
  } finally {
    await server.stop()
  }
}

describe('GET / and /home', () => {
  for (const path of ['/', '/home']) {
    it(`greets who is signed in at ${path}`, () =>
      withServer({}, async server => {
        const answer = await (await signedIn(server)).send(path)
        assert.equal(answer.status, 200)
        assert.match(answer.text, /Hello, <bdi>marissa<\/bdi>/)
        assert.match(answer.text, /<form class="person" action="\/logout\.do" method="post">/)
        assert.match(answer.text, /<a href="\/profile">/)
      }))

    it(`shows the applications that want to be found at ${path}, and no others`, () =>
      withServer({}, async server => {
        const describeAs = (clientId: string, description: Partial<ClientDescription>) => {
          const whole = { showOnHomePage: true, appIcon: '', ...description }
          return server.store.clients.apply('svc', [{ kind: 'describe', clientId, description: whole, revision: 0 }])
        }
        await describeAs('app', { appLaunchUrl: 'https://app.example/start', appIcon: 'iVBORw0KGgo=' })
        await describeAs('auto', { appLaunchUrl: 'https://auto.example/', appIcon: 'A'.repeat(20_000) })
        await describeAs('spa', { appLaunchUrl: 'https://hidden.example/', showOnHomePage: false })
        const { text } = await (await signedIn(server)).send(path)
        assert.match(
          text,
          /<a class="tile" href="https:\/\/app\.example\/start"><img class="logo" src="data:image\/png/,
        )
        assert.match(text, /<bdi>The application<\/bdi>/)
        assert.match(
          text,
          /<a class="tile" href="https:\/\/auto\.example\/"><span class="initial" aria-hidden="true">A</,
        )
        assert.ok(!text.includes('hidden.example'))
        assert.ok(text.length < 30_000)
      }))

    it(`asks everybody else to sign in at ${path}, and a program gets 403`, () =>
      withServer({}, async server => {
        const answer = await server.send(path)
        assert.equal(answer.status, 302)
        assert.equal(answer.headers['location'], 'http://localhost:8080/login')
        const program = await server.send(path, { headers: { accept: 'text/html, application/json;q=0.9' } })
        assert.equal(program.status, 403)
        assert.deepEqual(program.json(), { error: 'Full authentication is required to access this resource' })
      }))
  }

  const redirects: readonly (readonly [configured: string, want: string | undefined])[] = [
    ['https://portal.example/{zone.id}', 'https://portal.example/svc'],
    ['/apps', 'http://localhost:8080/apps'],
    ['/', undefined],
    ['/home', undefined],
  ]
  for (const [homeRedirect, want] of redirects) {
    it(`${want === undefined ? 'stays' : 'leads elsewhere'} when the zone says ${homeRedirect}`, () =>
      withServer({ zone_config: { links: { homeRedirect } } }, async server => {
        const answer = await (await signedIn(server)).send('/home')
        assert.equal(answer.status, want === undefined ? 200 : 302)
        assert.equal(answer.headers['location'], want)
      }))
  }
})

describe('GET /zone.css', () => {
  it('has the zone’s colours, and is linked from its pages', () =>
    withServer({ zone_config: { branding: { banner: { text: 'Hi', backgroundColor: '#123456' } } } }, async server => {
      const answer = await server.send('/zone.css')
      assert.equal(answer.status, 200)
      assert.equal(answer.headers['content-type'], 'text/css; charset=utf-8')
      assert.match(answer.text, /--banner-background: #123456/)
      assert.match((await server.send('/login')).text, /<link rel="stylesheet" href="\/zone\.css">/)
    }))

  it('is not there in a zone without colours', () =>
    withServer({}, async server => {
      assert.equal((await server.send('/zone.css')).status, 404)
      assert.doesNotMatch((await server.send('/login')).text, /zone\.css/)
    }))
})

describe('an unknown path', () => {
  for (const mode of MODES) {
    it(`is a 404, or the sign-in page as in UAA, in ${mode}`, async () => {
      const server = await startServer({ mode })
      try {
        for (const path of ['/nowhere', '/login/', '/LOGIN', '/oauth/authorize/', '/home/x']) {
          const answer = await server.send(path, { headers: { accept: 'text/html' } })
          if (mode === 'standard') {
            assert.equal(answer.status, 404, path)
            assert.match(answer.text, /There is nothing here/)
          } else {
            assert.equal(answer.headers['location'], 'http://localhost:8080/login', path)
          }
        }
        const program = await server.send('/nowhere', { headers: { accept: 'application/json' } })
        assert.equal(program.status, mode === 'standard' ? 404 : 403)
        const known = await (await signedIn(server)).send('/nowhere', { headers: { accept: 'text/html' } })
        assert.equal(known.status, 404)
      } finally {
        await server.stop()
      }
    })
  }
})
