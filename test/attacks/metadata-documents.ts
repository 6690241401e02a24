import assert from 'node:assert/strict'
import { authorize, signedIn } from '../support/authorize.ts'
import type { DocumentServer } from '../support/metadata-documents.ts'
import {
  LOOPBACK_CALLBACK,
  plainDocument,
  startDocumentServer,
  startWithClientDocuments,
  takeDocuments,
} from '../support/metadata-documents.ts'
import { MODES } from '../support/oauth.ts'
import type { ServerOptions, TestServer } from '../support/server.ts'
import type { Attack } from './attack.ts'

async function trying(
  attempt: (server: TestServer, documents: DocumentServer) => Promise<void>,
  options: ServerOptions = {},
): Promise<void> {
  for (const mode of MODES) {
    const documents = await startDocumentServer()
    const server = await startWithClientDocuments({ ...options, mode })
    try {
      await attempt(server, documents)
      assert.deepEqual(server.faults, [])
    } finally {
      documents.stop()
      await server.stop()
    }
  }
}

const asking = (client_id: string, redirect_uri = LOOPBACK_CALLBACK) => ({
  response_type: 'code',
  client_id,
  redirect_uri,
  scope: 'openid',
  code_challenge: 'c'.repeat(43),
  code_challenge_method: 'S256',
})

/** Attacks by clients with metadata documents. */
export const metadataDocumentAttacks: readonly Attack[] = [
  {
    attack: 'uses an internal address or an invalid URL as client id',
    outcome: 'nothing is fetched, and the client is unknown',
    attempt: () =>
      trying(
        async server => {
          const browser = await signedIn(server)
          for (const id of [
            'https://127.0.0.1/app.json',
            'https://[::1]/app.json',
            'https://localhost/app.json',
            'https://169.254.169.254/latest/meta-data',
            'https://10.0.0.1/app.json',
            'http://id.example/app.json',
            'https://user:pass@app.example/app.json',
            'https://app.example/app.json#x',
            'https://app.example/app.json?x',
            'https://app.example/a/../app.json',
            'https://app.example/a/%2e%2e/app.json',
            'https://APP.example/app.json',
            'https://app.example:443/app.json',
            'https://app.example/',
            'https://app.example',
            'https:/app.example/app.json',
            'https://app.example\\app.json',
            `https://app.example/${'a'.repeat(300)}`,
          ]) {
            const answer = await authorize(browser, asking(id))
            assert.ok([400, 401].includes(answer.status), `${id}: ${answer.status}`)
          }
        },
        { config: { base_url: 'https://id.example' } },
      ),
  },
  {
    attack: 'publishes a document that sends codes to the host of another application',
    outcome: 'refused: redirect URIs must be on the host of the document or on the device',
    attempt: () =>
      trying(async (server, documents) => {
        const browser = await signedIn(server)
        for (const uri of [
          'https://app.example/cb',
          'https://localhost.evil.example/cb',
          'com.evil:/cb#x',
          'data:text/html,x',
        ]) {
          const id = documents.publish('/theft.json', of => ({
            body: plainDocument(of, { redirect_uris: [LOOPBACK_CALLBACK, uri] }),
          }))
          const answer = await authorize(browser, asking(id, uri))
          assert.ok([400, 401].includes(answer.status), uri)
          server.clock.advance(61)
        }
      }),
  },
  {
    attack: 'publishes a document with links to the host of another application, for the approval page',
    outcome: 'the client is unknown; links to its own and other hosts are accepted',
    attempt: () =>
      trying(async (server, documents) => {
        const browser = await signedIn(server)
        for (const [index, link] of ['https://app.example/', 'https://APP.example./privacy'].entries()) {
          for (const name of ['client_uri', 'policy_uri', 'tos_uri']) {
            const id = documents.publish(`/${name}-${index}`, of => ({ body: plainDocument(of, { [name]: link }) }))
            assert.ok([400, 401].includes((await authorize(browser, asking(id))).status), link)
          }
        }
        const links = { policy_uri: 'https://other.example/privacy' }
        const id = documents.publish('/links', of => ({ body: plainDocument(of, links) }))
        assert.ok((await authorize(browser, asking(id))).text.includes('https://other.example/privacy'))
      }),
  },
  {
    attack: 'uses a long name that contains the name of another application',
    outcome: 'the page starts with the host of the document, and marks the name as unverified',
    attempt: () =>
      trying(async (server, documents) => {
        const browser = await signedIn(server)
        const client_name = `Your Bank${' '.repeat(60)}`
        const id = documents.publish('/bank.json', of => ({ body: plainDocument(of, { client_name }) }))
        const page = await authorize(browser, asking(id))
        assert.equal(page.status, 200, page.text)
        const shown = page.text.slice(page.text.indexOf('<main'))
        const { host } = new URL(id)
        assert.ok(shown.includes(host) && shown.indexOf(host) < shown.indexOf('Your Bank'), shown)
        assert.match(page.text, /id="self_registered"/)
      }),
  },
  {
    attack: 'uses a thousand client ids at once, to have documents fetched and cached',
    outcome: 'fetches are rate-limited, and cached documents are kept',
    attempt: () =>
      trying(async (server, documents) => {
        const browser = await signedIn(server)
        const known = documents.publish('/known.json')
        assert.equal((await authorize(browser, asking(known))).status, 200)
        let fetched = 0
        for (let i = 0; i < 120; i += 1) {
          const path = `/flood-${i}.json`
          await authorize(browser, asking(documents.id(path)))
          fetched += documents.asked(path)
        }
        assert.ok(fetched < 60, `${fetched} fetched`)
        assert.equal((await authorize(browser, asking(known))).status, 200)
        assert.equal(documents.asked('/known.json'), 1)
        // More documents than are cached, over some minutes; then the ones used before are still fetched first.
        for (let i = 0; i < 250; i += 1) {
          if (i % 50 === 0) server.clock.advance(61)
          await authorize(browser, asking(documents.id(`/more-${i}.json`)))
        }
        assert.equal((await authorize(browser, asking(known))).status, 200)
        assert.equal(documents.asked('/known.json'), 1)
        server.clock.advance(15 * 60)
        const again = await signedIn(server)
        for (let i = 0; i < 70; i += 1) await authorize(again, asking(documents.id(`/last-${i}.json`)))
        assert.equal((await authorize(again, asking(known))).status, 200)
        assert.equal(documents.asked('/known.json'), 2)
      }),
  },
  {
    attack: 'uses the document in a zone that does not accept it',
    outcome: 'the client is unknown',
    attempt: () =>
      trying(async (server, documents) => {
        const id = documents.publish('/app.json')
        await takeDocuments(server, false)
        await takeDocuments(server, true, 'z1')
        const browser = await signedIn(server)
        assert.ok([400, 401].includes((await authorize(browser, asking(id))).status))
        const form = { grant_type: 'authorization_code', client_id: id, code: 'x', redirect_uri: LOOPBACK_CALLBACK }
        assert.ok([400, 401].includes((await server.send('/oauth/token', { form })).status))
        assert.equal(documents.asked('/app.json'), 0)
      }),
  },
]
