// SAML providers of the configuration file. A start reads metadata that stands in the file, and never fetches any.
import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, before, describe, it } from 'node:test'
import { authorizeBootstrap } from '../support/authorize.ts'
import { createTestClock } from '../support/clock.ts'
import { MODES } from '../support/oauth.ts'
import { idpOf, samlRecord, signInAt } from '../support/saml/saml-sign-in.ts'
import type { TestServer } from '../support/server.ts'
import { startServer } from '../support/server.ts'

for (const mode of MODES) {
  describe(`A configured SAML provider, in ${mode}`, () => {
    const clock = createTestClock()
    let metadata: string | undefined
    let asked = 0
    const site = createServer((_request, response) => {
      asked += 1
      response.writeHead(metadata === undefined ? 503 : 200).end(metadata)
    })
    let server: TestServer
    before(async () => {
      await new Promise<void>(resolve => site.listen(0, '127.0.0.1', resolve))
      const { port } = site.address() as AddressInfo // it listens on TCP
      const metaDataLocation = `http://127.0.0.1:${port}/metadata`
      const twin = { ...samlRecord(clock, 'inline'), originKey: 'twin' }
      const bootstrap = {
        ...authorizeBootstrap,
        identity_providers: [samlRecord(clock, 'inline'), twin, samlRecord(clock, 'remote', { metaDataLocation })],
      }
      server = await startServer({ mode, clock, config: { bootstrap } })
    })
    after(async () => {
      assert.deepEqual(server.faults, [])
      await server.stop()
      site.closeAllConnections()
      site.close()
    })

    const keyOf = async (origin: string) => (await server.store.providers.findByOrigin('svc', origin))?.externalKey
    const originOf = async (userName: string) =>
      (
        await Promise.all(
          ['inline', 'twin', 'remote'].map(
            async origin => [origin, await server.store.users.findByExternalId('svc', origin, userName)] as const,
          ),
        )
      )
        .filter(([, user]) => user !== undefined)
        .map(([origin]) => origin)

    it('has the entity id of inline metadata, once', async () => {
      const keys = [await keyOf('inline'), await keyOf('twin')]
      assert.deepEqual(
        keys.filter(key => key !== undefined),
        [idpOf(clock, 'inline').entityId],
      )
    })

    it('does not prevent the start if its URL does not respond, and has no entity id', async () => {
      assert.equal(asked, 0)
      assert.equal(await keyOf('remote'), undefined)
      const { headers } = await server.browser().send('/login/external/remote')
      assert.doesNotMatch(String(headers['location']), /^https:/)
      assert.ok(asked > 0)
    })

    // Covers configuration file: bootstrap.identity_providers[]: type saml
    it('signs users in once its URL responds', async () => {
      metadata = idpOf(clock, 'remote').metadata({ sso: 'https://remote.example/sso' })
      clock.advance(60)
      const answer = await signInAt(server, server.browser(), { origin: 'remote', nameId: 'rita' })
      assert.match(String(answer.headers['location']), /^http:\/\/localhost:8080\/(?:home)?$/, answer.text)
      assert.deepEqual(await originOf('rita'), ['remote'])
    })
  })
}
