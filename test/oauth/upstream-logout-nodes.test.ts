// Logout at the provider of a session that began at another server of the database, or before a restart.
import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, before, describe, it } from 'node:test'
import { authorizeBootstrap } from '../support/authorize.ts'
import { createTestClock } from '../support/clock.ts'
import type { TestDatabase } from '../support/databases.ts'
import { freshDatabase } from '../support/databases.ts'
import { createSamlIdp } from '../support/saml/saml-idp.ts'
import { messageIn, samlRecord, signInSaml } from '../support/saml/saml-logout.ts'
import { samlTestKey } from '../support/saml/saml-signing.ts'
import type { Browser, TestAnswer, TestServer } from '../support/server.ts'
import { startServer } from '../support/server.ts'
import type { Upstream } from '../support/upstream.ts'
import { signInUpstream, startUpstream, upstreamRecord } from '../support/upstream.ts'

const SLO = 'https://idp.example/slo'

describe('A logout at a server that has not read the document of the provider', () => {
  const clock = createTestClock()
  const idp = createSamlIdp({
    clock,
    key: samlTestKey(),
    to: { entityId: 'latchkey', recipient: 'http://localhost:8080/saml/SSO/alias/latchkey' },
  })
  let isSilent = false
  const publisher = createServer((_, response) => {
    if (isSilent) response.destroy()
    else response.end(idp.metadata({ slo: SLO }))
  })
  let upstream: Upstream
  let database: TestDatabase
  const servers: TestServer[] = []
  let config: Readonly<Record<string, unknown>>

  before(async () => {
    upstream = await startUpstream(clock)
    await new Promise<void>(resolve => publisher.listen(0, '127.0.0.1', resolve))
    const { port } = publisher.address() as AddressInfo
    const discoveryUrl = `${upstream.url}/.well-known/openid-configuration`
    const identity_providers = [
      upstreamRecord(upstream, 'found', { logoutUrl: undefined, discoveryUrl }),
      samlRecord(`http://127.0.0.1:${port}/metadata`, 'corp'),
    ]
    config = { bootstrap: { ...authorizeBootstrap, identity_providers } }
    database = await freshDatabase('sqlite')
  })
  after(async () => {
    for (const server of servers) {
      assert.deepEqual(server.faults, [])
      await server.stop()
    }
    await upstream.stop()
    await new Promise(resolve => publisher.close(resolve))
    await database.drop()
  })

  const started = async (): Promise<TestServer> => {
    const server = await startServer({ database: database.url, config, clock })
    servers.push(server)
    return server
  }

  /** Signs out, with the cookies of a session, at a server that was just started. */
  async function signOutElsewhere(browser: Browser): Promise<TestAnswer> {
    assert.equal((await browser.send('/home')).status, 200)
    const there = (await started()).browser()
    for (const [name, value] of browser.cookies) there.cookies.set(name, value)
    const answer = await there.send('/logout.do', { method: 'POST', form: { 'X-Svc-Csrf': there.csrf } })
    assert.equal((await browser.send('/home')).status, 302)
    return answer
  }

  it('continues at an OpenID Connect provider', async () => {
    const browser = (await started()).browser()
    await signInUpstream(browser, upstream, { origin: 'found' })
    const { origin, pathname } = (await signOutElsewhere(browser)).location()
    assert.deepEqual([origin, pathname], [upstream.url, '/logout'])
  })

  it('continues at a SAML provider', async () => {
    const browser = (await started()).browser()
    await signInSaml(browser, idp, { origin: 'corp' })
    assert.equal(messageIn(await signOutElsewhere(browser), 'SAMLRequest').to, SLO)
  })

  it('ends here if the document cannot be read', async () => {
    const browser = (await started()).browser()
    await signInSaml(browser, idp, { origin: 'corp' })
    isSilent = true
    const answer = await signOutElsewhere(browser)
    assert.deepEqual([answer.status, answer.headers['location']], [302, 'http://localhost:8080/login'])
  })
})
