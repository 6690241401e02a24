// While all slots for outbound requests are in use, callers get 503 in the format of the endpoint, and no failure is recorded.
import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, before, describe, it } from 'node:test'
import { SignJWT } from 'jose'
import { epochSeconds } from '../../src/base/clock.ts'
import { digest } from '../../src/base/secrets.ts'
import { signedIn } from '../support/authorize.ts'
import { createTestClock } from '../support/clock.ts'
import { APP, MODES } from '../support/oauth.ts'
import { createOidcProvider, RELYING_PARTY } from '../support/oidc-provider.ts'
import { rsaKeys } from '../support/rsa-keys.ts'
import type { Browser, TestAnswer, TestServer } from '../support/server.ts'
import { defaultBootstrap, startServer } from '../support/server.ts'

const JWT_BEARER = 'urn:ietf:params:oauth:grant-type:jwt-bearer'
const ASSERTION = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer'
/** Concurrent requests per host (`base/outbound/slots.ts`). */
const BACKGROUND_SLOTS = 4
const SIGN_IN_SLOTS = 16
const NO_OUTCOME = { delivered: 0, failed: 0, refused: 0, given_up: 0 }

const { privateKey } = rsaKeys()

/** A server that never responds, and counts requests. */
async function startSilentHost() {
  const arrivals = new Set<() => void>()
  let count = 0
  const server = createServer(() => {
    count += 1
    for (const notice of arrivals) notice()
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo // no pipe
  return {
    url: `http://127.0.0.1:${port}`,
    arrived: (wanted: number): Promise<void> =>
      new Promise(resolve => {
        const check = (): void => {
          if (count < wanted) return
          arrivals.delete(check)
          resolve()
        }
        arrivals.add(check)
        check()
      }),
    release: () => server.closeAllConnections(),
    stop: () => {
      server.closeAllConnections()
      server.close()
    },
  }
}

for (const mode of MODES) {
  describe(`Exhausted outbound slots in ${mode}`, () => {
    const clock = createTestClock()
    let host: Awaited<ReturnType<typeof startSilentHost>>
    let server: TestServer
    let running: Promise<TestAnswer>[]
    let documentClient: string
    before(async () => {
      host = await startSilentHost()
      documentClient = `${host.url.replace('127.0.0.1', 'localhost')}/in-session.json`
      const remote = (index: number) => ({
        client_id: `remote-${index}`,
        jwks_uri: `${host.url}/keys-${index}`,
        authorized_grant_types: ['client_credentials', 'authorization_code'],
        authorities: ['jobs.run'],
        scope: ['openid'],
        redirect_uri: ['https://remote.example/cb'],
      })
      const provider = (originKey: string, config: object) => ({
        originKey,
        type: 'oidc1.0',
        name: originKey,
        config: {
          authUrl: `${host.url}/authorize`,
          tokenUrl: `${host.url}/token`,
          relyingPartyId: RELYING_PARTY,
          relyingPartySecret: 'secret',
          ...config,
        },
      })
      const bootstrap = {
        ...defaultBootstrap,
        clients: [
          ...defaultBootstrap.clients,
          ...Array.from({ length: BACKGROUND_SLOTS + 1 }, (_, index) => remote(index)),
          {
            client_id: 'away',
            client_secret: 'secret',
            authorized_grant_types: ['authorization_code'],
            scope: ['openid'],
            redirect_uri: ['https://away.example/cb'],
            backchannel_logout_uri: 'http://127.0.0.1:1/bye',
          },
          {
            client_id: 'porter',
            client_secret: 'secret',
            authorized_grant_types: [JWT_BEARER],
            scope: ['openid'],
            autoapprove: true,
          },
        ],
        identity_providers: [
          provider('corp', { issuer: 'https://corp.example', tokenKeyUrl: `${host.url}/corp-keys` }),
          provider('found', { tokenUrl: undefined, discoveryUrl: `${host.url}/.well-known/openid-configuration` }),
        ],
      }
      const zone_config = {
        protocols: { clientMetadataDocuments: true, backchannelLogout: true, frontchannelLogout: true },
      }
      server = await startServer({ mode, clock, config: { bootstrap, zone_config } })
      running = Array.from({ length: BACKGROUND_SLOTS }, (_, index) => clientCredentials(index))
      await host.arrived(BACKGROUND_SLOTS)
    })
    after(async () => {
      host.release()
      for (const answer of await Promise.all(running)) assert.notEqual(answer.status, 200)
      assert.deepEqual(server.faults, [])
      await server.stop()
      host.stop()
    })

    async function clientCredentials(index: number): Promise<TestAnswer> {
      const clientId = `remote-${index}`
      const now = epochSeconds(clock.now())
      const assertion = await new SignJWT({
        iss: clientId,
        sub: clientId,
        aud: `${server.baseUrl}/oauth/token`,
        jti: `${mode}-${index}`,
        exp: now + 300,
      })
        .setProtectedHeader({ alg: 'RS256' })
        .sign(privateKey)
      return server.token({
        grant_type: 'client_credentials',
        client_assertion_type: ASSERTION,
        client_assertion: assertion,
      })
    }

    /** As if the client had received a code in the session. */
    async function addClient(browser: Browser, clientId: string): Promise<void> {
      const cookie = browser.cookies.get('svc-session') ?? browser.cookies.get('JSESSIONID') ?? ''
      await server.store.sessions.addClient('svc', digest(cookie), { clientId, isNotified: true })
    }

    function isBusyJson(answer: TestAnswer): void {
      const { error } = answer.json()
      assert.deepEqual([answer.status, error], [503, 'temporarily_unavailable'], answer.text)
      assert.equal(answer.headers['retry-after'], '2')
      assert.equal(answer.headers['www-authenticate'], undefined)
    }

    function isBusyPage(answer: TestAnswer): void {
      assert.equal(answer.status, 503, answer.text)
      assert.equal(answer.headers['retry-after'], '2')
      assert.match(answer.text, /Too many requests at the moment\. Try again in a few seconds\./)
    }

    const failures = (): readonly string[] =>
      server.events.map(({ type }) => type).filter(type => type.endsWith('Failure'))

    it('answer 503 if the keys of a client cannot be fetched', async () => {
      const before = failures()
      isBusyJson(await clientCredentials(BACKGROUND_SLOTS))
      assert.deepEqual(failures(), before)
    })

    it('answer 503 to a JWT bearer grant if the keys of the provider cannot be fetched', async () => {
      const before = failures()
      const corp = await createOidcProvider(clock)
      isBusyJson(
        await server.token({ grant_type: JWT_BEARER, assertion: await corp.token() }, { basic: ['porter', 'secret'] }),
      )
      assert.deepEqual(failures(), before)
    })

    it('answer 503 if provider discovery cannot be fetched', async () => {
      isBusyPage(await server.browser().send('/login/external/found'))
    })

    it('answer 503 on the callback if the token endpoint cannot be requested, also when it is loaded again', async () => {
      const sent = Array.from({ length: SIGN_IN_SLOTS + 1 }, async () => {
        const browser = server.browser()
        const { searchParams } = (await browser.send('/login/external/corp')).location()
        return { browser, query: { code: 'c', state: searchParams.get('state') ?? '' } }
      })
      const [last, ...others] = await Promise.all(sent)
      assert.ok(last)
      running.push(...others.map(({ browser, query }) => browser.send('/login/callback/corp', { query })))
      await host.arrived(BACKGROUND_SLOTS + SIGN_IN_SLOTS)
      const before = failures()
      isBusyPage(await last.browser.send('/login/callback/corp', { query: last.query }))
      isBusyPage(await last.browser.send('/login/callback/corp', { query: last.query }))
      assert.deepEqual(failures(), before)
    })

    it('answer 503 if a client metadata document cannot be fetched', async () => {
      const attempt = (name: string): Promise<TestAnswer> => {
        const client_id = `${host.url.replace('127.0.0.1', 'localhost')}/${name}.json`
        return server.token({ grant_type: 'refresh_token', refresh_token: 'r', client_id })
      }
      running.push(...Array.from({ length: SIGN_IN_SLOTS }, (_, index) => attempt(`app-${index}`)))
      await host.arrived(BACKGROUND_SLOTS + 2 * SIGN_IN_SLOTS)
      const before = failures()
      isBusyJson(await attempt('another'))
      assert.deepEqual(failures(), before)
    })

    it('do not prevent sign-out if a client of the session has a metadata document', async () => {
      const browser = await signedIn(server)
      await addClient(browser, documentClient)
      assert.equal((await browser.send('/logout.do', { query: { redirect: '/login' } })).status, 302)
      assert.equal((await browser.send('/home')).status, 302, 'signed out')
    })

    it('defer back-channel logout until the metadata document can be fetched', async () => {
      const backChannel = await server.app.backChannel()
      assert.equal((await backChannel.totals()).waiting, 1)
      assert.equal(await backChannel.deliver(), 1)
      assert.deepEqual(await backChannel.totals(), { outcomes: NO_OUTCOME, waiting: 1, waitingMilliseconds: 0 })
    })

    it('retry back-channel logout soon, even if another client does not respond', async () => {
      const backChannel = await server.app.backChannel()
      const browser = await signedIn(server)
      await addClient(browser, 'away')
      await addClient(browser, documentClient)
      await browser.send('/logout.do', { query: { redirect: '/login' } })
      assert.equal(await backChannel.deliver(), 1)
      assert.deepEqual((await backChannel.totals()).outcomes, { ...NO_OUTCOME, failed: 1 })
      clock.advance(6)
      assert.equal(await backChannel.deliver(), 2)
    })

    it('do not affect other requests', async () => {
      const answer = await server.token(
        { grant_type: 'password', username: 'marissa', password: 'koala' },
        { basic: APP },
      )
      assert.equal(answer.status, 200, answer.text)
    })
  })
}
