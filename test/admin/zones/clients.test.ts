import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { addSeconds } from '../../../src/base/clock.ts'
import { MODES } from '../../support/oauth.ts'
import type { TestAnswer, TestServer } from '../../support/server.ts'
import { isStatusAlone, sendJson, startZoneServer, tokenOf } from '../../support/zones.ts'

const HOST = 'two.localhost:8080'

const GOOD = {
  client_id: 'web',
  client_secret: 'web-secret',
  authorized_grant_types: ['authorization_code'],
  redirect_uri: ['https://web.example/cb'],
  scope: ['openid'],
  authorities: ['svc.resource'],
  allowedproviders: ['svc'],
}

for (const mode of MODES) {
  describe(`/identity-zones/{id}/clients in ${mode}`, () => {
    let server: TestServer
    let bearer: string
    let count = 0
    before(async () => {
      server = await startZoneServer({ mode })
      bearer = await tokenOf(server, 'writer')
    })
    after(async () => {
      assert.deepEqual(server.faults, [])
      await server.stop()
    })

    const post = (body: unknown, id = 'z2'): Promise<TestAnswer> =>
      sendJson(server, 'POST', `/identity-zones/${id}/clients`, body, { bearer })
    const remove = (clientId: string, id = 'z2'): Promise<TestAnswer> =>
      server.send(`/identity-zones/${id}/clients/${clientId}`, { method: 'DELETE', bearer })
    const newId = (): string => `web${(count += 1)}`
    const reported = (answer: TestAnswer): string =>
      isStatusAlone(answer, mode)
        ? `${answer.status} empty`
        : `${answer.status} ${String(answer.json()['error'])} ${String(answer.json()['error_description'])}`

    // Covers POST /identity-zones/{id}/clients: body
    it('creates a client for sign-in, ignoring other members', async () => {
      const client_id = newId()
      const answer = await post({ ...GOOD, client_id, name: 'Web', autoapprove: true, createdwith: 'me', action: 'x' })
      assert.equal(answer.status, 201, answer.text)
      const record = answer.json()
      assert.equal(record['createdwith'], 'zones.write')
      assert.deepEqual(record['scope'], ['openid'])
      assert.deepEqual(record['authorized_grant_types'], ['authorization_code', 'refresh_token'])
      assert.deepEqual(record['autoapprove'], [])
      assert.deepEqual(record['allowedproviders'], ['svc'])
      assert.ok(!answer.text.includes('web-secret') && !answer.text.includes('argon2'))
      const stored = await server.store.clients.find('z2', client_id)
      assert.deepEqual([stored?.autoapprove, stored?.createdWith, stored?.additional], [[], 'zones.write', {}])
      assert.equal(await server.store.clients.find('svc', client_id), undefined)
      const event = server.events.findLast(({ type }) => type === 'ClientCreateSuccess')
      assert.deepEqual([event?.zoneId, event?.principal, event?.clientId], ['z2', client_id, 'writer'])
      assert.equal(event?.data, 'scopes=[openid], authorities=[svc.resource]')
    })

    it('creates a client that authenticates with its secret', async () => {
      const client_id = newId()
      await post({ ...GOOD, client_id, authorized_grant_types: ['client_credentials'] })
      const request = { basic: [client_id, 'web-secret'] as const, host: HOST }
      assert.equal((await server.token({ grant_type: 'client_credentials' }, request)).status, 200)
      const wrong = { basic: [client_id, ''] as const, host: HOST }
      assert.equal((await server.token({ grant_type: 'client_credentials' }, wrong)).status, 401)
    })

    it('accepts lists as strings, and any redirect URI', async () => {
      const body = {
        ...GOOD,
        client_id: newId(),
        scope: 'openid',
        authorities: 'svc.resource',
        allowedproviders: 'svc',
        redirect_uri: 'https://*.example/**',
      }
      assert.equal((await post(body)).status, 201)
      const { redirect_uri: _, ...without } = GOOD
      assert.equal((await post({ ...without, client_id: newId() })).status, 201)
    })

    it('does not require a secret for the implicit grant alone', async () => {
      const { client_secret: _, ...body } = { ...GOOD, authorized_grant_types: ['implicit'] }
      assert.equal((await post({ ...body, client_id: newId() })).status, 201)
      const both = { ...body, client_id: newId(), authorized_grant_types: ['implicit', 'authorization_code'] }
      assert.equal(reported(await post(both)), '400 invalid_client client_secret cannot be blank')
    })

    // Covers POST /identity-zones/{id}/clients: error: already exists
    it('answers 409 for an existing client, even concurrently', async () => {
      const client_id = newId()
      const answers = await Promise.all([post({ ...GOOD, client_id }), post({ ...GOOD, client_id })])
      assert.deepEqual(answers.map(({ status }) => `${status}`).toSorted(), ['201', '409'])
      const text = `409 invalid_client Client already exists: ${client_id}`
      assert.equal(reported(await post({ ...GOOD, client_id })), text)
    })

    const SCOPE = 'only openid scope is allowed'
    const AUTHORITY = 'only svc.resource authority is allowed'
    const PROVIDER = "only the internal IdP ('svc') is allowed"
    const without = (name: keyof typeof GOOD) =>
      Object.fromEntries(Object.entries(GOOD).filter(([key]) => key !== name))
    const refusals: readonly { name: string; body: object; text: string | RegExp }[] = [
      { name: 'no scope', body: without('scope'), text: SCOPE },
      // Covers POST /identity-zones/{id}/clients: error: scope
      { name: 'another scope', body: { ...GOOD, scope: ['profile'] }, text: SCOPE },
      { name: 'more scopes', body: { ...GOOD, scope: ['openid', 'profile'] }, text: SCOPE },
      { name: 'a wildcard scope', body: { ...GOOD, scope: ['*'] }, text: SCOPE },
      { name: 'no authority', body: without('authorities'), text: AUTHORITY },
      // Covers POST /identity-zones/{id}/clients: error: authority
      { name: 'another authority', body: { ...GOOD, authorities: ['svc.admin'] }, text: AUTHORITY },
      { name: 'more authorities', body: { ...GOOD, authorities: ['svc.resource', 'svc.admin'] }, text: AUTHORITY },
      { name: 'no id', body: without('client_id'), text: 'client_id cannot be blank' },
      // Covers POST /identity-zones/{id}/clients: error: `client_id` blank
      { name: 'a blank id', body: { ...GOOD, client_id: ' ' }, text: 'client_id cannot be blank' },
      // Covers POST /identity-zones/{id}/clients: error: `client_secret` blank
      { name: 'no secret', body: without('client_secret'), text: 'client_secret cannot be blank' },
      { name: 'an empty secret', body: { ...GOOD, client_secret: '' }, text: 'client_secret cannot be blank' },
      { name: 'a blank secret', body: { ...GOOD, client_secret: ' ' }, text: 'client_secret cannot be blank' },
      { name: 'no provider', body: without('allowedproviders'), text: PROVIDER },
      // Covers POST /identity-zones/{id}/clients: error: provider
      { name: 'another provider', body: { ...GOOD, allowedproviders: ['ldap'] }, text: PROVIDER },
      { name: 'more providers', body: { ...GOOD, allowedproviders: ['svc', 'ldap'] }, text: PROVIDER },
      { name: 'no grant', body: without('authorized_grant_types'), text: /^An authorized grant type must be provided/ },
      {
        name: 'an unknown grant',
        body: { ...GOOD, authorized_grant_types: ['x'] },
        text: /^x is not an allowed grant/,
      },
      {
        name: 'the reserved id',
        body: { ...GOOD, client_id: 'svc' },
        text: /^Not allowed: svc is a reserved client_id$/,
      },
      { name: 'an id with a slash', body: { ...GOOD, client_id: 'a/b' }, text: /^Not allowed characters/ },
      { name: 'a second secret', body: { ...GOOD, secondary_client_secret: 'x' }, text: /secondary_client_secret/ },
      { name: 'a NUL character', body: { ...GOOD, name: 'a\0' }, text: /NUL/ },
      { name: 'a scope that is not a list', body: { ...GOOD, scope: { openid: true } }, text: SCOPE },
      { name: 'an invalid lifetime', body: { ...GOOD, access_token_validity: 'x' }, text: /access_token_validity/ },
    ]
    for (const { name, body, text } of refusals) {
      it(`refuses ${name}`, async () => {
        const answer = await post(body)
        assert.equal(answer.status, 400, answer.text)
        assert.equal(answer.json()['error'], 'invalid_client')
        const description = String(answer.json()['error_description'])
        if (typeof text === 'string') assert.equal(description, text)
        else assert.match(description, text)
        assert.equal(await server.store.clients.find('z2', GOOD.client_id), undefined)
      })
    }

    it('applies the secret policy of the zone', async () => {
      const body = {
        id: 'guarded',
        subdomain: 'guarded',
        name: 'x',
        config: { clientSecretPolicy: { minLength: 20, maxLength: 99, requireDigit: 1 } },
      }
      await sendJson(server, 'POST', '/identity-zones', body, { bearer })
      const text =
        'Client Secret must be at least 20 characters in length. Client Secret must contain at least 1 digit characters.'
      const answer = await post(GOOD, 'guarded')
      assert.equal(reported(answer), `400 invalid_client ${text}`)
      assert.equal((await post({ ...GOOD, client_secret: 'a-longer-secret-with-1' }, 'guarded')).status, 201)
    })

    for (const { id, want } of [
      { id: 'svc', want: '403 empty' },
      { id: 'unknown', want: '404 empty' },
      { id: 'off', want: '404 empty' },
    ]) {
      // Covers POST /identity-zones/{id}/clients: error: zone not found
      it(`answers ${want} for the zone ${id}`, async () => {
        assert.equal(reported(await post(GOOD, id)), want)
        assert.equal(reported(await remove('web', id)), want)
      })
    }

    it('rejects invalid JSON', async () => {
      assert.equal((await post('{')).status, 400)
      assert.equal((await post('')).status, 400)
      assert.equal((await post([])).status, 400)
    })

    // Covers DELETE /identity-zones/{id}/clients/{client_id}: response: client; error: not found
    it('deletes a client it created, with approvals and tokens', async () => {
      const client_id = newId()
      await post({ ...GOOD, client_id })
      const now = server.clock.now()
      const approval = { zoneId: 'z2', userId: 'u', clientId: client_id, scope: 'openid', updatedAt: now } as const
      await server.store.approvals.save('z2', [{ ...approval, status: 'APPROVED', expiresAt: addSeconds(now, 60) }])
      await server.store.tokens.insert('z2', {
        zoneId: 'z2',
        idDigest: client_id,
        kind: 'refresh_token',
        format: 'opaque',
        clientId: client_id,
        claims: {},
        issuedAt: now,
        expiresAt: addSeconds(now, 60),
      })
      const answer = await remove(client_id)
      assert.deepEqual([answer.status, answer.json()['client_id']], [200, client_id])
      assert.equal(await server.store.clients.find('z2', client_id), undefined)
      assert.deepEqual(await server.store.approvals.list('z2', 'u', client_id, now), [])
      assert.equal(await server.store.tokens.find('z2', client_id), undefined)
      assert.equal(reported(await remove(client_id)), '404 empty')
      const event = server.events.findLast(({ type }) => type === 'ClientDeleteSuccess')
      assert.deepEqual([event?.zoneId, event?.principal], ['z2', client_id])
      const forgotten = server.events.findLast(({ type }) => type === 'ClientApprovalsDeleted')
      assert.deepEqual([forgotten?.zoneId, forgotten?.principal, forgotten?.clientId], ['z2', client_id, 'writer'])
    })

    // Covers DELETE /identity-zones/{id}/clients/{client_id}: error: not made by zones.write
    it('does not delete clients created elsewhere', async () => {
      const text = '400 invalid_client client must have been createdwith scope zones.write'
      assert.equal(reported(await remove('writer', 'z1')), text)
      assert.notEqual(await server.store.clients.find('z1', 'writer'), undefined)
    })

    it('answers 404 for clients of another zone', async () => {
      const client_id = newId()
      await post({ ...GOOD, client_id })
      assert.equal(reported(await remove(client_id, 'z1')), '404 empty')
      assert.equal(reported(await remove('%00')), '404 empty')
    })
  })
}
