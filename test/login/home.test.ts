import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { authorizeBootstrap, signedIn } from '../support/authorize.ts'
import { changeClient, changeUser, MODES } from '../support/oauth.ts'
import type { ClientDescription } from '../../src/model/clients/client-metadata.ts'
import type { TestServer } from '../support/server.ts'
import { startServer, withServer } from '../support/server.ts'

const config = { bootstrap: authorizeBootstrap }

describe('GET / and /home', () => {
  for (const path of ['/', '/home']) {
    // Covers GET /: same as `/home`
    // Covers GET /home: page for signed-in users; navigation with user name and sign out
    it(`greets the signed-in user at ${path}`, () =>
      withServer({ config }, async server => {
        const answer = await (await signedIn(server)).send(path)
        assert.equal(answer.status, 200)
        assert.match(answer.text, /Hello, <bdi>Marissa<\/bdi>/)
        assert.match(answer.text, /<form class="person" action="\/logout\.do" method="post">/)
        assert.match(answer.text, /<a href="\/profile">/)
      }))

    it(`greets with the display name, else the first name, else the user name at ${path}`, () =>
      withServer({ config }, async server => {
        const greeting = async () =>
          /<h1>Hello, <bdi>(.*)<\/bdi>/.exec((await (await signedIn(server)).send(path)).text)?.[1]
        await changeUser(server, 'marissa', { profile: { displayName: 'Dr. Bloggs' } })
        assert.equal(await greeting(), 'Dr. Bloggs')
        await changeUser(server, 'marissa', { profile: {}, givenName: '' })
        assert.equal(await greeting(), 'marissa')
      }))

    // Covers GET /home: tiles of clients with a launch URL
    it(`shows the clients with showOnHomePage at ${path}`, () =>
      withServer({ config }, async server => {
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

    // Covers denied page: JSON caller gets 403; not signed in goes to the login page
    it(`redirects anonymous visitors at ${path} to sign-in, and answers JSON callers 403`, () =>
      withServer({ config }, async server => {
        const answer = await server.send(path)
        assert.equal(answer.status, 302)
        assert.equal(answer.headers['location'], 'http://localhost:8080/login')
        const program = await server.send(path, { headers: { accept: 'text/html, application/json;q=0.9' } })
        assert.equal(program.status, 403)
        assert.deepEqual(program.json(), { error: 'Full authentication is required to access this resource' })
      }))
  }

  it('links initiate_login_uri with iss and target_link_uri in standard, and the launch URL in uaa', async () => {
    for (const mode of MODES) {
      const server = await startServer({ mode, config: { bootstrap: authorizeBootstrap } })
      try {
        const description = { showOnHomePage: true, appIcon: '', appLaunchUrl: 'https://app.example/start?a=b&c' }
        const { revision = 0 } = (await server.store.clients.findForChange('svc', 'app')) ?? {}
        await server.store.clients.apply('svc', [{ kind: 'describe', clientId: 'app', description, revision }])
        await changeClient(server, 'app', { initiateLoginUri: 'https://app.example/begin?x=1' })
        await changeClient(server, 'auto', { initiateLoginUri: 'https://auto.example/begin' })
        const { text } = await (await signedIn(server)).send('/home')
        const [, link = ''] = /<a class="tile" href="([^"]+)"/.exec(text) ?? []
        const url = new URL(link.replaceAll('&amp;', '&'))
        const want = { x: '1', iss: 'http://localhost:8080', target_link_uri: description.appLaunchUrl }
        if (mode === 'standard') assert.deepEqual(Object.fromEntries(url.searchParams), want)
        else assert.equal(url.href, description.appLaunchUrl)
        assert.ok(!text.includes('auto.example'), 'not described as a tile')
        assert.doesNotMatch(url.href, /marissa/)
      } finally {
        await server.stop()
      }
    }
  })

  const redirects: readonly (readonly [configured: string, want: string | undefined])[] = [
    ['https://portal.example/{zone.id}', 'https://portal.example/svc'],
    ['/apps', 'http://localhost:8080/apps'],
    ['/', undefined],
    ['/home', undefined],
  ]
  for (const [homeRedirect, want] of redirects) {
    // Covers GET /home: homeRedirect of the zone
    // Covers Zone config in effect: links.homeRedirect
    it(`${want === undefined ? 'ignores' : 'follows'} homeRedirect=${homeRedirect}`, () =>
      withServer({ config: { ...config, zone_config: { links: { homeRedirect } } } }, async server => {
        const answer = await (await signedIn(server)).send('/home')
        assert.equal(answer.status, want === undefined ? 200 : 302)
        assert.equal(answer.headers['location'], want)
      }))
  }
})

describe('Global links', () => {
  const links = {
    global: {
      signup: 'https://portal.example/new?zone={zone.id}',
      passwd: '/forgot/{zone.subdomain}',
      homeRedirect: 'https://{zone.subdomain}.apps.example/',
    },
  }
  const zone = (id: string, config: object) => ({ id, subdomain: id, name: id, config })
  const own = {
    selfService: { signup: 'https://own.example/new', passwd: null },
    homeRedirect: 'https://own.example/{zone.id}',
  }
  const off = { selfService: { selfServiceLinksEnabled: false } }
  const managed = {
    ...zone('managed', {}),
    bootstrap: {
      identity_providers: [
        { type: 'svc', originKey: 'svc', name: 'Internal', config: { disableInternalUserManagement: true } },
      ],
    },
  }
  const identity_zones = [
    { ...zone('plain', {}), bootstrap: { users: authorizeBootstrap.users } },
    { ...zone('own', { links: own }), bootstrap: { users: authorizeBootstrap.users } },
    zone('off', { links: off }),
    managed,
    zone('found', { idpDiscoveryEnabled: true }),
  ]

  for (const base of ['http://localhost:8080', 'http://localhost:8080/uaa']) {
    const path = new URL(base).pathname.replace(/\/$/, '')
    const served = (test: (server: TestServer) => Promise<void>) =>
      withServer({ config: { base_url: base, links, bootstrap: { ...authorizeBootstrap, identity_zones } } }, test)
    const pages = [
      {
        of: 'a zone without links',
        id: 'plain',
        want: ['https://portal.example/new?zone=plain', `${path}/forgot/plain`],
      },
      { of: 'a zone with links', id: 'own', want: ['https://own.example/new', `${path}/forgot/own`] },
      { of: 'a zone with selfServiceLinksEnabled=false', id: 'off', want: [undefined, undefined] },
      { of: 'a zone without internal user management', id: 'managed', want: [undefined, undefined] },
    ]
    for (const { of, id, want } of pages) {
      // Covers layout and branding: global self-service links
      // Covers Zone config in effect: links.selfService.signup; links.selfService.passwd
      it(`are on the sign-in page and in /info of ${of}, below ${base}`, () =>
        served(async server => {
          const host = `${id}.localhost:8080`
          const { text } = await server.send(`${path}/login`, { host })
          const linked = (words: string) =>
            new RegExp(`href="([^"]+)">${words}</a>`).exec(text)?.[1]?.replaceAll('&amp;', '&').replaceAll('&#61;', '=')
          assert.deepEqual([linked('Create account'), linked('Reset password')], want)
          const info = (await server.send(`${path}/info`, { host })).json<{ links: Record<string, string> }>().links
          assert.deepEqual(
            [info['register'], info['passwd']],
            want.map(url => url?.replace(/^\/uaa/, '')),
          )
        }))
    }

    it(`are on the pages of discovery, below ${base}`, () =>
      served(async server => {
        const browser = server.browser('found.localhost:8080')
        assert.match((await browser.send(`${path}/login`)).text, /href="https:\/\/portal\.example\/new\?zone=found"/)
        const form = { email: 'marissa', 'X-Svc-Csrf': browser.csrf }
        const { text } = await browser.send(`${path}/login/idp_discovery`, { form })
        assert.ok(text.includes(`href="${path}/forgot/found"`), text)
      }))
  }

  // Covers GET /home: global homeRedirect
  it('redirect /home in a zone without homeRedirect', () =>
    withServer({ config: { links, bootstrap: { ...authorizeBootstrap, identity_zones } } }, async server => {
      for (const [id, want] of [
        ['plain', 'https://plain.apps.example/'],
        ['own', 'https://own.example/own'],
      ] as const) {
        for (const path of ['/', '/home']) {
          const browser = await signedIn(server, 'marissa', 'koala', `${id}.localhost:8080`)
          assert.equal((await browser.send(path)).headers['location'], want)
        }
      }
    }))
})

describe('GET /zone.css', () => {
  // Covers layout and branding: banner.backgroundColor
  // Covers static files: /zone.css
  it('returns the colours of the zone, and is linked from its pages', () =>
    withServer(
      { config: { ...config, zone_config: { branding: { banner: { text: 'Hi', backgroundColor: '#123456' } } } } },
      async server => {
        const answer = await server.send('/zone.css')
        assert.equal(answer.status, 200)
        assert.equal(answer.headers['content-type'], 'text/css; charset=utf-8')
        assert.match(answer.text, /--banner-background: #123456/)
        assert.match((await server.send('/login')).text, /<link rel="stylesheet" href="\/zone\.css">/)
      },
    ))

  it('answers 404 in a zone without colours', () =>
    withServer({ config }, async server => {
      assert.equal((await server.send('/zone.css')).status, 404)
      assert.doesNotMatch((await server.send('/login')).text, /zone\.css/)
    }))
})

describe('Unknown path', () => {
  for (const mode of MODES) {
    // Covers every endpoint: rule: unknown path
    // Covers compatibility: metadata: M7 unknown path
    it(`answers 404 in standard and redirects to sign-in in uaa (${mode})`, async () => {
      const server = await startServer({ mode })
      try {
        for (const path of ['/nowhere', '/login//', '/LOGIN', '/oauth/authorize//', '/home/x']) {
          const answer = await server.send(path, { headers: { accept: 'text/html' } })
          if (mode === 'standard') {
            assert.equal(answer.status, 404, path)
            assert.match(answer.text, /Page not found/)
          } else {
            assert.equal(answer.headers['location'], 'http://localhost:8080/login', path)
          }
        }
        const program = await server.send('/nowhere', { headers: { accept: 'application/json' } })
        assert.equal(program.status, mode === 'standard' ? 404 : 302)
        const known = await (await signedIn(server)).send('/nowhere', { headers: { accept: 'text/html' } })
        assert.equal(known.status, 404)
      } finally {
        await server.stop()
      }
    })
  }
})
