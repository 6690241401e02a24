// Second factors of users with the same name in two zones by path, which share a host and thus the relying party id.
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { createAuthenticator } from '../../support/authenticator.ts'
import type { Credential } from '../../support/authenticator.ts'
import { hiddenFields, unescaped } from '../../support/forms.ts'
import { MODES } from '../../support/oauth.ts'
import type { TestAnswer, TestServer } from '../../support/server.ts'
import { startServer } from '../../support/server.ts'
import type { Jar } from '../../support/zone-path.ts'
import { bootstrap, jarOf, passwordIn, zone_config } from '../../support/zone-path.ts'

const BASE = 'http://id.example:8080/uaa'
const device = createAuthenticator('http://id.example:8080')

const locationOf = ({ headers }: TestAnswer): string => String(headers['location'])
const optionsOf = ({ text }: TestAnswer): unknown =>
  JSON.parse(unescaped(/data-options="([^"]*)"/.exec(text)?.[1] ?? 'null'))

for (const mode of MODES) {
  describe(`Second factors in zones by path in ${mode}`, () => {
    let server: TestServer
    const jars: Record<string, Jar> = {}
    before(async () => {
      server = await startServer({ mode, config: { base_url: BASE, bootstrap, zone_config } })
      for (const id of ['x', 'y']) {
        const zone = await server.store.zones.find(id)
        assert.ok(zone)
        await server.store.zones.update({
          ...zone,
          config: { ...zone.config, secondFactor: { requirement: 'optional' } },
        })
        jars[id] = jarOf(server)
        await jars[id].signIn(`/uaa/z/${id}`, passwordIn(id))
      }
    })
    after(async () => {
      assert.deepEqual(server.faults, [])
      await server.stop()
    })

    const jarIn = (zone: string): Jar => jars[zone] ?? jarOf(server)
    const pathIn = (zone: string, page = ''): string => `/uaa/z/${zone}/profile/security${page}`
    const passkeysIn = async (zone: string) => {
      const user = await server.store.users.findByName(zone, 'svc', 'marissa')
      return server.store.factors.passkeysOf(zone, user?.id ?? '')
    }

    async function add(zone: string, credentialOf: (page: TestAnswer) => object): Promise<TestAnswer> {
      const page = await jarIn(zone).send(pathIn(zone, '/passkey'))
      const form = { ...hiddenFields(page.text), name: 'Key', credential: JSON.stringify(credentialOf(page)) }
      return jarIn(zone).send(pathIn(zone, '/passkey'), { form })
    }

    it('belong to one zone: the other refuses registrations and passkey ids', async () => {
      const { answer } = device.create(optionsOf(await jarIn('x').send(pathIn('x', '/passkey'))))
      assert.equal((await add('y', () => answer)).status, 422)
      assert.deepEqual(await passkeysIn('y'), [])
      let credential: Credential | undefined
      const added = await add('x', page => {
        const made = device.create(optionsOf(page))
        credential = made.credential
        return made.answer
      })
      assert.equal(added.status, 200, added.text)
      const [passkey] = await passkeysIn('x')
      assert.equal(passkey?.credentialId, credential?.id)
      const page = await jarIn('y').send(pathIn('y'))
      assert.doesNotMatch(page.text, /Key<\/bdi>/)
      const { text } = await jarIn('y').send(pathIn('y', '/app'))
      for (const path of ['/rename', '/remove']) {
        const form = { ...hiddenFields(text), passkey: passkey?.id ?? '', name: 'mine' }
        const refused = await jarIn('y').send(pathIn('y', path), { form })
        assert.equal(locationOf(refused), `${BASE}/z/y/profile/security?error=unknown`)
      }
      assert.equal((await passkeysIn('x'))[0]?.name, 'Key')
    })

    it('redirect to the sign-in page of their zone, and back', async () => {
      server.clock.advance(400)
      const [passkey] = await passkeysIn('x')
      const page = `/profile/security/remove?passkey=${passkey?.id ?? ''}`
      const asked = await jarIn('x').send(`/uaa/z/x${page}`)
      assert.equal(locationOf(asked), `${BASE}/z/x/login`)
      const again = await jarIn('x').signIn('/uaa/z/x', passwordIn('x'))
      assert.equal(locationOf(again), `${BASE}/z/x/second_factor`)
      const there = await jarIn('y').send(pathIn('y', '/app'))
      assert.equal(locationOf(there), `${BASE}/z/y/login`)
      assert.equal(
        locationOf(await jarIn('y').signIn('/uaa/z/y', passwordIn('y'))),
        BASE + pathIn('y', '/app').slice(4),
      )
    })
  })
}
