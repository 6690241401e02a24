import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { Z1_HOST, authorizeBootstrap } from '../support/authorize.ts'
import { MODES } from '../support/oauth.ts'
import type { ServerOptions, TestServer } from '../support/server.ts'
import { startServer } from '../support/server.ts'

async function withServer(options: ServerOptions, test: (server: TestServer) => Promise<void>): Promise<void> {
  const server = await startServer(options)
  try {
    await test(server)
    assert.deepEqual(server.faults, [])
  } finally {
    await server.stop()
  }
}

describe('GET /info', () => {
  for (const mode of MODES) {
    it(`tells what the sign-in page shows, in JSON only, in ${mode}`, () =>
      withServer({ mode }, async server => {
        for (const accept of ['application/json', 'text/html', '*/*']) {
          const answer = await server.send('/info', { headers: { accept } })
          assert.equal(answer.status, 200)
          assert.match(String(answer.headers['content-type']), /^application\/json\b/)
          assert.deepEqual(answer.json(), {
            app: { version: 'test' },
            zone_name: 'svc',
            entityID: 'latchkey',
            links: { login: 'http://localhost:8080', uaa: 'http://localhost:8080' },
            prompts: { username: ['text', 'Email'], password: ['password', 'Password'] },
            idpDefinitions: {},
            showLoginLinks: false,
          })
        }
      }))
  }

  it('is each zone’s own', () =>
    withServer({ config: { bootstrap: authorizeBootstrap, saml: { entity_id: 'sp.example' } } }, async server => {
      const info = (await server.send('/info', { host: Z1_HOST })).json<{
        links: object
        zone_name: string
        entityID: string
      }>()
      assert.equal(info.zone_name, 'Zone one')
      assert.equal(info.entityID, 'z1.sp.example')
      assert.deepEqual(info.links, { login: 'http://z1.localhost:8080', uaa: 'http://z1.localhost:8080' })
    }))

  it('has the zone’s links, prompts and default provider', () => {
    const zone_config = {
      prompts: [
        { name: 'username', type: 'text', text: 'Name' },
        { name: 'passcode', type: 'password', text: 'Code' },
      ],
      links: { selfService: { signup: 'https://portal.example/{zone.id}', passwd: '/forgot' } },
      defaultIdentityProvider: 'svc',
    }
    return withServer({ config: { zone_config } }, async server => {
      const { links, prompts, defaultIdpName } = (await server.send('/info')).json()
      assert.deepEqual(links, {
        login: 'http://localhost:8080',
        uaa: 'http://localhost:8080',
        passwd: '/forgot',
        register: 'https://portal.example/svc',
      })
      assert.deepEqual(prompts, { username: ['text', 'Name'] })
      assert.equal(defaultIdpName, 'svc')
    })
  })

  it('asks for no user name and password where nobody can sign in with them', () =>
    withServer({}, async server => {
      const provider = await server.store.providers.findByOrigin('svc', 'svc')
      assert.ok(provider)
      await server.store.providers.update('svc', { ...provider, active: false })
      assert.deepEqual((await server.send('/info')).json()['prompts'], {})
      assert.doesNotMatch((await server.send('/login')).text, /login\.do/)
    }))
})
