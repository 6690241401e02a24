// Clients whose id is the URL of their metadata document.
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { after, before, describe, it } from 'node:test'
import { exportJWK, generateKeyPair } from 'jose'
import { addSeconds } from '../../src/base/clock.ts'
import { revocationSignature } from '../../src/token/revocation-signature.ts'
import { token } from '../store/records.ts'
import { authorize, responseOf, signedIn } from '../support/authorize.ts'
import type { DocumentServer } from '../support/metadata-documents.ts'
import {
  LOOPBACK_CALLBACK,
  plainDocument,
  startDocumentServer,
  startWithClientDocuments,
  takeDocuments,
} from '../support/metadata-documents.ts'
import { changeClient, MODES, passwordTokens, userNamed } from '../support/oauth.ts'
import type { Browser, TestServer } from '../support/server.ts'
import { sendJson, tokenOf } from '../support/zones.ts'

const VERIFIER = 'v'.repeat(43)
const CHALLENGE = createHash('sha256').update(VERIFIER).digest('base64url')

const asking = (client_id: string, more: Readonly<Record<string, string | undefined>> = {}) => ({
  response_type: 'code',
  client_id,
  redirect_uri: LOOPBACK_CALLBACK,
  scope: 'openid profile',
  state: 's1',
  code_challenge: CHALLENGE,
  code_challenge_method: 'S256',
  ...more,
})

/** Approves all scopes of the page, and returns the answer. */
async function allow(browser: Browser, page: string) {
  const scopes = Object.fromEntries(
    [...page.matchAll(/name="(scope\.\d+)" value="([^"]+)"/g)].map(([, name = '', value = '']) => [name, value]),
  )
  return browser.send('/oauth/authorize', {
    form: { user_oauth_approval: 'true', ...scopes, 'X-Svc-Csrf': browser.csrf },
  })
}

for (const mode of MODES) {
  describe(`Client metadata documents in ${mode}`, () => {
    let server: TestServer
    let documents: DocumentServer
    let browser: Browser
    before(async () => {
      documents = await startDocumentServer()
      server = await startWithClientDocuments({ mode })
      browser = await signedIn(server)
    })
    after(async () => {
      assert.deepEqual(server.faults, [])
      documents.stop()
      await server.stop()
    })

    const redeem = (client_id: string, code = '', more: Readonly<Record<string, string>> = {}) =>
      server.send('/oauth/token', {
        form: {
          grant_type: 'authorization_code',
          client_id,
          code,
          redirect_uri: LOOPBACK_CALLBACK,
          code_verifier: VERIFIER,
          ...more,
        },
      })

    /** Uses as many document URLs as a zone fetches in a minute. */
    async function flood(): Promise<void> {
      for (let i = 0; i < 60; i += 1) await authorize(browser, asking(documents.id(`/flood-${i}.json`)))
    }

    // Covers later standards: client ID metadata documents
    it('allow an unregistered client to authorize, exchange, refresh and read userinfo', async () => {
      const id = documents.publish('/app.json')
      const page = await authorize(browser, asking(id))
      assert.equal(page.status, 200, page.text)
      assert.match(page.text, new RegExp(new URL(id).host), 'the page shows the host of the document')
      assert.match(page.text, /Helper/)
      const { query } = responseOf(await allow(browser, page.text))
      const tokens = await redeem(id, query['code'])
      assert.equal(tokens.status, 200, tokens.text)
      const { access_token, refresh_token } = tokens.json<Record<string, string>>()
      const reported = await server.send('/userinfo', { bearer: access_token ?? '' })
      assert.equal(reported.status, 200, reported.text)
      const again = await server.send('/oauth/token', {
        form: { grant_type: 'refresh_token', client_id: id, refresh_token: refresh_token ?? '' },
      })
      assert.equal(again.status, 200, again.text)
      assert.equal(
        (await server.store.clients.listMetadata('svc', { count: 1000, all: true })).some(each => each.clientId === id),
        false,
      )
      const { id: userId } = await userNamed(server, 'marissa')
      const kept = await server.store.approvals.list('svc', userId, id, server.clock.now())
      assert.ok(kept.length > 0, 'the approval is stored for the id')
    })

    it('are cached for 15 minutes, then fetched again', async () => {
      const id = documents.publish('/kept.json')
      for (let i = 0; i < 3; i += 1) await authorize(browser, asking(id))
      assert.equal(documents.asked('/kept.json'), 1)
      server.clock.advance(16 * 60)
      await authorize(browser, asking(id))
      assert.equal(documents.asked('/kept.json'), 2)
      documents.publish('/kept.json', of => ({
        body: plainDocument(of, { redirect_uris: ['http://127.0.0.1/other'] }),
      }))
      assert.equal((await authorize(browser, asking(id))).status, 200, 'the cached document')
      server.clock.advance(16 * 60)
      browser = await signedIn(server)
      assert.equal((await authorize(browser, asking(id))).status, 400, 'the current document')
    })

    it('are fetched again if the clock was set back', async () => {
      const id = documents.publish('/back.json')
      await authorize(browser, asking(id))
      server.clock.advance(-3600)
      await authorize(browser, asking(id))
      server.clock.advance(3600)
      assert.equal(documents.asked('/back.json'), 2)
    })

    it('revoke tokens of the client once they become invalid', async () => {
      const id = documents.publish('/changing.json')
      const { query } = responseOf(await allow(browser, (await authorize(browser, asking(id))).text))
      const { access_token } = (await redeem(id, query['code'])).json<Record<string, string>>()
      documents.publish('/changing.json', () => ({ body: {} }))
      server.clock.advance(16 * 60)
      assert.equal((await server.send('/userinfo', { bearer: access_token ?? '' })).status, 401)
      browser = await signedIn(server)
    })

    it('are retried after errors with increasing delays', async () => {
      server.clock.advance(61)
      browser = await signedIn(server)
      const id = documents.publish('/broken.json', () => ({ body: {} }))
      const times: number[] = []
      for (let second = 0; second <= 140; second += 1) {
        const before = documents.asked('/broken.json')
        assert.equal((await authorize(browser, asking(id))).status, mode === 'uaa' ? 401 : 400)
        if (documents.asked('/broken.json') > before) times.push(second)
        server.clock.advance(1)
      }
      assert.deepEqual(times, [0, 5, 15, 35, 75, 135])
      documents.publish('/broken.json')
      server.clock.advance(60)
      assert.equal((await authorize(browser, asking(id))).status, 200)
      documents.publish('/broken.json', () => ({ status: 404, body: {} }))
      server.clock.advance(16 * 60)
      browser = await signedIn(server)
      assert.notEqual((await authorize(browser, asking(id))).status, 200)
      documents.publish('/broken.json')
      server.clock.advance(5)
      assert.equal((await authorize(browser, asking(id))).status, 200, 'the delay is reset after a success')
    })

    it('are disabled by default', async () => {
      const id = documents.publish('/off.json')
      await takeDocuments(server, false)
      assert.notEqual((await authorize(browser, asking(id))).status, 200)
      assert.equal(documents.asked('/off.json'), 0)
      const reported = await server.send('/.well-known/openid-configuration')
      assert.equal(reported.json()['client_id_metadata_document_supported'], undefined)
      await takeDocuments(server)
      assert.equal((await authorize(browser, asking(id))).status, 200)
    })

    it('are cached by their Cache-Control, from 1 to 15 minutes', async () => {
      for (const [directives, seconds] of [
        ['no-store', 60],
        ['public, no-cache', 60],
        ['max-age=0', 60],
        ['public, max-age=120', 120],
        ['max-age=86400', 900],
        ['', 900],
      ] as const) {
        const path = `/fresh-${directives.replaceAll(/\W/g, '-')}.json`
        const headers = { 'cache-control': directives }
        const id = documents.publish(path, of => ({ body: plainDocument(of), headers }))
        for (const [after, asked] of [
          [0, 1],
          [seconds - 1, 1],
          [2, 2],
        ] as const) {
          server.clock.advance(after)
          await authorize(browser, asking(id))
          assert.equal(documents.asked(path), asked, `${directives} after ${after} seconds`)
        }
      }
      browser = await signedIn(server)
    })

    it('accept null as client_secret and client_secret_expires_at', async () => {
      const more = { client_secret: null, client_secret_expires_at: null }
      const id = documents.publish('/null.json', of => ({ body: plainDocument(of, more) }))
      assert.equal((await authorize(browser, asking(id))).status, 200)
    })

    it('cannot be stored, read or deleted as registered clients', async () => {
      const bearer = await tokenOf(server, 'root')
      const body = {
        client_id: documents.publish('/stored.json'),
        client_secret: 's',
        authorized_grant_types: ['client_credentials'],
      }
      assert.equal((await sendJson(server, 'POST', '/oauth/clients', body, { bearer })).status, 400)
      for (const method of ['GET', 'DELETE']) {
        const path = `/oauth/clients/${encodeURIComponent(body.client_id)}`
        assert.equal((await server.send(path, { method, bearer })).status, 404, method)
      }
      assert.equal(documents.asked('/stored.json'), 0)
    })

    const refused: readonly [
      why: string,
      document: (id: string) => { body: unknown; status?: number; headers?: Record<string, string> },
    ][] = [
      ['the client_id of another document', id => ({ body: plainDocument(id, { client_id: `${id}x` }) })],
      ['no client_id', id => ({ body: plainDocument(id, { client_id: undefined }) })],
      ['a client_id in another case', id => ({ body: plainDocument(id, { client_id: id.toUpperCase() }) })],
      ['a secret', id => ({ body: plainDocument(id, { client_secret: 'open' }) })],
      [
        'a private key with authentication method none',
        id => ({ body: plainDocument(id, { jwks: { keys: [{ kty: 'EC', crv: 'P-256', x: 'x', y: 'y', d: 'd' }] } }) }),
      ],
      ['client_secret_expires_at', id => ({ body: plainDocument(id, { client_secret_expires_at: 0 }) })],
      [
        'an authentication method with a secret',
        id => ({ body: plainDocument(id, { token_endpoint_auth_method: 'client_secret_basic' }) }),
      ],
      [
        'private_key_jwt without keys',
        id => ({ body: plainDocument(id, { token_endpoint_auth_method: 'private_key_jwt' }) }),
      ],
      ['no redirect URI', id => ({ body: plainDocument(id, { redirect_uris: [] }) })],
      [
        'a redirect URI of another host',
        id => ({ body: plainDocument(id, { redirect_uris: [LOOPBACK_CALLBACK, 'https://evil.example/cb'] }) }),
      ],
      ['a javascript: redirect URI', id => ({ body: plainDocument(id, { redirect_uris: ['javascript:alert(1)'] }) })],
      [
        'a redirect URI with a wildcard',
        id => ({ body: plainDocument(id, { redirect_uris: ['http://127.0.0.1/*'] }) }),
      ],
      ['a JSON array', id => ({ body: [plainDocument(id)] })],
      ['malformed JSON', () => ({ body: '{"client_id":' })],
      ['content type text/html', id => ({ body: plainDocument(id), headers: { 'content-type': 'text/html' } })],
      ['status 203', id => ({ body: plainDocument(id), status: 203 })],
      ['a redirect', id => ({ body: '', status: 302, headers: { location: id.replace(/[^/]+$/, 'app.json') } })],
      ['more than the maximum size', id => ({ body: plainDocument(id, { filler: 'x'.repeat(20_000) }) })],
      ['a software statement', id => ({ body: plainDocument(id, { software_statement: 'a.b.c' }) })],
      ['no scope that the zone allows', id => ({ body: plainDocument(id, { scope: 'svc.admin notes.read' }) })],
      ['an array as scope', id => ({ body: plainDocument(id, { scope: ['openid'] }) })],
    ]
    for (const [why, document] of refused) {
      it(`are refused with ${why}, and not fetched again immediately`, async () => {
        const path = `/refused-${why.replaceAll(/\W/g, '-')}.json`
        const id = documents.publish(path, document)
        const answer = await authorize(browser, asking(id))
        assert.ok(answer.status === 400 || answer.status === 401, `${answer.status}`)
        assert.match(answer.text, /its metadata document is invalid/)
        await authorize(browser, asking(id))
        assert.equal(documents.asked(path), 1)
        server.clock.advance(61) // avoids the limit of fetches per minute
      })
    }

    it('are refused with the reason if their URL is invalid', async () => {
      const id = documents.id('/app.json?x=1')
      assert.match((await authorize(browser, asking(id))).text, /the address must not have a query/)
    })

    it('lose grant types and scopes that the zone does not allow', async () => {
      const id = documents.publish('/greedy.json', of => ({
        body: plainDocument(of, {
          grant_types: ['authorization_code', 'client_credentials', 'password'],
          scope: 'openid svc.admin scim.write',
          autoapprove: true,
          authorities: ['svc.admin'],
        }),
      }))
      browser = await signedIn(server)
      assert.equal(
        (await authorize(browser, asking(id, { scope: 'openid' }))).status,
        200,
        'asks for approval despite autoapprove',
      )
      for (const grant_type of ['client_credentials', 'password']) {
        const answer = await server.send('/oauth/token', {
          form: { grant_type, client_id: id, username: 'marissa', password: 'koala' },
        })
        assert.ok(answer.status === 400 || answer.status === 401, `${grant_type}: ${answer.status} ${answer.text}`)
      }
      const answer = await authorize(browser, asking(id, { scope: 'openid svc.admin' }))
      assert.equal(answer.status, 302)
      assert.match(answer.location().href, /error=invalid_scope/)
    })

    it('allow all scopes of the zone if they name none', async () => {
      for (const [index, scope] of [undefined, '', 'offline_access'].entries()) {
        const id = documents.publish(`/scopeless-${index}.json`, of => ({ body: plainDocument(of, { scope }) }))
        assert.equal((await authorize(browser, asking(id, { scope: 'profile' }))).status, 200, scope)
      }
    })

    it('are shown on the approval page with their full host and the resources', async () => {
      const zone = await server.store.zones.find('svc')
      assert.ok(zone)
      const api = 'https://notes.example/mcp'
      const protocols = { ...zone.config.protocols, resourceIndicators: true }
      await server.store.zones.update({
        ...zone,
        config: { ...zone.config, protocols, registration: { resources: [api] } },
      })
      const id = documents.publish('/host.json')
      const long = id.replace('localhost', `accounts.example.com.${'a'.repeat(60)}.evil.localhost`)
      documents.publish('/long.json', () => ({ body: plainDocument(long.replace('/host.', '/long.')) }))
      const page = await authorize(browser, asking(long.replace('/host.', '/long.'), { resource: api }))
      assert.equal(page.status, 200, page.text)
      const [note = ''] = /<p class="note" id="self_registered">.*/.exec(page.text) ?? []
      assert.ok(note.includes(new URL(long).host), note)
      const [resources = ''] = /<p class="note" id="resources">.*/.exec(page.text) ?? []
      assert.ok(resources.includes(api), page.text)
      await server.store.zones.update(zone)
    })

    it('require approval each time unless the client has keys', async () => {
      const id = documents.publish('/each-time.json')
      const first = await authorize(browser, asking(id))
      assert.match(first.text, /It runs on your device/)
      assert.equal((await allow(browser, first.text)).status, 302)
      assert.equal((await authorize(browser, asking(id))).status, 200)
      const silent = await authorize(browser, asking(id, { prompt: 'none' }))
      assert.match(silent.location().href, /error=(?:consent|interaction)_required/)
      const { publicKey } = await generateKeyPair('ES256')
      const jwks = { keys: [{ ...(await exportJWK(publicKey)), kid: 'k1' }] }
      const more = { token_endpoint_auth_method: 'private_key_jwt', jwks }
      const proven = documents.publish('/proven.json', of => ({ body: plainDocument(of, more) }))
      const page = await authorize(browser, asking(proven))
      assert.equal((await allow(browser, page.text)).status, 302)
      assert.equal((await authorize(browser, asking(proven))).status, 302, 'its keys authenticate the client')
    })

    it('lose response types other than code with their grants', async () => {
      const id = documents.publish('/types.json', of => ({
        body: plainDocument(of, {
          grant_types: ['authorization_code', 'implicit'],
          response_types: ['code id_token', 'code', 'vp_token'],
        }),
      }))
      browser = await signedIn(server)
      const { query } = responseOf(await allow(browser, (await authorize(browser, asking(id))).text))
      assert.equal((await redeem(id, query['code'])).status, 200)
      const without = documents.publish('/no-code.json', of => ({
        body: plainDocument(of, { grant_types: ['implicit'], response_types: ['id_token'] }),
      }))
      assert.match((await authorize(browser, asking(without))).text, /its metadata document is invalid/)
    })

    it('are temporarily unavailable above the limit of fetches', async () => {
      server.clock.advance(61)
      browser = await signedIn(server)
      const kept = documents.publish('/before-the-flood.json')
      assert.equal((await authorize(browser, asking(kept))).status, 200)
      await flood()
      const id = documents.publish('/after-the-flood.json')
      for (let i = 0; i < 2; i += 1) assert.equal((await authorize(browser, asking(id))).status, 503)
      const refreshed = await server.send('/oauth/token', {
        form: { grant_type: 'refresh_token', client_id: id, refresh_token: 'r' },
      })
      assert.deepEqual([refreshed.status, refreshed.json()['error']], [503, 'temporarily_unavailable'])
      assert.equal(server.refusals.filter(line => line.includes('are not fetched: too many')).length, 1)
      assert.equal(documents.asked('/after-the-flood.json'), 0)
      assert.equal((await authorize(browser, asking(kept))).status, 200)
      server.clock.advance(61)
      assert.equal((await authorize(browser, asking(id))).status, 200)
    })

    it('are awaited by at most a hundred requests of a zone; for others the last document counts', async () => {
      server.clock.advance(61)
      const known = documents.publish('/before-the-silence.json')
      browser = await signedIn(server)
      const ask = (id: string) => browser.send('/oauth/authorize', { query: asking(id) })
      assert.equal((await ask(known)).status, 200)
      server.clock.advance(901)
      const site = createServer(() => {}).listen(0, '127.0.0.1')
      await once(site, 'listening')
      const address = site.address()
      const silent = `http://localhost:${typeof address === 'object' ? address?.port : ''}/silent.json`
      const answers = Array.from({ length: 101 }, () => ask(silent))
      assert.equal((await Promise.race(answers)).status, 503)
      assert.equal((await ask(known)).status, 200)
      site.closeAllConnections()
      const statuses = (await Promise.all(answers)).map(({ status }) => status)
      assert.equal(statuses.filter(status => status === 503).length, 1)
      site.close()
    })

    it('allow only response_type=code', async () => {
      const zone = await server.store.zones.find('svc')
      assert.ok(zone)
      const registration = { grantTypes: ['authorization_code', 'implicit', 'refresh_token'] as const }
      await server.store.zones.update({ ...zone, config: { ...zone.config, registration } })
      const id = documents.publish('/codes.json', of => ({
        body: plainDocument(of, {
          grant_types: ['authorization_code', 'implicit'],
          response_types: ['code', 'token', 'id_token', 'code id_token'],
        }),
      }))
      for (const response_type of ['token', 'id_token', 'code id_token', 'id_token token']) {
        const answer = await authorize(browser, asking(id, { response_type, nonce: 'n' }))
        const reported = answer.status === 302 ? answer.location().href : answer.text
        assert.match(reported, /unauthorized_client|may only request a code|unsupported_response_type/, response_type)
      }
      await server.store.zones.update(zone)
    })

    it('are not required to show and revoke access on /profile', async () => {
      const id = documents.publish('/hidden.json')
      const first = await authorize(browser, asking(id))
      const code = (await allow(browser, first.text)).location().searchParams.get('code') ?? ''
      const { refresh_token } = (await redeem(id, code)).json<{ refresh_token: string }>()
      documents.publish('/hidden.json', () => ({ status: 404, body: {} }))
      server.clock.advance(16 * 60)
      const asked = documents.asked('/hidden.json')
      const again = await signedIn(server)
      assert.ok((await again.send('/profile')).text.includes(id))
      assert.equal(documents.asked('/hidden.json'), asked, 'nothing is fetched')
      const form = { clientId: id, delete: '', 'X-Svc-Csrf': again.csrf }
      assert.equal((await again.send('/profile', { form })).status, 302)
      documents.publish('/hidden.json')
      server.clock.advance(61)
      const refreshed = { grant_type: 'refresh_token', refresh_token, client_id: id }
      assert.notEqual((await server.send('/oauth/token', { form: refreshed })).status, 200)
      browser = await signedIn(server)
    })

    it('are not required to change approvals of all clients by the API', async () => {
      await changeClient(server, 'app', { scope: ['openid', 'oauth.approvals'] })
      const id = documents.publish('/decided.json')
      await allow(browser, (await authorize(browser, asking(id))).text)
      documents.publish('/decided.json', () => ({ status: 404, body: {} }))
      server.clock.advance(16 * 60)
      const { access_token: bearer } = await passwordTokens(server)
      const listed = (await server.send('/approvals', { bearer })).json<{ clientId: string; scope: string }[]>()
      assert.ok(listed.some(({ clientId }) => clientId === id))
      const denied = listed.map(approval => ({ ...approval, status: 'DENIED' }))
      const answer = await sendJson(server, 'PUT', '/approvals', denied, { bearer })
      assert.equal(answer.status, 200, answer.text)
      const ofOne = denied.filter(({ clientId }) => clientId === id)
      const path = `/approvals/${encodeURIComponent(id)}`
      assert.equal((await sendJson(server, 'PUT', path, ofOne, { bearer })).status, 200)
      const another = [{ ...ofOne[0], scope: 'email' }]
      assert.equal((await sendJson(server, 'PUT', path, another, { bearer })).status, 404)
      browser = await signedIn(server)
    })

    it('are not required to revoke a client that was never fetched', async () => {
      server.clock.advance(61)
      const id = documents.id('/never-read.json')
      browser = await signedIn(server)
      const { id: userId } = await userNamed(server, 'marissa')
      const now = server.clock.now()
      const expiresAt = addSeconds(now, 600)
      const approval = {
        zoneId: 'svc',
        userId,
        clientId: id,
        scope: 'openid',
        status: 'APPROVED',
        updatedAt: now,
      } as const
      await server.store.approvals.save('svc', [{ ...approval, expiresAt }])
      await server.store.tokens.insert(
        'svc',
        token({ zoneId: 'svc', idDigest: 'unread', userId, clientId: id, expiresAt }),
      )
      for (let i = 0; i < 60; i += 1) await authorize(browser, asking(documents.id(`/invented-${i}.json`)))
      assert.equal((await authorize(browser, asking(id))).status, 503)

      const form = { clientId: id, delete: '', 'X-Svc-Csrf': browser.csrf }
      assert.equal((await browser.send('/profile', { form })).status, 302)
      assert.equal(await server.store.tokens.find('svc', 'unread'), undefined)
      server.clock.advance(61)
      browser = await signedIn(server)
    })

    it('are not fetched to list tokens', async () => {
      server.clock.advance(61)
      browser = await signedIn(server)
      const id = documents.id('/listed.json')
      const { id: userId } = await userNamed(server, 'marissa')
      const user = await server.store.users.find('svc', userId)
      const claims = { rev_sig: revocationSignature({ clientId: id, secrets: [] }, user), scope: ['openid'] }
      const expiresAt = addSeconds(server.clock.now(), 600)
      const stored = token({ zoneId: 'svc', idDigest: 'listed', userId, clientId: id, claims, expiresAt })
      await server.store.tokens.insert('svc', stored)
      await flood()
      const bearer = await tokenOf(server, 'root')
      const listed = await server.send(`/oauth/token/list/user/${userId}`, { bearer })
      assert.equal(listed.status, 200, listed.text)
      assert.ok(listed.json<{ clientId: string }[]>().some(({ clientId }) => clientId === id))
      await takeDocuments(server, false)
      const without = (await server.send(`/oauth/token/list/user/${userId}`, { bearer })).json<{ clientId: string }[]>()
      assert.ok(!without.some(({ clientId }) => clientId === id), 'its tokens are revoked')
      await takeDocuments(server, true)
      assert.equal(documents.asked('/listed.json'), 0)
      await server.store.tokens.delete('svc', 'listed')
    })

    it('are not fetched to change approvals by the API', async () => {
      server.clock.advance(61)
      browser = await signedIn(server)
      const { access_token: bearer } = await passwordTokens(server)
      await flood()
      const clientId = documents.publish('/decided-before.json')
      const { id: userId, zoneId } = await userNamed(server, 'marissa')
      const now = server.clock.now()
      const expiresAt = new Date(now.getTime() + 60_000)
      const approval = { zoneId, userId, clientId, scope: 'openid', status: 'APPROVED', updatedAt: now } as const
      await server.store.approvals.save('svc', [{ ...approval, expiresAt }])
      const denied = [{ userId, clientId, scope: 'openid', status: 'DENIED' }]
      const answer = await sendJson(server, 'PUT', '/approvals', denied, { bearer })
      assert.equal(answer.status, 200, answer.text)
      assert.equal(documents.asked('/decided-before.json'), 0)
      server.clock.advance(61)
      browser = await signedIn(server)
    })

    it('lose tokens and codes on revocation by an administrator, even if unavailable', async () => {
      for (const isAvailable of [true, false]) {
        const id = documents.publish(`/revoked-${isAvailable}.json`)
        const issue = async (): Promise<string> => {
          const page = await authorize(browser, asking(id))
          return (await allow(browser, page.text)).location().searchParams.get('code') ?? ''
        }
        const tokens = (await redeem(id, await issue())).json<Record<string, string>>()
        const later = await issue()
        if (!isAvailable) {
          documents.publish('/revoked-false.json', () => ({ status: 404, body: {} }))
          server.clock.advance(16 * 60)
        }
        const path = `/oauth/token/revoke/client/${encodeURIComponent(id)}`
        assert.equal((await server.send(path, { bearer: await tokenOf(server, 'root') })).status, 200)
        documents.publish(`/revoked-${isAvailable}.json`)
        server.clock.advance(61)
        const refreshed = { grant_type: 'refresh_token', refresh_token: tokens['refresh_token'] ?? '', client_id: id }
        assert.notEqual((await server.send('/oauth/token', { form: refreshed })).status, 200)
        assert.notEqual((await redeem(id, later)).status, 200)
        assert.equal((await server.send('/userinfo', { bearer: tokens['access_token'] ?? '' })).status, 401)
        browser = await signedIn(server)
      }
    })

    it('remain usable if their site answers 5xx, but not if it answers 410', async () => {
      const id = documents.publish('/fault.json')
      assert.equal((await authorize(browser, asking(id))).status, 200)
      documents.publish('/fault.json', () => ({ status: 503, body: {} }))
      server.clock.advance(16 * 60)
      browser = await signedIn(server)
      assert.equal((await authorize(browser, asking(id))).status, 200)
      documents.publish('/fault.json', () => ({ status: 410, body: {} }))
      server.clock.advance(61)
      assert.ok([400, 401].includes((await authorize(browser, asking(id))).status))
    })

    it('are awaited for back-channel logout unless they are gone', async () => {
      const zone = await server.store.zones.find('svc')
      assert.ok(zone)
      const protocols = { ...zone.config.protocols, backchannelLogout: true }
      const changed = { ...zone, config: { ...zone.config, protocols } }
      await server.store.zones.update(changed)
      const pending = async (): Promise<number> => (await (await server.app.backChannel()).totals()).waiting
      const deliver = async (): Promise<number> => (await server.app.backChannel()).deliver()
      const more = { backchannel_logout_uri: 'https://127.0.0.1:1/bye' }
      const id = documents.publish('/notified.json', of => ({ body: plainDocument(of, more) }))
      browser = await signedIn(server)
      assert.equal((await allow(browser, (await authorize(browser, asking(id))).text)).status, 302)
      assert.equal((await browser.send('/logout.do', { query: { redirect: '/login' } })).status, 302)
      documents.publish('/notified.json', () => ({ status: 503, body: {} }))
      // The policy of the zone changes, so the document must be fetched again.
      await server.store.zones.update({
        ...changed,
        config: { ...changed.config, registration: { scopes: ['openid'] } },
      })
      assert.equal(await deliver(), 1)
      assert.equal(await pending(), 1)
      assert.ok(server.lines.some(line => line.includes(`${id} was not notified, will retry`)))
      documents.publish('/notified.json', () => ({ status: 404, body: {} }))
      server.clock.advance(61)
      assert.equal(await deliver(), 1)
      assert.equal(await pending(), 0, 'the site answers 404')
      assert.ok(server.lines.some(line => line.includes(`${id} was not signed out: its metadata document is gone`)))

      documents.publish('/notified.json', of => ({ body: plainDocument(of, more) }))
      server.clock.advance(61)
      browser = await signedIn(server)
      assert.equal((await allow(browser, (await authorize(browser, asking(id, { scope: 'openid' }))).text)).status, 302)
      assert.equal((await browser.send('/logout.do', { query: { redirect: '/login' } })).status, 302)
      assert.equal(await pending(), 1)
      await takeDocuments(server, false)
      server.clock.advance(11)
      assert.equal(await deliver(), 1)
      assert.equal(await pending(), 0, 'clients with documents are unknown now')
      await server.store.zones.update(zone)
      browser = await signedIn(server)
    })

    it('require PKCE with S256', async () => {
      const id = documents.publish('/pkce.json')
      for (const more of [
        { code_challenge: undefined, code_challenge_method: undefined },
        { code_challenge: VERIFIER, code_challenge_method: 'plain' },
        { code_challenge: VERIFIER, code_challenge_method: undefined },
      ]) {
        const answer = await authorize(browser, asking(id, more))
        const reported = answer.status === 302 ? answer.location().href : answer.text // UAA: on a page
        assert.match(reported, /invalid_request/)
      }
    })
  })
}

describe('Discovery of client metadata documents', () => {
  it('advertises them in standard if they are enabled', async () => {
    const server = await startWithClientDocuments({ mode: 'standard' })
    try {
      const reported = await server.send('/.well-known/openid-configuration')
      assert.equal(reported.json()['client_id_metadata_document_supported'], true)
    } finally {
      await server.stop()
    }
  })
})
